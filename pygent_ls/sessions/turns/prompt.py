"""System prompt and user content of a turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.context.attachments import (
    DiagnosticsPart,
    EditorPart,
    FilePart,
    ImagePart,
    NotePart,
    PromptPart,
    ReviewPart,
    SelectionPart,
    TerminalPart,
    render,
)
from pygent_ls.agent.context.instructions import Instruction, block_of, without_secrets
from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.context.window import ContextRules
from pygent_ls.agent.messages import Block, ImageBlock, Message, TextBlock
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.secrets.env_files import is_env_file
from pygent_ls.sessions.turns.mentions import MentionKinds, expanded
from pygent_ls.sessions.turns.repository_map import kept_map, make_map
from pygent_ls.sessions.turns.settings import MakeSystemPrompt


class Opening(Struct, frozen=True, kw_only=True):
    """Input of a turn as the model reads it, without secrets."""

    system: str
    content: str | tuple[Block, ...]


async def opening(  # noqa: PLR0913 - all that a turn begins with
    parts: Sequence[PromptPart],
    services: SessionServices,
    make_system_prompt: MakeSystemPrompt,
    *,
    history: Sequence[Message],
    rules: ContextRules,
    wanted: PromptFor,
    mentions: MentionKinds = "all",
) -> Opening:
    """Return the input of a turn after this history, of which the model reads what the rules leave.

    `wanted` needs no instructions, because they are read here. Instructions for the files that the user named are added
    to the user's message, and stay there.
    """
    shared = await services.environment.instructions.of_workspace(services.memory.permissions.reading())
    services.environment.instructions.forget_lost(_still_read(history, services, rules))
    content = await content_of(parts, services, mentions)
    await make_map(services, parts)
    return Opening(system=await _system_prompt(shared, services, make_system_prompt, wanted), content=content)


async def system_prompt(services: SessionServices, make_system_prompt: MakeSystemPrompt, wanted: PromptFor) -> str:
    """Return the system prompt alone."""
    shared = await services.environment.instructions.of_workspace(services.memory.permissions.reading())
    return await _system_prompt(shared, services, make_system_prompt, wanted)


async def _system_prompt(
    shared: Sequence[Instruction], services: SessionServices, make_system_prompt: MakeSystemPrompt, wanted: PromptFor
) -> str:
    found = [await _as_its_name_says(each, services.memory.secrets) for each in shared if not each.problem]
    prompt = await make_system_prompt(replace(wanted, instructions=found, repository_map=kept_map(services)))
    return await services.memory.secrets.masked(prompt)


async def content_of(
    parts: Sequence[PromptPart], services: SessionServices, mentions: MentionKinds = "all"
) -> str | tuple[Block, ...]:
    """Return the user's message as the model reads it: the instructions for the files named, the attachments, the
    text."""
    reading = services.memory.permissions.reading()
    parts = await expanded(parts, services, mentions)
    near = await services.environment.instructions.near([*_paths_in(parts), *_active(services)], reading)
    content = await render(
        parts,
        services.environment.workspace,
        services.memory.reads,
        services.memory.secrets.masked,
        reading,
        services.memory.secrets.masks,
    )
    blocks = tuple([block_of(await without_secrets(each, services.memory.secrets)) for each in near])
    if not blocks:
        return content
    return (*blocks, *(content if isinstance(content, tuple) else (TextBlock(text=content),)))


async def _as_its_name_says(instruction: Instruction, secrets: SessionSecrets) -> Instruction:
    """Mask the values of a file that contains only secrets, which is known by its name. The rest is masked once, in the
    whole prompt."""
    return await without_secrets(instruction, secrets) if is_env_file(instruction.path.name) else instruction


def _still_read(history: Sequence[Message], services: SessionServices, rules: ContextRules) -> Sequence[Message]:
    """Return the earlier messages that the model reads, with compacted parts replaced."""
    if rules.mode == "fresh":
        return ()
    services.memory.window.follow(history, counts_words=rules.max_words > 0)
    return services.memory.window.cut(rules, turn_id="").of(services.memory.window.messages)


def _active(services: SessionServices) -> Iterator[Path]:
    if services.environment.editor.view.active:
        yield services.environment.editor.view.active


def _paths_in(parts: Sequence[PromptPart]) -> Iterator[Path]:
    for part in parts:
        match part:
            case FilePart(path=path) | SelectionPart(path=path) | DiagnosticsPart(path=path) | ImagePart(path=path):
                yield path
            case EditorPart(active=Path() as path):
                yield path
            case EditorPart() | TerminalPart() | NotePart() | ReviewPart() | ImageBlock() | str():
                pass
