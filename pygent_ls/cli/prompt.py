"""Command `pygent-ls prompt`: shows the system prompt of a new turn, part by part, without a model or the network."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.context.instructions import Instruction, without_secrets
from pygent_ls.agent.context.system_prompt import PromptFor, SystemPart, prompt_of
from pygent_ls.agent.display_text import visible
from pygent_ls.agent.permissions.permissions import Permissions
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.agent.tools.tool import ToolRegistry
from pygent_ls.agent.variants import AgentProfile, allowed_by_settings
from pygent_ls.app.agents import variants_of
from pygent_ls.app.factories import policy_of
from pygent_ls.app.prompt import CHARS_PER_TOKEN, make_parts, more_folders, notes_for, prompt_settings, skills_of
from pygent_ls.config.live import Taken
from pygent_ls.config.sources import state_folder
from pygent_ls.errors import SessionError, ToolError
from pygent_ls.extensions.instructions import MAX_FILE_CHARS, RepositoryInstructions
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.sessions.rules import FileRuleStore
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from pygent_ls.workspace.files.notes_file import notes_file
from pygent_ls.workspace.installation_key import installation_key


class PromptOptions(Struct, frozen=True, kw_only=True):
    """Session for which the prompt is shown."""

    taken: Taken
    workspace: DiskWorkspace
    agent: AgentProfile
    mode: str | None
    """Permission mode; None for the agent's, else that of the settings."""
    files: Sequence[str]
    """Files that the user's prompt would mention."""
    tools: ToolRegistry
    secrets: SessionSecrets


class ShownPrompt(Struct, frozen=True, kw_only=True):
    """Prompt that the model would receive."""

    mode: str
    agent: str
    parts: Sequence[SystemPart]
    beside: Sequence[Instruction]
    """Instructions sent with the user's prompt because of the files that it mentions."""
    taken: Sequence[Instruction]
    """Project instruction files included in the system prompt."""
    not_taken: Sequence[Instruction]
    problems: Sequence[str]
    """Problems with the prompt settings, for the user."""


def run_command(given: argparse.Namespace) -> int:
    """Print the prompt. Returns 1 if a part of it is not available."""
    from pygent_ls.app.blueprint import read_settings
    from pygent_ls.tools.catalog import offered_tools

    folder = Path(given.cwd)
    if not folder.is_dir():
        given.refuse(f"--cwd: the folder {given.cwd} does not exist")
    folder = folder.resolve()
    taken = read_settings({}, [folder]).taken
    settings = taken.loaded.settings
    workspace = DiskWorkspace([folder])
    try:
        shown = asyncio.run(
            prompt_shown(
                PromptOptions(
                    taken=taken,
                    workspace=workspace,
                    agent=variants_of(taken).get(given.agent or settings.agent),
                    mode=given.mode,
                    files=given.files,
                    tools=allowed_by_settings(
                        ToolRegistry(
                            offered_tools(has_folder=True, shell_timeout_s=settings.shell_timeout_s, has_skills=True)
                        ),
                        settings.disallowed_tools,
                    ),
                    secrets=_secrets(workspace, is_on=settings.redact_secrets),
                )
            )
        )
    except (SessionError, ToolError) as error:
        given.refuse(visible(str(error)))
        raise
    sys.stdout.write(as_json(shown) + "\n" if given.json else as_text(shown))
    return 1 if shown.problems else 0


def _secrets(workspace: DiskWorkspace, *, is_on: bool) -> SessionSecrets:
    secrets = SessionSecrets(Redactor(find_secrets, key=installation_key(state_folder())), workspace)
    secrets.switch(on=is_on)
    return secrets


