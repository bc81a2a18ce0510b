"""Runs ripgrep to list files that .gitignore does not exclude, and to find matching lines in them."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.agent.ports.workspace import MISSING, Document
from pygent_ls.agent.rules import globs
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import whole_placeholders

RG_TIMEOUT_S = 50.0
"""Time limit, shorter than a tool's own, so that the model learns what took so long."""

MAX_LIST_CHARS = 40_000_000
"""Maximum length of a listing: half a million files."""

MAX_MATCH_CHARS = 2_000_000
"""Maximum length of the lines found, some 10,000, after which rg is stopped. Results show at most a tenth of them."""

LINE_CHARS = 200
"""Length added for each line, beside its text."""

MAX_KEPT_CHARS = 1_000
"""Maximum length kept of a line around its first match: more than is ever shown."""

MAX_MESSAGE_CHARS = 8_000_000
"""Maximum length of rg's JSON for one line, which lists each match; for a longer one only the line number and the place
of the first match are read. Shorter than the lines of `Workspace.lines_on_disk`."""

MAX_LONG_CHARS = 400_000_000
"""Maximum length of such a longer message, some 7 s, after which rg is stopped: a pattern may match at every character
of a line."""

MAX_MEMORY_BYTES = 4_000_000_000
"""Maximum address space of rg, most of which is mapped files. It keeps 48 bytes for each match in a line: a pattern
that matches at every character of a line of 200 MB would take 9.5 GB."""

MAX_WORDS_CHARS = 4_000
"""Maximum length of an error message from rg."""

MAX_TEXT_CHARS = 10_000_000
"""Maximum length of unsaved texts that are searched at once."""

IGNORE_FILES = (".gitignore", ".ignore")

OWN_FILES = "--glob=!.pygent-[0-9a-f]*.tmp"
"""Excludes the daemon's temporary files; a killed daemon leaves them behind."""

_ANSWERED = (0, 1)
"""Exit codes of rg for success: with and without matches."""

EVERYTHING = frozenset({"", "*", "**", "**/*", "*/**", "**/**"})
"""Globs that match everything. They are not passed to rg, for which a glob that matches a folder overrides .gitignore,
so that it would search all of node_modules.
"""


class SearchPlace(Struct, frozen=True, kw_only=True):
    """Folder or file to search, and its workspace folder."""

    path: Path
    folder: Path

    def name_of(self, path: Path) -> str:
        """Return a path relative to the workspace folder, with `/`."""
        return path.relative_to(self.folder).as_posix()


class SearchLine(Struct, frozen=True, kw_only=True):
    """Matching line, or a context line."""

    number: int
    """Line number, from 1."""
    text: str
    """Text without its line ending."""
    match_start: int | None
    """Start of the first match, in characters; None for a context line."""
    n_before: int = 0
    """Number of characters of the line left out before the text."""
    n_after: int = 0
    """Number of characters left out after the text."""
    is_too_long: bool = False
    """Whether the text only says that the line is too long."""


class Matches(Struct, frozen=True, kw_only=True):
    """Result of a search."""

    lines: Mapping[str, Sequence[SearchLine]]
    """Lines in order, by file, relative to the place's workspace folder, with `/`."""
    is_cut: bool = False
    """Whether the search was stopped because there were too many results."""
    has_failures: bool = False
    """Whether some files could not be read."""
    n_withheld: int = 0
    """Number of files not searched because of read rules, whatever they contain."""


async def places(context: ToolContext, path: str) -> list[SearchPlace]:
    """Return the places to search; `.` is every workspace folder. Makes the result depend on everything below them.

    Raises `ToolError` if the path does not exist.
    """
    workspace = context.workspace
    if path in ("", ".", "./") and len(workspace.folders) > 1:
        outermost = [each for each in workspace.folders if _folder_of(context, each) == each]
        found = [SearchPlace(path=each, folder=each) for each in outermost]
    else:
        resolved = workspace.resolve(path or ".")
        if await workspace.stamp(resolved) == MISSING:
            raise ToolError(f"{workspace.shown(resolved)} does not exist. Use list_files to see what exists.")
        found = [place_of(context, resolved)]
    for place in found:
        await _depend(context, place)
    return found


def place_of(context: ToolContext, path: Path) -> SearchPlace:
    """Return the place at a resolved path."""
    return SearchPlace(path=path, folder=_folder_of(context, path))


