"""Requests of a turn: the context, within its limits, compacted if necessary."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from pygent_ls.agent.compaction.compactor import Compactor, Trigger
from pygent_ls.agent.compaction.forgotten_reads import forget_left_out
from pygent_ls.agent.context.editor_text import background
from pygent_ls.agent.context.memory import ContextMemory
from pygent_ls.agent.context.window import ContextCut, ContextRules, limits_reached, size_of
from pygent_ls.agent.events import Notice, UsageReported
from pygent_ls.agent.messages import Message, TextBlock, Usage
from pygent_ls.agent.ports.model import Model, ModelRequest
from pygent_ls.agent.tools.tool import ToolRegistry
from pygent_ls.agent.turn.provider_searches import WEB_SEARCH
from pygent_ls.agent.turn.state import TurnState
from pygent_ls.agent.turn_spec import ModelSettings
from pygent_ls.errors import ModelError

LEAST_ANSWER = 1_024
"""Minimum tokens that are left for an answer, however full the window is."""


def chars_of_tools(tools: ToolRegistry) -> int:
    """Return the characters of the tool definitions in a request."""
    definitions = tools.list_definitions()
    return sum(len(each.name + each.description + json.dumps(dict(each.schema))) for each in definitions)


@dataclass(kw_only=True)
class RequestBuilder:
    """Builds the requests of one turn from its history."""

    state: TurnState
    readable: Callable[[Message, Model], Message]
    """Returns a message as a model may be sent it; the same object if nothing has to change."""

    def __post_init__(self) -> None:
        self._sent = (ContextCut(), 0)
        """Cut of the last request, and its characters outside the conversation."""
        self._tools: tuple[ToolRegistry | None, int, int] = (None, 0, 0)

    @property
    def memory(self) -> ContextMemory:
        """Context memory of the session."""
        return self.state.context.memory.window

    @property
    def settings(self) -> ModelSettings:
        """Current settings of model calls."""
        return self.state.spec.model_settings

    async def request(self, model: Model) -> ModelRequest:
        """Build the next request. The conversation is compacted first if the window is nearly full."""
        now = background(self.state.context.environment.editor, self.state.context.environment.workspace.shown)
        n_around = self._n_around(now)
        self._follow()
        if self._is_near_limit(model, n_around):
            await self._compact(model, "auto", n_around)
        cut = self._fitting_cut(model, n_around)
        await self._tell_left_out(cut, model)
        return self._built(model, now, n_around, cut)

    async def make_room(self, model: Model, trigger: Trigger, refusal: str = "") -> bool:
        """Compact after the last request: it was refused as too long, with the message `refusal`, or left no room for
        its answer. Return False if the next request would be as long."""
        cut, n_around = self._sent
        if await self._compact(model, trigger, n_around, refusal):
            return True
        self._follow()
        return trigger == "overflow" and self._fitting_cut(model, n_around) != cut

    def explained(self, error: ModelError) -> ModelError:
        """Explain the refusal of a request that cannot be shortened, if most of it is outside the conversation."""
        cut, n_around = self._sent
        if error.type != "context_window" or n_around < size_of(self.memory.rows, cut):
            return error
        n_tools = len(self.state.context.tools.list_all())
        return ModelError(
            f"{error.message} Most of the request is not the conversation: the system prompt and {n_tools} tools "
            f"take up about {self.memory.scaled(n_around)} tokens. Offer fewer tools (disallowed_tools, or an "
            "agent that has few), or choose a model with a larger context window.",
            type=error.type,
            provider=error.provider,
            status=error.status,
            request_id=error.request_id,
        )

    def is_full(self, model: Model, usage: Usage) -> bool:
        """Whether the last request and its answer, with this usage, nearly fill the window."""
        return (usage.context_tokens or usage.total_tokens) >= self._compacts_at(model)

    def answered(self, model: Model, usage: Usage) -> None:
        """Store in the turn's usage how full the window is after an answer. `usage` is that call's own, and counted
        already."""
        tokens = self.memory.counted(usage, *self._sent)
        limit = self.memory.limit(self.settings.context, model)
        self.state.usage = replace(self.state.usage, context_tokens=tokens, context_limit=limit)

    def _follow(self) -> None:
        self.memory.follow(self.state.history, counts_words=self.settings.context.max_words > 0)

    def _cut(self, max_chars: int = 0) -> ContextCut:
        return self.memory.cut(self.settings.context, self.state.spec.turn_id, max_chars)

    def _is_near_limit(self, model: Model, n_around: int) -> bool:
        if self.settings.compaction.strategy == "off":
            return False
        return self.memory.tokens(self._cut(), n_around) >= self._compacts_at(model)

    def _compacts_at(self, model: Model) -> float:
        """Return the number of tokens from which the window counts as nearly full."""
        return self.settings.compaction.at * self.memory.limit(self.settings.context, model)

    async def _compact(self, model: Model, trigger: Trigger, n_around: int, refusal: str = "") -> bool:
        state, spent = self.state, list[Usage]()

        def spend(usage: Usage) -> None:
            spent.append(usage)
            before = state.usage
            state.usage = replace(
                before.plus(usage), context_tokens=before.context_tokens, context_limit=before.context_limit
            )

        compacting = Compactor(
            services=state.context,
            settings=self.settings,
            turn_id=state.spec.turn_id,
            model=model,
            summarizer=state.spec.summarizer or model,
            tell=state.emit,
            hooks=state.context.hooks,
            spend=spend,
            refusal=refusal,
        )
        try:
            done = await compacting.run(state.history, n_around, trigger)
        finally:
            state.model_s += compacting.model_s
        if done is not None:
            state.context.environment.instructions.forget_lost(self._cut().of(self.memory.messages))
        if spent:
            tokens = self.memory.tokens(self._cut(), n_around) if done is None else done.tokens_after
            limit = self.memory.limit(self.settings.context, model)
            state.usage = replace(state.usage, context_tokens=tokens, context_limit=limit)
            await state.emit(UsageReported(usage=state.root.total))
        return done is not None

    # The request

    async def _tell_left_out(self, cut: ContextCut, model: Model) -> None:
        """Warn once that the request leaves out part of the conversation, and why; again if the reason changes. The
        mode `fresh` leaves out earlier turns, which is expected and not reported."""
        memory, spec = self.memory, self.state.spec
        rows = memory.rows
        first = rows.first_of(spec.turn_id) if self.settings.context.mode == "fresh" else 0
        n_whole, n_sent = len(rows) - first, len(cut.of(memory.messages))
        if n_sent == n_whole:
            memory.told_left_out = None
            return
        reasons = limits_reached(
            rows, self.settings.context, spec.turn_id, memory.chars_for(self.settings.context.max_tokens)
        )
        if not reasons:
            reasons = (f"they do not fit into the context window of {model.name}",)
        if memory.told_left_out == reasons:
            return
        memory.told_left_out = reasons
        is_off = " The conversation is not compacted because compaction.strategy is off." * (
            self.settings.compaction.strategy == "off"
        )
        await self.state.emit(
            Notice(
                content=f"The model does not receive the oldest {n_whole - n_sent} of the {n_whole} messages in this "
                f"conversation: {' and '.join(reasons)}.{is_off} They stay in the session.",
                level="warning",
            )
        )

    def _built(self, model: Model, now: TextBlock | None, n_around: int, cut: ContextCut) -> ModelRequest:
        state, memory = self.state, self.memory
        spec, context = state.spec, state.context
        forget_left_out(context, memory, cut)
        self._sent = (cut, n_around)
        memory.n_chars_around = n_around

        def sent(message: Message) -> Message:
            return context.memory.marks.marked(self.readable(message, model))

        messages = memory.marked(cut, sent, model.name)
        if now is not None:
            marked = replace(now, text=context.memory.marks.around(now.text))
            messages[-1] = replace(messages[-1], content=(*messages[-1].blocks, marked))
        searches = self._lets_search(model)
        offered = context.tools.list_definitions()
        if searches or context.environment.search is None:
            offered = [each for each in offered if each.name != WEB_SEARCH]
        asked = state.structured.asked_of(model.facts, spec.system, offered)
        return ModelRequest(
            system=context.memory.marks.explained(asked.system),
            messages=messages,
            tools=asked.tools,
            output_schema=asked.schema,
            max_output_tokens=self._answer_room(model, cut, n_around),
            temperature=self.settings.temperature,
            max_thinking_tokens=self.settings.max_thinking_tokens,
            effort=self.settings.effort,
            cache_key=context.memory.session_id,
            searches_web=searches,
            reuse=memory.reuse,
        )

    def _lets_search(self, model: Model) -> bool:
        """Whether the provider may search the web in place of the tool, which the agent must have."""
        context = self.state.context
        tool = context.tools.get(WEB_SEARCH)
        if tool is None or not self.settings.provider_search or not model.facts.searches_web:
            return False
        is_hooked = context.hooks.listens("pre_tool_use", WEB_SEARCH)
        return not is_hooked and context.memory.permissions.allows_unasked(tool)

    def _fitting_cut(self, model: Model, n_around: int) -> ContextCut:
        """Return the cut that fits into the window with room for an answer, if nothing was compacted."""
        rules = self.settings.context
        window = self.memory.limit(ContextRules(), model)
        limit = min(self.memory.limit(rules, model), max(window - LEAST_ANSWER, window // 2))
        cut = self._cut()
        if self.memory.tokens(cut, n_around) <= limit:
            return cut
        return self._cut(max(self.memory.chars_for(limit) - n_around, 1))

    def _answer_room(self, model: Model, cut: ContextCut, n_around: int) -> int:
        """Return the maximum tokens of the answer: providers refuse a limit that does not fit into the window with the
        request."""
        wanted = self.state.max_output_tokens or self.settings.max_output_tokens
        window = model.facts.context_limit
        if window is None:
            return wanted
        return min(wanted, max(window - self.memory.tokens(cut, n_around), LEAST_ANSWER))

    def _n_around(self, now: TextBlock | None) -> int:
        """Return the characters of a request outside the conversation."""
        tools = self.state.context.tools
        known, n_tools, n_chars = self._tools
        if known is not tools or n_tools != len(tools.list_all()):
            n_tools, n_chars = len(tools.list_all()), chars_of_tools(tools)
            self._tools = (tools, n_tools, n_chars)
        return len(self.state.spec.system) + n_chars + (len(now.text) if now else 0)
