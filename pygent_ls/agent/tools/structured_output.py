"""Structured answers: one JSON value that matches the caller's schema, and the tool through which it is given."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, cast

from msgspec import Struct

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.model import ToolDefinition
from pygent_ls.agent.tools.arguments import MAX_NESTING, check_can_be_sent, load_json
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.errors import SessionError, ToolError

STRUCTURED_OUTPUT = "structured_output"
"""Name of the tool."""

MAX_SCHEMA_CHARS = 64_000
"""Maximum size of the schema as JSON: about 16,000 tokens, an eighth of a 128k window, in every request of the turn."""

MAX_PROBLEMS = 10
"""Maximum number of problems of an answer that the model is told at once."""

MAX_PROBLEM_CHARS = 300
"""Maximum length of one problem."""

MAX_QUOTED_CHARS = 80
"""Maximum length of the quoted invalid value."""

MAX_COST = 10_000
"""Maximum number of schemas that one value is checked against: about 0.1 s, during which nothing else runs."""

VALUE = "value"
"""Only argument of the tool if the schema cannot be that of the arguments."""

LATEST = "https://json-schema.org/draft/2020-12/schema"
"""Draft that is assumed for a schema that names none."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_NO_ARGUMENTS = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "enum", "const", *_REFERENCES})
"""Keywords that providers refuse besides `type` at the top of a tool's schema."""

_ARGUMENT = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""Argument names that Anthropic accepts."""

_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "extends")
_IN_PLACE_BY_NAME = ("dependentSchemas", "dependencies")
"""Keywords that hold schemas for the same value as the schema that they are part of."""


class Structured(Struct, frozen=True, kw_only=True):
    """Answer of a turn: any JSON value, including null."""

    value: Any


class OutputSchema(Struct, frozen=True):
    """Usable JSON Schema of any draft; everything that it refers to is inside it."""

    schema: Mapping[str, Any]
    _validator: Any

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> OutputSchema:
        """Raises `SessionError` (`bad_output_schema`) that says what is wrong with the schema."""
        try:
            return _usable(_as_text(schema))
        except RecursionError:
            raise _bad(
                f"it is nested too deeply: at most {MAX_NESTING} levels are possible, fewer with many references"
            ) from None

    def problems_of(self, value: Any) -> list[str]:
        """Return the problems of a value, each with its place in it; empty if it is valid."""
        from jsonschema.exceptions import best_match  # pyright: ignore[reportUnknownVariableType] - it has no types

        try:
            errors: list[Any] = list(islice(self._validator.iter_errors(value), MAX_PROBLEMS + 1))
        except RecursionError:
            return ["it is nested too deeply to be checked"]
        except ArithmeticError as error:  # a number that does not fit into a float, compared with one in the schema
            return [f"it cannot be checked: {error}"]
        return list(dict.fromkeys(_problem(best_match([error])) for error in errors))

    @property
    def is_for_arguments(self) -> bool:
        """Whether it can be the schema of a tool's arguments as it is: always an object, and declared as one."""
        schema = self.schema
        properties = schema.get("properties", {})
        return (
            schema.get("type") == "object"
            and not _NO_ARGUMENTS.intersection(schema)
            and all(_ARGUMENT.fullmatch(name) for name in properties)
        )

    @property
    def for_arguments(self) -> dict[str, Any]:
        """Schema of the tool's arguments: this one, or if it cannot be used as such, one of an object with this one as
        `value`."""
        inner = {key: value for key, value in self.schema.items() if key != "$schema"}
        if self.is_for_arguments:
            return inner
        shared: dict[str, Any] = {}
        if not ("$id" in inner or "id" in inner):  # references are relative to the id, wherever the schema is placed
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
        """Return the answer in the arguments of a call. Raises `ToolError` that names what is wrong with it."""
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
        """Return the answer if a text consists of nothing else, with or without a fence."""
        try:
            value = load_json(text)
            check_can_be_sent(value)
        except (ValueError, RecursionError):
            return None
        return None if self.problems_of(value) else Structured(value=value)


_AGAIN = f"Call {STRUCTURED_OUTPUT} again with the complete answer."


class StructuredTool(Tool, frozen=True, kw_only=True):
    """Tool that takes the answer: its arguments are checked against the schema, and none of them is a path."""

    wanted: OutputSchema

    @cached_property
    def definition(self) -> ToolDefinition:
        """Definition with the output schema as its arguments."""
        return ToolDefinition(name=self.name, description=self.description, schema=self.wanted.for_arguments)

    def validate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer as the one argument of `run`. Raises `ToolError` if it does not match the schema."""
        return {"answer": self.wanted.taken(given)}

    def paths_in(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return none."""
        return ()


def structured_tool(wanted: OutputSchema, give: Callable[[Structured], Awaitable[str]]) -> StructuredTool:
    """Return the tool of one turn; `give` takes a valid answer, and returns what the model reads."""

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
    """Describe an error: `$.items[0].name: "x" is not of type 'integer'`, quoting no more of the value than identifies
    it."""
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
    """Return the schema of a text; cached, since a request and its turn both check it."""
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
    """Return a validator that fetches nothing. Raises as `OutputSchema.of` does."""
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
    """Check that each reference leads to a schema inside it, and none back to itself without descending into the
    value."""
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
    """Check that validating one value is affordable. `in_place` maps each schema to those it contains for the same
    value."""
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
    """Return the schema with references to its own parts adapted to its place below `value`; definitions stay at the
    top. `names`: it is an object of schemas by arbitrary names."""
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
"""Keywords that hold schemas by arbitrary names."""


def _moved_reference(reference: Any) -> Any:
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return reference
    if reference.startswith(("#/$defs/", "#/definitions/")):
        return reference
    return f"#/properties/{VALUE}{reference[1:]}"
