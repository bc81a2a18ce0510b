"""Tool calls of an agent, put together from what it tells of them piece by piece. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.external_agent import CallStatus, ExternalCall, ProposedText
from pygent_ls.agent.json_fields import items, obj, objects, text
from pygent_ls.agent.kinds import ToolKind

MAX_OUTPUT_CHARS = 1_000_000
"""Maximum length of a call's output that is kept; its end."""

MAX_KNOWN = 10_000
"""Maximum number of calls of a session that are remembered."""

_STATUS: Mapping[str, CallStatus] = {
    "pending": "pending",
    "in_progress": "running",
    "completed": "done",
    "failed": "failed",
}

_KINDS: Mapping[str, ToolKind] = {
    "read": "read",
    "edit": "edit",
    "delete": "delete",
    "move": "move",
    "search": "search",
    "execute": "execute",
    "think": "think",
    "fetch": "fetch",
}

_PATHS = ("file_path", "filePath", "path", "fileName", "filepath", "absolute_path")
"""Arguments that name a file, as the agents spell them."""

_HARMLESS = frozenset({"read", "search", "think", "other"})
"""Kinds of calls that run no command."""

_SHELLS = frozenset({"bash", "sh", "zsh"})

_OUTPUTS = ("output", "stdout", "content", "text", "message")


class CallBook:
    """Calls of one session."""

    def __init__(self) -> None:
        self._calls: dict[str, ExternalCall] = {}

    def ask(self, given: Mapping[str, Any]) -> ExternalCall:
        """Return the call of a permission request. The title that the call had before stays: the request's is a
        question."""
        known = self._calls.get(text(given.get("toolCallId")))
        call = self.update(given)
        return self.update({"toolCallId": call.id, "title": known.title}) if known and known.title else call

    def update(self, given: Mapping[str, Any]) -> ExternalCall:
        """Return the call as it is known now; `given` is a tool call, an update of one, or that of a permission
        request, as JSON. What it does not tell stays."""
        call_id = text(given.get("toolCallId"))
        known = self._calls.get(call_id) or ExternalCall(id=call_id, title="", kind="other", status="pending")
        call = _updated(known, given)
        if call.status in ("done", "failed"):
            self._calls.pop(call_id, None)
        else:
            self._calls[call_id] = call
            if len(self._calls) > MAX_KNOWN:
                del self._calls[next(iter(self._calls))]
        return call


def _updated(known: ExternalCall, given: Mapping[str, Any]) -> ExternalCall:
    content, arguments = objects(given.get("content")), obj(given.get("rawInput"))
    kind = _KINDS.get(text(given.get("kind")), "other") if given.get("kind") else known.kind
    if kind in _HARMLESS and _command(arguments):
        kind = "execute"  # whatever the agent calls it
    title = text(given.get("title")) or known.title
    changes = tuple(_changes(content))
    return replace(
        known,
        title=title,
        kind=kind,
        status=_STATUS.get(text(given.get("status")), known.status),
        input=arguments or known.input,
        command=(_command(arguments) or known.command or _titled(title, arguments)) if kind == "execute" else "",
        url=text(arguments.get("url")) or known.url,
        folder=text(arguments.get("cwd")) or text(arguments.get("workdir")) or known.folder,
        paths=() if kind == "execute" else _all_paths(known, _paths(given, arguments), changes or known.changes),
        changes=changes or known.changes,
        patch=text(arguments.get("diff")) or known.patch,
        output=(_output(content) or _raw(given.get("rawOutput")))[-MAX_OUTPUT_CHARS:] or known.output,
    )


def _command(arguments: Mapping[str, Any]) -> str:
    given = arguments.get("command", arguments.get("cmd"))
    words = items(given)
    if len(words) == 3 and words[0].rsplit("/", 1)[-1] in _SHELLS and re.fullmatch(r"-[a-z]*c", words[1]):
        return words[2]
    return shlex.join(words) or text(given)


def _titled(title: str, arguments: Mapping[str, Any]) -> str:
    """Return the command of a call that tells it only in its title, unless that is cut off."""
    return "" if arguments or title.rstrip().endswith(("…", "...")) else title


def _paths(given: Mapping[str, Any], arguments: Mapping[str, Any]) -> Sequence[str]:
    located = [path for each in objects(given.get("locations")) if (path := text(each.get("path")))]
    return located or [path for name in _PATHS if (path := text(arguments.get(name)))]


def _all_paths(known: ExternalCall, named: Sequence[str], changes: Sequence[ProposedText]) -> tuple[str, ...]:
    """Return what a call is about: what it names now, or else named before, and each file that it changes."""
    return tuple(dict.fromkeys((*(named or known.paths), *(each.path for each in changes))))


def _changes(content: Sequence[Mapping[str, Any]]) -> Iterator[ProposedText]:
    for each in content:
        if each.get("type") == "diff" and (path := text(each.get("path"))):
            yield ProposedText(path=path, old=text(each.get("oldText")) or None, new=text(each.get("newText")))


def _output(content: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(said for each in content if (said := text(obj(each.get("content")).get("text"))))


def _raw(given: object) -> str:
    found = (text(obj(given).get(name)) for name in _OUTPUTS)
    return text(given) or next(filter(None, found), "")
