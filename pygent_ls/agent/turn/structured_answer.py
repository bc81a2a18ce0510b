"""Structured answer of a turn: the model is offered a tool for it, and is asked if it does not call it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pygent_ls.agent.ports.model import ModelFacts, ToolDefinition
from pygent_ls.agent.tools.structured_output import STRUCTURED_OUTPUT, OutputSchema, Structured, structured_tool
from pygent_ls.agent.variants import without
from pygent_ls.errors import ModelError, ToolError

if TYPE_CHECKING:
    from pygent_ls.agent.calls.call_record import CallRecord
    from pygent_ls.agent.messages import ToolUseBlock
    from pygent_ls.agent.tools.tool import ToolRegistry

MAX_ASKED = 2
"""Maximum requests for the answer after a reply without the tool: one for a mistake, and one more for weak models."""

MAX_REFUSED = 5
"""Maximum rounds with an invalid answer: a model that reads the errors needs one or two."""

HOW_TO_ANSWER = f"""\
# Your answer
A program reads your answer, and takes it only from the tool {STRUCTURED_OUTPUT}. Do the task first, with whatever \
tools it needs. Then call {STRUCTURED_OUTPUT} once, alone, with the complete answer instead of closing words."""

HOW_TO_FORMAT = """\
# Your answer
A program reads your last message as JSON. Do the task first, with whatever tools it needs. Then answer with only the \
JSON value."""
"""Replaces `HOW_TO_ANSWER` for models that take the schema as the form of their text."""

TAKEN = "The answer was accepted."

TOO_EARLY = (
    "The answer was not accepted: another call of this response failed. Read its error, finish the remaining "
    f"work, and then call {STRUCTURED_OUTPUT} with the complete answer."
)

NOT_FOR_SUBAGENTS = {
    STRUCTURED_OUTPUT: "is only for the main turn, not for its subagents: answer in text",
    "remember": "is only for the main turn: say in your answer what is worth a note",
}


class AnswerRequest(Struct, frozen=True, kw_only=True):
    """Parts of a request that say how to answer."""

    system: str
    tools: Sequence[ToolDefinition]
    schema: Mapping[str, Any] | None = None


def _joined(system: str, more: str) -> str:
    return "\n\n".join(filter(None, (system.rstrip(), more)))


class StructuredAnswer(Struct, kw_only=True):
    """Requirements on the answer of one turn, and the answer once it is given. Without a schema any answer is valid."""

    schema: OutputSchema | None = None
    given: Structured | None = None
    """Valid answer; reset when the turn continues after it."""
    _n_asked: int = 0
    _n_refused: int = 0
    _last_refusal: str = ""
    _too_early: bool = False

    @classmethod
    def to(cls, schema: Mapping[str, Any] | None) -> StructuredAnswer:
        """Raises `SessionError` (`bad_output_schema`)."""
        return cls(schema=None if schema is None else OutputSchema.of(schema))

    def offered(self, tools: ToolRegistry) -> ToolRegistry:
        """Return the tools with the one that gives the answer, if it is required."""
        if self.schema is None:
            return tools
        others = without(tools, {STRUCTURED_OUTPUT: ""})
        return tools.with_tools([*others.list_all(), structured_tool(self.schema, self._give)], tools.withheld)

    def asked_of(self, model: ModelFacts, system: str, tools: Sequence[ToolDefinition]) -> AnswerRequest:
        """Return the parts of a request to the model: the schema as the form of its text if the model supports that, or
        else the tool."""
        if self.schema is None:
            return AnswerRequest(system=system, tools=tools)
        if not (model.formats_output and self.schema.is_for_arguments):
            return AnswerRequest(system=_joined(system, HOW_TO_ANSWER), tools=tools)
        others = [each for each in tools if each.name != STRUCTURED_OUTPUT]
        return AnswerRequest(system=_joined(system, HOW_TO_FORMAT), tools=others, schema=self.schema.for_arguments)

    def forget(self) -> None:
        """Discard the answer because the turn continues: it was given before the user's last message."""
        if self.given is not None:
            self.given, self._n_asked, self._n_refused = None, 0, 0

    # Calls

    def in_order(self, records: Sequence[CallRecord]) -> tuple[list[CallRecord], list[CallRecord]]:
        """Split the calls into those that run first and those that give the answer."""
        gives = [each for each in records if self._gives(each.asked)]
        return [each for each in records if each not in gives], gives

    def is_all_of(self, calls: Sequence[ToolUseBlock]) -> bool:
        """Whether the calls do nothing but give the answer."""
        return all(map(self._gives, calls))

    def _gives(self, call: ToolUseBlock) -> bool:
        return self.schema is not None and call.name == STRUCTURED_OUTPUT

    def begins_with(self, others: Sequence[CallRecord]) -> None:
        """Record that the other calls are over: if one failed, the model gave its answer without knowing."""
        self._too_early = any(each.result is not None and each.result.is_error for each in others)

    def ends_with(self, gives: Sequence[CallRecord]) -> None:
        """Record that the calls that should give the answer are over."""
        if gives and self.given is None:
            self._n_refused += 1
            last = gives[-1].result
            self._last_refusal = last.content if last else ""

    async def _give(self, answer: Structured) -> str:
        if self._too_early:
            raise ToolError(TOO_EARLY)
        self.given = answer
        return TAKEN

    # What is next

    def failed(self, model: str) -> ModelError | None:
        """Return why the turn ends without an answer, if the model has used up its attempts."""
        if self.given is not None or self._n_refused < MAX_REFUSED:
            return None
        return _none(model, f"the answer was refused {self._n_refused} times, the last time with: {self._last_refusal}")

    def after_text(self, text: str, model: str) -> str | ModelError | None:
        """Handle a reply without tool calls: return what the model is asked, or why the turn ends; None if the text
        will do."""
        if self.schema is None or self.given is not None:
            return None
        self.given = self.schema.found_in(text)
        if self.given is not None:
            return None
        if self._n_asked >= MAX_ASKED:
            return _none(model, f"it ended without a result although it was asked for one {MAX_ASKED} times")
        self._n_asked += 1
        schema = json.dumps(dict(self.schema.schema), ensure_ascii=False)
        return (
            f"No answer was received: {STRUCTURED_OUTPUT} was not called. Call it now with the complete answer. "
            f"If you cannot call tools, answer with a single JSON value that matches this JSON Schema:\n{schema}"
        )


def _none(model: str, why: str) -> ModelError:
    return ModelError(
        f"{model} gave no structured result: {why}. Try again, or choose another model.", type="server", provider=model
    )
