"""Tools that an editor registers: what it declares of them, and the tools that the model is offered."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from pygent_ls.agent.context.images import picture_from_base64
from pygent_ls.agent.display_text import on_one_line, visible
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.tools.schema_tool import SchemaTool
from pygent_ls.agent.tools.structured_output import OutputSchema
from pygent_ls.agent.tools.tool import DEFAULT_TIMEOUT_S, MAX_PROBLEMS, ToolContext
from pygent_ls.agent.truncation import cut
from pygent_ls.errors import SessionError, ToolError

PREFIX = "editor__"
"""Beginning of the names of these tools as the model is offered them: none has the name of another tool."""

MAX_NAME_CHARS = 64 - len(PREFIX)
"""Maximum length of a name, so that all providers accept it with the prefix."""

MAX_DESCRIPTION_CHARS = 2_000
"""Maximum length of a description that the model is given, as for tools of MCP servers."""

MAX_SCHEMA_CHARS = 20_000
"""Maximum length of a schema as JSON, as for tools of MCP servers."""

MAX_RESULT_CHARS = 1_000_000
"""Maximum length kept of a result. The model is shown a part of it and can read the rest later."""

MAX_IMAGES = 10
"""Maximum number of images in one result."""

_NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{MAX_NAME_CHARS - 1}}}")

_KEYS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters, which a terminal takes for keys: the line that runs would not be the one that was judged."""


class EditorToolSpec(Struct, frozen=True, kw_only=True):
    """A tool as the editor declares it."""

    name: str
    """Name without the prefix."""
    description: str
    schema: Mapping[str, Any]
    """JSON Schema of the arguments."""
    read_only: bool = False
    """Whether it changes nothing. The editor is trusted on that, because it could do the same without the tool."""
    destructive: bool = True
    risk: ToolRisk | None = None
    """Risk of a call; None for the risk that the two flags imply."""
    timeout_s: float = DEFAULT_TIMEOUT_S
    runs_programs: bool = False
    """Whether it runs programs that may change files: these are saved before, and changes are reported after."""
    command_argument: str = ""
    """Argument with a command line that it runs in a shell."""


class EditorToolPart(Struct, frozen=True, kw_only=True):
    """A part of a result: text, or an image as base64."""

    text: str = ""
    image: str | None = None


class EditorToolResult(Struct, frozen=True, kw_only=True):
    """What the editor answers to a call."""

    parts: Sequence[EditorToolPart]
    is_error: bool = False
    structured: Any = None
    """Any JSON value, which the model reads if no part has text; None for a result without it."""


CallEditor = Callable[[EditorToolSpec, ToolContext, Mapping[str, Any]], Awaitable[EditorToolResult]]
"""Calls the tool in the editor. Raises `ToolError`."""


