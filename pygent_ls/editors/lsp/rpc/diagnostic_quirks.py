"""Normalisation of other servers' diagnostics, which editors pass on unchanged: an invalid member does not invalidate
the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

Place = Mapping[str, Any]

MAX_NUMBER = 2**31 - 1
"""Maximum line or character number: the limit of the protocol's `uinteger`."""

MAX_DIAGNOSTICS = 100
"""Maximum number of diagnostics read from one request; editors send those of a few lines, not of the whole file."""


def action_context(given: Mapping[str, Any], asked: Any) -> dict[str, Any]:
    """Return the context of a `textDocument/codeAction` with the range `asked`, in decodable form.

    A diagnostic without a range gets that of the request. `only` is a list or missing.
    """
    found = [json_object(each) for each in _list(given.get("diagnostics"))[:MAX_DIAGNOSTICS]]
    mended: dict[str, Any] = {"diagnostics": [_diagnostic(each, asked) for each in found if each]}
    only = given.get("only")
    kinds = [only] if isinstance(only, str) else [each for each in _list(only) if isinstance(each, str)]
    if kinds:
        mended["only"] = kinds
    if given.get("triggerKind") in (1, 2):
        mended["triggerKind"] = given["triggerKind"]
    return mended


def _diagnostic(given: Mapping[str, Any], asked: Any) -> dict[str, Any]:
    """Return the diagnostic without members whose types violate the protocol."""
    place = _range(given.get("range")) or _range(asked) or asked
    mended = {**given, "range": place, "message": _message(given.get("message"))}
    for name, is_right in _CHECKS.items():
        if name in mended and not is_right(mended[name]):
            del mended[name]
    return mended


def _message(message: Any) -> str:
    """Return the message as text; newer servers send it as markup."""
    if isinstance(message, Mapping):
        message = cast("Mapping[str, Any]", message).get("value")
    return "" if message is None else str(message)


def _range(given: Any) -> Place | None:
    sides = [_position(json_object(given).get(name)) for name in ("start", "end")]
    start, end = sides[0], sides[1] or sides[0]
    return {"start": start, "end": end} if start is not None else None


def _position(given: Any) -> Place | None:
    """Return a valid position. Some servers send -1 for the beginning of a line, and a huge number for its end."""
    place = json_object(given)
    line, character = place.get("line"), place.get("character", 0)
    if not isinstance(line, int | float) or not isinstance(character, int | float):
        return None
    return {"line": _within(line), "character": _within(character)}


def _within(number: float) -> int:
    return int(max(0, min(number, MAX_NUMBER)))


def _is_severity(value: Any) -> bool:
    return value in (1, 2, 3, 4)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_tags(value: Any) -> bool:
    return isinstance(value, list) and all(each in (1, 2) for each in cast("list[Any]", value))


def _is_description(value: Any) -> bool:
    return isinstance(json_object(value).get("href"), str)


def _is_related(value: Any) -> bool:
    return isinstance(value, list) and all(_is_relation(each) for each in cast("list[Any]", value))


def _is_relation(value: Any) -> bool:
    location = json_object(json_object(value).get("location"))
    is_place = isinstance(location.get("uri"), str) and _range(location.get("range")) == location.get("range")
    return is_place and isinstance(json_object(value).get("message"), str)


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "severity": _is_severity,
    "source": _is_text,
    "tags": _are_tags,
    "codeDescription": _is_description,
    "relatedInformation": _is_related,
}


def json_object(value: Any) -> Mapping[str, Any]:
    """Return an object of JSON; anything else counts as an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
