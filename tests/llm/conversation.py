"""A conversation with a model whose tools are played; for tests of models that decide by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pygent_ls.agent.context.untrusted_text import Marks
from pygent_ls.agent.messages import Message, ToolResultBlock, user_message
from pygent_ls.agent.ports.model import Chunk, Model, ToolCallChunk, ToolDefinition
from pygent_ls.errors import ToolError
from pygent_ls.llm.offline.model import OfflineModel
from tests.llm.model_contract import chunks_of, joined, reasons, request

ALL_TOOLS = (
    "read_file",
    "list_files",
    "find_files",
    "grep_search",
    "edit_file",
    "create_file",
    "copy_file",
    "move_file",
    "delete_file",
    "shell",
)

ToolRun = Callable[[str, Mapping[str, Any]], str]
"""A tool's name and arguments to its result; a `ToolError` is an error result."""

ToolCalled = tuple[str, dict[str, Any]]


def says_ok(tool: str, given: Mapping[str, Any]) -> str:
    return f"{tool} is done."


@dataclass(kw_only=True)
class Conversation:
    """Plays the loop: makes each call that the model asks for, until it asks for none."""

    model: Model = field(default_factory=OfflineModel)
    run: ToolRun = says_ok
    tools: Sequence[str] = ALL_TOOLS
    messages: list[Message] = field(default_factory=list[Message])
    calls: list[ToolCalled] = field(default_factory=list[ToolCalled])
    marks: Marks = field(default_factory=Marks)

    async def ask(self, prompt: str | Message, turn_id: str = "t1") -> str:
        """The text of the last answer; the calls of this prompt stand in `calls`."""
        self.messages.append(prompt if isinstance(prompt, Message) else user_message(prompt, turn_id=turn_id))
        self.calls = []
        for _ in range(20):
            definitions = [ToolDefinition(name=name, description="", schema={}) for name in self.tools]
            as_read = map(self.marks.marked, self.messages)
            chunks = await chunks_of(self.model, request(*as_read, tools=definitions))
            answer = joined(chunks)
            taken = {call.id for message in self.messages for call in message.tool_calls}
            message = answer.message(turn_id, taken)
            assert [call.id for call in message.tool_calls] == _ids(chunks), "ids are unique as they are"
            self.messages.append(message)
            if not message.tool_calls:
                assert reasons(chunks) == ["stop"]
                return answer.text
            assert reasons(chunks) == ["tool_calls"]
            self.messages.append(
                user_message(tuple(self._result(call.id, call.name, call.input) for call in message.tool_calls))
            )
        raise AssertionError("it never ends")

    def _result(self, call_id: str, name: str, given: Mapping[str, Any]) -> ToolResultBlock:
        self.calls.append((name, dict(given)))
        try:
            return ToolResultBlock(tool_use_id=call_id, content=self.run(name, given))
        except ToolError as error:
            return ToolResultBlock(tool_use_id=call_id, content=str(error), is_error=True)


def _ids(chunks: Sequence[Chunk]) -> list[str | None]:
    return [chunk.id for chunk in chunks if isinstance(chunk, ToolCallChunk)]
