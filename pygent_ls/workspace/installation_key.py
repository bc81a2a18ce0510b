"""Secret key of this installation, from which placeholders for secrets are derived."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

N_BYTES = 32


def installation_key(folder: Path) -> bytes:
    """Return the key stored in the folder, created on first use and readable by its owner only.

    If it cannot be stored, returns a new one each time: placeholders of other sessions are then not recognized.
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
            except FileExistsError:  # another daemon created it first, or the file was damaged
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
