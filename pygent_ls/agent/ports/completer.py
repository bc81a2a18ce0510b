"""Completer port: the text that belongs at a cursor, and the change that a user is likely to make next."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

CompletionTask = Literal["complete", "next_edit"]
"""`complete`: the text at the cursor. `next_edit`: one change of the shown lines, in the form that
`NEXT_EDIT_FORM` describes."""

NEXT_EDIT_FORM = """\
<old>
lines of the file, exactly as they are, enough of them to be found only once
</old>
<new>
the same lines after the change
</new>"""
"""Form in which a model answers `next_edit`."""


class Snippet(Struct, frozen=True, kw_only=True):
    """Text of another file that may help."""

    path: Path
    name: str
    """Path as the user knows it."""
    text: str
    around: str = ""
    """The text with what is near it, which is not sent: a secret that the text holds half of is recognised in it. Empty
    if it is the text itself."""


class RecentEdit(Struct, frozen=True, kw_only=True):
    """Lines that the user has changed, before and after."""

    path: Path
    name: str
    """Path as the user knows it."""
    line: int
    """First line, from 1."""
    old: str
    new: str
    lead: str = ""
    """Text before the lines, which is not sent, as in `Snippet.around`."""


class CompletionRequest(Struct, frozen=True, kw_only=True):
    """A cursor in a file, with the text around it. All line breaks are `\\n`."""

    path: Path
    name: str
    """Path as the user knows it."""
    before: str
    after: str
    lead: str = ""
    """Text before `before`, which is not sent, as in `Snippet.around`."""
    trail: str = ""
    """Text after `after`, which is not sent."""
    imports: str = ""
    """Import lines at the top of the file, if they are not in `before`."""
    snippets: tuple[Snippet, ...] = ()
    edits: tuple[RecentEdit, ...] = ()
    """The user's recent edits, the last one last."""
    max_tokens: int
    task: CompletionTask = "complete"

    @property
    def n_chars(self) -> int:
        """Length of all that is sent."""
        of_edits = sum(len(each.old) + len(each.new) for each in self.edits)
        of_snippets = sum(len(each.text) for each in self.snippets)
        return len(self.before) + len(self.after) + len(self.imports) + of_snippets + of_edits


class Completer(Protocol):
    """A model that completes text at a cursor."""

    @property
    def name(self) -> str:
        """Model string that selected it."""
        ...

    def complete(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        """Yield pieces of the answer. `aclose` ends the request. Raises `ModelError`."""
        ...


class InlineCompletions(Protocol):
    """Inline completion as the settings have it."""

    @property
    def completes(self) -> bool:
        """Whether a model is set, and the workspace is trusted."""
        ...

    @property
    def suggests_edits(self) -> bool:
        """Whether next edits are suggested, too."""
        ...

    @property
    def debounce_s(self) -> float:
        """Time without a key before a completion is asked for."""
        ...

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens of a completion."""
        ...

    async def refresh(self) -> None:
        """Read the settings again, if that was a while ago."""
        ...

    def is_withheld(self, path: Path, name: str) -> bool:
        """Whether the text of a file must not be sent: a rule keeps it from being read without a question, or it is a
        file of environment variables."""
        ...

    def complete(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        """Yield pieces of the answer; nothing if the file is withheld, or if the text cannot be sent without a part of
        a secret. Secrets are masked before anything is sent. Raises `ModelError`, also if the tokens of the day are
        used up."""
        ...
