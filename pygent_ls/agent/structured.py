"""An answer that is one JSON value, valid against a schema of the caller's; and the tool through which it is given."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, cast

from pygent_ls.agent.arguments import MAX_NESTING, check_can_be_sent, load_json
from pygent_ls.agent.model import ToolDefinition
from pygent_ls.agent.tool import Tool, ToolCategory, ToolContext, ToolRisk, one_line
from pygent_ls.errors import SessionError, ToolError

STRUCTURED_OUTPUT = "structured_output"
"""The name of the tool."""

MAX_SCHEMA_CHARS = 64_000
"""Of the schema as JSON: about 16,000 tokens, an eighth of a 128k window, in every request of the turn."""

MAX_PROBLEMS = 10
"""Of an answer, that the model is told at once."""

MAX_PROBLEM_CHARS = 300
"""Of one of them."""

MAX_QUOTED_CHARS = 80
"""Of the value that is wrong."""

MAX_COST = 10_000
"""Schemas that one value is held against: about 0.1 s, in which nothing else happens."""

VALUE = "value"
"""The only argument of the tool where the schema cannot be that of the arguments."""

LATEST = "https://json-schema.org/draft/2020-12/schema"
"""The draft of a schema that names none."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_NO_ARGUMENTS = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "enum", "const", *_REFERENCES})
"""What providers refuse beside `type` at the top of a tool's schema."""

_ARGUMENT = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""The names of arguments that Anthropic takes."""

_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "extends")
_IN_PLACE_BY_NAME = ("dependentSchemas", "dependencies")
"""Keywords that hold schemas for the same value as the one that they stand in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Structured:
    """What a turn's answer has come to: any JSON value, null too."""

    value: Any


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """A JSON Schema, of any draft, that can be used; what it refers to stands in it."""

    schema: Mapping[str, Any]
    _validator: Any

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> OutputSchema:
        """Raises `SessionError` (`bad_output_schema`) that says what is wrong with it."""
        try:
            return _usable(_as_text(schema))
        except RecursionError:
            raise _bad(
                f"it is nested too deeply: at most {MAX_NESTING} levels are possible, fewer with many references"
            ) from None

    def problems_of(self, value: Any) -> list[str]:
        """What is wrong with a value, each with its place in it; nothing where it is valid."""
        from jsonschema.exceptions import best_match  # pyright: ignore[reportUnknownVariableType] - it has no types

        try:
            errors: list[Any] = list(islice(self._validator.iter_errors(value), MAX_PROBLEMS + 1))
        except RecursionError:
            return ["it is nested too deeply to be checked"]
        except ArithmeticError as error:  # a number that is no float, where the schema has one
            return [f"it cannot be checked: {error}"]
        return list(dict.fromkeys(_problem(best_match([error])) for error in errors))

    @property
    def is_for_arguments(self) -> bool:
        """Whether it can be the schema of a tool's arguments as it is: everywhere an object, and plainly one."""
        schema = self.schema
        properties = schema.get("properties", {})
        return (
            schema.get("type") == "object"
            and not _NO_ARGUMENTS.intersection(schema)
            and all(_ARGUMENT.fullmatch(name) for name in properties)
        )

    @property
    def for_arguments(self) -> dict[str, Any]:
        """The schema of the tool's arguments; where this one cannot be that, of an object that has it as `value`."""
        inner = {key: value for key, value in self.schema.items() if key != "$schema"}
        if self.is_for_arguments:
            return inner
        shared: dict[str, Any] = {}
        if not ("$id" in inner or "id" in inner):  # references are from there then, wherever it stands
            shared = {key: inner.pop(key) for key in ("$defs", "definitions") if key in inner}
            inner, shared = _moved(inner), {key: _moved(value, names=True) for key, value in shared.items()}
        return {
            "type": "object",
            "properties": {VALUE: inner},
            "required": [VALUE],
            "additionalProperties": False,
            **shared,
        }

    def taken(self, given: Mapping[str, Any]) -> Structured:
        """The answer that the arguments of a call hold. Raises `ToolError` that names what is wrong with it."""
        if self.is_for_arguments:
            value: Any = dict(given)
        elif list(given) == [VALUE]:
            value = given[VALUE]
            if isinstance(value, str) and self.problems_of(value) and (meant := self.found_in(value)):
                return meant  # some models write a list or an object within an argument as text
        else:
            raise ToolError(f"Put the answer into the argument `{VALUE}`. {_AGAIN}")
        if problems := self.problems_of(value):
            listed = "\n".join(f"- {problem}" for problem in problems[:MAX_PROBLEMS])
            more = "\n- … and more" if len(problems) > MAX_PROBLEMS else ""
            raise ToolError(f"The answer does not match the schema:\n{listed}{more}\n{_AGAIN}")
        return Structured(value=value)

    def found_in(self, text: str) -> Structured | None:
        """The answer, where a text is nothing but that, in a fence or not."""
        try:
            value = load_json(text)
            check_can_be_sent(value)
        except (ValueError, RecursionError):
            return None
        return None if self.problems_of(value) else Structured(value=value)


