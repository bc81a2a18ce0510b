"""Provider keys that an editor stores and gives to the daemon while it runs."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

LEAST_MASKED = 8
"""Minimum length of a key that is masked wherever it occurs; a shorter one may be an ordinary word."""


class EditorKeys:
    """The keys, as environment variables of this process, where each provider's adapter and litellm look them up.

    Removing a key restores the previous value of its variable.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment
        self._before: dict[str, str | None] = {}
        """Previous values of the variables; None for those that were not set."""
        self.version = 0
        """Incremented with each change of the keys."""

    @property
    def variables(self) -> frozenset[str]:
        """Variables that currently hold a key from the editor."""
        return frozenset(self._before)

    @property
    def known(self) -> tuple[str, ...]:
        """The keys, for masking."""
        values = (self._environment.get(each, "") for each in self._before)
        return tuple(each for each in values if len(each) >= LEAST_MASKED)

    def change(self, keys: Mapping[str, str | None]) -> None:
        """Set the keys of these variables; None removes one. Other variables stay as they are."""
        for variable, key in keys.items():
            if key is not None:
                self._before.setdefault(variable, self._environment.get(variable))
                self._environment[variable] = key
            elif variable in self._before:
                before = self._before.pop(variable)
                if before is None:
                    self._environment.pop(variable, None)
                else:
                    self._environment[variable] = before
        self.version += 1
