"""The system keyring: Secret Service, KWallet, the macOS keychain, the Windows credential store."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from pygent_ls.errors import KeyringError, KeyStoreError

CHILD = "pygent_ls.llm.keys.keyring_process"


class NoKeyringError(KeyStoreError):
    """No keyring can be used here; keys must be stored elsewhere."""


class SystemKeyring(Struct, frozen=True, kw_only=True):
    """Runs a process for each call, so that a keyring that hangs or asks for a password does not block the daemon.

    Its methods block. They raise `NoKeyringError` if no keyring exists, and `KeyringError` if it fails or does not
    answer.
    """

    environment: Mapping[str, str] | None = None
    """Environment of the process; None inherits ours."""
    read_timeout_s: float = 8.0
    write_timeout_s: float = 60.0
    """Longer, since the user may have to type the keyring's password."""

    def get(self, provider: str) -> str | None:
        """Return the key of a provider, or None."""
        found = self._asked("get", provider, self.read_timeout_s).get("key")
        return found if isinstance(found, str) and found else None

    def set(self, provider: str, key: str) -> str:
        """Save a key and return the keyring's name."""
        return str(self._asked("set", provider, self.write_timeout_s, key)["keyring"])

    def delete(self, provider: str) -> None:
        """Remove a key; a missing one is ignored."""
        self._asked("delete", provider, self.write_timeout_s)

    def _asked(
        self, do: Literal["get", "set", "delete"], provider: str, timeout_s: float, key: str = ""
    ) -> Mapping[str, Any]:
        # -P: nothing is imported from the working directory, which may be untrusted
        command = (sys.executable, "-P", "-m", CHILD, str(int(timeout_s) + 5))
        try:
            done = subprocess.run(
                command,
                input=json.dumps({"do": do, "provider": provider, "key": key}),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
                check=False,
                cwd=Path.home().root,
                env=self.environment,
            )
        except subprocess.TimeoutExpired:
            raise KeyringError(
                f"The system keyring did not answer within {timeout_s:g} s. Unlock it and try again."
            ) from None
        except OSError as error:
            raise NoKeyringError(f"The system keyring cannot be used: {error.strerror or error}") from None
        return _read(done.stdout)


def _read(output: str) -> Mapping[str, Any]:
    try:
        answer: Any = json.loads(output)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise KeyringError("The system keyring did not answer.")
    if "unusable" in answer:
        raise NoKeyringError(f"There is no system keyring: {answer['unusable']}.")
    if "error" in answer:
        raise KeyringError(f"The system keyring failed ({answer['error']}). Unlock it and try again.")
    return answer  # pyright: ignore[reportUnknownVariableType] - JSON