def _folder_of(context: ToolContext, path: Path) -> Path:
    """Return the outermost folder that contains the path, preferring workspace folders; else the path itself."""
    workspace = context.workspace
    holding = [each for each in workspace.folders if path.is_relative_to(each)]
    holding = holding or [each for each in workspace.more_folders if path.is_relative_to(each)]
    return min(holding, key=lambda each: len(each.parts), default=path)


async def _depend(context: ToolContext, place: SearchPlace) -> None:
    await context.depend_on_tree(place.path)
    for above in place.path.parents:
        if not above.is_relative_to(place.folder):
            break
        for name in IGNORE_FILES:
            context.dependencies[above / name] = await context.workspace.stamp(above / name)


async def list_place(context: ToolContext, place: SearchPlace, glob: str = "") -> list[str]:
    """List the files below a place that .gitignore does not exclude and that match the glob, relative to the place's
    workspace folder, sorted, including those that so far exist only in the editor.

    A place that is a file is listed in any case. Raises `ToolError`, also for an invalid glob.
    """
    files = await _list(context, place)
    new = {each.path for name, each in unsaved_below(context, place).items() if name not in files}
    if glob not in EVERYTHING:
        files &= await _list(context, place, f"--glob={_anchored(glob, place)}")
        new = {path for path in new if _matches_glob(glob, path.relative_to(place.path).as_posix())}
    statuses = {path: await context.workspace.status(path) for path in new}
    never_saved = {place.name_of(path) for path, status in statuses.items() if status.kind != "file"}
    return await asyncio.to_thread(sorted, files | never_saved)


def unsaved_below(context: ToolContext, place: SearchPlace) -> dict[str, Document]:
    """Return the unsaved buffers below a place by their paths relative to the workspace folder."""
    unsaved = context.workspace.unsaved()
    return {place.name_of(each.path): each for each in unsaved if each.path.is_relative_to(place.path)}


async def _list(context: ToolContext, place: SearchPlace, *filters: str) -> set[str]:
    args = ("--files", "--null", *await _scope(context, place, filters))
    result = await _run(context, place.folder, args, max_output_chars=MAX_LIST_CHARS)
    if result.exit_code not in _ANSWERED and not result.stdout:
        if (await context.workspace.status(place.path)).kind == "missing":  # a new file that was never saved
            return set()
        raise ToolError(_words(result.stderr))
    if result.omitted_chars:
        raise ToolError("There are too many files to list. Name a smaller folder as `path`.")
    return await asyncio.to_thread(_listed, result.stdout)


def _listed(output: str) -> set[str]:
    return {name.removeprefix("./") for name in output.split("\0") if name}


def _matches_glob(glob: str, path: str) -> bool:
    """Return whether a file that rg cannot see would match; braces and classes are not supported."""
    body = glob.removeprefix("!").removeprefix("./")
    pattern = body.lstrip("/") if "/" in body else f"**/{body}"
    return (globs.compiled(pattern).fullmatch(path) is not None) != glob.startswith("!")


async def search_place(
    context: ToolContext, place: SearchPlace, pattern: str, options: Sequence[str], glob: str
) -> Matches:
    """Return the matching lines in the files of a place; a glob may include ignored files, which the caller drops.

    Raises `ToolError`, also for an invalid pattern.
    """
    scope = await _scope(context, place, _filters(glob, place))
    found = await _search(context, place.folder, (*options, f"--regexp={pattern}", *scope), pattern)
    return await _confirmed(context, place, found)


async def _confirmed(context: ToolContext, place: SearchPlace, found: Matches) -> Matches:
    """Keep only lines that the files of the workspace contain: rg opens files by path, so a link that replaces a folder
    meanwhile leads it elsewhere.
    """
    wanted = {place.folder / name: [line.number for line in lines] for name, lines in found.lines.items()}
    there = await context.workspace.lines_on_disk(wanted)
    kept: dict[str, Sequence[SearchLine]] = {}
    for name, lines in found.lines.items():
        own = there.get(place.folder / name, {})
        if confirmed := [line for line in lines if line.is_too_long or _is_of(line, own.get(line.number))]:
            kept[name] = confirmed
    is_whole = sum(map(len, kept.values())) == sum(map(len, found.lines.values()))
    return replace(found, lines=kept, has_failures=found.has_failures or not is_whole)


def _is_of(line: SearchLine, raw: bytes | None) -> bool:
    return raw is not None and _text(raw)[line.n_before :].startswith(line.text)


