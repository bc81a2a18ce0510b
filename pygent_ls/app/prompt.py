"""System prompt parts about the machine, the workspace and the user's own files, read when a turn begins."""

from __future__ import annotations

import asyncio
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.context.system_prompt import (
    PromptFor,
    PromptSources,
    SystemPart,
    WorkspaceFacts,
    prompt_of,
    system_parts,
)
from pygent_ls.agent.ports.notes import Notes
from pygent_ls.agent.ports.skills import Skill
from pygent_ls.agent.ports.workspace import Workspace
from pygent_ls.config.admin import AdminSettings
from pygent_ls.config.live import Taken
from pygent_ls.config.settings import Settings
from pygent_ls.config.sources import LOCAL_FILE, WORKSPACE_FILE, user_file
from pygent_ls.errors import ToolError
from pygent_ls.extensions.skills import SkillFolder, SkillFolders, skill_folders
from pygent_ls.workspace.files.notes_file import within
from pygent_ls.workspace.files.reader import read_document

USERS_FILE = "AGENTS.md"
"""Name of the instructions file for every project, beside the user's settings file."""

CHARS_PER_TOKEN = 4
"""Rule of thumb for English and code."""

MAX_HEAD_CHARS = 300
"""Maximum length read of a repository's HEAD; a branch name that is a file name has at most 255 bytes."""

_BRANCH = re.compile(r"ref: refs/heads/([^\x00-\x20\x7f~^:?*\[\\]+)")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")

_UNDER_WAY: Mapping[str, str] = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
}


class PromptSettings(Struct, frozen=True, kw_only=True):
    """Prompt settings in effect."""

    added: str
    replaced_by: str | None
    """Text that replaces the default system prompt; None if none is set or its file cannot be read."""
    skills: Sequence[Skill] = ()
    notes: str = ""
    """Notes about the workspace, within the limit of the settings."""
    problem: str = ""
    """Reason why the file cannot be read, for the user."""


async def prompt_settings(taken: Taken) -> PromptSettings:
    """Return the command line's system prompt, else the text of `system_prompt_file`. That path is relative to the
    folder of the settings file that names it; one from the environment, the editor or the command line to the
    workspace.
    """
    settings = taken.loaded.settings
    if taken.system_prompt is not None:
        return PromptSettings(added=settings.system_prompt, replaced_by=taken.system_prompt)
    usual = PromptSettings(added=settings.system_prompt, replaced_by=None)
    if not settings.system_prompt_file:
        return usual
    file = place_named(taken, "system_prompt_file", settings.system_prompt_file)
    try:
        return replace(usual, replaced_by=await _text_of(file))
    except ToolError as error:  # its text tells a model how to handle a missing file
        said = str(error) if await asyncio.to_thread(file.exists) else f"There is no file {file}."
        why = f"system_prompt_file: {said} The default system prompt is used until the file can be read."
        return replace(usual, problem=why)


def skills_of(workspace: Workspace, admin: Callable[[], AdminSettings], *, is_restricted: bool = False) -> SkillFolders:
    """Return the skills of the user and, unless it is restricted, of a workspace, whose folders may change; none while
    the administrator does not allow any."""

    def folders() -> Sequence[SkillFolder]:
        if admin().is_exclusive("skills"):
            return ()
        return skill_folders(user_file().parent, workspace.folders, is_restricted=is_restricted)

    return SkillFolders(folders)


async def notes_for(notes: Notes, settings: Settings) -> str:
    """Return the notes that the prompt has; empty if they cannot be read or are switched off."""
    if not settings.memory.enabled:
        return ""
    try:
        return within(await notes.read(), settings.memory.max_tokens * CHARS_PER_TOKEN)
    except ToolError:
        return ""


def place_named(taken: Taken, key: str, named: str) -> Path:
    """Resolve a path in a setting as `place_in` does."""
    return place_in(taken, taken.loaded.origins[key], named)


def place_in(taken: Taken, origin: str, named: str) -> Path:
    """Resolve a path in the settings. `~` is the home folder. A relative path is resolved against the folder of the
    settings file that contains it; one from the environment, the editor or the command line against the workspace.
    """
    folder = taken.folder or Path.cwd()
    admin = taken.loaded.admin
    if origin == f"user file {user_file()}":
        folder = user_file().parent
    elif admin.layer is not None and origin == admin.layer.name:
        folder = Path(admin.file).parent
    elif taken.folder is not None and _is_workspaces(taken.folder, origin):
        folder = (taken.folder / WORKSPACE_FILE).parent
    try:
        return folder / Path(named).expanduser()
    except RuntimeError:  # `~NAME` with a user unknown on this machine
        return folder / named


