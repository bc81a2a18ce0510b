"""What the administrator of the machine keeps users, sessions, agents and requests from choosing."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from pygent_ls.agent.kinds import Mode
from pygent_ls.errors import SessionError

STRICTEST_FIRST: tuple[Mode, ...] = ("plan", "default", "accept_edits", "trust", "bypass")
"""Modes from strictest to loosest; each allows all that the one before it allows."""


def is_allowed(mode: Mode, modes: tuple[Mode, ...] | None) -> bool:
    """Whether a mode is among those that may be used; `plan`, which only reads, always is. None means all."""
    return modes is None or mode == "plan" or mode in modes


class AdminLimits(Struct, frozen=True, kw_only=True):
    """Limits of the administrator; by default none."""

    file: str = ""
    """Path of the file that sets them, for messages."""
    locked: frozenset[str] = frozenset()
    """Names of the settings whose value nothing else replaces."""
    modes: tuple[Mode, ...] | None = None
    """Permission modes that may be used besides `plan`; None for all."""
    ceilings: Mapping[str, float] = field(default_factory=dict[str, float])
    """Highest values of limits, by setting."""

    @property
    def locked_by(self) -> str:
        """Explain a refusal."""
        return f"locked by {self.file}"

    def check(self, setting: str) -> None:
        """Raise `SessionError` (`locked_by_admin`) if the setting is locked."""
        if setting in self.locked:
            raise SessionError(f"{setting}: {self.locked_by}", kind="locked_by_admin")

    def check_mode(self, mode: Mode) -> None:
        """Raise `SessionError` (`locked_by_admin`) if the mode may not be used."""
        if not self.allows(mode):
            allowed = ", ".join(dict.fromkeys(("plan", *(self.modes or ()))))
            raise SessionError(
                f"mode: {mode} is locked by {self.file}, which allows only {allowed}.", kind="locked_by_admin"
            )

    def allows(self, mode: Mode) -> bool:
        """Whether the mode may be used."""
        return is_allowed(mode, self.modes)

    def nearest(self, mode: Mode) -> Mode:
        """Return the loosest mode that may be used and does not loosen this one."""
        stricter = STRICTEST_FIRST[: STRICTEST_FIRST.index(mode) + 1]
        return next(each for each in reversed(stricter) if self.allows(each))
