"""Cache of the code that dataclasses compile, stored beside the modules' bytecode for a faster daemon start.

The methods of each dataclass are written as source text and compiled when the class is created, a quarter of the time
to the first request to a model (`benchmarks/startup.py`). Python caches the bytecode of modules, but not these.
Compiled code is stored in `__pycache__` by its source text; unknown text is compiled as usual. A user who can write
there can replace the bytecode of our modules as well, and if it is not writable, nothing is stored.
"""

from __future__ import annotations
import __future__

import builtins
import hashlib
import importlib.util
import marshal
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

POSTPONED: int = __future__.annotations.compiler_flag  # pyright: ignore[reportOptionalMemberAccess]
"""Compiler flag for annotations that are not evaluated."""

WORTH_KEEPING = 80
"""Minimum number of new texts for writing a new file. New texts below this number cost each start 0.1 ms each."""


class GeneratedCode:
    """Cache of compiled code, stored in `file`; None to store nothing."""

    def __init__(self, file: Path | None) -> None:
        self.n_compiled = 0
        """Number of texts that were not cached and had to be compiled."""
        self._file = file
        self._known: dict[bytes, CodeType] = {} if file is None else _read(file)
        self._used: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._known)

    def install(self) -> None:
        """Make `dataclasses` consult the cache before it compiles; a version that compiles differently is left
        unchanged. For the process that serves; call before its classes are created.
        """
        import dataclasses

        dataclasses.__dict__["exec"] = self._exec_for(dataclasses)

    def save(self, worth: int = WORTH_KEEPING) -> None:
        """Store the code that this process used if at least `worth` texts were new. Stores nothing if the file cannot
        be written or Python stores no bytecode.
        """
        if self._file is None or self.n_compiled < worth or sys.dont_write_bytecode:
            return
        body = marshal.dumps({key: self._known[key] for key in self._used})
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._file.parent)  # several daemons may save at once
            try:
                with os.fdopen(descriptor, "wb") as opened:
                    opened.write(hashlib.sha256(body).digest() + body)
                Path(name).replace(self._file)
            except OSError:
                Path(name).unlink()

    def code(self, text: str, name: str, flags: int) -> CodeType:
        """Return the code of a text, compiled with these flags and no others. Raises what `compile` raises."""
        key = hashlib.blake2b(f"{flags}\0{name}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = builtins.compile(text, name, "exec", flags, dont_inherit=True)
            self.n_compiled += 1
        self._used.add(key)
        return found

    def _exec_for(self, module: ModuleType) -> Callable[..., None]:
        flags = _flags(module)

        def exec_(source: str, *namespaces: Any) -> None:
            builtins.exec(self.code(source, "<string>", flags), *namespaces)  # noqa: S102 - as the library would

        return exec_


def beside_the_bytecode() -> Path | None:
    """Return the path of the daemon's cache file; None if Python has no place for bytecode."""
    try:
        return Path(importlib.util.cache_from_source(__file__)).with_suffix(".generated")
    except NotImplementedError:
        return None


def _flags(module: ModuleType) -> int:
    """Return the flags that builtins inherit from the calling module: whether it postpones annotations."""
    return POSTPONED if vars(module).get("annotations") is __future__.annotations else 0


def _read(file: Path) -> dict[bytes, CodeType]:
    """Read the cache file; empty if it is damaged or from another Python."""
    try:
        content = file.read_bytes()
        digest, body = content[:32], content[32:]
        whole = hashlib.sha256(body).digest() == digest
        return marshal.loads(body) if whole else {}  # noqa: S302 - as Python reads the bytecode beside it
    except (OSError, ValueError, EOFError, TypeError):
        return {}
