"""A secret number of this installation, from which placeholders of secrets are made."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

N_BYTES = 32


def installation_key(folder: Path) -> bytes:
    """The key that is kept in the folder, made on first use and readable by its owner alone.

    Where it cannot be kept, a new one each time: placeholders of other sessions are not found again then.
    """
    kept = folder / "placeholders.key"
    with suppress(OSError):
        key = kept.read_bytes()
        if len(key) == N_BYTES:
            return key
    new = secrets.token_bytes(N_BYTES)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f"{kept.name}.{secrets.token_hex(8)}"
        try:
            _write(draft, new)
            try:
                os.link(draft, kept)
            except FileExistsError:  # another daemon was quicker, or the file was spoilt
                if len(kept.read_bytes()) != N_BYTES:
                    draft.replace(kept)
        finally:
            draft.unlink(missing_ok=True)
    with suppress(OSError):
        key = kept.read_bytes()
        return key if len(key) == N_BYTES else new
    return new


def _write(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
