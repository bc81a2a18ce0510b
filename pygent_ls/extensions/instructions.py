"""Instructions from AGENTS.md and CLAUDE.md, read through the workspace: with unsaved changes, never from outside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from pygent_ls.agent.context.instructions import Instruction, lost
from pygent_ls.agent.messages import Message
from pygent_ls.agent.ports.workspace import MISSING, MISSING_TARGET, Workspace
from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.agent.tools.secret_masks import SecretMasks
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import whole_placeholders

NAMES = ("AGENTS.md", "CLAUDE.md")
"""File names in one folder, in this order; most agents read the first, Claude Code the second."""

IMPORTING = "CLAUDE.md"
"""File whose lines may import others with `@path`."""

MAX_FILE_CHARS = 40_000
"""Maximum length of one file: about 10,000 tokens, at which Claude Code warns that a file is too long."""

MAX_IMPORT_DEPTH = 5
"""Maximum depth of imports, as in Claude Code."""

MAX_IMPORTS = 20
"""Maximum number of files that one file imports, directly and indirectly."""

MAX_NESTED = 50
"""Maximum number of files below the roots that a session receives."""

_CODE = re.compile(r"^```.*?(?:^```[ \t]*$|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
"""Code blocks and spans; an unclosed fence extends to the end."""

_IMPORT = re.compile(r"(?<!\S)@([^\s@`]+)")


class RepositoryInstructions:
    """The `Instructions` port on a workspace's files; remembers per session which were given."""

    def __init__(self, workspace: Workspace, masks: SecretMasks | None = None) -> None:
        self._workspace = workspace
        self._masks = masks or SecretMasks()
        self._given: dict[Path, Instruction] = {}
        self._looked_at: set[Path] = set()
        """Folders searched since the turn began or instructions were lost; new files count from the next turn on."""

    async def of_workspace(self, reading: Reading) -> Sequence[Instruction]:
        """Return the instructions of the workspace's root folders."""
        self._looked_at.clear()
        found = [await self._in_folder(folder, reading) for folder in self._workspace.folders]
        return _each_once(each for group in found for each in group)

    async def near(self, paths: Iterable[Path], reading: Reading) -> Sequence[Instruction]:
        """Return the instructions in folders between the roots and these paths that were not given before."""
        on_the_way = {folder for path in paths for folder in self._on_the_way(path)} - self._looked_at
        folders = sorted(on_the_way, key=lambda folder: (len(folder.parts), folder))
        if not folders:
            return []
        roots = {each.path for root in self._workspace.folders for each in self._candidates(root)}
        new: list[Instruction] = []
        for folder in folders:
            self._looked_at.add(folder)
            for found in await self._in_folder(folder, reading):
                if found.path not in roots and found.path not in self._given and len(self._given) < MAX_NESTED:
                    self._given[found.path] = replace(found, below=self._workspace.shown(folder))
                    new.append(self._given[found.path])
        return [each for each in new if not each.problem]

    def forget_lost(self, messages: Sequence[Message]) -> None:
        """Forget the instructions that the conversation no longer contains, so that they are given again."""
        for each in lost(self._given.values(), messages) if self._given else ():
            del self._given[each.path]
            self._looked_at.clear()

    def afresh(self) -> RepositoryInstructions:
        """Return a new instance that has given no instructions yet."""
        return RepositoryInstructions(self._workspace, self._masks)

    # Search

    def _on_the_way(self, path: Path) -> Iterator[Path]:
        """Yield the folders between a root and the file, without the root."""
        holding = [folder for folder in self._workspace.folders if path.is_relative_to(folder)]
        innermost = max(holding, key=lambda folder: len(folder.parts), default=None)
        for folder in path.parents if innermost else ():
            if folder == innermost:
                return
            yield folder

    def _candidates(self, folder: Path) -> Iterator[Instruction]:
        """Yield instructions without text for the files of a folder within the workspace, whether they exist or not."""
        for name in NAMES:
            try:
                path = self._workspace.resolve(str(folder / name))
            except ToolError as error:
                shown = self._workspace.shown(folder / name)
                yield Instruction(path=folder / name, name=shown, text="", n_chars=0, problem=str(error))
            else:
                yield Instruction(path=path, name=self._workspace.shown(folder / name), text="", n_chars=0)

    async def _in_folder(self, folder: Path, reading: Reading) -> list[Instruction]:
        """Return the instructions of one folder, with their imports."""
        candidates = list(self._candidates(folder))
        stamps = await self._workspace.stamps([each.path for each in candidates])
        found: dict[Path, Instruction] = {}
        for each, stamp in zip(candidates, stamps, strict=True):
            if stamp in (MISSING, MISSING_TARGET) or each.path in found:
                continue
            taken = each if each.problem else await self._read(each.path, reading)
            found[each.path] = taken
            if each.name.endswith(IMPORTING):
                await self._import(taken, found, reading, depth=1)
        return _each_once(found.values())

    async def _import(
        self, importing: Instruction, found: dict[Path, Instruction], reading: Reading, *, depth: int
    ) -> None:
        """Add the imports of a file, each file once, so that a cycle ends."""
        for word in _imports_in(importing.text) if depth <= MAX_IMPORT_DEPTH else ():
            try:
                path = self._workspace.resolve(str(importing.path.parent / word))
            except ToolError:
                continue  # outside the workspace, or not a path
            if path in found or len(found) >= MAX_IMPORTS or await self._workspace.stamp(path) == MISSING:
                continue
            imported = await self._read(path, reading)
            if imported.problem:
                continue  # a folder, or a word that is not an import
            found[path] = imported
            await self._import(imported, found, reading, depth=depth + 1)

    async def _read(self, path: Path, reading: Reading) -> Instruction:
        name = self._workspace.shown(path)
        if rule := reading.withholds(name):
            why = f"The rule {rule.text} prevents it from being read."
            return Instruction(path=path, name=name, text="", n_chars=0, problem=why)
        try:
            text = (await self._masks.document(await self._workspace.read(path))).text
        except ToolError as error:
            return Instruction(path=path, name=name, text="", n_chars=0, problem=str(error))
        return Instruction(path=path, name=name, text=cut(text, name), n_chars=len(text))


def cut(text: str, name: str) -> str:
    """Return the text, or its beginning and how much is left out."""
    if len(text) <= MAX_FILE_CHARS:
        return text
    left_out = len(text) - MAX_FILE_CHARS
    shown = text[: whole_placeholders(text, MAX_FILE_CHARS)]
    return f"{shown}\n[… {left_out:,} of {len(text):,} characters of {name} left out …]"


def _imports_in(text: str) -> list[str]:
    return [word.rstrip(".,:;!?)") for word in dict.fromkeys(_IMPORT.findall(_CODE.sub("", text)))][:MAX_IMPORTS]


def _each_once(found: Iterable[Instruction]) -> list[Instruction]:
    """Return the instructions without repeated texts."""
    by_text: dict[str, Instruction] = {}
    for each in found:
        key = f"\0{each.path}" if each.problem else each.text.strip()
        if key:
            by_text.setdefault(key, each)
    return list(by_text.values())
