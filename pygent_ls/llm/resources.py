"""What all models of a process share."""

from __future__ import annotations

from msgspec import field

from pygent_ls.llm.cli.model import CliEnvironment
from pygent_ls.llm.http.resources import HttpResources
from pygent_ls.llm.litellm.model import LitellmLoader


class ModelResources(HttpResources, frozen=True, kw_only=True):
    """One object per process. Nothing is loaded or opened before a model needs it."""

    loader: LitellmLoader = field(default_factory=LitellmLoader)
    cli: CliEnvironment | None = None
    """Environment of programs that act as models; None if none may be run."""
