"""Who wrote which bytes, and when: what undo, redo and restore may do to each file. It knows nothing of how they work.

Every line of every file is a token that one author wrote once: `user-007`, or `agent-A-012` by the agent of session A.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

USER = "user"
CLOSING = "the user closed it"
"""The user dropped a buffer that was not saved: what stands there now was written by somebody else before."""

Visible = Mapping[str, str]
"""All that the user sees, by name: the buffer where a file is open, else the file."""

_TOKEN = re.compile(r"(?:user|agent-\w)-\d{3,}")


def tokens(text: str | None) -> set[str]:
    """The tokens of a text."""
    return set(_TOKEN.findall(text or ""))


def program_of(session: str) -> str:
    """The author of what a command or a hook of the session did to a file that its command line does not name."""
    return f"program of {session}"


def return_of(session: str) -> str:
    """The author of what an undo or a redo of the session did."""
    return f"undo of {session}"


def restore_of(session: str) -> str:
    """The author of what a session brought back from a checkpoint."""
    return f"restore of {session}"


@dataclass(frozen=True, slots=True)
class Change:
    """Change of a file as the user sees it; without a file, its text is missing."""

    number: int
    name: str
    author: str
    before: str | None
    after: str | None

    @property
    def is_return(self) -> bool:
        """Whether it brought back what was there before."""
        return self.author.startswith((return_of(""), restore_of("")))


@dataclass(slots=True, kw_only=True)
class Turn:
    """A turn of an agent, and what cannot be expected of its undo."""

    session: str
    began: int
    ended: int = 0
    removed: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The tokens that the agent's own edits and commands were to remove, by file."""
    moves: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    mixed: set[str] = field(default_factory=set[str])
    """Closed files that the user wrote while a command ran whose command line names them."""
    unsure: set[str] = field(default_factory=set[str])
    """Closed files that the user wrote while a command ran."""
    soft: set[str] = field(default_factory=set[str])
    """What may remain although it is named: it was not stored, or a hook overwrote the agent's text."""
    undone: Visible | None = None
    """What the user saw when it was undone."""
    undone_at: int = 0
    has_rest: bool = True
    """False: `/undo --rest` brought back what was uncertain."""

    def linked(self, name: str) -> set[str]:
        """The files that were moved to or from it, and itself."""
        found = {name}
        for _ in self.moves:
            for move in self.moves:
                if found & set(move):
                    found |= set(move)
        return found


