"""Which tool call a streamed fragment belongs to, also where a provider's indices and ids are odd. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pygent_ls.agent.model import ToolCallChunk
from pygent_ls.llm.message_rules import CALL_ID, COMMON, MAX_CALL_ID_CHARS


@dataclass(slots=True)
class _OpenCall:
    place: int
    index: int | None
    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])
    """In pieces: to join them anew with each would cost the square of their number."""
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the provider wants back with the call."""


@dataclass(slots=True)
class CallFragments:
    """The tool calls of one answer as they come in; `add` numbers them from 0 in the order they began.

    The format says that `index` tells the calls apart and that id and name come once. Seen instead: no index, every
    call at index 0 with an id of its own, id and name in every fragment, the same id for several calls, no ids.
    """

    _calls: list[_OpenCall] = field(default_factory=list[_OpenCall])

    @property
    def any(self) -> bool:
        """Whether a call has begun."""
        return bool(self._calls)

    def add(
        self, index: int | None, call_id: str, name: str, arguments: str, data: Mapping[str, Any] | None = None
    ) -> ToolCallChunk:
        """Return the fragment at its place; id and name are passed on once a call.

        An id that is too long to be kept is replaced, and goes back as a part of the provider's `data`.
        """
        call = self._find(index, call_id, name, arguments)
        if call is None:
            call = _OpenCall(place=len(self._calls), index=index, id="", name="")
            self._calls.append(call)
        new_id, new_name = call_id if not call.id else "", name if not call.name else ""
        call.id, call.name = call.id or call_id, call.name or name
        call.arguments.append(arguments)
        new_data = dict(data or {})
        if len(new_id) > MAX_CALL_ID_CHARS:
            new_data[CALL_ID] = new_id
            new_id = COMMON.fitting_id(new_id)
        call.data |= new_data
        return ToolCallChunk(
            index=call.place,
            id=new_id or None,
            name=new_name or None,
            arguments=arguments,
            provider_data=dict(call.data) if new_data else None,
        )

    def _find(self, index: int | None, call_id: str, name: str, arguments: str) -> _OpenCall | None:
        """The call that the fragment goes on with; None: it begins one."""
        if index is not None:
            call = self._latest(lambda each: each.index == index)
        elif call_id:
            call = self._latest(lambda each: each.id == call_id)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or (call_id and call.id and call_id != call.id):
            return None
        if call_id and call_id == call.id:
            return call
        begins = name and (arguments or name != call.name) and _is_whole("".join(call.arguments))
        return None if begins else call

    def _latest(self, wanted: Callable[[_OpenCall], bool]) -> _OpenCall | None:
        return next((call for call in reversed(self._calls) if wanted(call)), None)


def _is_whole(arguments: str) -> bool:
    """Whether nothing can follow: a complete JSON value stands there."""
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True
