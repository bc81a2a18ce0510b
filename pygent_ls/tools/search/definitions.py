"""Finds definitions of symbols: ripgrep finds occurrences, and a syntax tree shows which are definitions."""

from __future__ import annotations

import asyncio
import re
from pathlib import PurePosixPath
from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.rules.read_rules import left_out
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.syntax.languages import LANGUAGES
from pygent_ls.syntax.symbols import definitions_in
from pygent_ls.tools.search.grep import search_all
from pygent_ls.tools.search.ripgrep import SearchLine, places

MAX_FILES_PARSED = 300
"""Maximum number of files that are parsed; parsing takes about a millisecond for each 100 kB."""

MAX_SHOWN = 50

MAX_LINE_CHARS = 200

MAX_JUDGED_CHARS = 2_000
"""Maximum length of a line that is checked for looking like a definition."""

_LOOKS_LIKE = (
    r"\b(?:def|class|function|func|fn|fun|sub|proc|struct|enum|trait|interface|type|typedef|module|namespace|macro|"
    r"const|let|var|val|local|static|#define|define|object|record|protocol|extension)\b[^=(]*\b{name}\b"
    r"|^\s*(?:export\s+)?{name}\s*(?:=|:=|\(\)\s*\{{|:)"
)
"""Patterns of definitions in most languages."""


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.SEARCH,
    kind="search",
    title="Find the definition of {symbol} {path}",
    read_only=True,
    ttl_s=30,
)
async def find_definition(
    context: ToolContext,
    symbol: Annotated[str, Meta(min_length=1, description="A name, plain or qualified: `area`, `Shape.area`.")],
    path: Annotated[str, Meta(description="The folder or file to search (default: the workspace).")] = ".",
) -> str:
    """Find where a function, class, type, constant or the like is defined. Unsaved changes are included.

    Each result is `path:line: kind: text`. Python, JavaScript, TypeScript, Go, Rust, C, C++, C#, Java, Kotlin, Scala,
    Swift, PHP, Ruby, Lua and bash are parsed; in other files, lines that look like definitions are guesses.

    Raises:
        ToolError: the path does not exist, or the symbol is not a name.
    """
    name = re.split(r"::|[.#:]", symbol.strip())[-1]
    if not re.fullmatch(r"[^\W\d][\w$]*[?!]?|\$[\w$]+", name):
        raise ToolError(f"{symbol!r} is not a name. To find other text, use grep_search.")
    confirmed: list[str] = []
    guesses: list[str] = []
    n_skipped = n_withheld = 0
    for place in await places(context, path):
        pattern = rf"(?:^|[^\w$]){re.escape(name)}(?:$|[^\w$])"
        matches = await search_all(context, place, pattern, (), "")
        n_withheld += matches.n_withheld
        for count, file in enumerate(sorted(matches.lines)):
            full, suffix = place.folder / file, PurePosixPath(file).suffix
            shown = context.workspace.shown(full)
            if suffix in LANGUAGES and count < MAX_FILES_PARSED:
                text = (await context.masks.document(await context.peek(full))).text
                found = await asyncio.to_thread(definitions_in, text, suffix, name)
                lines = text.split("\n") if found else []
                confirmed += [
                    f"{shown}:{each.line}: {each.kind}: {lines[each.line - 1].strip()[:MAX_LINE_CHARS]}"
                    for each in found
                ]
            elif suffix not in LANGUAGES:
                guesses += [_told(shown, line) for line in matches.lines[file] if _looks_defined(line, name)]
            else:
                n_skipped += 1
    return "\n".join([_result(symbol, confirmed, guesses, n_skipped), *left_out(n_withheld)])


def _told(shown: str, line: SearchLine) -> str:
    return f"{shown}:{line.number}: guess: {line.text.strip()[:MAX_LINE_CHARS]}"


def _looks_defined(line: SearchLine, name: str) -> bool:
    return (
        re.search(_LOOKS_LIKE.replace("{name}", re.escape(name)).replace("{{", "{"), line.text[:MAX_JUDGED_CHARS])
        is not None
    )


def _result(symbol: str, confirmed: list[str], guesses: list[str], n_skipped: int) -> str:
    definite = [line for line in confirmed if ": declaration: " not in line]
    lines = (definite + [line for line in confirmed if ": declaration: " in line]) or guesses
    if not lines:
        return f"No definition of {symbol} was found. Use grep_search to find where it is used."
    notes: list[str] = []
    if not confirmed:
        notes.append("[These are guesses from the text of the lines; they were not parsed.]")
    if len(lines) > MAX_SHOWN:
        notes.append(f"[{len(lines) - MAX_SHOWN} more left out: name a folder as `path`.]")
    if n_skipped:
        notes.append(f"[{n_skipped} files that mention it were not parsed: name a folder as `path`.]")
    return "\n".join([*lines[:MAX_SHOWN], *notes])
