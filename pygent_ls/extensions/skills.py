"""Skills: folders with a `SKILL.md`, in the user's settings folder and in a workspace.

The front matter of `SKILL.md` has a `name` and a `description`. The rest, and the other files of the folder, are read
when the model asks for them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from pygent_ls.agent.ports.skills import MAIN_FILE, Skill
from pygent_ls.errors import ToolError
from pygent_ls.extensions.front_matter import BrokenFileError, front_matter, line_of, text_of

OF_WORKSPACE = (".pygent", ".claude", ".agents")
"""Folders of a workspace that contain `skills/`; the first one takes precedence."""

MAX_SKILLS = 100
"""Maximum number of skills in one folder; more are left out."""

MAX_FILES = 200
"""Maximum number of files of a skill that are listed."""

MAX_FILE_BYTES = 200_000
"""Maximum size of a file of a skill: about 50,000 tokens."""

MAX_DESCRIPTION_CHARS = 1_024
"""Maximum length of a description, as the specification of skills has it."""


class SkillFolder(Struct, frozen=True, kw_only=True):
    """Folder whose subfolders are skills. Those of a workspace must not be links or lie behind links, which would show
    the model a file from elsewhere."""

    path: Path
    source: Literal["user", "workspace"]
    root: Path
    """Folder above it whose own path may contain links."""

    def read(self) -> Iterator[Skill]:
        """Yield the skills, by name. Blocking."""
        try:
            names = sorted(each.name for each in os.scandir(self.path) if (self.path / each.name / MAIN_FILE).is_file())
        except OSError:
            return
        for name in names[:MAX_SKILLS]:
            yield self._skill(name)

    def _skill(self, name: str) -> Skill:
        folder = self.path / name
        try:
            head, _ = front_matter(self.text(folder / MAIN_FILE))
            described = line_of(head, "description")
            if not described:
                raise BrokenFileError("its front matter has no `description`")
        except BrokenFileError as error:
            return Skill(name=name, description="", folder=folder, source=self.source, problem=str(error))
        short = described if len(described) <= MAX_DESCRIPTION_CHARS else f"{described[:MAX_DESCRIPTION_CHARS]}…"
        return Skill(name=name, description=short, folder=folder, source=self.source)

    def text(self, path: Path) -> str:
        """Return the text of a file in the folder. Raises `BrokenFileError`."""
        return text_of(path, self.root if self.source == "workspace" else None, MAX_FILE_BYTES)


class SkillFolders:
    """Implementation of `Skills` on folders, which are looked up each time."""

    def __init__(self, folders: Callable[[], Sequence[SkillFolder]]) -> None:
        self._folders = folders

    async def all(self) -> Sequence[Skill]:
        """Implement `Skills`."""
        return await asyncio.to_thread(lambda: [skill for skill, _ in self._found()])

    async def read(self, name: str, file: str) -> tuple[Skill, str]:
        """Implement `Skills`."""
        return await asyncio.to_thread(self._read, name, file)

    def _found(self) -> list[tuple[Skill, SkillFolder]]:
        found: dict[str, tuple[Skill, SkillFolder]] = {}
        for folder in self._folders():
            for skill in folder.read():
                found.setdefault(skill.name, (skill, folder))
        return [found[name] for name in sorted(found)]

    def _read(self, name: str, file: str) -> tuple[Skill, str]:
        found = {skill.name: (skill, folder) for skill, folder in self._found() if not skill.problem}
        if name not in found:
            raise ToolError(f"There is no skill {name!r}. The skills are: {', '.join(found) or 'none'}.")
        skill, folder = found[name]
        if not _is_below(file):
            raise ToolError(f"{file!r} is not the path of a file in the folder of the skill, such as `scripts/run.py`.")
        try:
            return skill, folder.text(skill.folder / file)
        except BrokenFileError as error:
            listed = ", ".join(files_of(skill.folder))
            raise ToolError(f"{file} of the skill {name}: {error}. Its files are: {listed}.") from None


def _is_below(file: str) -> bool:
    path = Path(file)
    return bool(file) and not path.is_absolute() and ".." not in path.parts and "\0" not in file


def files_of(folder: Path) -> list[str]:
    """Return the paths of a skill's files, relative to its folder. Blocking."""
    found: list[str] = []
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        found += [Path(here, each).relative_to(folder).as_posix() for each in sorted(files)]
        if len(found) > MAX_FILES:
            return found[:MAX_FILES]
    return found


def skill_folders(users: Path, workspace: Sequence[Path], *, is_restricted: bool) -> list[SkillFolder]:
    """Return the folders of skills, the one that takes precedence first: the user's, in their settings folder `users`,
    then those of the workspace folders unless the editor does not trust the workspace."""
    own = SkillFolder(path=users / "skills", source="user", root=users)
    if is_restricted:
        return [own]
    return [
        own,
        *(
            SkillFolder(path=folder / each / "skills", source="workspace", root=folder)
            for folder in workspace
            for each in OF_WORKSPACE
        ),
    ]
