"""Model calls with retries, fallback models, and more room for an answer that did not fit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from pygent_ls.agent.context.images import has_picture, without_pictures
from pygent_ls.agent.events import LlmError, Notice
from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.agent.model.retry import Failed, RetryController, RetryLoop, WaitingRetries
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.turn.attempt import Attempt
from pygent_ls.agent.turn.request_builder import RequestBuilder
from pygent_ls.agent.turn.state import TurnState
from pygent_ls.errors import ModelError, ModelErrorType

NO_OTHER_MODEL_HELPS: frozenset[ModelErrorType] = frozenset({"invalid_request", "content_filter", "context_window"})
"""Errors of the request itself, for which no fallback model is asked."""


@dataclass(kw_only=True)
class ModelCalls:
    """The model calls of one turn.

    One call (an iteration) may take several requests: the same model is asked again after a transient failure, or with
    more room for an answer that did not fit; then its fallbacks are asked.
    """

    state: TurnState
    retries: RetryController = field(default_factory=WaitingRetries)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._fallbacks = list(self.state.spec.model_settings.fallback_models)
        self._context = RequestBuilder(state=self.state, readable=_readable)
        self._n_requests = 0
        self._made_room = False
        """Whether the conversation was compacted for this iteration because a request did not fit."""
        self._names_no_finish: set[str] = set()
        """Models whose last answer ended without a finish reason; after a second one in a row, the model seems to send
        none."""
        self._names_blind: set[str] = set()
        """Models about which the user was told that they accept no images."""

    async def ask(self) -> ModelAnswer:
        """Make one iteration and return the complete answer, which is emitted and counted in the turn's usage, but not
        added to its history.

        Raises `ModelError` after the failure has been emitted. When cancelled, the text so far is kept in the history.
        """
        self.state.iterations += 1
        self._n_requests = 0
        self._made_room = False
        while True:
            asked = self.state.model
            came = await self._asked_until_settled(asked)
            if isinstance(came, ModelAnswer):
                return came
            chosen = self.state.model  # the user may have chosen another model meanwhile
            other = chosen if chosen is not asked else await self._fallback_for(came.error)
            await self._tell(came, fallback=other)
            if other is None:
                raise came.error
            if self.state.model is asked:
                self.state.use(other)

    async def has_price(self) -> bool:
        """Whether a call of the current model will report its cost."""
        model = self.state.model
        try:
            await self._prepare(model)
        except ModelError:
            return True  # the call itself will report the error
        return model.facts.has_price

    async def failed(self, error: ModelError) -> ModelError:
        """Emit a failure that ends the turn; return it, to be raised."""
        await self._tell(Failed(error=error))
        return error

    async def _asked_until_settled(self, model: Model) -> ModelAnswer | Failed:
        """Ask one model, with retries as long as they may help."""

        async def attempt() -> ModelAnswer | Failed:
            return await self._attempted(model)

        async def tell(failed: Failed, delay_s: float) -> None:
            await self._tell(failed, retry_in_s=delay_s)

        retrying = RetryLoop(
            policy=self.state.spec.model_settings.retry, controller=self.retries, clock=self.clock, tell=tell
        )
        return await retrying.run(attempt)

    async def _attempted(self, model: Model) -> ModelAnswer | Failed:
        """Send one request; send it again at once if its obstacle could be removed."""
        while True:
            attempt = self._next_attempt(model)
            try:
                await self._prepare(model)
            except ModelError as error:
                return Failed(error=error)
            await self._tell_of_pictures(model)
            came = await attempt.run(await self._context.request(model))
            if isinstance(came, ModelAnswer):
                came = self._checked(attempt, came)
            if isinstance(came, Failed):
                if not await self._fits_now(came, model):
                    return replace(came, error=self._context.explained(came.error))
                await self._tell(came, retry_in_s=0.0)
                continue
            what_helps = await self._given_room(came, model)
            if what_helps is None:
                self._context.answered(model, came.usage)
                await attempt.report()
                return came
            await self._tell(attempt.failed(ModelError(what_helps)), retry_in_s=0.0)

    def _next_attempt(self, model: Model) -> Attempt:
        self._n_requests += 1
        again = f".{self._n_requests}" if self._n_requests > 1 else ""
        prefix = f"{self.state.spec.item_prefix}-{self.state.iterations}{again}"
        return Attempt(state=self.state, model=model, item_prefix=prefix, clock=self.clock)

    async def _prepare(self, model: Model) -> None:
        if not model.ready:
            await self.state.emit(Notice(content=f"Loading the model {model.name}…"))
        await model.prepare()

    async def _tell_of_pictures(self, model: Model) -> None:
        """Tell the user once that the model will not see their images."""
        if model.facts.takes_images or model.name in self._names_blind:
            return
        if has_picture(each for each in self.state.history if each.turn_id == self.state.spec.turn_id):
            self._names_blind.add(model.name)
            said = (
                f"{model.name} does not accept images, so they are left out. Choose a model that does, or "
                "describe what they show."
            )
            await self.state.emit(Notice(content=said, level="warning"))

    def _checked(self, attempt: Attempt, answer: ModelAnswer) -> ModelAnswer | Failed:
        """Return the answer, or a failure if the stream ended without a finish reason: it broke off, and arguments of a
        call may be missing. If a model does so twice in a row, it seems to send no finish reason, and its text is taken
        as complete."""
        name = attempt.model.name
        if answer.finish is not None:
            self._names_no_finish.discard(name)
            return answer
        if name in self._names_no_finish and not answer.has_calls and not answer.is_empty:
            return answer
        self._names_no_finish.add(name)
        where = "in a tool call" if answer.has_calls else "before it was complete"
        return attempt.failed(
            ModelError(f"The answer from {name} broke off {where}. Try again.", type="network", provider=name)
        )

    async def _fits_now(self, failed: Failed, model: Model) -> bool:
        """Shorten the context after a request was too long for the model; return whether that succeeded. Tried once per
        iteration."""
        if failed.error.type != "context_window" or self._made_room:
            return False
        self._made_room = True
        return await self._context.make_room(model, "overflow", failed.error.message)

    async def _given_room(self, answer: ModelAnswer, model: Model) -> str | None:
        """Make room for an answer that was cut off and cannot be continued; return what was done, as a message for the
        user. None if the answer needs no room, or if nothing is left to try."""
        if answer.finish_reason != "length" or answer.is_endless or (answer.text.strip() and not answer.has_calls):
            return None
        where = "in a tool call" if answer.has_calls else "before its first word"
        if self._context.is_full(model, answer.usage) and await self._context.make_room(model, "auto"):
            return (
                f"The answer was cut off {where} because the context window is full. Retrying with a shorter context."
            )
        state = self.state
        before, most = state.spec.model_settings.max_output_tokens, state.model.facts.max_output_tokens
        if state.max_output_tokens or (most is not None and most <= before):
            return None
        state.max_output_tokens = most or 2 * before
        return f"The answer was cut off {where} at {before} tokens. Retrying with room for {state.max_output_tokens}."

    # Fallbacks

    async def _fallback_for(self, error: ModelError) -> Model | None:
        """Return the next available fallback model, if another model may help."""
        while self._fallbacks and error.type not in NO_OTHER_MODEL_HELPS:
            name = self._fallbacks.pop(0)
            try:
                model = self.state.spec.make_model(name)
                await self._prepare(model)
            except ModelError as problem:
                await self.state.emit(
                    Notice(content=f"Fallback model {name} was skipped: {problem.message}", level="warning")
                )
                continue
            return model
        return None

    async def _tell(self, failed: Failed, *, retry_in_s: float | None = None, fallback: Model | None = None) -> None:
        error = failed.error
        await self.state.emit(
            LlmError(
                error_type=error.type,
                error_message=error.message,
                retryable=error.retryable or retry_in_s is not None,
                attempt=failed.attempt,
                will_retry=retry_in_s is not None,
                retry_in_s=retry_in_s,
                fallback_model=fallback.name if fallback else None,
                withdrawn=failed.withdrawn,
            )
        )


def _readable(message: Message, model: Model) -> Message:
    """Return the message without the thoughts and the provider data of other families, which only their own providers
    take, and without pictures if the model takes none."""
    if not model.facts.takes_images:
        message = without_pictures(message)
    blocks = message.blocks
    if all(isinstance(block, TextBlock | ImageBlock | ToolResultBlock) for block in blocks):
        return message
    family = model.facts.family
    own = tuple(_for_family(block, family) for block in blocks if not _is_foreign_thought(block, family, model.name))
    return message if own == blocks else replace(message, content=own)


def _is_foreign_thought(block: Block, family: str, model: str) -> bool:
    if not isinstance(block, ThinkingBlock):
        return False
    return block.family != family if block.family else block.model not in ("", model)


def _for_family(block: Block, family: str) -> Block:
    """Return a tool call without what another family's provider wants back; other blocks as they are."""
    if isinstance(block, ToolUseBlock) and block.provider_data is not None and block.family != family:
        return replace(block, family="", provider_data=None)
    return block