def _is_workspaces(folder: Path, origin: str) -> bool:
    return origin in [f"workspace file {folder / each}" for each in (WORKSPACE_FILE, LOCAL_FILE)]


def more_folders(taken: Taken) -> tuple[list[Path], list[str]]:
    """Return the folders of `additional_dirs`, and the problems with invalid ones, for the user. Blocking."""
    found: list[Path] = []
    wrong: list[str] = []
    home = Path.home().resolve()
    for named in taken.loaded.settings.additional_dirs:
        folder = place_named(taken, "additional_dirs", named)
        if not folder.is_dir():
            wrong.append(f"additional_dirs: the folder {folder} does not exist and is ignored.")
        elif home.is_relative_to(folder.resolve()):
            wrong.append(f"additional_dirs: {folder} contains the whole home folder. Use a folder inside it.")
        elif _leads_elsewhere(taken, folder):
            wrong.append(
                f"additional_dirs: {folder} is a link to {folder.resolve()}, which a workspace's file must not use. "
                "Use that folder itself."
            )
        else:
            found.append(folder.resolve())
    return found, wrong


def _leads_elsewhere(taken: Taken, folder: Path) -> bool:
    """Return whether the folder differs from the path that the user approved. Only paths in a workspace's file are
    checked: its links came with the workspace and may change after the user trusted it.
    """
    own = taken.folder
    if own is None or not _is_workspaces(own, taken.loaded.origins["additional_dirs"]):
        return False
    said = own.resolve() / folder.relative_to(own) if folder.is_relative_to(own) else folder
    return Path(os.path.normpath(said)) != folder.resolve()


async def make_system_prompt(workspace: Workspace, settings: PromptSettings, wanted: PromptFor) -> str:
    """Return a turn's complete system prompt."""
    return prompt_of(await make_parts(workspace, settings, wanted))


async def make_parts(workspace: Workspace, settings: PromptSettings, wanted: PromptFor) -> list[SystemPart]:
    """Return the parts of a turn's system prompt."""
    folders = workspace.folders
    git, users_file = await asyncio.gather(_git(folders[0] if folders else None), _users_file())
    facts = WorkspaceFacts(
        platform=f"{platform.system()}-{platform.release()}",
        date=date.today().isoformat(),
        folders=[str(folder) for folder in folders],
        more_folders=[str(folder) for folder in workspace.more_folders],
        shell=Path(os.environ.get("SHELL", "/bin/sh")).name,
        git=git,
    )
    return system_parts(
        PromptSources(
            facts=facts,
            mode=wanted.mode,
            tools=wanted.tools,
            agent=wanted.agent,
            added=settings.added,
            replaced_by=settings.replaced_by,
            users_file=users_file,
            instructions=wanted.instructions,
            skills=settings.skills,
            notes=settings.notes,
            repository_map=wanted.repository_map,
        )
    )


async def _text_of(file: Path) -> str:
    """Return the text of a file whose path may contain links. Raises `ToolError`."""
    return (await read_document(Path(await asyncio.to_thread(os.path.realpath, file)), str(file))).text


async def _users_file() -> str:
    try:
        return await _text_of(user_file().parent / USERS_FILE)
    except ToolError:
        return ""


async def _git(folder: Path | None) -> str:
    """Return the branch and any unfinished operation. Runs no program, which would take longer than the rest of the
    prompt.
    """
    if folder is None:
        return ""
    for each in (folder, *folder.parents):
        own = await _git_folder(each / ".git")
        if own is not None:
            return await _state_of(own)
    return ""


async def _git_folder(found: Path) -> Path | None:
    """Return the git folder that `.git` refers to: itself, or the one named in a linked work tree's file."""
    if await asyncio.to_thread(found.is_dir):
        return found
    if not await asyncio.to_thread(found.is_file):
        return None
    try:
        said = (await _text_of(found)).strip()
    except ToolError:
        return None
    return found.parent / said.removeprefix("gitdir:").strip() if said.startswith("gitdir:") else None


async def _state_of(own: Path) -> str:
    try:
        head = (await _text_of(own / "HEAD")).strip()[:MAX_HEAD_CHARS]
    except ToolError:
        return ""
    if branch := _BRANCH.fullmatch(head):
        said = f"on branch {branch[1]}"
    elif _COMMIT.fullmatch(head):
        said = f"detached at commit {head[:12]}"
    else:
        return ""
    begun = await asyncio.to_thread(lambda: [what for name, what in _UNDER_WAY.items() if (own / name).exists()])
    return "; ".join([said, *(f"{what} is in progress" for what in dict.fromkeys(begun))])
