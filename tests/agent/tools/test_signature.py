"""The arguments of a tool: their schema, what stands for a value of another type, and what is said of invalid ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import Meta

from pygent_ls.agent.tools.signature import ArgumentObject, ToolSignature


class Step(ArgumentObject, frozen=True, kw_only=True):
    """A step."""

    text_field: ClassVar[str] = "name"

    name: Annotated[str, Meta(min_length=1, max_length=5, description="Its name.")]
    state: Literal["open", "done"] = "open"


async def everything(
    context: object,
    *,
    count: Annotated[int, Meta(ge=1, le=20, description="How many.")],
    size: Annotated[float, Meta(gt=0, le=2.5)] | None = None,
    flag: bool = False,
    names: Annotated[tuple[str, ...], Meta(max_length=2)] = (),
    steps: Annotated[list[Step], Meta(min_length=1, description="The steps.")] | None = None,
    level: Literal[0, 1, 2] = 0,
    answers: dict[str, Any] | None = None,
) -> None:
    """Take every kind of argument."""


SIGNATURE = ToolSignature(everything)


def value_of(name: str, given: object) -> object:
    values, problems = SIGNATURE.convert({"count": 1, name: given})
    assert problems == []
    return values[name]


def problems_of(**given: object) -> list[str]:
    return list(SIGNATURE.convert(given)[1])


def test_the_schema_describes_each_argument() -> None:
    assert SIGNATURE.schema == {
        "$defs": {
            "Step": {
                "additionalProperties": False,
                "description": "A step.",
                "properties": {
                    "name": {"description": "Its name.", "maxLength": 5, "minLength": 1, "type": "string"},
                    "state": {"default": "open", "enum": ["open", "done"], "type": "string"},
                },
                "required": ["name"],
                "type": "object",
            }
        },
        "additionalProperties": False,
        "properties": {
            "count": {"description": "How many.", "maximum": 20, "minimum": 1, "type": "integer"},
            "size": {
                "anyOf": [{"exclusiveMinimum": 0, "maximum": 2.5, "type": "number"}, {"type": "null"}],
                "default": None,
            },
            "flag": {"default": False, "type": "boolean"},
            "names": {"default": [], "items": {"type": "string"}, "maxItems": 2, "type": "array"},
            "steps": {
                "anyOf": [{"items": {"$ref": "#/$defs/Step"}, "minItems": 1, "type": "array"}, {"type": "null"}],
                "default": None,
                "description": "The steps.",
            },
            "level": {"default": 0, "enum": [0, 1, 2], "type": "integer"},
            "answers": {"anyOf": [{"additionalProperties": True, "type": "object"}, {"type": "null"}], "default": None},
        },
        "required": ["count"],
        "type": "object",
    }


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        *(("count", given, 5) for given in (5, 5.0, "5", " 5 ", "+5", "5.0", "5.00", "0_5")),
        ("count", True, 1),
        *(("size", given, 2.0) for given in (2, 2.0, "2", " 2.0 ", "2.", "+2", "2e0", "0.2e1")),
        ("size", True, 1.0),
        ("size", None, None),
        *(("flag", given, True) for given in (True, 1, 1.0, "true", "TRUE", "t", "yes", "y", "on", "1")),
        *(("flag", given, False) for given in (False, 0, 0.0, "false", "F", "no", "n", "off", "0")),
        ("names", ["a"], ("a",)),
        *(("level", given, 1) for given in (1, 1.0, True)),
        ("steps", ["a", {"name": "b", "state": "done"}], [Step(name="a"), Step(name="b", state="done")]),
        ("answers", {"a": [1, None]}, {"a": [1, None]}),
    ],
)
def test_a_value_of_another_type_stands_for_what_it_clearly_means(name: str, given: object, meant: object) -> None:
    found = value_of(name, given)
    assert (found, type(found)) == (meant, type(meant))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        *(({"count": given}, "not text") for given in ("five", "", "1e1", "5.", "5.5", "1__0", "_5", "0x5", "۵")),
        ({"count": 1.5}, "not 1.5"),
        ({"count": 21}, "not 21"),
        ({"count": "21"}, "not text"),
        ({"count": None}, "not null"),
        ({"count": 1e300}, "not 1e+300"),
        ({"count": [1]}, "not a list"),
        ({"count": {}}, "not an object"),
        ({"count": "9" * 5_000}, "not text"),
    ],
)
def test_what_is_not_clear_is_refused(given: dict[str, object], problem: str) -> None:
    assert problems_of(**given) == [f"`count`: expected a whole number, at least 1 and at most 20, {problem}"]


@pytest.mark.parametrize(
    ("name", "given", "problem"),
    [
        ("size", 0, "expected a number, above 0 and at most 2.5, not 0"),
        *(("size", text, "expected a number, above 0 and at most 2.5, not text") for text in ("nan", "inf", "٢", "x")),
        ("flag", 2, "expected true or false, not 2"),
        *(("flag", text, "expected true or false, not text") for text in ("maybe", "", " true", "2")),
        ("names", "a", "expected a list, at most 2 items, not text"),
        ("names", ["a", "b", "c"], "expected a list, at most 2 items, not 3 items"),
        ("steps", [], "expected a list, not empty, not 0 items"),
        ("steps", {"name": "a"}, "expected a list, not empty, not an object"),
        ("level", "1", "expected one of 0, 1, 2"),
        ("level", 3, "expected one of 0, 1, 2, not 3"),
        ("answers", [["a", 1]], "expected an object, not a list"),
    ],
)
def test_a_problem_says_what_is_expected(name: str, given: object, problem: str) -> None:
    assert problems_of(**{"count": 1, name: given}) == [f"`{name}`: {problem}"]


def test_every_invalid_field_is_named_also_inside_of_lists() -> None:
    steps = [{"name": "a"}, "", {"state": "late", "more": 1}, 7, {"name": "far too long", "state": "done"}]
    assert problems_of(steps=steps, names=["a", 1], flag="?", pth=".") == [
        "`count` is missing",
        "`flag`: expected true or false, not text",
        "`names.1`: expected text, not 1",
        "`steps.1.name`: expected text, not empty and at most 5 characters, not 0 characters",
        "`steps.2.name` is missing",
        "`steps.2.state`: expected one of open, done",
        "`steps.2.more` is not an argument",
        "`steps.3`: expected an object, not 7",
        "`steps.4.name`: expected text, not empty and at most 5 characters, not 12 characters",
        "`pth` is not an argument",
    ]


def test_a_list_is_looked_at_up_to_its_hundredth_problem() -> None:
    valid = [{"name": "a"}] * 50

    problems = problems_of(count=1, steps=[*valid, *[7] * 300_000])

    assert problems == [f"`steps.{place}`: expected an object, not 7" for place in range(50, 150)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["name", "state", "a"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*SIGNATURE.names, "more"]), JSON))
def test_whatever_the_schema_allows_is_valid_and_whatever_is_refused_breaks_it(arguments: dict[str, Any]) -> None:
    values, problems = SIGNATURE.convert(arguments)

    validator: Any = Draft202012Validator(SIGNATURE.schema)
    is_allowed = validator.is_valid(arguments)
    assert not (is_allowed and problems)
    assert all(problem.startswith("`") for problem in problems)
    if not problems:
        assert list(values) == list(SIGNATURE.names)
        assert not (set(arguments) - set(values))


@given(st.lists(st.text(), max_size=3), st.integers(1, 20))
def test_valid_arguments_stay_as_they_are(names: list[str], count: int) -> None:
    given = {"count": count, "names": names[:2], "answers": {"names": names}}
    values, problems = SIGNATURE.convert(json.loads(json.dumps(given)))
    assert problems == []
    assert (values["count"], values["names"], values["answers"]) == (count, tuple(names[:2]), {"names": names})


async def of_two_types(context: object, value: int | str) -> None:
    """Take a number or text."""


async def of_bytes(context: object, value: bytes) -> None:
    """Take bytes."""


async def described_otherwise(context: object, value: Annotated[int, "a number"]) -> None:
    """Take a number."""


@pytest.mark.parametrize("function", [of_two_types, of_bytes, described_otherwise])
def test_a_type_that_no_argument_has_is_an_error_of_the_declaration(function: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match="argument of a tool"):
        assert ToolSignature(function).schema
