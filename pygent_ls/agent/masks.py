"""Text that comes in from files and programs, as a session may show it: masked whole, before anything is cut from it.

What a file is counts as much as its name. All values of a file of environment variables are secret, also where a link
leads to it, where it was copied or moved to, and where a value was written in the place of its placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from pygent_ls.agent.kept_output import KeptOutput
from pygent_ls.agent.secrets import PLACEHOLDER, LiveRedactor, Redactor, is_env_file, is_example_file
from pygent_ls.agent.workspace import (
    MISSING,
    CopyBytes,
    Document,
    EditPlan,
    MoveFile,
    Processes,
    ProcessResult,
    ProcessSpec,
    Stamp,
    Workspace,
    WriteText,
)
from pygent_ls.errors import ToolError

Report = Callable[[str], Awaitable[None]]

ENV_FILES_OF_A_FOLDER = (
    *(".env", ".env.local", ".env.development", ".env.development.local", ".env.production", ".env.production.local"),
    *(".env.test", ".env.staging", ".envrc"),
)
"""Known before anything is shown: whatever prints their values later, nobody reads them."""

MAX_MENTIONED = 16
"""Files of environment variables that are looked for because a call or its result names them."""

MAX_LEARNED = 200
"""Files of environment variables that are learned before a program runs."""

_MENTION = re.compile(r"(?<![\w./~-])[\w./~-]{0,200}?\.(?:env|flaskenv|dev\.vars)[\w.-]{0,40}")
_KEY_MENTION = re.compile(
    r"(?<![\w./~-])(?:[\w./~-]{1,200}?\.(?:pem|key|p8)|[\w./~-]{0,200}?id_(?:rsa|dsa|ecdsa|ed25519))(?![\w.-])"
)


def mentioned(text: str) -> Iterator[str]:
    """The files of environment variables that a text names, and those of private keys."""
    if "env" in text or ".dev.vars" in text:
        yield from (match[0] for match in _MENTION.finditer(text) if is_env_file(match[0]))
    if any(hint in text for hint in (".pem", ".key", ".p8", "id_")):
        yield from (match[0] for match in _KEY_MENTION.finditer(text))


@dataclass
class SecretFiles:
    """What a session knows of files that hold secrets, besides their names."""

    _seen: dict[Path, Stamp] = field(default_factory=dict[Path, Stamp])
    """The files of environment variables that were learned, as they were then."""
    _lines: dict[Path, frozenset[str]] = field(default_factory=dict[Path, frozenset[str]])
    """The assignments of files of environment variables."""
    _placeholders: dict[Path, frozenset[str]] = field(default_factory=dict[Path, frozenset[str]])
    """The placeholders whose values were written into a file."""
    _with_secrets: set[Path] = field(default_factory=set[Path])

    def is_new(self, path: Path, stamp: Stamp) -> bool:
        """Whether the file was not learned as it is now; it counts as learned from here on."""
        if stamp == MISSING or self._seen.get(path) == stamp:
            return False
        self._seen[path] = stamp
        return True

    def learn(self, path: Path, text: str) -> None:
        """The text of a file of environment variables."""
        self._lines[path] = _assignments(text)

    def is_env(self, path: Path | None, text: str) -> bool:
        """Whether a text is a known file's of environment variables, or shares at least half of its lines with one."""
        if path in self._lines:
            return True
        longest = max(map(len, self._lines.values()), default=0)
        if not longest or text.count("=") > 4 * longest or text.count("\n") > 100 + 10 * longest:
            return False
        lines = _assignments(text)
        return any(len(lines & known) * 2 >= len(lines) > 0 for known in tuple(self._lines.values()))

    def write(self, paths: Iterable[Path], placeholders: Collection[str]) -> None:
        """The values of these are in the files from now on."""
        for path in paths:
            self._placeholders[path] = self._placeholders.get(path, frozenset()).union(placeholders)

    def placeholders_in(self, path: Path) -> Collection[str]:
        """Those whose values were written into a file."""
        return self._placeholders.get(path, frozenset())

    def note(self, path: Path, *, has_secrets: bool) -> None:
        """Whether a whole file turned out to hold secrets."""
        (self._with_secrets.add if has_secrets else self._with_secrets.discard)(path)

    def may_have_secrets(self, path: Path) -> bool:
        """Whether a file is known to hold secrets, or likely does by its name."""
        return path in self._with_secrets or path in self._lines or path in self._placeholders or is_env_file(path.name)

    @property
    def knowledge(self) -> int:
        """Another number once more is known."""
        return hash((frozenset(self._lines.items()), frozenset(self._placeholders.items())))

    def inherit(self, source: Path, target: Path) -> None:
        """The target is what the source was, and all that is below it."""
        _inherit(self._lines, source, target)
        _inherit(self._placeholders, source, target)


def _inherit(known: dict[Path, frozenset[str]], source: Path, target: Path) -> None:
    for path, fact in tuple(known.items()):
        if path.is_relative_to(source):
            known[target / path.relative_to(source)] = fact


