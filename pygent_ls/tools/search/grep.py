"""Tools that find files by name and text by pattern."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.rules.read_rules import left_out
from pygent_ls.agent.tools.tool import ToolContext, is_withheld, tool
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import unsearchable, whole_placeholders
from pygent_ls.tools.search.ripgrep import (
    EVERYTHING,
    TOO_LONG,
    Matches,
    SearchLine,
    SearchPlace,
    list_place,
    overrides_gitignore,
    places,
    search_place,
    search_texts,
    unsaved_below,
)

MAX_FILES = 500
"""Maximum number of paths that one search lists: about 5,000 tokens."""

MAX_LINE_CHARS = 300
"""Maximum length of a line; longer ones are cut around their first match."""

HOW_TO_NARROW = "narrow the pattern, or name a path or a glob"

MOST_RESULTS = 1_000

MAX_MASKED_CHARS = 20_000_000
"""Maximum total length of files with matches that are checked for secrets: some 3 s."""

NAMES_A_ROUND = 500
"""Number of file names that are looked at before other tasks on the event loop get a turn: some 5 ms."""

NOT_SHOWN = "[not shown: it may be a line of a private key]"

_OF_A_KEY = re.compile(r"[ \t]*[A-Za-z0-9+/]{40,}={0,2}\s*")

MAX_CHARS = 36_000
"""Maximum length of the lines shown: with the notes they stay below the 40,000 characters shown to the model."""


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.SEARCH,
    kind="search",
    title="Find {pattern} {path}",
    read_only=True,
    ttl_s=30,
)
async def find_files(
    context: ToolContext,
    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            description="A glob: `*.py` matches names at any depth, `src/**/*.py` matches paths below `path`; {a,b} is "
            "supported.",
        ),
    ],
    path: Annotated[str, Meta(description="The folder to search (default: the workspace).")] = ".",
) -> str:
    """Find files by name. Returns their paths, sorted.

    Hidden files are included; `.git` and files that .gitignore excludes are not.

    Raises:
        ToolError: the folder does not exist, or the glob is invalid.
    """
    found = [
        (place, name) for place in await places(context, path) for name in await list_place(context, place, pattern)
    ]
    if not found:
        hint = (
            "" if any(sign in pattern for sign in "*?[{") else f" The glob must match the whole name; try *{pattern}*."
        )
        return (
            f"No files match {pattern} in {_where(context, path)}.{hint} Files that .gitignore excludes are not "
            "searched."
        )
    lines = [context.workspace.shown(place.folder / name) for place, name in found[:MAX_FILES]]
    if len(found) > MAX_FILES:
        lines.append(
            f"[{MAX_FILES} of {len(found)} files shown, {len(found) - MAX_FILES} left out: name a folder as `path`.]"
        )
    return "\n".join(lines)


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.SEARCH,
    kind="search",
    title="Search for {pattern} {path}",
    read_only=True,
    ttl_s=30,
)
async def grep_search(  # noqa: PLR0913 - the arguments that the model is offered
    context: ToolContext,
    *,
    pattern: Annotated[str, Meta(min_length=1, description="A regular expression (Rust's syntax), within one line.")],
    path: Annotated[str, Meta(description="The folder or file to search (default: the workspace).")] = ".",
    glob: Annotated[str, Meta(description="Only files whose name matches, such as *.py or src/**/*.{ts,tsx}.")] = "",
    context_lines: Annotated[int, Meta(ge=0, le=20, description="Number of lines to show around each match.")] = 0,
    ignore_case: Annotated[bool, Meta(description="Ignore upper and lower case.")] = False,
    max_results: Annotated[int, Meta(ge=1, le=MOST_RESULTS, description="Maximum number of matching lines.")] = 100,
) -> str:
    """Search the text of files with ripgrep. In open files, unsaved changes are included.

    Each match is `path:line: text`; lines around it are `path-line- text`. Hidden files are searched; `.git`, binary
    files and files that .gitignore excludes are not (to search an excluded folder, name it as `path`).

    Raises:
        ToolError: the path does not exist, or the pattern or the glob is invalid.
    """
    options = ("--ignore-case",) if ignore_case else ()
    found: list[tuple[str, Sequence[SearchLine]]] = []
    is_cut = has_failures = False
    n_withheld = 0
    for place in await places(context, path):
        matches = await search_all(context, place, pattern, options, glob, context_lines)
        names = sorted(matches.lines)
        found += ((context.workspace.shown(place.folder / name), matches.lines[name]) for name in names)
        is_cut |= matches.is_cut
        has_failures |= matches.has_failures
        n_withheld += matches.n_withheld
    if found or is_cut:
        text = _rendered(found, max_results, is_cut=is_cut)
    else:
        among = "" if glob in EVERYTHING else f" (files that match {glob})"
        text = (
            f"No matches for {pattern} in {_where(context, path)}{among}. Files that .gitignore excludes are not "
            "searched."
        )
    notes = ["[Some files could not be read and were not searched.]"] if has_failures else []
    return "\n".join([text, *notes, *left_out(n_withheld)])


async def search_all(
    context: ToolContext, place: SearchPlace, pattern: str, options: Sequence[str], glob: str, n_around: int = 0
) -> Matches:
    """Search the disk, and unsaved texts in place of their files, with `n_around` context lines; files protected by
    read rules are left out.
    """
    found = await _search(context, place, pattern, (*options, f"--context={n_around}"), glob, n_around)
    if not context.reading.rules:
        return found
    visible = await list_place(context, place, glob)
    return replace(
        found,
        lines={name: lines for name, lines in found.lines.items() if not is_withheld(context, place.folder / name)},
        n_withheld=sum(is_withheld(context, place.folder / name) for name in visible),
    )


async def _search(
    context: ToolContext, place: SearchPlace, pattern: str, options: Sequence[str], glob: str, n_around: int
) -> Matches:
    unsaved = unsaved_below(context, place)
    if not unsaved and not overrides_gitignore(glob) and not context.masks.is_on:
        return await search_place(context, place, pattern, options, glob)
    visible = await list_place(context, place, glob)
    found: list[Matches] = []
    apart: dict[str, str] = {}
    if place.name_of(place.path) not in unsaved:
        on_disk = await search_place(context, place, pattern, options, glob)
        lines = {name: on_disk.lines[name] for name in visible if name in on_disk.lines and name not in unsaved}
        saved = [name for name in visible if name not in unsaved]
        apart, is_whole = await _with_secrets(context, place, saved, lines)
        found.append(replace(on_disk, lines=lines, is_cut=on_disk.is_cut or not is_whole))
    for name in visible:
        if name in unsaved:
            apart[name] = (await context.masks.document(unsaved[name])).text
    searched = {name: context.masks.searchable(text) for name, text in apart.items()}
    matches = await search_texts(context, place, searched, pattern, options, n_around)
    shown = {name: [_as_shown(line) for line in lines] for name, lines in matches.lines.items()}
    found.append(replace(matches, lines=shown))
    return Matches(
        lines={name: each.lines[name] for each in found for name in each.lines},
        is_cut=any(each.is_cut for each in found),
        has_failures=any(each.has_failures for each in found),
    )


def _as_shown(line: SearchLine) -> SearchLine:
    """Return a line of a searchable text."""
    start = None if line.match_start is None else len(unsearchable(line.text[: line.match_start]))
    return replace(line, text=unsearchable(line.text), match_start=start)


async def _with_secrets(
    context: ToolContext, place: SearchPlace, names: Sequence[str], lines: dict[str, Sequence[SearchLine]]
) -> tuple[dict[str, str], bool]:
    """Return the masked texts of files that contain secrets, to be searched in place of the disk's: so a pattern
    matches no secret, and no part of one. The matches in those files are removed from `lines`.

    Of the other files, those with matches are checked, up to `MAX_MASKED_CHARS` of them; the matches in the rest are
    also removed, and the second value is then False.
    """
    masks = context.masks
    texts: dict[str, str] = {}
    if not masks.is_on:
        return texts, True
    n_chars = 0
    for number, name in enumerate(names, start=1):
        if number % NAMES_A_ROUND == 0:
            await asyncio.sleep(0)
        path = place.folder / name
        if name not in lines and not masks.files.may_have_secrets(path):
            continue
        if n_chars > MAX_MASKED_CHARS:
            lines.pop(name, None)
            continue
        try:
            document = await context.workspace.read(path)
        except ToolError:  # too large to be read whole, or not recognized as text
            lines[name] = await _masked_alone(context, path, lines.get(name, ()))
            continue
        shown = await masks.document(document)
        if shown is not document:
            texts[name] = shown.text
            lines.pop(name, None)
        n_chars += len(document.text)
    return texts, n_chars <= MAX_MASKED_CHARS


async def _masked_alone(context: ToolContext, path: Path, lines: Sequence[SearchLine]) -> Sequence[SearchLine]:
    """Mask the lines of a file that is too large to be read whole. Lines that are cut, or may belong to a private key,
    are not shown.
    """
    text = "\n".join(f"{TOO_LONG}]" if each.n_before or each.n_after else each.text for each in lines)
    masked = (await context.masks.text(text, str(path))).split("\n")
    return [
        SearchLine(
            number=each.number,
            text=NOT_SHOWN if _OF_A_KEY.fullmatch(text) else text,
            match_start=None if each.match_start is None else 0,
        )
        for each, text in zip(lines, masked, strict=True)
    ]


def _rendered(found: Sequence[tuple[str, Sequence[SearchLine]]], max_results: int, *, is_cut: bool) -> str:
    """Format the matches by file; omitted ones are counted."""
    blocks: list[str] = []
    n_shown, room = 0, MAX_CHARS
    for name, lines in found:
        block: list[str] = []
        for text, is_match in _shown_lines(name, lines, max_results - n_shown):
            room -= len(text) + 1
            if room < 0:
                break
            block.append(text)
            n_shown += is_match
        if block:
            blocks.append("\n".join(block))
        if n_shown >= max_results or room < 0:
            break
    n_matches = sum(line.match_start is not None for _, lines in found for line in lines)
    more = ", or raise max_results" if n_shown == max_results < MOST_RESULTS else ""
    if is_cut:
        blocks.append(f"[{n_shown} of more than {n_matches} matches shown; the search was stopped: {HOW_TO_NARROW}.]")
    elif n_matches > n_shown:
        blocks.append(f"[{n_shown} of {n_matches} matches shown, {n_matches - n_shown} hidden: {HOW_TO_NARROW}{more}.]")
    return "\n\n".join(blocks)


def _shown_lines(name: str, lines: Sequence[SearchLine], max_matches: int) -> Iterator[tuple[str, bool]]:
    """Yield displayed lines, each with whether it is a match; `--` marks lines omitted in between."""
    has_context = any(line.match_start is None for line in lines)
    before: int | None = None
    left = max_matches
    for line in lines:
        is_match = line.match_start is not None
        if is_match and not left:
            return
        left -= is_match
        if has_context and before is not None and line.number > before + 1:
            yield "--", False
        before = line.number
        mark = ":" if is_match else "-"
        yield f"{name}{mark}{line.number}{mark} {_cut(line)}", is_match


def _cut(line: SearchLine) -> str:
    if len(line.text) <= MAX_LINE_CHARS:
        return line.text
    start = max(0, min((line.match_start or 0) - MAX_LINE_CHARS // 3, len(line.text) - MAX_LINE_CHARS))
    start, end = (whole_placeholders(line.text, at) for at in (start, start + MAX_LINE_CHARS))
    n_before, n_after = line.n_before + start, line.n_after + len(line.text) - end
    head = f"[… {n_before} characters] " if n_before else ""
    tail = f" [… {n_after} characters]" if n_after else ""
    return f"{head}{line.text[start:end]}{tail}"


def _where(context: ToolContext, path: str) -> str:
    if path in ("", ".", "./"):
        return "the workspace"
    name = context.workspace.shown(context.workspace.resolve(path))
    return "the workspace" if name == "." else name
