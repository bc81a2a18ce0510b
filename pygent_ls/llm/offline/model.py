"""Model `offline/rules`, which needs no network and no key, and follows a few fixed forms of request.

It is stateless: the request, the calls made for it and their results are read from the messages each time. Only the
last prompt counts, without `<context>…</context>`: text from files is never treated as a request.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.context.conversation_text import fenced
from pygent_ls.agent.context.untrusted_text import unmarked
from pygent_ls.agent.context.window import CHARS_PER_TOKEN, chars_of
from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock, Usage
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
from pygent_ls.llm.offline.grammar import FORMS, NotUnderstood, OfflineAnswer, Step, parse
from pygent_ls.llm.openai.chat_format import chat_tools
from pygent_ls.llm.providers.known_providers import OFFLINE, PROVIDERS

NAME = OFFLINE


class OfflineModel:
    """The offline model; it has no options, no price and reads no images."""

    name = NAME
    ready = True
    facts = ModelFacts(has_price=True, takes_images=False)

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
        if answer.tool:
            arguments = json.dumps(dict(answer.input), ensure_ascii=False)
            yield ToolCallChunk(index=0, id=answer.call_id, name=answer.tool, arguments=arguments)
        n_in = (len(request.system) + sum(map(chars_of, request.messages))) // CHARS_PER_TOKEN
        n_out = len(answer.text) // CHARS_PER_TOKEN + 1
        usage = Usage(input_tokens=n_in, output_tokens=n_out, cost_usd=0.0, context_tokens=n_in + n_out)
        yield UsageChunk(usage=usage)
        yield FinishChunk(reason="tool_calls" if answer.tool else "stop")


def answer_to(request: ModelRequest) -> OfflineAnswer:
    """Return the answer to a request; the same messages and tools give the same answer."""
    at, prompt = _last_prompt(request.messages)
    steps = parse(prompt)
    if isinstance(steps, NotUnderstood):
        problem = f"I do not understand “{one_line(steps.text)}”. Nothing was changed."
        return OfflineAnswer(text=f"{WHAT_IT_IS}\n\n{problem}\n\n{_what_it_understands()}")
    if not steps:
        return OfflineAnswer(text=f"{WHAT_IT_IS}\n\n{_what_it_understands()}")
    offered = {tool.name for tool in request.tools}
    for step in steps:
        if missing := next((call.tool for call in step.calls if call.tool not in offered), ""):
            return OfflineAnswer(text=NOT_OFFERED.format(about=step.about, missing=missing))
    results = list(_results(request.messages[at + 1 :]))
    answer = _next(steps, results)
    return replace(answer, call_id=f"{request.messages[at].turn_id or 'offline'}-call-{len(results) + 1}")


def _next(steps: Sequence[Step], results: Sequence[tuple[str, ToolResultBlock]]) -> OfflineAnswer:
    """Return the first call without a result; a report if all have one, or if the last one failed."""
    reports: list[str] = []
    left = iter(results)
    for number, step in enumerate(steps, start=1):
        said = ""
        for call in step.calls:
            tool, result = next(left, ("", None))
            if result is None:
                return call
            said = unmarked(result.content)
            if result.is_error:
                reports.append(_failed(step, tool, said))
                if not_begun := steps[number:]:
                    reports.append(f"I stopped there and did not {', or '.join(each.about for each in not_begun)}.")
                return OfflineAnswer(text="\n\n".join(reports))
        reports.append(_report(step.heading, said.strip()))
    return OfflineAnswer(text="\n\n".join(reports))


def _failed(step: Step, tool: str, said: str) -> str:
    if denied := re.match(r"Permission denied: (.*?)\. \w+ was not run", said, re.S):
        return f"I did not {step.about}: you did not allow it ({denied[1]}). Nothing was changed."
    return f"I could not {step.about}. {tool} reported: {said.removeprefix('Error: ').strip()}"


MAX_OUTPUT_CHARS = 6_000
"""Maximum length of a tool's result in an answer, about 150 lines; the conversation has all of it."""


def _report(heading: str, said: str) -> str:
    if not heading.endswith(":"):
        return f"{heading} {said}".strip()
    if len(said) > MAX_OUTPUT_CHARS:
        half = MAX_OUTPUT_CHARS // 2
        said = f"{said[:half]}\n[… {len(said) - 2 * half} characters omitted …]\n{said[-half:]}"
    return f"{heading}\n{fenced(said, '')}"


# Requests and results


def _last_prompt(messages: Sequence[Message]) -> tuple[int, str]:
    """Return the index and the text of the user's last prompt; (-1, "") without one. Its text is the last that is not
    empty, without what an editor put before or after it."""
    for at in range(len(messages) - 1, -1, -1):
        blocks = messages[at].blocks
        words = [_without_context(block.text) for block in blocks if isinstance(block, TextBlock)]
        has_results = any(isinstance(block, ToolResultBlock) for block in blocks)
        if messages[at].role == "user" and (any(words) or not has_results):
            return at, next(filter(None, reversed(words)), "")
    return -1, ""


_CONTEXT_FIRST = re.compile(r"\A\s*<([A-Za-z][\w-]*)(?:\s[^>]*)?>.*</\1>[ \t]*(?:\n|\Z)", re.S)
"""Matches up to the last closing tag, so that a closing tag in a file's text does not end it."""

_CONTEXT_LAST = re.compile(r"(?:\A|\n)[ \t]*<context(?:\s[^>]*)?>.*</context>\s*\Z", re.S)


def _without_context(text: str) -> str:
    text = _CONTEXT_LAST.sub("", text)
    while context := _CONTEXT_FIRST.match(text):
        text = text[context.end() :]
    return text.strip()


def _results(messages: Sequence[Message]) -> Iterator[tuple[str, ToolResultBlock]]:
    """Yield the name and the result of each call that has one, in order."""
    blocks = [block for message in messages for block in message.blocks]
    results = {block.tool_use_id: block for block in blocks if isinstance(block, ToolResultBlock)}
    for block in blocks:
        if isinstance(block, ToolUseBlock) and block.id in results:
            yield block.name, results[block.id]


# Self-description

WHAT_IT_IS = (
    f"I am the offline model ({NAME}). I need no network and no key. I understand a few fixed forms of request and "
    "do not reason."
)


NOT_OFFERED = (
    "To {about} I need the tool {missing}, which is not available (no workspace folder is open, or the session's mode "
    "or agent excludes it). Nothing was changed."
)


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
