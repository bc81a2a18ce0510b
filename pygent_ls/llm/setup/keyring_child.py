"""One call of the system keyring, as a program of its own: a keyring may hang, ask for a password, or raise anything.

It reads a JSON object from standard input, `{"do": "get" | "set" | "delete", "provider": …, "key": …}`, and writes
one: `{"keyring": NAME, "key": …}`, `{"unusable": REASON}` where no keyring can be used, or `{"error": TYPE}`. The text
of an error is never passed on, since it may hold the key.
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
"""The name under which keys stand in the keyring; the user name is the provider."""

_NO_KEYRING = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt.")
"""Modules of backends that keep nothing, or keep it in the clear."""


def main() -> None:
    """Answer the request on standard input."""
    signal.alarm(int(sys.argv[1]))  # whoever waits for the answer may have been killed
    request = json.loads(sys.stdin.read())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a backend that prints does not spoil the answer

    def fail(kind: type[BaseException], _error: BaseException, _stack: TracebackType | None) -> None:
        json.dump({"error": kind.__name__}, answers)
        answers.flush()

    sys.excepthook = fail
    json.dump(answer(request), answers)
    answers.close()


def answer(request: Mapping[str, str]) -> dict[str, Any]:
    """Do what the request says. Raises what the keyring raises."""
    try:
        backend = usable_backend()
    except (AttributeError, ImportError, RuntimeError) as error:  # one that is configured and cannot be loaded
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
    """Return the keyring to use; None where there is none that keeps keys safe."""
    import keyring

    chosen = keyring.get_keyring()
    members: Sequence[KeyringBackend] = getattr(chosen, "backends", ()) or (chosen,)  # those of a chain, the best first
    return next((each for each in members if is_safe(each)), None)


def is_safe(backend: KeyringBackend) -> bool:
    """Whether the backend works here and does not keep keys as plain text."""
    kind = type(backend)
    module = f"{kind.__module__}."
    return backend.priority > 0 and not module.startswith(_NO_KEYRING) and "plaintext" not in kind.__name__.lower()


if __name__ == "__main__":
    main()
