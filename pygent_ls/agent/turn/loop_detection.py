"""Loop detection: a model repeats the same calls with the same results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.events import LoopDetected
from pygent_ls.agent.messages import TextBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.agent.turn.limits import Stop

MAX_EQUAL = 3
"""Number of equal rounds that count as a loop: one to look, one to look again, and one by mistake."""

MAX_NAMES_CHARS = 100
"""Maximum characters of the tool names in the question; the model may have made them up."""

TOLD = TextBlock(
    text=(
        "<reminder>\nYou are going in circles: you have already made these calls with the same arguments, and "
        "they returned the same results. Repeating them will not help. Do something else, or say what is "
        "blocking you.\n</reminder>"
    )
)
"""Reminder that the model reads beside the results, once per turn."""


class LoopDetector:
    """Compares the rounds of one turn; a round is all calls of an answer with their results.

    A loop is the same round three times in a row, or two rounds that alternate three times. The first loop adds a
    reminder for the model; any later one asks the user.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all rounds, because the user lets the model go on."""
        self._last: tuple[str, str] = ("", "")
        self._n_same = 0
        self._n_alternating = 0
        self._was_told = False

    def note(
        self, calls: Sequence[ToolUseBlock], results: Mapping[str, ToolResultBlock], *, is_polling: bool
    ) -> TextBlock | Stop | None:
        """Record the next round. Return a reminder for the model, or a reason to stop.

        `is_polling` says that the round contains a tool that is meant to be called until something changes; such a
        round ends any loop.
        """
        if is_polling:
            self._last, self._n_same, self._n_alternating = ("", ""), 0, 0
            return None
        before, last = self._last
        this = _digest(calls, results)
        self._n_same = self._n_same + 1 if this == last else 1
        if this == last:
            self._n_alternating = 1
        else:
            self._n_alternating = self._n_alternating + 1 if this == before else 2
        self._last = (last, this)
        n = max(self._n_same, self._n_alternating // 2)
        if n < MAX_EQUAL:
            return None
        if not self._was_told:
            self._was_told = True
            return TOLD
        names = one_line(", ".join(dict.fromkeys(call.name for call in calls)), MAX_NAMES_CHARS)
        return Stop(
            reason="loop_detected",
            events=(LoopDetected(limit=MAX_EQUAL, value=n),),
            question=f"Paused: the model is going in circles, repeating the same calls ({names}) with the same "
            "results. Continue?",
        )


def _digest(calls: Sequence[ToolUseBlock], results: Mapping[str, ToolResultBlock]) -> str:
    rounds = [[call.name, call.input, results[call.id].content] for call in calls if call.id in results]
    return hashlib.sha256(json.dumps(rounds, sort_keys=True, default=str).encode()).hexdigest()
