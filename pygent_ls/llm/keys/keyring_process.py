"""One call of the system keyring in a separate process: a keyring may hang, ask for a password, or raise anything.

It reads a JSON object from standard input, `{"do": "get" | "set" | "delete", "provider": …, "key": …}`, and writes one:
`{"keyring": NAME, "key": …}`, `{"unusable": REASON}` if no keyring can be used, or `{"error": TYPE}`. An error's
message is never passed on, since it may contain the key.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "pygent-ls"
"""Service name of the keys in the keyring; the user name is the provider."""

_NO_KEYRING = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt.")
"""Modules of backends that store nothing, or store plain text."""


def main() -> None:
    """Answer the request on standard input."""
    signal.alarm(int(sys.argv[1]))  # the parent process may have been killed
    request = json.loads(sys.stdin.read())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a backend that prints must not corrupt the answer

    def fail(kind: type[BaseException], _error: BaseException, _stack: TracebackType | None) -> None:
        json.dump({"error": kind.__name__}, answers)
        answers.flush()

    sys.excepthook = fail
    json.dump(answer(request), answers)
    answers.close()


def answer(request: Mapping[str, str]) -> dict[str, Any]:
    """Perform the request. Raises what the keyring raises."""
    try:
        backend = usable_backend()
    except (AttributeError, ImportError, RuntimeError) as error:  # the configured backend cannot be loaded
        return {"unusable": f"the configured one cannot be loaded ({type(error).__name__})"}
    if backend is None:
        return {"unusable": "no keyring is available on this system"}
    told = {"keyring": str(backend.name)}
    provider = request["provider"]
    match request["do"]:
        case "get":
            return {**told, "key": backend.get_password(SERVICE, provider)}
        case "set":
            backend.set_password(SERVICE, provider, request["key"])  # pyright: ignore[reportUnknownMemberType] - untyped
            if backend.get_password(SERVICE, provider) != request["key"]:
                return {"unusable": f"{backend.name} did not store the key"}
            return told
        case _:
            if backend.get_password(SERVICE, provider) is not None:
                backend.delete_password(SERVICE, provider)
            return told


def usable_backend() -> KeyringBackend | None:
    """Return the keyring to use; None if no backend stores keys safely."""
    import keyring

    chosen = keyring.get_keyring()
    members: Sequence[KeyringBackend] = getattr(chosen, "backends", ()) or (chosen,)  # members of a chain, best first
    return next((each for each in members if is_safe(each)), None)


def is_safe(backend: KeyringBackend) -> bool:
    """Whether the backend works here and does not store keys as plain text."""
    kind = type(backend)
    module = f"{kind.__module__}."
    return backend.priority > 0 and not module.startswith(_NO_KEYRING) and "plaintext" not in kind.__name__.lower()


if __name__ == "__main__":
    main()
