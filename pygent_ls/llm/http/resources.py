"""What models that are called over HTTP share in a process."""

from __future__ import annotations

from msgspec import Struct, field

from pygent_ls.llm.catalog.openrouter import ModelCatalog
from pygent_ls.llm.catalog.pricing import PriceTable
from pygent_ls.llm.http.refusals import Refusals
from pygent_ls.llm.http.stream import Connections
from pygent_ls.llm.keys.saved_keys import NoSavedKeys, SavedKeys


class HttpResources(Struct, frozen=True, kw_only=True):
    """Connections, tables and keys. Nothing is loaded or opened before a model needs it."""

    connections: Connections = field(default_factory=Connections)
    prices: PriceTable = field(default_factory=PriceTable)
    catalog: ModelCatalog = field(default_factory=ModelCatalog)
    refusals: Refusals = field(default_factory=Refusals)
    saved_keys: SavedKeys = field(default_factory=NoSavedKeys)
    """Keys that the user entered with `pygent-ls setup`."""
    sends_trace_context: bool = False
    """Whether requests to addresses that the user has set name the span that they belong to."""

    async def close(self) -> None:
        """Close every connection. No model is called afterwards."""
        await self.connections.close()
