"""Masking of text from files and programs, which is masked as a whole before any part is cut out.

The content of a file counts as much as its name. All values of a file of environment variables are secret, also through
a link to the file, in a copy of it, after a move, and in a file that was written with the values of placeholders.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from pygent_ls.agent.ports.processes import Processes, ProcessResult, ProcessSpec
from pygent_ls.agent.ports.workspace import (
    MISSING,
    CopyBytes,
    Document,
    EditPlan,
    LargeFilePart,
    MoveFile,
    Workspace,
    WriteText,
)
from pygent_ls.agent.tools.program_output import KeptOutput
from pygent_ls.errors import ToolError
from pygent_ls.secrets.env_files import is_env_file, is_example_file
from pygent_ls.secrets.redactor import PLACEHOLDER, Redactor
from pygent_ls.secrets.session import ENV_FILES_OF_A_FOLDER, SecretFiles, mentioned
from pygent_ls.secrets.stream import LiveRedactor

Report = Callable[[str], Awaitable[None]]

MAX_MENTIONED = 16
"""Maximum number of files of environment variables that are read because a call or its result names them."""

MAX_LEARNED = 200
"""Maximum number of files of environment variables that are learned before a program runs."""


class SecretMasks:
    """Masks of one session. Without a redactor that is on, all text stays unchanged."""

    def __init__(
        self, redactor: Redactor | None = None, workspace: Workspace | None = None, files: SecretFiles | None = None
    ) -> None:
        self._redactor = redactor or Redactor()
        self._workspace = workspace
        self.files = files or SecretFiles()

    @property
    def is_on(self) -> bool:
        """Whether secrets are masked."""
        return self._redactor.is_on

    @property
    def knowledge(self) -> int:
        """Number that changes when other text or other files are masked."""
        return hash((self._redactor.knowledge, self.files.knowledge))

    async def text(self, text: str, path: str | None = None) -> str:
        """Return the text with its secrets masked. `path` is the file, or only its name, that the text is from.

        The text consists of whole lines: a secret in a part of a line might not be recognised.
        """
        if not self.is_on or not text:
            return text
        resolved = self._resolved(path) if path is not None else None
        is_env = path is not None and (is_env_file(path) or (resolved is not None and is_env_file(resolved.name)))
        is_example = path is not None and is_example_file(path)
        if not is_example and (is_env or self.files.is_env(resolved, text)):
            path = ".env"
        placeholders = self.files.placeholders_in(resolved) if resolved else ()
        also = [value for each in placeholders if (value := self._redactor.value_of(each))]
        return await self._redactor.redact(text, path, also)

    async def document(self, document: Document, name: str = "") -> Document:
        """Return the whole file with its secrets masked. `name` is the name it was opened by, which may be a link."""
        if not self.is_on:
            return document
        self._learn_lines(document, name)
        masked = await self.text(document.text, name if is_env_file(name) else str(document.path))
        self.files.note(document.path, has_secrets=masked != document.text)
        return document if masked == document.text else replace(document, text=masked)

    async def part(self, part: LargeFilePart, name: str) -> Sequence[str]:
        """Return the lines of a part of a file, masked together with what is around them. `name` is the name the file
        was opened by."""
        text = "\n".join(part.lines)
        if not self.is_on:
            return part.lines
        path = name if is_env_file(name) else str(part.path)
        masked = await self.text(f"{part.before}{text}\n{part.after}", path)
        shown = self._redactor.part_of(masked, len(part.before), len(part.before) + len(text))
        return shown.split("\n")

    def searchable(self, masked: str) -> str:
        """Return a masked text in which keys can be found by their public prefix (`Redactor.searchable`)."""
        return self._redactor.searchable(masked)

    def live(self, path: str | None = None) -> LiveRedactor:
        """Return a redactor for text that arrives in pieces."""
        return LiveRedactor(self, path)

    async def redact(self, text: str, path: str | None = None) -> str:
        """Mask whole lines of a program's output, after learning the files of environment variables that they name."""
        if not self.is_on:
            return text
        await self.learn_named(text, own=False)
        return await self.text(text, path)

    async def run(
        self, processes: Processes, spec: ProcessSpec, live: LiveRedactor, report: Report | None = None
    ) -> ProcessResult:
        """Run a program whose output is shown. The output is masked as it arrives, passed to `report`, and then cut."""
        if not self.is_on:
            return await processes.run(spec, report)
        kept, n_taken = KeptOutput(spec.max_output_chars), 0

        async def keep(shown: str) -> None:
            kept.add(shown)
            if shown and report:
                await report(shown)

        async def take(piece: str) -> None:
            nonlocal n_taken
            n_taken += len(piece)
            await keep(await live.feed(piece))

        result = await processes.run(spec, take)
        if not spec.errors_apart:
            await keep(await live.feed(_not_taken(result, spec.max_output_chars, n_taken)))
        await keep(await live.close())
        errors = await self.text(result.stderr)
        return replace(result, stdout=kept.text(), stderr=errors, omitted_chars=kept.omitted_chars)

    # Learning secrets before they are shown

    def written(self, paths: Iterable[str], texts: str) -> None:
        """Remember that a call writes the values of the placeholders in `texts` to these files."""
        found = {each[0] for each in PLACEHOLDER.finditer(texts)}
        if found:
            self.files.write(filter(None, map(self._resolved, paths)), found)

    def moved(self, plan: EditPlan) -> None:
        """Remember the files that a completed plan moved or copied."""
        for operation in plan.operations:
            match operation:
                case MoveFile(source=source, destination=target) | CopyBytes(source=source, destination=target):
                    self.files.inherit(source, target)
                case WriteText(path=target, copied_from=Path() as source):
                    self.files.inherit(source, target)
                case _:
                    pass

    def put_elsewhere(self, source: object, destination: object) -> None:
        """Remember that a file was moved or copied to a path, or into the folder at that path."""
        if isinstance(source, str) and isinstance(destination, str):
            old, new = self._resolved(source), self._resolved(destination)
            if old and new:
                self.files.inherit(old, new)
                self.files.inherit(old, new / old.name)

    async def learn_named(self, text: str, *, own: bool = True) -> None:
        """Learn the files of environment variables that a text names and, with `own`, those of the workspace."""
        names = await self._own_env_files() if own else []
        await self.learn_files([*names, *list(dict.fromkeys(mentioned(text)))[:MAX_MENTIONED]])

    async def _own_env_files(self) -> list[str]:
        """Return the files of environment variables in the workspace's folders. Looking for them takes a tenth of the
        time of resolving all of their possible paths."""
        if self._workspace is None:
            return []
        folders = (*self._workspace.folders, *self._workspace.more_folders)
        paths = [folder / name for folder in folders for name in ENV_FILES_OF_A_FOLDER]
        stamps = await self._workspace.stamps(paths)
        return [str(path) for path, stamp in zip(paths, stamps, strict=True) if stamp != MISSING]

    async def learn_all(self) -> None:
        """Learn all files of environment variables in the workspace, since a program may print any of them."""
        if self.is_on and self._workspace is not None:
            found = await self._workspace.files_named(is_env_file)
            await self.learn_files(str(path) for path in found[:MAX_LEARNED])

    async def learn_files(self, names: Iterable[str]) -> None:
        """Learn the secrets of files without showing them. Files that cannot be read are left out."""
        if self._workspace is None:
            return
        paths: dict[str, Path] = {}
        for name in names:
            with suppress(ToolError):
                paths[name] = self._workspace.resolve(name)
        stamps = await self._workspace.stamps(list(paths.values())) if paths else ()
        for (name, path), stamp in zip(paths.items(), stamps, strict=True):
            if stamp == MISSING or not self.files.is_new(path, stamp):
                continue
            try:
                document = await self._workspace.read(path)
            except ToolError:
                continue
            await self.learn(document, name)

    async def learn(self, document: Document, name: str = "") -> None:
        """Learn the secrets of a whole file."""
        self._learn_lines(document, name)
        is_env = is_env_file(name) or self.files.is_env(document.path, document.text)
        await self._redactor.learn(document.text, ".env" if is_env else document.path.name)

    def _learn_lines(self, document: Document, name: str) -> None:
        if is_env_file(document.path.name) or is_env_file(name):
            self.files.learn(document.path, document.text)

    def _resolved(self, name: str) -> Path | None:
        if self._workspace is None:
            return Path(name)
        try:
            return self._workspace.resolve(name)
        except ToolError:
            return Path(name)


def _not_taken(result: ProcessResult, max_chars: int, n_taken: int) -> str:
    """Return the output, in whole lines, that a program wrote while it was being ended and that was not passed on."""
    n_left = len(result.stdout) - n_taken
    if not result.omitted_chars:
        return result.stdout[n_taken:] if n_left > 0 else ""
    n_left = max_chars + result.omitted_chars - n_taken
    if n_left <= 0:
        return ""
    n_tail = max_chars - max_chars // 2
    tail = result.stdout[len(result.stdout) - min(n_left, n_tail) :]
    return tail if n_left <= n_tail else tail.partition("\n")[2]
