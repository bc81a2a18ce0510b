"""Resources that all models of a process share."""

from __future__ import annotations

from dataclasses import dataclass, field

from pygent_ls.llm.catalog.openrouter import ModelCatalog
from pygent_ls.llm.catalog.pricing import PriceTable
from pygent_ls.llm.cli.model import CliSurroundings
from pygent_ls.llm.http.refusals import Refusals
from pygent_ls.llm.http.stream import Connections
from pygent_ls.llm.keys.saved_keys import NoSavedKeys, SavedKeys
from pygent_ls.llm.litellm.model import LitellmLoader


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResources:
    """Shared resources, one object per process; nothing is loaded or opened before a model needs it."""

    connections: Connections = field(default_factory=Connections)
    prices: PriceTable = field(default_factory=PriceTable)
    catalog: ModelCatalog = field(default_factory=ModelCatalog)
    refusals: Refusals = field(default_factory=Refusals)
    loader: LitellmLoader = field(default_factory=LitellmLoader)
    saved_keys: SavedKeys = field(default_factory=NoSavedKeys)
    """Keys that the user entered with `pygent-ls setup`."""
    cli: CliSurroundings | None = None
    """What command-line programs are run with; None if they must not be run."""

    async def close(self) -> None:
        """Close every connection; no model may be called afterwards."""
        await self.connections.close()
