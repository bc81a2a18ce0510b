"""Every parser that is fuzzed, by the name of its module and its own."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from tests.endurance.parsers.target import Target

MODULES = ("wire", "streams", "texts", "stored")
"""Modules with a table `TARGETS`. Each is imported when it is needed: a fuzzer instruments all that it imports."""


def target_named(name: str) -> Target:
    """The target of a name such as `texts.shell`."""
    module, _, own = name.partition(".")
    return _targets_of(module)[own]


def all_targets() -> Mapping[str, Target]:
    """All targets by name."""
    return {f"{module}.{name}": target for module in MODULES for name, target in _targets_of(module).items()}


def _targets_of(module: str) -> Mapping[str, Target]:
    return importlib.import_module(f"tests.endurance.parsers.{module}").TARGETS
