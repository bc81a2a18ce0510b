"""Documents that a language server has open, and what it has published about them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from pygent_ls.agent.json_fields import obj, objects
from pygent_ls.agent.json_fields import text as text_of

MAX_OPEN = 100
"""Maximum number of documents that one server has open; the one that was used least recently is closed."""

MAX_PUBLISHED = 1_000
"""Maximum number of files whose published problems are kept."""


class OpenDocument(Struct):
    """Document as the server knows it."""

    version: int
    digest: str
    text: str
    sent_at: int
    """Moment at which this version was sent."""
    stamp: str = ""
    """Stamp of the workspace's document when it was last compared."""


class Published(Struct, frozen=True, kw_only=True):
    """Problems of one file, as the server published them."""

    items: Sequence[Mapping[str, Any]]
    version: int | None
    """Version of the document that was checked, if the server says so."""
    at: int
    """Moment at which they came."""
    seconds: float
    """The same, by the event loop's clock."""


class ServerDocuments:
    """Order of everything that one server was sent and has published; a moment is a count."""

    def __init__(self) -> None:
        self.open: OrderedDict[Path, OpenDocument] = OrderedDict()
        self.published: OrderedDict[str, Published] = OrderedDict()
        self._now = 0

    def moment(self) -> int:
        """Return a new moment."""
        self._now += 1
        return self._now

    def take(self, params: object, seconds: float) -> None:
        """Take a `textDocument/publishDiagnostics`; a malformed one is ignored."""
        given = obj(params)
        uri, version = text_of(given.get("uri")), given.get("version")
        if not uri:
            return
        self.published.pop(uri, None)
        self.published[uri] = Published(
            items=objects(given.get("diagnostics")),
            version=version if isinstance(version, int) else None,
            at=self.moment(),
            seconds=seconds,
        )
        while len(self.published) > MAX_PUBLISHED:
            self.published.popitem(last=False)

    def least_used(self) -> Path | None:
        """Return the document to close because too many are open."""
        return next(iter(self.open)) if len(self.open) > MAX_OPEN else None
