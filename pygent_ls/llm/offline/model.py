"""`offline/rules`: a model without a network and without a key, which follows a few fixed forms of request.

It keeps nothing: what the user asked, which calls were made for it and what they returned is read from the messages
of each request anew. Of those only the last prompt counts, and of that not what stands in `<context>…</context>`:
text from files is never an order.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pygent_ls.agent.messages import ImageBlock, Message, TextBlock, ToolResultBlock, Usage
from pygent_ls.agent.model import (
    Chunk,
    Completion,
    FinishChunk,
    ModelFacts,
    ModelRequest,
    TextChunk,
    ToolCallChunk,
    ToolDefinition,
    UsageChunk,
    completed,
)
from pygent_ls.agent.untrusted import unmarked
from pygent_ls.llm.offline.grammar import FORMS, Help, NotUnderstood, parse
from pygent_ls.llm.offline.steps import Done, PlannedCall, Step
from pygent_ls.llm.openai.chat_format import chat_tools
from pygent_ls.llm.providers import OFFLINE, PROVIDERS

NAME = OFFLINE


@dataclass(frozen=True, slots=True)
class OfflineModel:
    """The model of that name; there is nothing to choose in it."""

    @property
    def name(self) -> str:
        """The string that chose it."""
        return NAME

    @property
    def ready(self) -> bool:
        """Always: there is nothing to load."""
        return True

    @property
    def facts(self) -> ModelFacts:
        """It costs nothing, and reads no pictures."""
        return ModelFacts(has_price=True, takes_images=False)

    async def prepare(self) -> None:
        """Nothing is needed."""

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """As chat completions have them; it reads none."""
        return chat_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """The whole answer; `Model.complete` says the rest."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The next call that the last prompt needs, or the report; word by word. Raises nothing."""
        answer = answer_to(request)
        for piece in re.findall(r"\S+\s*|\s+", answer.text):
            yield TextChunk(text=piece)
            await asyncio.sleep(0)  # a cancel, or another turn, may come in between
        if answer.call is not None:
            yield ToolCallChunk(
                index=0,
                id=answer.call_id,
                name=answer.call.tool,
                arguments=json.dumps(dict(answer.call.input), ensure_ascii=False),
            )
        yield UsageChunk(usage=_usage(request, answer))
        yield FinishChunk(reason="stop" if answer.call is None else "tool_calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineAnswer:
    """What it says, and the tool that it calls next."""

    text: str
    call: PlannedCall | None = None
    call_id: str = ""


def answer_to(request: ModelRequest) -> OfflineAnswer:
    """The answer to a request; the same for the same messages and tools."""
    at, prompt = _last_prompt(request.messages)
    parsed = parse(prompt)
    match parsed:
        case Help():
            return OfflineAnswer(text=f"{WHAT_IT_IS}\n\n{_what_it_understands()}")
        case NotUnderstood(text=text):
            return OfflineAnswer(text=f"{WHAT_IT_IS}\n\n{_not_understood(text)}\n\n{_what_it_understands()}")
        case list():
            offered = frozenset(tool.name for tool in request.tools)
            missing = _not_offered(parsed, offered)
            if missing is not None:
                return OfflineAnswer(text=missing)
            done = _done_since(request.messages[at + 1 :])
            answer = _next(parsed, done, offered)
            turn_id = request.messages[at].turn_id or "offline"
            return OfflineAnswer(text=answer.text, call=answer.call, call_id=f"{turn_id}-call-{len(done) + 1}")


def _next(steps: Sequence[Step], done: Sequence[Done], offered: frozenset[str]) -> OfflineAnswer:
    """Go through the steps with what was done already, to the first call that was not made yet."""
    left = list(done)
    reports: list[str] = []
    for number, step in enumerate(steps):
        made: list[Done] = []
        while (call := step.next_call(made, offered)) is not None:
            if not left:
                return OfflineAnswer(text=call.doing, call=call)
            made.append(left.pop(0))
            if made[-1].is_error:
                reports.append(_failed(step, made[-1], steps[number + 1 :]))
                return OfflineAnswer(text="\n\n".join(reports))
        reports.append(step.report(made))
    return OfflineAnswer(text="\n\n".join(reports))


def _failed(step: Step, last: Done, not_begun: Sequence[Step]) -> str:
    denied = re.match(r"Permission denied: (.*?)\. \w+ was not run", last.content, re.S)
    if denied:
        said = f"I did not {step.about}: you did not allow it ({denied[1]}). Nothing was changed."
    else:
        said = f"I could not {step.about}. {last.tool} reported: {last.content.removeprefix('Error: ').strip()}"
    if not_begun:
        said += "\n\nI stopped there and did not " + ", or ".join(each.about for each in not_begun) + "."
    return said


def _not_offered(steps: Sequence[Step], offered: frozenset[str]) -> str | None:
    """What to say where a tool is missing; before anything is done."""
    for step in steps:
        for group in step.needs:
            if not offered.intersection(group):
                return (
                    f"To {step.about} I need the tool {' or '.join(group)}, which is not available (no workspace "
                    "folder is open, or the session's mode or agent excludes it). Nothing was changed."
                )
    return None


# What was asked, and what was done


def _last_prompt(messages: Sequence[Message]) -> tuple[int, str]:
    """Where the user's last prompt stands, and its words; (-1, "") where there is none."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role != "user":
            continue
        words = _own_words(message)
        brings_results = any(isinstance(block, ToolResultBlock) for block in message.blocks)
        if words or (not brings_results and any(isinstance(block, TextBlock | ImageBlock) for block in message.blocks)):
            return at, words
    return -1, ""


_CONTEXT_FIRST = re.compile(r"\A\s*<([A-Za-z][\w-]*)(?:\s[^>]*)?>.*</\1>[ \t]*(?:\n|\Z)", re.S)
"""Up to the last closing tag: a file's text that holds one does not end it."""

_CONTEXT_LAST = re.compile(r"(?:\A|\n)[ \t]*<context(?:\s[^>]*)?>.*</context>\s*\Z", re.S)


def _own_words(message: Message) -> str:
    """The last text of a message that says something, less what an editor put before or after it."""
    texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    return next((words for text in reversed(texts) if (words := _without_context(text))), "")


def _without_context(text: str) -> str:
    text = _CONTEXT_LAST.sub("", text)
    while context := _CONTEXT_FIRST.match(text):
        text = text[context.end() :]
    return text.strip()


def _done_since(messages: Sequence[Message]) -> list[Done]:
    """The calls after the prompt that have a result, in order."""
    results = {
        block.tool_use_id: block
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    }
    return [
        Done(tool=call.name, input=call.input, content=unmarked(found.content), is_error=found.is_error)
        for message in messages
        for call in message.tool_calls
        if (found := results.get(call.id)) is not None
    ]


def _usage(request: ModelRequest, answer: OfflineAnswer) -> Usage:
    """Tokens by the usual estimate of 4 characters each; it costs nothing."""
    n_input = (len(request.system) + sum(_length(message) for message in request.messages)) // 4
    n_output = len(answer.text) // 4 + 1
    return Usage(input_tokens=n_input, output_tokens=n_output, cost_usd=0.0, context_tokens=n_input + n_output)


def _length(message: Message) -> int:
    results = sum(len(block.content) for block in message.blocks if isinstance(block, ToolResultBlock))
    return len(message.text) + results


# What it says of itself

WHAT_IT_IS = (
    f"I am the offline model ({NAME}). I need no network and no key. I understand a few fixed forms of request and "
    "do not reason."
)


def _not_understood(text: str) -> str:
    line = " ".join(text.split())
    return f"I do not understand “{line if len(line) <= 120 else line[:119] + '…'}”. Nothing was changed."


def _what_it_understands() -> str:
    forms = "\n".join(f"- {form}{f' — {more}' if more else ''}" for form, more in FORMS)
    variables = ", ".join(provider.key_variables[0] for provider in PROVIDERS[:3])
    example = PROVIDERS[0].default_model
    return (
        f"I understand:\n{forms}\nWrite several requests on separate lines, or join them with `then`. I stop at the "
        "first that fails.\n\nFor everything else, set up a real model with `pygent-ls setup` or the command "
        f"`pygent.setup`. You can also set a provider's key in the environment ({variables}, …) and, optionally, a "
        f"model in the setting `model` or in PYGENT_MODEL, such as {example}. `pygent-ls doctor` shows which model "
        "is used and why."
    )
