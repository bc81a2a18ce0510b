"""Model `offline/rules`, which needs no network and no key, and follows a few fixed forms of request.

It is stateless: the request, the calls made for it and their results are read from the messages each time. Only the
last prompt counts, without `<context>…</context>`: text from files is never treated as a request.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pygent_ls.agent.context.untrusted_text import unmarked
from pygent_ls.agent.messages import ImageBlock, Message, TextBlock, ToolResultBlock, Usage
from pygent_ls.agent.ports.model import (
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
from pygent_ls.llm.offline.grammar import FORMS, Help, NotUnderstood, parse
from pygent_ls.llm.offline.steps import Done, OfflineCall, Step
from pygent_ls.llm.openai.chat_format import chat_tools
from pygent_ls.llm.providers.known_providers import OFFLINE, PROVIDERS

NAME = OFFLINE


@dataclass(frozen=True, slots=True)
class OfflineModel:
    """The offline model; it has no options."""

    @property
    def name(self) -> str:
        """The model string that selected it."""
        return NAME

    @property
    def ready(self) -> bool:
        """Always True: nothing is loaded."""
        return True

    @property
    def facts(self) -> ModelFacts:
        """Facts of a free model that reads no images."""
        return ModelFacts(has_price=True, takes_images=False)

    async def prepare(self) -> None:
        """Do nothing: no preparation is needed."""

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the format of chat completions; they are not read."""
        return chat_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the whole answer, as `Model.complete` describes."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Yield the next call that the last prompt needs, or the report, word by word. Raises nothing."""
        answer = answer_to(request)
        for piece in re.findall(r"\S+\s*|\s+", answer.text):
            yield TextChunk(text=piece)
            await asyncio.sleep(0)  # lets a cancellation or another turn run
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
    """Text of an answer, and the tool that it calls next."""

    text: str
    call: OfflineCall | None = None
    call_id: str = ""


def answer_to(request: ModelRequest) -> OfflineAnswer:
    """Return the answer to a request; the same messages and tools give the same answer."""
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
    """Return the first call that was not made yet, or the report if all steps are done."""
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
    """Return what to say if a tool is missing; checked before anything is done."""
    for step in steps:
        for group in step.needs:
            if not offered.intersection(group):
                return (
                    f"To {step.about} I need the tool {' or '.join(group)}, which is not available (no workspace "
                    "folder is open, or the session's mode or agent excludes it). Nothing was changed."
                )
    return None


# Requests and results


def _last_prompt(messages: Sequence[Message]) -> tuple[int, str]:
    """Return the index and the text of the user's last prompt; (-1, "") without one."""
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
"""Matches up to the last closing tag, so that a closing tag in a file's text does not end it."""

_CONTEXT_LAST = re.compile(r"(?:\A|\n)[ \t]*<context(?:\s[^>]*)?>.*</context>\s*\Z", re.S)


def _own_words(message: Message) -> str:
    """Return the last non-empty text of a message, without what an editor put before or after it."""
    texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    return next((words for text in reversed(texts) if (words := _without_context(text))), "")


def _without_context(text: str) -> str:
    text = _CONTEXT_LAST.sub("", text)
    while context := _CONTEXT_FIRST.match(text):
        text = text[context.end() :]
    return text.strip()


def _done_since(messages: Sequence[Message]) -> list[Done]:
    """Return the calls after the prompt that have a result, in order."""
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
    """Return the usage by the usual estimate of 4 characters per token; it costs nothing."""
    n_input = (len(request.system) + sum(_length(message) for message in request.messages)) // 4
    n_output = len(answer.text) // 4 + 1
    return Usage(input_tokens=n_input, output_tokens=n_output, cost_usd=0.0, context_tokens=n_input + n_output)


def _length(message: Message) -> int:
    results = sum(len(block.content) for block in message.blocks if isinstance(block, ToolResultBlock))
    return len(message.text) + results


# Self-description

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
