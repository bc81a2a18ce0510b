"""Schemas of structured answers: which can be used, what the model is told of them, and which values are valid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pygent_ls.agent.tools.structured_output import MAX_COST, MAX_SCHEMA_CHARS, OutputSchema, Structured
from pygent_ls.errors import SessionError, ToolError
from tests.model_server import ModelServer

PERSON: Mapping[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}

LIST: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$ref": "#/$defs/list",
    "$defs": {"list": {"type": ["object", "null"], "properties": {"rest": {"$ref": "#/$defs/list"}}}},
}

Schema = dict[str, Any]


def refusal(schema: Any) -> str:
    with pytest.raises(SessionError) as caught:
        OutputSchema.of(schema)
    assert caught.value.kind == "bad_output_schema"
    return str(caught.value).removeprefix("The output schema cannot be used: ")


# Which can be used


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ([], 'it must be a JSON object, such as {"type": "object"}, not list.'),
        (True, 'it must be a JSON object, such as {"type": "object"}, not bool.'),
        ({"enum": [float("nan")]}, "it is not JSON (Out of range float values are not JSON compliant)."),
        ({"enum": [{1, 2}]}, "it is not JSON (Object of type set is not JSON serializable)."),
        ({"type": "text"}, "it is not a valid JSON Schema: $.type: "),
        ({"properties": {"a": {"minimum": "1"}}}, "it is not a valid JSON Schema: $.properties.a.minimum: "),
        ({"pattern": "("}, "it is not a valid JSON Schema: $.pattern: "),
        ({"description": "x" * MAX_SCHEMA_CHARS}, "it has 64,019 characters, and every request"),
        ({"$schema": "https://example.com/mine"}, '"$schema" names an unknown draft; the latest is https://'),
        ({"$schema": 7}, '"$schema" names an unknown draft; the latest is https://'),
        ({"$ref": "#/$defs/none"}, "$ref #/$defs/none points outside the schema, and nothing is fetched; put"),
        ({"$ref": "#/required", "required": ["a"]}, "it is not a valid JSON Schema: $: "),
        ({"$ref": "#/x-own", "x-own": {"type": 7}}, "it is not a valid JSON Schema: $.type: "),
        ({"$dynamicRef": "#none"}, "$dynamicRef #none points outside the schema"),
        ({"$ref": "#"}, "it contains a reference that leads back to itself."),
        (
            {"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}},
            "it contains a reference that leads back",
        ),
        ({"dependentSchemas": {"a": {"$ref": "#"}}}, "it contains a reference that leads back to itself."),
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(schema: Any, why: str) -> None:
    assert refusal(schema).startswith(why)


def test_a_reference_to_elsewhere_is_refused_and_nothing_is_fetched() -> None:
    with ModelServer([]) as server:
        there = f"http://127.0.0.1:{server.port}/schema"
        for reference in (there, there.removeprefix("http:"), "file:///etc/hostname", "other.json"):
            for keyword in ("$ref", "$dynamicRef"):
                assert "points outside the schema, and nothing is fetched" in refusal({"items": {keyword: reference}})
        unseen: Schema = {"x-own": {"$id": there, "$ref": "#/a", "a": {}}, "$ref": "#/x-own"}
        assert "points outside the schema, and nothing is fetched" in refusal(unseen)

        named: Schema = {"$id": there, "items": {"$ref": f"{there}#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}
        assert OutputSchema.of(named).problems_of([1, "a"]) == ["$[1]: \"a\" is not of type 'integer'"]

        assert server.n_connections == 0


@pytest.mark.parametrize("levels", [70, 10_000])
def test_a_schema_that_is_nested_too_deep_is_refused(levels: int) -> None:
    deep: dict[str, Any] = {}
    for _ in range(levels):
        deep = {"items": deep}
    assert "nested deeper than 64" in refusal(deep)


def test_a_schema_that_doubles_what_is_to_be_checked_at_each_step_is_refused() -> None:
    def doubled(times: int) -> dict[str, Any]:
        steps = {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(times)}
        return {"$ref": "#/$defs/s0", "$defs": {**steps, f"s{times}": {"type": "integer"}}}

    assert OutputSchema.of(doubled(8)).problems_of(1) == []
    assert f"takes more than {MAX_COST:,} steps" in refusal(doubled(60))


@pytest.mark.parametrize("draft", ["draft-03", "draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"])
def test_each_draft_is_known(draft: str) -> None:
    secure = "s" if "/" in draft else ""
    schema = {"$schema": f"http{secure}://json-schema.org/{draft}/schema#", "items": {"type": "integer"}}

    wanted = OutputSchema.of(schema)

    assert (wanted.problems_of([1]), wanted.problems_of(["a"])) == ([], ["$[0]: \"a\" is not of type 'integer'"])


# What the model is offered


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        PERSON,
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": [False, True]}}},
    ],
    ids=str,
)
def test_the_schema_of_an_object_is_that_of_the_arguments(schema: Mapping[str, Any]) -> None:
    wanted = OutputSchema.of({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    assert wanted.for_arguments == schema


@pytest.mark.parametrize(
    "schema",
    [
        {"description": "anything"},
        {"type": "array", "items": {"type": "integer"}},
        {"type": ["object", "null"]},
        {"properties": {"a": True}},
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "enum": [{"a": 1}]},
        {"type": "object", "properties": {"the größe": True}},
    ],
    ids=str,
)
def test_what_providers_do_not_take_for_arguments_stands_in_one_argument(schema: Mapping[str, Any]) -> None:
    assert OutputSchema.of(schema).for_arguments == {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    }


def test_references_lead_to_the_same_from_within_the_argument() -> None:
    schema = {
        "type": "array",
        "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/leaf"}, {"$ref": "#/$defs/leaf/not"}, {"$ref": "#a"}]},
        "$defs": {"leaf": {"not": {"type": "array"}}, "named": {"$anchor": "a", "const": {"$ref": "#"}}},
        "contains": {"properties": {"$ref": {"$ref": "#/items"}}},
    }

    assert OutputSchema.of(schema).for_arguments == {
        "type": "object",
        "properties": {
            "value": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"$ref": "#/properties/value"},
                        {"$ref": "#/$defs/leaf"},
                        {"$ref": "#/$defs/leaf/not"},
                        {"$ref": "#a"},
                    ]
                },
                "contains": {"properties": {"$ref": {"$ref": "#/properties/value/items"}}},
            }
        },
        "required": ["value"],
        "additionalProperties": False,
        "$defs": {"leaf": {"not": {"type": "array"}}, "named": {"$anchor": "a", "const": {"$ref": "#"}}},
    }


# What is valid


@pytest.mark.parametrize("value", [{"rest": {"rest": None}}, {"size": 1}, None])
def test_what_is_valid_is_taken_as_it_is(value: Any) -> None:
    assert OutputSchema.of(LIST).taken({"value": value}) == Structured(value=value)


def test_the_arguments_are_the_answer_where_the_schema_is_theirs() -> None:
    assert OutputSchema.of(PERSON).taken({"name": "Ada"}) == Structured(value={"name": "Ada"})


def test_a_value_that_came_as_text_is_taken_for_what_it_says_where_no_text_will_do() -> None:
    numbers, texts = OutputSchema.of({"type": "array"}), OutputSchema.of({"type": ["array", "string"]})
    assert numbers.taken({"value": "[1, 2]"}) == Structured(value=[1, 2])
    assert texts.taken({"value": "[1, 2]"}) == Structured(value="[1, 2]")


def test_what_the_caller_does_to_the_schema_later_changes_nothing() -> None:
    schema = {"type": "integer"}
    wanted = OutputSchema.of(schema)
    schema["type"] = "string"
    assert (wanted.problems_of(1), OutputSchema.of(schema).problems_of("a")) == ([], [])


@pytest.mark.parametrize(
    ("schema", "given", "said"),
    [
        (
            PERSON,
            {"age": -1, "nick": "x"},
            "- $.age: -1 is less than the minimum of 0\n"
            "- $: 'name' is a required property\n"
            "- $: Additional properties are not allowed ('nick' was unexpected)\n",
        ),
        ({"type": "array"}, {"value": "x" * 500}, f"- $: \"{'x' * 78}… is not of type 'array'\n"),
        (
            {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["a"]}]},
            {"value": {"b": 1}},
            "- $: 'a' is a required property\n",
        ),
        ({"type": "string", "format": "date"}, {"value": "31 May"}, "- $: \"31 May\" is not a 'date'\n"),
        (
            {"items": {"const": 0}},
            {"value": [1] * 12},
            "".join(f"- $[{n}]: 0 was expected\n" for n in range(10)) + "- … and more\n",
        ),
        ({"multipleOf": 0.1}, {"value": 10**400}, "- it cannot be checked: int too large to convert to float\n"),
    ],
    ids=["all that is wrong", "long values", "the nearest alternative", "formats", "too much", "huge numbers"],
)
def test_what_is_wrong_is_named_with_its_place(schema: Mapping[str, Any], given: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ToolError) as caught:
        OutputSchema.of(schema).taken(given)

    heading, end = (
        "The answer does not match the schema:\n",
        "Call structured_output again with the complete answer.",
    )
    assert str(caught.value) == f"{heading}{said}{end}"


@pytest.mark.parametrize("given", [{}, {"answer": 1}, {"value": 1, "note": "x"}], ids=str)
def test_the_answer_stands_in_its_argument_and_nothing_beside_it(given: Mapping[str, Any]) -> None:
    with pytest.raises(ToolError, match="into the argument `value`"):
        OutputSchema.of({}).taken(given)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"name": "Ada"}', Structured(value={"name": "Ada"})),
        (' \n```json\n{"name": "Ada",}\n```\n', Structured(value={"name": "Ada"})),
        ('Here it is: {"name": "Ada"}', None),
        ('{"name": "Ada"', None),
        ('{"name": 1}', None),
        ('{"name": "\\ud800"}', None),
        ("[" * 10_000, None),
        ("", None),
    ],
    ids=["plain", "in a fence", "with words", "cut off", "not valid", "half a character", "too deep", "nothing"],
)
def test_a_text_that_is_the_answer_and_nothing_else_counts(text: str, found: Structured | None) -> None:
    assert OutputSchema.of(PERSON).found_in(text) == found


# Whatever the schema and the value

NAMES = st.sampled_from(["a", "b", "$ref", "value", "größe"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)


def keyword(name: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Schema]:
    return values.map(lambda value: {name: value})


def both(one: st.SearchStrategy[Schema], other: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.tuples(one, other).map(lambda pair: {**pair[0], **pair[1]})


PLAIN: st.SearchStrategy[Schema] = (
    keyword("type", st.sampled_from(["null", "boolean", "integer", "string", "array", "object"]))
    | keyword("enum", st.lists(VALUES, min_size=1, max_size=3))
    | keyword("const", VALUES)
    | keyword("items", keyword("$ref", st.sampled_from(["#", "#/$defs/one", "#/$defs/two", "#/properties/a"])))
)


def built_of(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    properties = keyword("properties", st.dictionaries(NAMES, inner, max_size=3))
    required = keyword("required", st.lists(NAMES, max_size=2, unique=True))
    return (
        both(keyword("type", st.just("array")), keyword("items", inner))
        | both(keyword("type", st.just("object")), both(properties, required))
        | keyword("anyOf", st.lists(inner, min_size=1, max_size=3))
        | keyword("oneOf", st.lists(inner, min_size=1, max_size=3))
        | keyword("not", inner)
    )


PARTS = st.recursive(PLAIN, built_of, max_leaves=4)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    schema = draw(PARTS)
    properties = {"a": draw(PARTS), **schema.get("properties", {})}
    return {**schema, "properties": properties, "$defs": {"one": draw(PARTS), "two": draw(PARTS)}}


def is_valid(schema: Schema, value: Any) -> bool:
    validator: Any = Draft202012Validator(schema)
    return validator.is_valid(value)


@given(schemas(), VALUES)
def test_an_answer_is_taken_exactly_where_it_is_valid_and_comes_out_as_it_went_in(schema: Schema, value: Any) -> None:
    wanted = OutputSchema.of(schema)
    valid = is_valid(schema, value)

    sent = value if wanted.is_for_arguments else {"value": value}
    if isinstance(sent, dict):
        assert is_valid(wanted.for_arguments, sent) == valid, "what the model is told"
        assert taken_by(wanted, json.loads(json.dumps(sent))) == (json.dumps(value) if valid else None)
    else:
        assert not valid
    found = wanted.found_in(json.dumps(value))
    assert (found and json.dumps(found.value)) == (json.dumps(value) if valid else None)


def taken_by(wanted: OutputSchema, given: Schema) -> str | None:
    try:
        return json.dumps(wanted.taken(given).value)
    except ToolError:
        return None