@dataclass(slots=True)
class Authorship:
    """All that happened. The checks raise AssertionError."""

    seen: dict[str, str] = field(default_factory=dict[str, str])
    changes: list[Change] = field(default_factory=list[Change])
    disowned: set[str] = field(default_factory=set[str])
    """What the user has removed."""
    named: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The tokens that stood in a file when an answer named it as left alone."""
    log: list[str] = field(default_factory=list[str])

    def observe(self, visible: Visible, author: str | Callable[[str], str]) -> None:
        """Something happened, and this is what the user sees now."""
        for name in sorted(self.seen.keys() | visible.keys()):
            before, after = self.seen.get(name), visible.get(name)
            if before != after:
                change = Change(len(self.changes), name, author(name) if callable(author) else author, before, after)
                self.changes.append(change)
                self.log.append(f"    {change.author}: {name}: {_short(before)} -> {_short(after)}")
        if author in (USER, CLOSING):
            self.disowned |= _all(self.seen) - _all(visible)
        self.seen = dict(visible)

    def forced(self, visible: Visible) -> None:
        """The user has this brought back by force: what goes is theirs to lose, and what comes may go again."""
        self.disowned |= _all(self.seen) ^ _all(visible)

    # What must hold

    def check_kept(self, after: Visible, of: Callable[[str], bool], allowed: Iterable[str]) -> None:
        """What stood before and is of these authors stands now, but for what is allowed and what the user removed."""
        lost = {each for each in _all(self.seen) - _all(after) - self.disowned - set(allowed) if of(each)}
        places = {name: sorted(lost & tokens(text)) for name, text in self.seen.items() if lost & tokens(text)}
        self.must(not lost, f"lost: {places}")

    def check_pinned(self, session: str, after: Visible, free: Iterable[str]) -> None:
        """A file that somebody else wrote last is as they wrote it, but for these."""
        own = {session, return_of(session), restore_of(session), CLOSING}
        for name in self.seen.keys() - set(free):
            changes = [each for each in self.changes if each.name == name]
            if not changes or changes[-1].author in own:
                continue
            # What another session brought back belongs to whoever wrote it.
            authors = [each.author for each in changes if each.after == self.seen.get(name) and not each.is_return]
            if authors and authors[-1] not in own:
                self.must(
                    self.seen.get(name) == after.get(name),
                    f"{name} was written by {authors[-1]}, and is {_short(after.get(name))} "
                    f"instead of {_short(self.seen.get(name))}",
                )

    def touched(self, turn: Turn) -> dict[str, Change]:
        """The files that a turn's agent, its commands and its hooks changed, each with the first change."""
        found: dict[str, Change] = {}
        for change in self.changes[turn.began : turn.ended]:
            if change.author in (turn.session, program_of(turn.session)):
                found.setdefault(change.name, change)
        return found

    def is_clear(self, turn: Turn, name: str, since: int) -> bool:
        """Whether only the agent has changed a file, or one that was moved to it, since then."""
        own, linked = {turn.session, return_of(turn.session)}, turn.linked(name)
        return not any(each.name in linked and each.author not in own for each in self.changes[since:])

    def is_uncertain(self, turn: Turn, name: str) -> bool:
        """Whether a command or hook of the turn changed a file that its command line does not name."""
        program = program_of(turn.session)
        return any(each.name == name and each.author == program for each in self.changes[turn.began : turn.ended])

    def check_undone(self, turn: Turn, after: Visible, left: Iterable[str]) -> int:
        """A turn was undone: what the agent alone did is back, and what stands of it is named. Returns how many files
        were back for certain."""
        n_back = 0
        before = {
            each for change in self.changes[: turn.began] for each in tokens(change.before) | tokens(change.after)
        }
        for name, first in self.touched(turn).items():
            is_back, is_left = after.get(name) == first.before, name in left
            standing = {each for each in tokens(after.get(name)) - before if each.startswith(f"agent-{turn.session}-")}
            is_alone = name not in turn.unsure and self.is_clear(turn, name, first.number)
            if is_alone and name not in turn.soft:
                n_back += 1
                self.must(is_back, f"{name} is not back: {_short(after.get(name))}, not {_short(first.before)}")
                is_certain = self.is_clear(turn, name, turn.began)
                self.must(not (is_certain and is_left), f"{name} is back, and is said to be left alone")
            elif is_alone or self._is_only_uncertain(turn, name, first.number):
                self.must(is_back or is_left, f"{name} is neither back nor named: {_short(after.get(name))}")
            elif standing and name not in turn.soft:
                self.must(is_left, f"{name} holds {standing} of the agent, and is not named")
        return n_back

    def check_rest(self, turn: Turn, after: Visible, left: Iterable[str]) -> None:
        """What was uncertain is back, too, or is named."""
        for name, first in self.touched(turn).items():
            if self._is_only_uncertain(turn, name, first.number):
                self.must(
                    after.get(name) == first.before or name in left,
                    f"{name} is neither back with the rest nor named: {_short(after.get(name))}",
                )

    def _is_only_uncertain(self, turn: Turn, name: str, since: int) -> bool:
        """Whether a file was changed since then by the turn's agent and its programs alone."""
        own, linked = {turn.session, return_of(turn.session), program_of(turn.session)}, turn.linked(name)
        others = [each for each in self.changes[since:] if each.name in linked and each.author not in own]
        return self.is_uncertain(turn, name) and not others and name not in turn.soft | turn.unsure

    def check_redone(self, turn: Turn, after: Visible, left: Iterable[str]) -> None:
        """Check that a turn is restored, unless something was done since; possible changes of others are named."""
        assert turn.undone is not None
        for name, first in self.touched(turn).items():
            if self.is_clear(turn, name, turn.undone_at) and (turn.has_rest or not self.is_uncertain(turn, name)):
                is_blurred = not self.is_clear(turn, name, first.number) or name in turn.unsure | turn.soft
                self.must(
                    after.get(name) == turn.undone.get(name) or (is_blurred and name in left),
                    f"{name} is not there again: {_short(after.get(name))}, not {_short(turn.undone.get(name))}",
                )

    def removable(self, turn: Turn) -> set[str]:
        """Return what may be removed when the turn is redone: what its agent removed from files that are otherwise
        unchanged since."""
        files = [name for name in turn.removed if self.is_clear(turn, name, turn.undone_at)]
        return {token for name in files for token in turn.removed[name]}

    def note_left(self, left: Iterable[str]) -> None:
        """An answer names these files as left alone."""
        for name in left:
            self.named[name] = tokens(self.seen.get(name))

    def must(self, holds: object, otherwise: str) -> None:
        """Raise with the whole story."""
        if not holds:
            raise AssertionError("\n".join([otherwise, *self.log]))


def _all(visible: Visible) -> set[str]:
    return {each for text in visible.values() for each in tokens(text)}


def _short(text: str | None) -> str:
    return "nothing" if text is None else repr(text.replace("\n", " ").strip())