async def prompt_shown(wanted: PromptOptions) -> ShownPrompt:
    """Assemble the prompt as a turn does. Raises `ToolError` for a file outside the workspace."""
    settings = wanted.taken.loaded.settings
    workspace, secrets = wanted.workspace, wanted.secrets
    mode = wanted.mode or wanted.agent.mode or settings.mode
    rules = FileRuleStore(state_folder(), workspace.folders[0])
    reading = Permissions(settings.mode, rules, policy_of(wanted.taken.loaded, state_folder())).reading()
    instructions = RepositoryInstructions(workspace, secrets.masks)
    found = await instructions.of_workspace(reading)
    paths = [_existing(workspace, each) for each in wanted.files]
    near = await instructions.near(paths, reading)
    skills = await skills_of(workspace, lambda: wanted.taken.loaded.admin).all()
    notes = await notes_for(notes_file(state_folder(), workspace.folders[0]), settings)
    of_prompt = replace(await prompt_settings(wanted.taken), skills=skills, notes=notes)
    beside, wrong = more_folders(wanted.taken)
    workspace.use_also(beside)
    parts = await make_parts(
        workspace,
        of_prompt,
        PromptFor(
            mode=mode,
            tools=[each.name for each in wanted.agent.offered(wanted.tools).list_all()],
            agent=wanted.agent.prompt,
            instructions=[await without_secrets(each, secrets) for each in found if not each.problem],
        ),
    )
    return ShownPrompt(
        mode=mode,
        agent=wanted.agent.name,
        parts=[await _masked(part, secrets) for part in parts],
        beside=[await without_secrets(each, secrets) for each in near],
        taken=[each for each in found if not each.problem],
        not_taken=[each for each in found if each.problem],
        problems=[
            *wrong,
            *filter(None, (of_prompt.problem,)),
            *(
                f"The skill {each.name} cannot be used: {each.problem} ({each.folder})"
                for each in skills
                if each.problem
            ),
        ],
    )


async def _masked(part: SystemPart, secrets: SessionSecrets) -> SystemPart:
    return SystemPart(name=part.name, title=part.title, text=await secrets.masked(part.text), max_chars=part.max_chars)


def _existing(workspace: DiskWorkspace, file: str) -> Path:
    path = workspace.resolve(file)
    if not path.exists():
        raise ToolError(f"There is no file {file}.")
    return path


def as_text(shown: ShownPrompt) -> str:
    """Format the prompt for display: each part below a line with its size, then what is left out."""
    whole = len(prompt_of(shown.parts))
    lines = [
        f"System prompt of the agent {shown.agent} in the mode {shown.mode}: {len(shown.parts)} parts, {whole:,} "
        f"characters, about {whole // CHARS_PER_TOKEN:,} tokens.",
    ]
    for part in shown.parts:
        cut = f", cut to {part.max_chars:,}" if part.left_out else ""
        lines += ["", f"── {part.name} · {len(part.text):,} characters{cut}", visible(part.shown)]
    for each in shown.beside:
        lines += ["", f"── added to your prompt · {each.n_chars:,} characters", visible(each.shown)]
    notes = [
        f"{visible(each.name)} has {each.n_chars:,} characters; the first {MAX_FILE_CHARS:,} are taken."
        for each in (*shown.taken, *shown.beside)
        if each.n_chars > MAX_FILE_CHARS
    ]
    notes += [f"{visible(each.name)} was not used: {each.problem}" for each in shown.not_taken]
    notes += map(visible, shown.problems)
    notes.append(
        "A session also adds an explanation of its markers for external text, and an editor adds your position."
    )
    return "\n".join([*lines, "", *(f"· {note}" for note in notes), ""])


def as_json(shown: ShownPrompt) -> str:
    """Format the prompt as JSON."""
    return json.dumps(
        {
            "agent": shown.agent,
            "mode": shown.mode,
            "chars": len(prompt_of(shown.parts)),
            "parts": [
                {"name": part.name, "chars": len(part.text), "left_out": part.left_out, "text": part.shown}
                for part in shown.parts
            ],
            "beside": [{"file": each.name, "chars": each.n_chars, "text": each.shown} for each in shown.beside],
            "not_taken": [{"file": each.name, "problem": each.problem} for each in shown.not_taken],
            "problems": list(shown.problems),
        },
        indent=2,
        ensure_ascii=False,
    )
