"""Keyrings for the library `keyring`, chosen with PYTHON_KEYRING_BACKEND: one that works, and some that do not."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keyring.backend import KeyringBackend

ROOT = Path(__file__).parents[3]


def environment_with(keyring: str, home: Path) -> dict[str, str]:
    """The variables that make the library use a keyring of this module, whose keys are below `home`."""
    home.mkdir(exist_ok=True)
    return {
        "PYTHON_KEYRING_BACKEND": f"tests.llm.setup.keyrings.{keyring}",
        "PYTHONPATH": str(ROOT),
        "TEST_KEYRING": str(home / "keyring.json"),
    }


NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
"""The variable under which no keyring is used, whatever this machine has."""


def kept(home: Path) -> dict[str, str]:
    """What `WorkingKeyring` holds, by service and name."""
    file = home / "keyring.json"
    return json.loads(file.read_text()) if file.exists() else {}


class WorkingKeyring(KeyringBackend):
    """Keeps what it is given, and counts in a file beside it how often it was read."""

    priority = 5  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride] - as backends set it

    def get_password(self, service: str, username: str) -> str | None:
        self._count()
        return self._all().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._all(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        left = dict(self._all())
        del left[f"{service}/{username}"]
        self._write(left)

    @property
    def _file(self) -> Path:
        return Path(os.environ["TEST_KEYRING"])

    def _all(self) -> Mapping[str, str]:
        return json.loads(self._file.read_text()) if self._file.exists() else {}

    def _write(self, kept: Mapping[str, str]) -> None:
        self._file.write_text(json.dumps(kept))

    def _count(self) -> None:
        with self._file.with_name("reads").open("a") as file:
            file.write(".")


class PlaintextKeyring(WorkingKeyring):
    """Says by its name that it keeps keys in the clear."""


class ForgetfulKeyring(WorkingKeyring):
    """Takes keys and keeps none."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class LockedKeyring(WorkingKeyring):
    """Raises what quotes the key."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(f"locked: {password}")


class HangingKeyring(WorkingKeyring):
    """Wait for a password that is never typed."""

    def get_password(self, service: str, username: str) -> Any:
        sys.stdout.write("type your password")
        signal.pause()


class TalkativeKeyring(WorkingKeyring):
    """Prints beside its work."""

    def get_password(self, service: str, username: str) -> str | None:
        sys.stdout.write("unlocked")
        return super().get_password(service, username)
