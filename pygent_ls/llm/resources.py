"""What all models of a process share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import field

from pygent_ls.llm.http.resources import HttpResources
from pygent_ls.llm.litellm.loader import LitellmLoader

if TYPE_CHECKING:  # adapters are imported for the models that need them
    from pygent_ls.llm.cli.model import CliEnvironment


class ModelResources(HttpResources, frozen=True, kw_only=True):
    """One object per process. Nothing is loaded or opened before a model needs it."""

    loader: LitellmLoader = field(default_factory=LitellmLoader)
    cli: CliEnvironment | None = None
    """Environment of programs that act as models; None if none may be run."""