class EditorTool(SchemaTool, frozen=True, kw_only=True):
    """Tool that runs in the editor. Its arguments are checked before the call."""

    editor_name: str
    """Name without the prefix."""
    checked: OutputSchema | None
    """Schema that the arguments are checked against; None if only the editor can check them."""

    def validate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments. Raises `ToolError` that names each invalid one."""
        if self.checked and (problems := self.checked.problems_of(dict(given))):
            raise ToolError(f"Invalid arguments for {self.name}: {'; '.join(problems[:MAX_PROBLEMS])}.")
        line = given.get(self.command_argument, "") if self.command_argument else ""
        if not isinstance(line, str) or _KEYS.search(line):
            raise ToolError(f"`{self.command_argument}` is not text, or has control characters. Nothing was run.")
        return dict(given)

    def _named(self, given: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        """Show a command line as it is, not as JSON."""
        if not (self.command_argument and isinstance(line := given.get(self.command_argument), str) and line):
            return super()._named(given)
        others = {name: value for name, value in given.items() if name != self.command_argument}
        more = f" {json.dumps(others, ensure_ascii=False)}" if others else ""
        return [("arguments", f"$ {line}{more}")]


def editor_tool(spec: EditorToolSpec, call: CallEditor) -> EditorTool:
    """Return the tool. Raises `ToolError` that says what is wrong with its declaration."""
    checked = _checked(spec)

    async def run(context: ToolContext, /, **arguments: Any) -> str:
        result = await call(spec, context, arguments)
        text = _text_of(result, context)
        if result.is_error:
            raise ToolError(text or "The editor reports an error without a message.")
        return text or "(no output)"

    description = visible(spec.description.strip())
    if len(description) > MAX_DESCRIPTION_CHARS:
        description = f"{description[:MAX_DESCRIPTION_CHARS]}…"
    return EditorTool(
        name=PREFIX + spec.name,
        description=description,
        risk=_risk(spec),
        category=ToolCategory.EDITOR,
        kind="execute" if spec.runs_programs or spec.command_argument else "other",
        run=run,
        title=f"Editor: {spec.name} {{arguments}}",
        read_only=spec.read_only,
        timeout_s=None,
        runs_programs=spec.runs_programs,
        command_argument=spec.command_argument,
        schema=spec.schema,
        editor_name=spec.name,
        checked=None if _has_pattern(spec.schema) else checked,
    )


def _checked(spec: EditorToolSpec) -> OutputSchema:
    if not _NAME.fullmatch(spec.name):
        raise ToolError(
            f"The name {on_one_line(spec.name)[:100]!r} is not valid: a name begins with a letter of ASCII and has at "
            f"most {MAX_NAME_CHARS} letters, digits, `_` and `-`."
        )
    if not spec.description.strip():
        raise ToolError("The description is empty: the model would not know what the tool does.")
    if spec.schema.get("type") != "object":
        raise ToolError('The schema must have "type": "object", because the arguments of a call are an object.')
    try:
        n_chars = len(json.dumps(spec.schema))
        if n_chars > MAX_SCHEMA_CHARS:
            raise ToolError(f"The schema has {n_chars:,} characters; the limit is {MAX_SCHEMA_CHARS:,}.")
        checked = OutputSchema.of(spec.schema)
    except (SessionError, ValueError, RecursionError) as error:
        raise ToolError(str(error).replace("The output schema", "The schema", 1)) from None
    if spec.read_only and (spec.runs_programs or spec.command_argument):
        raise ToolError("A tool with readOnly cannot have runsPrograms or commandArgument: it would not only read.")
    if spec.risk is ToolRisk.LOW and not spec.read_only:
        raise ToolError('The risk "low" needs readOnly: the user is asked about a tool that changes something.')
    if spec.command_argument:
        _check_command(spec)
    return checked


def _has_pattern(schema: Any) -> bool:
    """Whether a schema has regular expressions. Arguments are not matched with them here: a model could choose text for
    which one takes hours, and nothing else would run meanwhile."""
    if isinstance(schema, list):
        return any(map(_has_pattern, cast("list[Any]", schema)))
    if not isinstance(schema, Mapping):
        return False
    given = cast("Mapping[str, Any]", schema)
    return (
        isinstance(given.get("pattern"), str) or "patternProperties" in given or any(map(_has_pattern, given.values()))
    )


def _check_command(spec: EditorToolSpec) -> None:
    properties: Any = spec.schema.get("properties")
    named: Any = cast("Mapping[str, Any]", properties).get(spec.command_argument) if properties else None
    if not isinstance(named, Mapping) or cast("Mapping[str, Any]", named).get("type") != "string":
        raise ToolError(f'commandArgument: the schema has no property {spec.command_argument!r} of "type": "string".')


def _risk(spec: EditorToolSpec) -> ToolRisk:
    if spec.command_argument:
        return ToolRisk.HIGH
    if spec.risk is not None:
        return spec.risk
    if spec.read_only:
        return ToolRisk.LOW
    return ToolRisk.HIGH if spec.destructive else ToolRisk.MEDIUM


def _text_of(result: EditorToolResult, context: ToolContext) -> str:
    """Return the text of a result, and add its images to the context."""
    texts: list[str] = []
    for each in result.parts:
        if each.image is None:
            texts.append(each.text)
        elif len(context.images) >= MAX_IMAGES:
            texts.append(f"[image, left out: a result may have {MAX_IMAGES} images]")
        else:
            try:
                context.images.append(picture_from_base64(each.image, "The image"))
                texts.append("[image, see below]")
            except ToolError as error:
                texts.append(f"[image, which cannot be shown. {error}]")
    if result.structured is not None and not any(texts):
        texts = [json.dumps(result.structured, ensure_ascii=False, indent=2)]
    return cut("\n".join(texts), PREFIX, MAX_RESULT_CHARS)[0]