_AGAIN = f"Call {STRUCTURED_OUTPUT} again with the complete answer."


@dataclass(frozen=True, kw_only=True)
class StructuredTool(Tool):
    """Gives the answer: its arguments are checked against the schema, and no path is meant by any of them."""

    wanted: OutputSchema

    @cached_property
    def definition(self) -> ToolDefinition:
        """See `Tool`."""
        return ToolDefinition(name=self.name, description=self.description, schema=self.wanted.for_arguments)

    def validate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `Tool`."""
        return {"answer": self.wanted.taken(given)}

    def paths_in(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """None."""
        return ()


def structured_tool(wanted: OutputSchema, give: Callable[[Structured], Awaitable[str]]) -> StructuredTool:
    """The tool of one turn; `give` takes a valid answer, and returns what the model reads."""

    async def run(_context: ToolContext, answer: Structured) -> str:
        return await give(answer)

    where = "These arguments are" if wanted.is_for_arguments else f"`{VALUE}` is"
    return StructuredTool(
        name=STRUCTURED_OUTPUT,
        description=f"Give your final answer once the task is done. {where} the complete answer, and the call ends the "
        "turn.",
        risk=ToolRisk.LOW,
        category=ToolCategory.AGENT,
        kind="other",
        title="Give the answer",
        read_only=True,
        run=run,
        wanted=wanted,
    )


def _problem(error: Any) -> str:
    """`$.items[0].name: "x" is not of type 'integer'`, with no more of the value than tells which it is."""
    message = str(error.message)
    shown = repr(error.instance)
    if message.startswith(shown):
        quoted = one_line(json.dumps(error.instance, ensure_ascii=False, default=str), MAX_QUOTED_CHARS)
        message = quoted + message.removeprefix(shown)
    return one_line(f"{error.json_path}: {message}", MAX_PROBLEM_CHARS)


# Whether a schema can be used


def _bad(problem: str) -> SessionError:
    return SessionError(f"The output schema cannot be used: {problem}.", kind="bad_output_schema")


@lru_cache(maxsize=4)
def _usable(text: str) -> OutputSchema:
    """The same for the same text: a request and its turn both look at it."""
    schema: dict[str, Any] = json.loads(text)
    return OutputSchema(schema, _checked_validator(schema))


def _as_text(schema: object) -> str:
    if not isinstance(schema, Mapping):
        raise _bad(f'it must be a JSON object, such as {{"type": "object"}}, not {type(schema).__name__}')
    try:
        check_can_be_sent(schema)
        text = json.dumps(schema, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise _bad(f"it is not JSON ({error})") from None
    if len(text) > MAX_SCHEMA_CHARS:
        raise _bad(
            f"it has {len(text):,} characters, and every request of the turn would contain it; the limit is "
            f"{MAX_SCHEMA_CHARS:,}"
        )
    return text


def _checked_validator(schema: dict[str, Any]) -> Any:
    """A validator that fetches nothing. Raises as `OutputSchema.of` does."""
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.jsonschema import UnknownDialect, specification_with

    draft = schema.get("$schema", LATEST)
    try:
        specification: Any = specification_with(draft if isinstance(draft, str) else "")
    except UnknownDialect:
        raise _bad(f'"$schema" names an unknown draft; the latest is {LATEST}') from None
    made: Any = validator_for({"$schema": draft})
    _check_schema(made, schema)
    resource: Any = specification.create_resource(schema)
    no_way_to_fetch: Any = Registry
    registry = no_way_to_fetch()
    _check_references(made, specification, resource, registry.resolver_with_root(resource))
    return made(schema, registry=registry, format_checker=made.FORMAT_CHECKER)


def _check_schema(validator: Any, schema: Any) -> None:
    from jsonschema.exceptions import SchemaError

    try:
        validator.check_schema(schema)
    except SchemaError as error:
        raise _bad(f"it is not a valid JSON Schema: {_problem(error)}") from None


def _check_references(validator: Any, specification: Any, resource: Any, resolver: Any) -> None:
    """Each reference leads to a schema in it, and none back to where it stands without going into the value."""
    from referencing.exceptions import Unresolvable

    in_place: dict[int, list[int]] = {}
    waiting: list[tuple[Any, Any]] = [(resource, resolver)]
    while waiting:
        here, resolver = waiting.pop()
        if not isinstance(here.contents, Mapping):
            continue
        schema = cast("Mapping[str, Any]", here.contents)
        if id(schema) in in_place:
            continue
        same = in_place[id(schema)] = [id(each) for each in _for_the_same_value(schema)]
        waiting += [(each, resolver.in_subresource(each)) for each in here.subresources()]
        for keyword in _REFERENCES:
            reference = schema.get(keyword)
            if not isinstance(reference, str):
                continue
            try:
                found = resolver.lookup(reference)
            except Unresolvable:
                raise _bad(
                    f"{keyword} {one_line(reference, MAX_QUOTED_CHARS)} points outside the schema, and nothing is "
                    'fetched; put the referenced schema into "$defs"'
                ) from None
            _check_schema(validator, found.contents)
            same.append(id(found.contents))
            waiting.append((specification.create_resource(found.contents), found.resolver))
    _check_costs(in_place)


def _check_costs(in_place: Mapping[int, Sequence[int]]) -> None:
    """`in_place`: the schemas for the same value, by the one that they stand in."""
    from graphlib import CycleError, TopologicalSorter

    costs: dict[int, int] = {}
    try:
        for each in TopologicalSorter(in_place).static_order():
            costs[each] = 1 + sum(costs[inner] for inner in in_place.get(each, ()))
    except CycleError:
        raise _bad("it contains a reference that leads back to itself") from None
    if max(costs.values()) > MAX_COST:
        raise _bad(f"checking one value takes more than {MAX_COST:,} steps, because its schemas are reused too often")


def _for_the_same_value(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    found: list[Any] = []
    for keyword in _IN_PLACE:
        inner = schema.get(keyword)
        found += cast("list[Any]", inner) if isinstance(inner, list) else [inner]
    for keyword in _IN_PLACE_BY_NAME:
        named = schema.get(keyword)
        found += cast("Mapping[str, Any]", named).values() if isinstance(named, Mapping) else ()
    return (cast("Mapping[str, Any]", each) for each in found if isinstance(each, Mapping))


# Putting a schema into another


def _moved(schema: Any, *, names: bool = False) -> Any:
    """The schema with its references to its own parts as they are where it stands as `value`; definitions stay at the
    top. `names`: it is an object of schemas by any names."""
    if isinstance(schema, list):
        return [_moved(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    moved: dict[str, Any] = {}
    for key, inner in cast("Mapping[str, Any]", schema).items():
        if names or key not in ("enum", "const", "default", "examples", *_REFERENCES):
            moved[key] = _moved(inner, names=not names and key in _BY_NAME)
        else:
            moved[key] = _moved_reference(inner) if key in _REFERENCES else inner
    return moved


_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", *_IN_PLACE_BY_NAME})
"""Keywords that hold schemas by any names."""


def _moved_reference(reference: Any) -> Any:
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return reference
    if reference.startswith(("#/$defs/", "#/definitions/")):
        return reference
    return f"#/properties/{VALUE}{reference[1:]}"
