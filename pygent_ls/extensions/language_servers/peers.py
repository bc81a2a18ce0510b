"""What answers questions about code in the terms of the Language Server Protocol: a server, or the editor's client."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from pygent_ls.agent.ports.language_features import Feature
from pygent_ls.agent.ports.workspace import Document
from pygent_ls.extensions.language_servers.text_positions import Encoding


class Base(Struct, frozen=True):
    """Version and digest of a text that an answer is about."""

    version: int
    digest: str


class RawAnswer(Struct, frozen=True, kw_only=True):
    """Result of a request as the protocol defines it."""

    value: Any
    encoding: Encoding
    """Encoding of the positions in it."""
    bases: Mapping[Path, Base] = field(default_factory=dict[Path, "Base"])
    """Texts that it is about, as they were when it was asked for; a file that is missing here was on the disk."""


class RawProblems(Struct, frozen=True, kw_only=True):
    """Diagnostics of one version of a document."""

    items: Sequence[Mapping[str, Any]]
    encoding: Encoding
    is_complete: bool
    """Whether they are certainly those of this version."""


class LanguagePeer(Protocol):
    """One source of answers. Positions in parameters are in its `encoding`. Every wait is bounded."""

    encoding: Encoding
    holds_texts: bool
    """Whether it can be shown the text of any file with `learn`; if not, it has the editor's documents."""

    def has(self, feature: Feature) -> bool:
        """Whether it answers requests of this feature."""
        ...

    def uri_of(self, path: Path) -> str:
        """Return the URI by which it knows a file."""
        ...

    def path_of(self, uri: str) -> Path | None:
        """Return the file of a URI, links resolved; None for any other URI."""
        ...

    async def learn(self, document: Document) -> None:
        """Make sure that its answers are about this text. Raises `ToolError`."""
        ...

    async def ask(self, feature: Feature, params: Mapping[str, Any]) -> RawAnswer:
        """Send a request. Raises `ToolError`."""
        ...

    async def resolve(self, action: Mapping[str, Any], params: Mapping[str, Any]) -> RawAnswer:
        """Return a code action with its edit. `params` are those of the request that listed it. Raises `ToolError`."""
        ...

    async def problems(self, document: Document, wait_s: float) -> RawProblems | None:
        """Return the problems of a document, after waiting for its check. None if it does not check the document."""
        ...

    async def format(self, path: Path, text: str, *, on_save_only: bool) -> str | None:
        """Return a text, formatted as the file; None if it does not format it. Raises `ToolError`."""
        ...


class LanguageSource(Protocol):
    """Peers of one origin, in the order in which they are asked."""

    @property
    def offered(self) -> Collection[Feature]:
        """Features that some peer may have."""
        ...

    def prepare(self, paths: Sequence[Path]) -> None:
        """Start what answers for these files. Returns at once."""
        ...

    async def peers(self, path: Path | None) -> Sequence[LanguagePeer]:
        """Return the peers for a file, started if need be, or those that know the whole workspace."""
        ...
