"""Assignment of streamed fragments to tool calls, which tolerates odd indices and ids of providers. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from pygent_ls.agent.ports.model import ToolCallChunk
from pygent_ls.llm.message_rules import CALL_ID, COMMON, MAX_CALL_ID_CHARS


class _OpenCall(Struct):
    place: int
    index: int | None
    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])
    """Fragments: joining them each time would take quadratic time."""
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    """Data that the provider expects back with the call."""


class CallFragments(Struct):
    """The tool calls of one answer as they arrive; `add` numbers them from 0 in the order they began.

    By the format, `index` distinguishes the calls, and id and name come once. Observed instead: no index, every call at
    index 0 with an id of its own, id and name in every fragment, the same id for several calls, no ids.
    """

    _calls: list[_OpenCall] = field(default_factory=list[_OpenCall])

    @property
    def any(self) -> bool:
        """Whether a call has begun."""
        return bool(self._calls)

    def add(
        self, index: int | None, call_id: str, name: str, arguments: str, data: Mapping[str, Any] | None = None
    ) -> ToolCallChunk:
        """Return the fragment with its call's index; id and name are passed on once per call.

        An id that is too long is replaced, and is sent back as part of the provider's `data`.
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
        """Return the call that the fragment continues; None if it begins one."""
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
    """Whether the arguments are a complete JSON value, so that nothing can follow."""
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True
