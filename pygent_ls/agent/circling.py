"""Seeing that a model goes round in circles: the same calls with the same results, again and again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from pygent_ls.agent.events import LoopDetected
from pygent_ls.agent.limits import Stop
from pygent_ls.agent.messages import TextBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.agent.tool import one_line

MAX_EQUAL = 3
"""Equal rounds that are borne: one to look, one to look again, and one by mistake."""

MAX_NAMES_CHARS = 100
"""Of the tools that the question names, which the model may have made up."""

TOLD = TextBlock(
    text=(
        "<reminder>\nYou are going in circles: you have already made these calls with the same arguments, and "
        "they returned the same results. Repeating them will not help. Do something else, or say what is "
        "blocking you.\n</reminder>"
    )
)
"""What the model reads beside the results, once a turn."""


class CircleWatch:
    """Compares the rounds of one turn: all calls of an answer with their results are a round.

    A circle is the same round three times in a row, or two rounds that alternate three times. After the first one the
    model is told; after any more the user is asked.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget what was: the user lets the model go on."""
        self._last: tuple[str, str] = ("", "")
        self._n_same = 0
        self._n_alternating = 0
        self._was_told = False

    def note(
        self, calls: Sequence[ToolUseBlock], results: Mapping[str, ToolResultBlock], *, is_polling: bool
    ) -> TextBlock | Stop | None:
        """Take the next round. Returns what the model is to be told, or why to stop.

        `is_polling`: a tool is among them that is meant to be called until something changes; that ends any circle.
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
