"""Compaction of a session's context: `summary.py` decides what to leave out, and a model summarises it here."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.compaction.shortened_history import cuts_words, least_chars, share_that_fits, shortened
from pygent_ls.agent.compaction.summary import (
    MAX_TOUCHED,
    SUMMARY,
    SUMMARY_SYSTEM,
    TAIL,
    TARGET,
    TASK,
    WORDS,
    Parts,
    SummaryStanding,
    Touched,
    covering,
    left_out,
    middle_cut,
    parts_of,
    summed_up,
    transcript,
    with_results_dropped,
)
from pygent_ls.agent.context.memory import ContextMemory
from pygent_ls.agent.context.window import CHARS_PER_TOKEN, ContextCut, chars_of, is_prompt, size_of
from pygent_ls.agent.events import AgentEvent, Compacted, Notice
from pygent_ls.agent.hook_runner import NO_REASON, HookRunner
from pygent_ls.agent.messages import Message, TextBlock, Usage, user_message
from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.agent.ports.model import Model, ModelRequest
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.telemetry import ModelCallSpan, observed
from pygent_ls.agent.tools.tool import path_arguments
from pygent_ls.agent.turn_spec import ModelSettings
from pygent_ls.errors import ModelError

Trigger = Literal["auto", "overflow", "manual"]
"""Reason for a compaction: the window is nearly full · a model refused a request as too long · the user asked."""

LEAST_GAIN = 0.1
"""Minimum share of the window to gain from a compaction that can still be postponed: each one costs a call, and the
provider's cache."""

LATEST = 0.95
"""Share of the window up to which a compaction is postponed after a temporary failure of the summary."""

LEAST_WINDOW = 4_000
"""Smallest window, in tokens, that a refused request implies. Our tools alone are larger."""

LEAST_ROOM = 4_000
"""Minimum characters for a conversation: if less of the window is left, shortening it does not help."""

SUMMARY_TOKENS = 4_000
"""Maximum tokens of a summary: about three pages."""

LARGEST = 2 / 3
"""Maximum share of the room for a conversation that one message of the user may take, however long it is."""

NOT_WHOLE = (
    "Your message and its attachments are too long, so the model does not receive the middle of them. Name files "
    "instead of pasting them, or choose a model with a larger context window."
)

SUMMARY_TRIES = 3
"""Maximum number of requests for one summary. If one is refused as too long, the next sends half of the text."""


