"""Hooks that are functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from pygent_ls.agent.ports.hooks import NOTHING, HookEvent, HookInput, HookOutcome, HookRan
from tests.fakes import Gate

Answer = HookOutcome | Callable[[HookInput], HookOutcome]


class FakeHooks:
    """One hook an event, which answers with a value or by a function. Records what each was given.

    `gates` hold the hooks of an event until they are opened.
    """

    def __init__(self, answers: Mapping[HookEvent, Answer]) -> None:
        self.given: list[HookInput] = []
        self.gates: dict[HookEvent, Gate] = {}
        self._answers = dict(answers)

    @property
    def events(self) -> list[HookEvent]:
        """What they were run for, in order."""
        return [each.event for each in self.given]

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """Whether there is one for the event."""
        return event in self._answers

    async def run(self, given: HookInput) -> HookOutcome:
        """Answer."""
        answer = self._answers.get(given.event)
        if answer is None:
            return NOTHING
        self.given.append(given)
        if gate := self.gates.get(given.event):
            await gate.pass_through()
        said = answer if isinstance(answer, HookOutcome) else answer(given)
        ran = HookRan(hook_event=given.event, command="hook", decision=said.decision or "", duration_s=0.0)
        return replace(said, ran=(ran,))


def deny(reason: str = "not today") -> HookOutcome:
    """Return an outcome that denies."""
    return HookOutcome(decision="deny", reason=reason)
