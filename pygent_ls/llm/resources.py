"""What all models of a process share."""

from __future__ import annotations

from dataclasses import dataclass, field

from pygent_ls.llm.cli.model import CliEnvironment
from pygent_ls.llm.http.resources import HttpResources
from pygent_ls.llm.litellm.model import LitellmLoader


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResources(HttpResources):
    """One object per process. Nothing is loaded or opened before a model needs it."""

    loader: LitellmLoader = field(default_factory=LitellmLoader)
    cli: CliEnvironment | None = None
    """Environment of programs that act as models; None if none may be run."""
