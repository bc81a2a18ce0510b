"""Commands on the conversation: show its size, clear, compact and continue it."""

from __future__ import annotations

from msgspec.structs import replace

from pygent_ls.agent.context.window import chars_of, tokens_of
from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from pygent_ls.errors import SessionError
from pygent_ls.llm.providers.known_providers import OFFLINE
from pygent_ls.sessions.commands.agents_file import write_beginning
from pygent_ls.sessions.commands.command import Command, CommandCall
from pygent_ls.sessions.turns.command_turn import ModelPrompt

GO_ON = "Go on where you stopped. Do not repeat what is done."

INIT = """\
Write a file `AGENTS.md` in the root of this workspace: what a coding agent must know that comes here \
for the first time.

Look first: the README, the build and package files, the CI, the tests, the layout, and rules that other tools read \
(CLAUDE.md, .cursorrules, .github/copilot-instructions.md). Then write, in at most a page:
- what the project is, in a sentence or two, and where its main parts lie
- the commands that install, build, run, lint and test it, and how a single test is run; only such as you found
- what is not seen at once: conventions, layers, generated files, traps

No general advice, and nothing that one glance at the tree shows. If there is an AGENTS.md, keep what is right in it, \
and correct and complete the rest."""


async def _clear(call: CommandCall) -> str:
    n_messages = len(call.session.messages)
    call.session.take_conversation(())
    if not n_messages:
        return "The conversation is already empty."
    return f"Conversation cleared: {n_messages} messages removed. Files are unchanged."


async def _compact(call: CommandCall) -> str:
    done = await call.session.compact_now(call.text)
    return (
        f"Summarized {done.messages_summarised} messages: the next request has about {done.tokens_after:,} tokens "
        f"instead of {done.tokens_before:,}. The session keeps the full conversation."
    )


async def _context(call: CommandCall) -> str:
    await call.session.context.measure()
    report = call.session.context.report()
    share = f" ({report.tokens / report.limit:.0%})" if report.limit else ""
    lines = [f"The next request has about {report.tokens:,} of {report.limit:,} tokens{share}."]
    sent = f"{report.n_sent} of {report.n_messages} messages"
    if report.n_replaced:
        sent += f"; {report.n_replaced} of them are summarized"
    lines.append(f"- conversation: {sent}, mode `{report.mode}`")
    lines += [f"- {what}: about {n_tokens:,} tokens" for what, n_tokens in _by_part(call).items() if n_tokens]
    if report.strategy == "off":
        return "\n".join([*lines, "The conversation is not compacted when it is full: `compaction.strategy` is off."])
    return "\n".join(
        [*lines, f"It is compacted at {report.compacts_at:,} tokens (`{report.strategy}`); `/compact` does it now."]
    )


def _by_part(call: CommandCall) -> dict[str, int]:
    """Return the estimated tokens of each part of the context, from the characters of the whole conversation."""
    n_chars = {"your prompts": 0, "attachments": 0, "answers": 0, "thinking": 0, "tool calls": 0, "tool results": 0}
    for message in call.session.messages:
        for block in message.blocks:
            n_chars[_part(message, block)] += chars_of(replace(message, content=(block,)))
    n_chars["system prompt and tools"] = call.session.services.memory.window.n_chars_around
    return {part: tokens_of(n) for part, n in n_chars.items()}


def _part(message: Message, block: Block) -> str:
    match block:
        case TextBlock(from_outside=True) | TextBlock(rejected=(_, *_)) | ImageBlock():
            return "attachments"
        case TextBlock():
            return "your prompts" if message.role == "user" else "answers"
        case ThinkingBlock():
            return "thinking"
        case ToolUseBlock():
            return "tool calls"
        case ToolResultBlock():
            return "tool results"


async def _continue(call: CommandCall) -> ModelPrompt:
    if not call.session.messages:
        raise SessionError("There is nothing to continue: the conversation is empty.", kind="nothing_to_continue")
    return ModelPrompt(text=f"{GO_ON}\n\n{call.text}" if call.text else GO_ON)


async def _init(call: CommandCall) -> ModelPrompt | None:
    if call.session.model == OFFLINE:
        return None
    return ModelPrompt(text=f"{INIT}\n\n{call.text}" if call.text else INIT)


async def _init_offline(call: CommandCall) -> str:
    return await write_beginning(call.session.services, call.session.working_directory.name)


async def _side_question(call: CommandCall) -> str:
    return await call.session.side_questions.answered(call.text)


COMMANDS = (
    Command(
        name="btw",
        takes="QUESTION",
        description="ask about the conversation without adding to it, also while a turn runs",
        run=_side_question,
        can_be_cancelled=True,
    ),
    Command(name="clear", description="clear the conversation; files are unchanged", run=_clear),
    Command(
        name="compact",
        takes="[INSTRUCTION]",
        description="summarize the conversation to free context",
        run=_compact,
        can_be_cancelled=True,
    ),
    Command(name="context", description="show what uses the context window", run=_context),
    Command(
        name="continue",
        takes="[PROMPT]",
        description="continue after a limit or a cut-off answer",
        prompt=_continue,
    ),
    Command(
        name="init",
        takes="[PROMPT]",
        description="write an AGENTS.md for this workspace",
        prompt=_init,
        run=_init_offline,
    ),
)