async def search_texts(
    context: ToolContext,
    place: SearchPlace,
    texts: Mapping[str, str],
    pattern: str,
    options: Sequence[str],
    n_around: int,
) -> Matches:
    """Return the matching lines in texts that replace the files of these names, with `n_around` context lines, which
    `options` must also request. Raises `ToolError`.
    """
    found = Matches(lines={})
    waiting = list(texts.items())[::-1]
    while waiting and not found.is_cut:
        some, n_chars = dict[str, str](), 0
        while waiting and (not some or n_chars + len(waiting[-1][1]) <= MAX_TEXT_CHARS):
            name, text = waiting.pop()
            some[name] = text
            n_chars += len(text)
        each = await _search_joined(context, place, some, pattern, options, n_around)
        found = Matches(lines={**found.lines, **each.lines}, is_cut=each.is_cut, has_failures=each.has_failures)
    return found


async def _search_joined(
    context: ToolContext,
    place: SearchPlace,
    texts: Mapping[str, str],
    pattern: str,
    options: Sequence[str],
    n_around: int,
) -> Matches:
    """Search the texts with one call of rg, joined into one text: a match lies within one line."""
    names, starts, pieces = list(texts), [0], list[str]()
    for text in texts.values():
        piece = text.lstrip("\ufeff")
        pieces.append(piece if piece.endswith("\n") or not piece else f"{piece}\n")
        starts.append(starts[-1] + pieces[-1].count("\n"))
    stdin = "".join(pieces).encode("utf-8", "surrogatepass")
    args = (*options, "--text", f"--regexp={pattern}", "--", "-")
    found = await _search(context, place.folder, args, pattern, stdin=stdin)
    lines: dict[str, list[SearchLine]] = {}
    for line in next(iter(found.lines.values()), ()):
        at = bisect_left(starts, line.number) - 1
        lines.setdefault(names[at], []).append(replace(line, number=line.number - starts[at]))
    return replace(found, lines={name: near for name, each in lines.items() if (near := _around_own(each, n_around))})


def _around_own(lines: Sequence[SearchLine], n_around: int) -> list[SearchLine]:
    """Return the lines of one text, without context lines of matches in the adjacent texts."""
    matches = [line.number for line in lines if line.match_start is not None]

    def is_near(line: SearchLine) -> bool:
        at = bisect_left(matches, line.number - n_around)
        return at < len(matches) and matches[at] <= line.number + n_around

    return [line for line in lines if is_near(line)]


class _EnoughError(Exception):
    """Raised to stop a search with more results than anyone reads."""


async def _search(
    context: ToolContext, folder: Path, args: Sequence[str], pattern: str, *, stdin: bytes = b""
) -> Matches:
    """Search, and stop when there is more than enough: a pattern that matches everywhere would take minutes."""
    reader = _RipgrepReader()

    async def take(piece: str) -> None:
        await asyncio.to_thread(reader.feed, piece)
        if reader.n_chars > MAX_MATCH_CHARS or reader.has_endless_line:
            raise _EnoughError

    exit_code: int | None = None
    try:
        result = await _run(context, folder, (*_MATCHING, *args), stdin=stdin, on_output=take)
        exit_code = result.exit_code
        reader.feed("\n")
    except _EnoughError:
        if reader.has_endless_line:
            reader.feed("\n")
    if exit_code is not None and exit_code < 0 and not reader.lines:
        raise ToolError(
            "ripgrep ran out of memory: a line of a large file has too many matches. Narrow the pattern, or exclude "
            "the file with a glob such as !*.json."
        )
    if exit_code not in (*_ANSWERED, None) and not reader.has_messages:
        raise ToolError(
            f"Invalid pattern {pattern!r}: {_words(reader.words)}\nThe pattern is a regular expression in Rust's "
            "syntax, and a match lies within one line. To search for ( [ { . * + ? ^ $ | literally, put a "
            "backslash before each."
        )
    return Matches(lines=reader.lines, is_cut=exit_code is None, has_failures=exit_code not in (*_ANSWERED, None))


_MATCHING = ("--json", "--crlf", "--no-messages")
"""Options of a search. With `--crlf`, `$` also matches before `\\r\\n`. Messages about unreadable files would be mixed
with the JSON.
"""


def overrides_gitignore(glob: str) -> bool:
    """Return whether a search for files that match this glob also finds ignored ones."""
    return not glob.startswith("!") and "/" in glob.removeprefix("**/") and glob not in EVERYTHING