def _assignments(text: str) -> frozenset[str]:
    lines = (line.strip() for line in text.splitlines())
    return frozenset(line for line in lines if "=" in line and not line.startswith("#"))


class Masks:
    """One session's. Without a redactor that is on, everything stays as it is."""

    def __init__(
        self, redactor: Redactor | None = None, workspace: Workspace | None = None, files: SecretFiles | None = None
    ) -> None:
        self._redactor = redactor or Redactor()
        self._workspace = workspace
        self.files = files or SecretFiles()

    @property
    def is_on(self) -> bool:
        """Whether secrets are masked at all."""
        return self._redactor.is_on

    @property
    def knowledge(self) -> int:
        """Another number once other text is masked, or other files are."""
        return hash((self._redactor.knowledge, self.files.knowledge))

    async def text(self, text: str, path: str | None = None) -> str:
        """A text, and of which file it is, all or some lines of it; that may be a name alone.

        A piece of a line must not be given: what it is a piece of cannot be told.
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
        """A whole file, by what it is called, too, where that is a link's name."""
        if not self.is_on:
            return document
        self._learn_lines(document, name)
        masked = await self.text(document.text, name if is_env_file(name) else str(document.path))
        self.files.note(document.path, has_secrets=masked != document.text)
        return document if masked == document.text else replace(document, text=masked)

    def searchable(self, masked: str) -> str:
        """See `Redactor.searchable`."""
        return self._redactor.searchable(masked)

    def live(self, path: str | None = None) -> LiveRedactor:
        """For text that comes in pieces."""
        return LiveRedactor(self, path)

    async def redact(self, text: str, path: str | None = None) -> str:
        """Whole lines of a program's output; the files of environment variables that they name are known before."""
        if not self.is_on:
            return text
        await self.learn_named(text, own=False)
        return await self.text(text, path)

    async def run(
        self, processes: Processes, spec: ProcessSpec, live: LiveRedactor, report: Report | None = None
    ) -> ProcessResult:
        """Run a program whose output is shown: it is masked as it comes, passed on to `report`, and cut after that."""
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

    # Knowing secrets before they are shown

    def written(self, paths: Iterable[str], texts: str) -> None:
        """A call writes the values of the placeholders in the texts into these files."""
        found = {each[0] for each in PLACEHOLDER.finditer(texts)}
        if found:
            self.files.write(filter(None, map(self._resolved, paths)), found)

    def moved(self, plan: EditPlan) -> None:
        """A plan was carried out that may have moved files, or copied them."""
        for operation in plan.operations:
            match operation:
                case MoveFile(source=source, destination=target) | CopyBytes(source=source, destination=target):
                    self.files.inherit(source, target)
                case WriteText(path=target, copied_from=Path() as source):
                    self.files.inherit(source, target)
                case _:
                    pass

    def put_elsewhere(self, source: object, destination: object) -> None:
        """A file was moved or copied to a path, or into the folder there."""
        if isinstance(source, str) and isinstance(destination, str):
            old, new = self._resolved(source), self._resolved(destination)
            if old and new:
                self.files.inherit(old, new)
                self.files.inherit(old, new / old.name)

    async def learn_named(self, text: str, *, own: bool = True) -> None:
        """Know the values of the files of environment variables that a text names, and of the workspace's own."""
        workspace = self._workspace if own else None
        folders = (*workspace.folders, *workspace.more_folders) if workspace else ()
        names = [str(folder / name) for folder in folders for name in ENV_FILES_OF_A_FOLDER]
        await self.learn_files([*names, *list(dict.fromkeys(mentioned(text)))[:MAX_MENTIONED]])

    async def learn_all(self) -> None:
        """Know the values of every file of environment variables in the workspace: a program may show any of them."""
        if self.is_on and self._workspace is not None:
            found = await self._workspace.files_named(is_env_file)
            await self.learn_files(str(path) for path in found[:MAX_LEARNED])

    async def learn_files(self, names: Iterable[str]) -> None:
        """Know the secrets of files, without showing them; what cannot be read is left out."""
        if self._workspace is None:
            return
        for name in names:
            try:
                path = self._workspace.resolve(name)
                if not self.files.is_new(path, await self._workspace.stamp(path)):
                    continue
                document = await self._workspace.read(path)
            except ToolError:
                continue
            await self.learn(document, name)

    async def learn(self, document: Document, name: str = "") -> None:
        """Know the secrets of a whole file."""
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
    """What a program wrote while it was ended, which is kept and was not passed on, from a whole line on."""
    n_left = len(result.stdout) - n_taken
    if not result.omitted_chars:
        return result.stdout[n_taken:] if n_left > 0 else ""
    n_left = max_chars + result.omitted_chars - n_taken
    if n_left <= 0:
        return ""
    n_tail = max_chars - max_chars // 2
    tail = result.stdout[len(result.stdout) - min(n_left, n_tail) :]
    return tail if n_left <= n_tail else tail.partition("\n")[2]
