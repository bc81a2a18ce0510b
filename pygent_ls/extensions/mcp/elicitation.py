"""Questions of MCP servers to the user: a form is asked field by field, an address is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec.structs import replace

from pygent_ls.agent.display_text import one_line, visible
from pygent_ls.agent.ports.questioner import AnswerChoice, Question, QuestionAnswer, QuestionAnswered

if TYPE_CHECKING:
    from mcp_types import ElicitRequestParams, ElicitResult

Ask = Callable[[Question], Awaitable[QuestionAnswer]]

MAX_FIELDS = 20
"""Maximum number of fields of a form; one with more is declined."""

MAX_MESSAGE_CHARS = 2_000

MAX_TITLE_CHARS = 100

MAX_TRIES = 3
"""Maximum number of answers to one field that do not fit its type; the form is then cancelled."""

DECLINE = AnswerChoice(title="Decline")
ACCEPT = AnswerChoice(title="Accept")

NONE = "-"
"""Answer that chooses nothing."""

Value = str | int | float | bool | list[str] | None


class _EndedError(Exception):
    """The form is over without an answer."""

    def __init__(self, action: Literal["decline", "cancel"]) -> None:
        super().__init__(action)
        self.action: Literal["decline", "cancel"] = action


async def elicit(server: str, params: ElicitRequestParams, ask: Ask) -> ElicitResult:
    """Ask the user what a server wants to know, and return its answer."""
    from mcp_types import ElicitResult

    async def asked(question: Question) -> QuestionAnswer:
        return await ask(replace(question, server=server))

    message = f"The MCP server {server} asks: {visible(params.message[:MAX_MESSAGE_CHARS])}"
    try:
        if params.mode == "url":
            await _choice(asked, f"{message}\n{visible(params.url)}", [AnswerChoice(title="I have opened it")])
            return ElicitResult(action="accept")
        return ElicitResult(action="accept", content=await _form(asked, message, params.requested_schema))
    except _EndedError as ended:
        return ElicitResult(action=ended.action)


async def _form(ask: Ask, message: str, schema: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values of the fields. An optional field without choices keeps its default. Raises `_EndedError`."""
    given = cast("Mapping[str, Any]", schema.get("properties") or {})
    fields = {name: cast("Mapping[str, Any]", field) for name, field in given.items() if isinstance(field, Mapping)}
    required = cast("Sequence[str]", schema.get("required") or ())
    if len(fields) > MAX_FIELDS or len(fields) < len(given):
        raise _EndedError("decline")
    if not fields:
        await _choice(ask, message, [ACCEPT])
        return {}
    found: dict[str, Value] = {}
    for name, field in fields.items():
        choices, several = _choices(field), _several(field)
        if choices is None and several is None and name not in required:
            if "default" in field:
                found[name] = field["default"]
            continue
        title = one_line(field.get("title") or name, MAX_TITLE_CHARS)
        about = visible(str(field.get("description") or ""))
        text = f"{message}\n{title}{f': {about}' if about else ''}"
        if several is not None:
            found[name] = await _chosen(ask, text, several, required=name in required)
        else:
            found[name] = await _value(ask, text, field, choices)
    return found


async def _chosen(ask: Ask, text: str, choices: Mapping[str, Value], *, required: bool) -> list[str]:
    """Return the values of several choices, which the user names. Raises `_EndedError`."""
    comma, name = (";", "semicolons") if any("," in each for each in choices) else (",", "commas")
    listed = f"{comma} ".join(choices)
    text = f"{text}\nOne or more of these, separated by {name}: {listed}" + ("" if required else f" ({NONE} for none)")
    for _ in range(MAX_TRIES):
        given = [each.strip() for each in (await _words(ask, text)).split(comma)]
        if given == [NONE] and not required:
            return []
        if unknown := [each for each in given if each not in choices]:
            text = f"{text}\n{one_line(', '.join(unknown))!r} cannot be chosen."
        else:
            return [str(choices[each]) for each in dict.fromkeys(given)]
    raise _EndedError("cancel")


async def _value(ask: Ask, text: str, field: Mapping[str, Any], choices: Mapping[str, Value] | None) -> Value:
    if choices is not None:
        return choices[await _choice(ask, text, [AnswerChoice(title=each) for each in choices])]
    for _ in range(MAX_TRIES):
        given = await _words(ask, text)
        try:
            match field.get("type"):
                case "integer":
                    return int(given)
                case "number":
                    return float(given)
                case "array":
                    return [each.strip() for each in given.split(",")]
                case _:
                    return given
        except ValueError:
            text = f"{text}\n{one_line(given)!r} is not a number."
    raise _EndedError("cancel")


def _several(field: Mapping[str, Any]) -> dict[str, Value] | None:
    """Return the values of a field that takes several choices, by their titles."""
    items = field.get("items")
    if field.get("type") != "array" or not isinstance(items, Mapping):
        return None
    return _choices(cast("Mapping[str, Any]", items))


def _choices(field: Mapping[str, Any]) -> dict[str, Value] | None:
    """Return the values of a field by the titles to choose from; None if any text is an answer."""
    if field.get("type") == "boolean":
        return {"Yes": True, "No": False}
    options = field.get("oneOf", field.get("anyOf"))
    if isinstance(options, list):
        found = [cast("Mapping[str, Any]", each) for each in cast("list[object]", options) if isinstance(each, Mapping)]
        titles = {each["const"]: each.get("title") for each in found if isinstance(each.get("const"), str)}
    elif isinstance(field.get("enum"), list):
        values = cast("list[object]", field["enum"])
        names = field.get("enumNames")
        titles = dict(zip(map(str, values), cast("list[object]", names or values), strict=False))
    else:
        return None
    return {one_line(title or value, MAX_TITLE_CHARS): value for value, title in titles.items()}


async def _choice(ask: Ask, text: str, choices: Sequence[AnswerChoice]) -> str:
    """Return the title of the choice. Raises `_EndedError`."""
    question = Question(
        question_id="mcp", session_id="", tool_id="", text=text, choices=(*choices, DECLINE), from_model=False
    )
    answer = await ask(question)
    if not isinstance(answer, QuestionAnswered) or not answer.choice:
        raise _EndedError("cancel")
    if answer.choice == DECLINE.title:
        raise _EndedError("decline")
    return answer.choice


async def _words(ask: Ask, text: str) -> str:
    question = Question(question_id="mcp", session_id="", tool_id="", text=text, from_model=False, is_open=True)
    answer = await ask(question)
    if not isinstance(answer, QuestionAnswered) or not answer.text:
        raise _EndedError("cancel")
    return answer.text