def _filters(glob: str, place: SearchPlace) -> tuple[str, ...]:
    """Return options that limit a search to matching files. A file type matches names only, but excludes ignored
    files.
    """
    if glob in EVERYTHING:
        return ()
    if glob.startswith("!") or overrides_gitignore(glob):
        return (f"--glob={_anchored(glob, place)}",)
    return f"--type-add=wanted:{glob.removeprefix('**/')}", "--type=wanted"


def _anchored(glob: str, place: SearchPlace) -> str:
    """Return the glob for rg, whose globs are relative to its working directory; ours are relative to the place."""
    exclude = "!" if glob.startswith("!") else ""
    body = glob.removeprefix("!").removeprefix(f"{place.path}/").removeprefix("./")
    if body.endswith("/"):
        body += "**"
    if "/" not in body or body.startswith("**/"):
        return exclude + body
    inside = place.name_of(place.path)
    escaped = "" if inside == "." else re.sub(r"([\\*?\[\]{}!])", r"\\\1", inside) + "/"
    return f"{exclude}/{escaped}{body.lstrip('/')}"


async def _scope(context: ToolContext, place: SearchPlace, filters: Sequence[str]) -> tuple[str, ...]:
    """Return rg's arguments that select the files; the path is the last.

    Outside a repository .gitignore is also applied, but none above the workspace folder: a home folder kept in git
    often excludes everything. Inside one, git's own rule applies: all up to the repository's root.
    """
    outside: tuple[str, ...] = ()
    if not await _in_repository(context, place.folder):
        outside = ("--no-require-git", "--no-ignore-parent") if place.path == place.folder else ("--no-require-git",)
    inside = place.name_of(place.path)
    return ("--hidden", *outside, *filters, "--glob=!.git", OWN_FILES, "--", "." if inside == "." else f"./{inside}")


async def _in_repository(context: ToolContext, folder: Path) -> bool:
    for each in (folder, *folder.parents):
        if await context.workspace.stamp(each / ".git") != MISSING:
            return True
    return False


async def _run(
    context: ToolContext,
    cwd: Path,
    args: Sequence[str],
    *,
    max_output_chars: int = 10_000,
    stdin: bytes = b"",
    on_output: Callable[[str], Awaitable[None]] | None = None,
) -> ProcessResult:
    program = context.processes.find("rg")
    if program is None:
        raise ToolError("ripgrep (rg) is not installed, so files cannot be searched. Tell the user to install it.")
    argv = (program, "--no-config", "--no-ignore-messages", "--color=never", "--path-separator=/", *args)
    spec = ProcessSpec(
        argv=argv,
        cwd=cwd,
        timeout_s=RG_TIMEOUT_S,
        max_output_chars=max_output_chars,
        stdin_bytes=stdin,
        max_memory_bytes=MAX_MEMORY_BYTES,
    )
    result = await context.processes.run(spec, on_output)
    if result.timed_out:
        raise ToolError(f"The search took longer than {RG_TIMEOUT_S:g} s and was stopped. Search a smaller folder.")
    return result


class _RipgrepReader:
    """Incremental reader of rg's JSON that keeps the displayable part of each line, by file, without binary files."""

    def __init__(self) -> None:
        self.lines: dict[str, list[SearchLine]] = {}
        self.n_chars = 0
        """Total length kept."""
        self.has_messages = False
        self.words = ""
        """Beginning of output that is not JSON: an error."""
        self._open = ""
        """Beginning of an incomplete message."""
        self._too_long: _LongMessage | None = None

    @property
    def has_endless_line(self) -> bool:
        """Whether the message of the current line is so long that the search should stop."""
        return self._too_long is not None and self._too_long.n_chars > MAX_LONG_CHARS

    def feed(self, piece: str) -> None:
        """Process the next piece of output."""
        *ended, rest = piece.split("\n")
        for line in ended:
            self._go_on(line)
            self._end()
        self._go_on(rest)

    def _go_on(self, piece: str) -> None:
        if self._too_long is not None:
            self._too_long.feed(piece)
            return
        self._open += piece
        if len(self._open) > MAX_MESSAGE_CHARS:
            self._too_long = _LongMessage(self._open)
            self._open = ""

    def _end(self) -> None:
        message, self._open = self._open, ""
        long, self._too_long = self._too_long, None
        try:
            if long is not None:
                self._take(long.message())
            else:
                self._take(json.loads(message))
        except (ValueError, LookupError, TypeError):
            self.words = f"{self.words}{message[:MAX_WORDS_CHARS]}\n"[:MAX_WORDS_CHARS]

    def _take(self, message: Mapping[str, Any]) -> None:
        data = message["data"]
        self.has_messages = True
        match message["type"]:
            case "match" | "context":
                line = _line(data, is_match=message["type"] == "match")
                self.n_chars += len(line.text) + LINE_CHARS
                self.lines.setdefault(_name(data["path"]), []).append(line)
            case "end" if data["binary_offset"] is not None:
                self.lines.pop(_name(data["path"]), None)
            case _:
                pass