class Room(Struct, frozen=True, kw_only=True):
    """Space for a conversation, in characters."""

    window: int
    """Maximum size of a whole request."""
    around: int
    """Size of the system prompt and the tools."""
    at: float
    """Share of the window at which it counts as full."""

    @property
    def target(self) -> int:
        """Intended size of the messages after the compaction."""
        return max(int(self.window * TARGET) - self.around, 0)

    @property
    def most(self) -> int:
        """Maximum size of the messages that leaves room for an answer."""
        return max(int(self.window * self.at) - self.around, (self.window - self.around) // 2, LEAST_ROOM)


class Compactor(Struct, kw_only=True):
    """Compacts the context of one session, during a turn or at the user's request."""

    services: SessionServices
    settings: ModelSettings
    turn_id: str
    """The running turn, or the last one."""
    model: Model
    """Model whose context window is compacted."""
    summarizer: Model
    tell: Callable[[AgentEvent], Awaitable[None]]
    hooks: HookRunner
    spend: Callable[[Usage], None]
    """Receives the usage of each summary."""
    refusal: str = ""
    """Message with which the provider refused the last request; set for `overflow`."""
    denied: str = ""
    """Reason why the user's hooks prevented the compaction."""
    model_s: float = 0.0
    """Seconds spent waiting for summaries."""
    _added: str = ""
    """Text that hooks add to what is summarised."""

    @property
    def memory(self) -> ContextMemory:
        """The session's context memory."""
        return self.services.memory.window

    async def run(
        self, history: Sequence[Message], n_chars_around: int, trigger: Trigger, instruction: str = ""
    ) -> Compacted | None:
        """Compact the context and emit the result; return None if there was nothing to gain.

        If a summary fails, a notice is emitted, and its messages are left out without one. With `manual`, the failure
        raises `ModelError` and nothing has changed. Nothing has changed after a cancellation either.
        """
        memory = self.memory
        memory.follow(history, counts_words=self.settings.context.max_words > 0)
        cut = memory.cut(self.settings.context, self.turn_id)
        before = memory.tokens(cut, n_chars_around)
        if trigger == "overflow":
            self._learn(before, size_of(memory.rows, cut) + n_chars_around)
        if not history or (trigger != "manual" and self.settings.compaction.strategy == "off"):
            return None
        occasion = (memory.messages[-1], trigger)
        if memory.tried == occasion:  # the result would be the same again
            return None
        window = memory.chars_for(memory.limit(self.settings.context, self.model))
        room = Room(window=window, around=n_chars_around, at=self.settings.compaction.at)
        parts = self._parts(cut, room, trigger)
        done = None
        if self._is_worth_it(parts, cut, before, room, trigger) and await self._may(trigger):
            standing = await self._standing(parts, room, trigger, instruction)
            if standing is not None:
                done = await self._replaced(history, parts, standing, room, before)
        if not (trigger == "manual" and self.denied):
            memory.tried = occasion
        return done

    def _learn(self, n_tokens: int, n_chars: int) -> None:
        """Record that the model refused a request of `n_tokens` counted tokens and `n_chars` characters."""
        sent = max(n_tokens, self.memory.scaled(n_chars))
        fits = min(share_that_fits(self.refusal), 0.9)
        self.memory.refused(self.model, max(int(sent * fits), LEAST_WINDOW))

    def _parts(self, cut: ContextCut, room: Room, trigger: Trigger) -> Parts:
        memory = self.memory
        tail = int(room.window * TAIL)
        if trigger == "manual":
            tail = min(tail, size_of(memory.rows, cut) // 5)
        first = memory.messages[cut.start if cut.head is None else cut.head]
        task = min(chars_of(first), int(room.window * TASK))
        others = task + int(room.window * WORDS) + min(CHARS_PER_TOKEN * SUMMARY_TOKENS, room.window // 10)
        tail = max(min(tail, room.target - others), 0)
        return parts_of(memory.rows, memory.messages, cut, memory.compaction, tail)

    def _is_worth_it(self, parts: Parts, cut: ContextCut, before: int, room: Room, trigger: Trigger) -> bool:
        if trigger != "manual" and size_of(self.memory.rows, cut) < LEAST_GAIN * room.window:
            return False  # the system prompt and the tools are too long
        match trigger:
            case "overflow":
                return True
            case "manual":
                return bool(parts.middle)
            case "auto":
                is_full = before >= self.memory.limit(self.settings.context, self.model)
                return is_full or parts.n_middle_chars >= LEAST_GAIN * room.window

    async def _may(self, trigger: Trigger) -> bool:
        """Whether the user's hooks allow the compaction. What they add is sent to the model that summarises."""
        said = await self.hooks.fire("pre_compact", {"reason": trigger})
        self._added = said.context
        if said.decision != "deny":
            return True
        self.denied = f"A hook that you configured prevented compaction: {said.reason or NO_REASON}"
        if trigger != "manual":  # the caller of a manual one reports it
            await self._warn(self.denied)
        return False

    async def _replaced(
        self, history: Sequence[Message], parts: Parts, standing: SummaryStanding, room: Room, before: int
    ) -> Compacted | None:
        memory = self.memory
        tail = memory.messages[parts.tail_place :]
        n_stands, n_tail = (sum(map(chars_of, each)) for each in (standing.messages, tail))
        is_cut = cuts_words(parts, standing)
        if n_stands + n_tail > room.most:
            shorter = shortened(tail, max(room.target - n_stands, 0), max(room.most - n_stands, 0))
            if shorter != tuple(tail):
                is_cut = is_cut or any(one != other for one, other in zip(tail, shorter, strict=True) if is_prompt(one))
                standing = replace(standing, messages=(*standing.messages, *shorter))
                parts = replace(parts, tail_place=len(memory.messages))
        n_before = size_of(memory.rows, memory.cut(self.settings.context, self.turn_id)) + room.around
        made = covering(memory, history, parts, standing)
        if sum(map(chars_of, made.applied(history))) >= sum(map(chars_of, memory.messages)):
            return None
        memory.add(made, history)
        n_after = size_of(memory.rows, memory.cut(self.settings.context, self.turn_id)) + room.around
        after = before * n_after // max(n_before, 1)  # scaled from the provider's count, if any
        done = Compacted(tokens_before=before, tokens_after=after, messages_summarised=len(parts.middle))
        await self.tell(done)
        if is_cut:
            await self._warn(NOT_WHOLE)
        return done

    # Replacement messages

    async def _standing(self, parts: Parts, room: Room, trigger: Trigger, instruction: str) -> SummaryStanding | None:
        """Return the replacement messages; None if the compaction can wait for the next request."""
        strategy = "summarize" if trigger == "manual" else self.settings.compaction.strategy
        share = self._share(parts, room)
        if not parts.middle:  # the first message alone may be too long
            return summed_up(parts, parts.summary, share)
        if strategy == "trim":
            return left_out(parts, share)
        if strategy == "drop_tool_results":
            return await self._cheaply(parts, room)
        try:
            summary = await self._summary_of_any(parts, instruction)
        except ModelError as error:
            if trigger == "manual":
                raise
            if trigger == "auto" and error.retryable and self._can_wait(room):
                await self._warn(
                    f"The conversation could not be summarized yet: {error.message} Compaction will be retried."
                )
                return None
            return await self._cheaply(parts, room, f"The conversation could not be summarized: {error.message} ")
        return summed_up(parts, summary, share)

    def _share(self, parts: Parts, room: Room) -> int:
        """Return the window size for the shares of the replacement: a smaller one if what stays leaves less room."""
        tail = self.memory.messages[parts.tail_place :]
        if not tail and not parts.middle:
            return int(room.most * LARGEST / TASK)
        free = room.most - min(least_chars(tail), int(room.most * LARGEST))
        return min(room.window, int(free / (TASK + WORDS + SUMMARY)))

    def _can_wait(self, room: Room) -> bool:
        memory = self.memory
        tokens = memory.tokens(memory.cut(self.settings.context, self.turn_id), room.around)
        return tokens < LATEST * memory.limit(self.settings.context, self.model)

    async def _cheaply(self, parts: Parts, room: Room, problem: str = "") -> SummaryStanding:
        """Leave out tool results if that suffices, otherwise messages. Warns about what was lost."""
        messages = self.memory.messages
        dropped = with_results_dropped(parts, messages[parts.place : parts.tail_place])
        n_left = sum(map(chars_of, (*dropped.messages, *messages[parts.tail_place :])))
        if n_left <= room.target:
            if problem:
                await self._warn(f"{problem}Earlier tool results were left out instead, to make room.")
            return dropped
        await self._warn(
            f"{problem or 'Leaving out tool results did not make enough room. '}{len(parts.middle)} earlier "
            "messages were left out: the model no longer sees them, except for your own words. They stay in the "
            "session."
        )
        return left_out(parts, self._share(parts, room))

    async def _warn(self, content: str) -> None:
        await self.tell(Notice(content=content, level="warning"))

    # The summary

    async def _summary_of_any(self, parts: Parts, instruction: str) -> str:
        """Return the summary of the configured summarizer, or of the conversation's own model if that one fails."""
        await self.tell(Notice(content="Summarizing the conversation to make room."))
        if self.summarizer.name != self.model.name:
            try:
                return await self._summary(self.summarizer, parts, instruction)
            except ModelError as error:
                name = self.summarizer.name
                await self._warn(
                    f"{name} could not summarize the conversation, so {self.model.name} does it: {error.message}"
                )
        return await self._summary(self.model, parts, instruction)

    async def _summary(self, model: Model, parts: Parts, instruction: str) -> str:
        """Return a model's summary, with the touched files and the plan, which need no model. Raises `ModelError`."""
        await model.prepare()
        limit = self.memory.limit(self.settings.context, model)
        limit = min(limit, model.facts.context_limit or limit)  # the settings' limit may exceed this model's window
        n_answer = min(SUMMARY_TOKENS, max(limit // 8, 256))
        budget = self.memory.chars_for(max(limit * 3 // 4 - n_answer, 500)) - len(SUMMARY_SYSTEM)
        said = ""
        for n_tried in range(SUMMARY_TRIES):
            request = self._request(transcript(parts, max(budget >> n_tried, 500)), instruction, n_answer)
            began_s = time.monotonic()
            try:
                span = ModelCallSpan(session_id=self.services.memory.session_id, model=model.name, request=request)
                with observed(self.services.environment.telemetry, span):
                    completion = await model.complete(request)
                    span.answer = ModelAnswer.of(completion)
            except ModelError as error:
                if error.type == "context_window" and n_tried < SUMMARY_TRIES - 1:
                    continue
                raise
            finally:
                self.model_s += time.monotonic() - began_s
            self.spend(completion.usage)
            said = middle_cut(completion.text.strip(), CHARS_PER_TOKEN * n_answer)
            break
        if not said:
            raise ModelError(f"{model.name} returned an empty summary.", type="server", provider=model.name)
        return "\n\n".join(filter(None, (said, self._touched(parts.middle).text, self.services.memory.plan.text)))

    def _request(self, text: str, instruction: str, n_answer: int) -> ModelRequest:
        marks = self.services.memory.marks
        wish = f"\nThe user asks for this in particular: {instruction}" if instruction else ""
        added = f"\n\n[Also include:]\n{self._added}" if self._added else ""
        asked = TextBlock(text=f"Write the summary of the conversation above.{wish}")
        message = user_message((TextBlock(text=text + added, from_outside=True), asked), turn_id=self.turn_id)
        return ModelRequest(
            system=marks.explained(SUMMARY_SYSTEM),
            messages=(marks.marked(message),),
            tools=(),
            max_output_tokens=n_answer,
            temperature=self.settings.temperature,
        )

    def _touched(self, messages: Sequence[Message]) -> Touched:
        read: dict[str, None] = {}
        changed: dict[str, None] = {}
        for call in (call for message in messages for call in message.tool_calls):
            tool = self.services.tools.get(call.name)
            if tool is not None and tool.kind in ("read", "edit", "delete", "move"):
                (read if tool.kind == "read" else changed).update(dict.fromkeys(path_arguments(call.input)))
        only_read = [name for name in read if name not in changed]
        return Touched(read=only_read[-MAX_TOUCHED:], changed=list(changed)[-MAX_TOUCHED:])
