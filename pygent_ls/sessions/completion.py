"""Completion of prompts: commands after `/`, files and other mentions after `@`."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.errors import ToolError
from pygent_ls.sessions.commands.command import Command, CommandCall, WordChoice
from pygent_ls.sessions.read_only_view import looking_around
from pygent_ls.tools.search.ripgrep import list_place, places

if TYPE_CHECKING:
    from pygent_ls.agent.kinds import CompletionKind
    from pygent_ls.agent.session_services import SessionServices
    from pygent_ls.sessions.commands.registry import SlashCommands
    from pygent_ls.sessions.turns.ports import SessionOfCommands

MAX_ITEMS = 50
"""Maximum number of items in a list. Typing another letter narrows it."""

MAX_TYPED_CHARS = 1000
"""Maximum number of characters of a completed word, more than a path has in practice. A longer word has no
completions."""

MAX_RESOURCES = 10
"""Maximum number of resources of MCP servers in a list, so that they do not hide the files."""

MAX_RECENT = 8
"""Maximum number of recent files offered before everything else while nothing is typed."""

LISTING_S = 3.0
"""Seconds for which a list of the files is reused: long enough for typing a word, short enough to notice a new file."""

Thing = TypeVar("Thing")

WORDS = (
    WordChoice(word="diagnostics", detail="problems shown in the editor"),
    WordChoice(word="selection", detail="the current selection"),
    WordChoice(word="buffer", detail="the current file"),
    WordChoice(word="diff", detail="uncommitted changes"),
    WordChoice(word="https://", detail="a web page, fetched if you allow it"),
)
"""Words after `@`, besides files and agents."""


class Item(Struct, frozen=True, kw_only=True):
    """One completion."""

    label: str
    insert_text: str
    kind: CompletionKind
    detail: str = ""


class PromptCompletion(Struct, frozen=True, kw_only=True):
    """Completions, the best first. Each replaces the text from `start` to the cursor."""

    items: tuple[Item, ...] = ()
    start: int = 0


_NAME = re.compile(r"\s*/(?P<name>[\w:-]*)\Z")
_ARGUMENTS = re.compile(r"\s*/(?P<name>[A-Za-z][\w:-]*)\s+(?P<text>.*)\Z", re.DOTALL)
_MENTION = re.compile(r"""(?:\A|(?<=[\s("'\[`]))@(?P<quote>"?)(?P<word>[^\s"`<>()\[\]{},;]*|(?<=")[^"\n]*)\Z""")


class Completions:
    """Completes prompts. The list of files is cached for a moment."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._listed: tuple[tuple[Path, ...], float, list[str]] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def complete(self, text: str, commands: SlashCommands, session: SessionOfCommands) -> PromptCompletion:
        """Return the completions of the text, which ends at the cursor. Secrets in their details are masked."""
        found = await self._found(text, commands, session)
        lines = "\n".join(" ".join(each.detail.split()) for each in found.items)
        details = (await session.services.memory.secrets.masked(lines)).split("\n")
        items = [replace(item, detail=detail) for item, detail in zip(found.items, details, strict=False)]
        return replace(found, items=tuple(items))

    async def _found(self, text: str, commands: SlashCommands, session: SessionOfCommands) -> PromptCompletion:
        if found := _MENTION.search(text):
            return await self._mention(found, session)
        if found := _NAME.match(text):
            return await _command_names(found, commands)
        if found := _ARGUMENTS.match(text):
            return await self._arguments(found, commands, session)
        return PromptCompletion(start=len(text))

    # Commands

    async def _arguments(
        self, found: re.Match[str], commands: SlashCommands, session: SessionOfCommands
    ) -> PromptCompletion:
        listing = await commands.listing()
        command = listing.commands.get(found["name"].lower())
        before, last = _last_word(found["text"])
        start = found.start("text") + len(found["text"]) - len(last)
        if command is None:
            return PromptCompletion(start=start)
        call = commands.call(session, listing, before)
        choices = await _choices(command, call)
        items = [_argument(each) for each in best(last, choices, key=lambda each: each.word)]
        if command.takes_files and (not command.complete or call.words):
            names = await self._files(last.lstrip('"'), session.services)
            items += [Item(label=name, insert_text=_quoted(name), kind="file") for name in names]
        return PromptCompletion(items=tuple(items[:MAX_ITEMS]), start=start)

    # Mentions

    async def _mention(self, found: re.Match[str], session: SessionOfCommands) -> PromptCompletion:
        word = found["word"]
        start = found.start() + len(found[0]) - len(found["quote"] + word) - 1
        items: list[Item] = []
        if not found["quote"]:
            items = [
                Item(label=f"@{each.word}", insert_text=f"@{each.word}", kind="word", detail=each.detail)
                for each in WORDS
                if each.word.startswith(word.lower())  # otherwise they would hide the files that are meant
            ]
            items += [
                Item(label=f"@{name}", insert_text=f"@{name}", kind="agent", detail=each.description)
                for each in session.choices.variants.profiles.values()
                if word.lower() in (name := f"agent-{each.name}").lower()
            ]
        resources = _resources(word, session.services)
        recent, others = await self._found_files(word, session.services)
        files = [Item(label=f"@{name}", insert_text=f"@{_quoted(name)}", kind="file") for name in (*recent, *others)]
        n_first = 0 if word else min(len(recent), MAX_RECENT)  # a word typed in full must not become a file
        items = [*files[:n_first], *items, *resources, *files[n_first:]]
        return PromptCompletion(items=tuple(items[:MAX_ITEMS]), start=start)

    async def _files(self, typed: str, services: SessionServices) -> list[str]:
        """Return the shown names of the matching files, the best first."""
        recent, others = await self._found_files(typed, services)
        return [*recent, *others]

    async def _found_files(self, typed: str, services: SessionServices) -> tuple[list[str], list[str]]:
        """Return the matching recent files whose names contain the typed text, and the other matching files. Files that
        git ignores or that a rule denies reading are left out."""
        async with self._one_at_a_time:
            names = await self._every_file(services)
        reading = services.memory.permissions.reading()
        meant = await asyncio.to_thread(best, typed, names, key=str)
        known = set(meant)
        near = [
            name
            for path in services.environment.editor.recent
            if (name := services.environment.workspace.shown(path)) in known
        ]
        near = [name for name in best(typed, near, key=str) if typed.lower() in name.lower()]
        recent = [name for name in near if reading.denies(name) is None]
        rest = known.difference(near)
        others = (name for name in meant if name in rest and reading.denies(name) is None)
        return recent[:MAX_ITEMS], list(islice(others, MAX_ITEMS))

    async def _every_file(self, services: SessionServices) -> list[str]:
        folders = tuple(services.environment.workspace.folders)
        if self._listed is not None and self._listed[0] == folders and self._clock() - self._listed[1] < LISTING_S:
            return self._listed[2]
        context = looking_around(services)
        names: list[str] = []
        try:
            for place in await places(context, ".") if folders else ():
                found = await list_place(context, place)
                single = len(folders) == 1
                names += (
                    found if single else [services.environment.workspace.shown(place.folder / name) for name in found]
                )
        except ToolError:  # too many files, or no ripgrep: offer only the words
            names = []
        names.sort(key=lambda name: (name.count("/"), name))
        self._listed = (folders, self._clock(), names)
        return names


def _resources(word: str, services: SessionServices) -> list[Item]:
    """Return the resources of MCP servers that fit what was typed; none before the first letter."""
    known = services.environment.resources
    listed = known.listed if known is not None and word else ()
    return [
        Item(
            label=f"@{each.mention}",
            insert_text=f"@{_quoted(each.mention)}",
            kind="resource",
            detail=each.description,
        )
        for each in best(word, listed, key=lambda each: each.mention)[:MAX_RESOURCES]
    ]


async def _command_names(found: re.Match[str], commands: SlashCommands) -> PromptCompletion:
    listing = await commands.listing()
    named = best(found["name"], listing.commands.values(), key=lambda each: each.name)
    items = tuple(
        Item(
            label=f"/{each.name}",
            insert_text=f"/{each.name} " if each.takes or each.parts else f"/{each.name}",
            kind="command",
            detail=each.description,
        )
        for each in named[:MAX_ITEMS]
    )
    return PromptCompletion(items=items, start=found.start("name") - 1)


async def _choices(command: Command, call: CommandCall) -> Sequence[WordChoice]:
    """Return the candidates for the next argument."""
    if not command.parts:
        return await command.complete(call) if command.complete else ()
    if not call.words:
        return [WordChoice(word=each.name, detail=each.description) for each in command.parts]
    part = next((each for each in command.parts if each.name == call.words[0]), None)
    if part is None or part.complete is None:
        return ()
    return await part.complete(replace(call, text=call.text.partition(call.words[0])[2].strip()))


def _last_word(text: str) -> tuple[str, str]:
    """Return the text before the word that is being typed, and that word."""
    place = max(text.rfind(sign) for sign in (" ", "\n", "\t")) + 1
    return text[:place].strip(), text[place:]


def _argument(choice: WordChoice) -> Item:
    return Item(label=choice.word, insert_text=choice.word, kind="argument", detail=choice.detail)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"""[^\s"'`<>()\[\]{},;]+""", name) else f'"{name}"'


# Matching


def best(typed: str, things: Iterable[Thing], *, key: Callable[[Thing], str]) -> list[Thing]:
    """Return the things whose text contains the typed letters in this order, ignoring case, the best first.

    Best is a last path component that begins with the typed text, then one with a word that does, then one that
    contains it, then a path that contains it. After these come the texts that contain the letters apart: as the first
    letters of words, in the last component, anywhere. Of equals, the shorter comes first. If nothing is typed, all are
    returned in order.
    """
    wanted = typed.lower()
    if not wanted:
        return list(things)
    if len(wanted) > MAX_TYPED_CHARS:
        return []
    apart = re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in wanted), re.DOTALL)
    ranked: list[tuple[int, int, str, int, Thing]] = []
    for place, thing in enumerate(things):
        text = key(thing)
        rank = _rank(wanted, text.lower(), apart)
        if rank is not None:
            ranked.append((rank, len(text), text, place, thing))
    ranked.sort(key=lambda each: each[:4])
    return [each[-1] for each in ranked]


_FIRST_LETTER = re.compile(r"(?<![a-z0-9])[a-z0-9]")


def _rank(wanted: str, text: str, apart: re.Pattern[str]) -> int | None:
    """Return the rank, 0 for the best; None if letters are missing."""
    if wanted not in text:
        if apart.match(text) is None:
            return None
        if apart.match("".join(_FIRST_LETTER.findall(text))):
            return 4
        return 5 if apart.match(text, text.rfind("/") + 1) else 6
    base = text[text.rfind("/") + 1 :]
    place = base.find(wanted)
    if place <= 0:
        return 0 if place == 0 else 3
    return 1 if not base[place - 1].isalnum() else 2