class _LongMessage:
    """Message that is too long to keep: only its kind, its line number and the start of its first match are read.
    Quotes within rg's texts are preceded by a backslash, so that a key can be recognized.
    """

    def __init__(self, begun: str) -> None:
        self._head = begun[:MAX_PATH_CHARS]
        self._tail = ""
        self._number = 0
        self._start: int | None = None
        self.n_chars = 0
        self.feed(begun)

    def feed(self, piece: str) -> None:
        """Process the next piece."""
        self.n_chars += len(piece)
        if self._start is not None:
            return
        seen = self._tail + piece
        if not self._number and (found := _LINE_NUMBER.search(seen)):
            self._number, seen = int(found[1]), seen[found.end() :]
        if self._number and (found := _MATCH_START.search(seen)):
            self._start = int(found[1])
        self._tail = seen[-MAX_NUMBER_CHARS:]

    def message(self) -> Mapping[str, Any]:
        """Return the message with a substitute for its line. Raises ValueError if it is invalid."""
        path, _ = json.JSONDecoder().raw_decode(self._head, self._head.index(_PATH) + len(_PATH))
        kind = "match" if self._head.startswith('{"type":"match"') else "context"
        place = "" if self._start is None else f": the first match begins at byte {self._start + 1}"
        data: dict[str, Any] = {
            "path": path,
            "lines": {"text": f"{TOO_LONG}{place}; read_file reads it from start_column on]"},
            "line_number": self._number,
            "submatches": [],
            "is_too_long": True,
        }
        return {"type": kind, "data": data}


TOO_LONG = "[line too long to be shown"
"""Beginning of what is shown in place of such a line."""

MAX_PATH_CHARS = 50_000
"""Maximum length of the beginning of a message, up to the end of the path."""

MAX_NUMBER_CHARS = 40

_PATH = '"path":'

_LINE_NUMBER = re.compile(r'(?<!\\)"line_number":(\d+),')

_MATCH_START = re.compile(r'(?<!\\)"start":(\d+),')


def _line(data: Mapping[str, Any], *, is_match: bool) -> SearchLine:
    """Return the line; a long one is reduced to the text around its first match."""
    raw, encoding = _bytes(data["lines"])
    start: int | None = None
    if is_match:
        n_before = data["submatches"][0]["start"] if data["submatches"] else 0
        start = len(raw[:n_before].decode(encoding, "replace"))
    text = _ended(raw.decode(encoding, "replace"))
    first = max(0, min((start or 0) - MAX_KEPT_CHARS // 2, len(text) - MAX_KEPT_CHARS))
    first, end = (whole_placeholders(text, at) for at in (first, first + MAX_KEPT_CHARS))
    kept = text[first:end]
    return SearchLine(
        number=data["line_number"],
        text=kept,
        match_start=None if start is None else start - first,
        n_before=first,
        n_after=len(text) - first - len(kept),
        is_too_long="is_too_long" in data,
    )


def _text(raw: bytes) -> str:
    """Decode a line of a file in the same way as rg's output, as in `_bytes`."""
    try:
        return _ended(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return _ended(raw.decode("cp1252", "replace"))


def _ended(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _name(value: Mapping[str, str]) -> str:
    """Return a path; bytes that are not UTF-8 are escaped as in Python's file names."""
    return _bytes(value)[0].decode("utf-8", "surrogateescape").removeprefix("./")


def _bytes(value: Mapping[str, str]) -> tuple[bytes, str]:
    """Return rg's text as bytes with its encoding; text that is not UTF-8 is most likely Windows-1252."""
    if "text" in value:
        return value["text"].encode("utf-8", "surrogatepass"), "utf-8"
    return base64.b64decode(value["bytes"]), "cp1252"


def _words(stderr: str) -> str:
    """Return rg's error message, without advice on options that the model cannot pass."""
    return (
        stderr.partition("\n\nConsider enabling")[0].strip().removeprefix("rg: ")
        or "ripgrep failed without an error message."
    )
