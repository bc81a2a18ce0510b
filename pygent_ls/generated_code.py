"""Keeps what attrs and dataclasses compile, beside the bytecode of the modules, so that the daemon starts at once.

Both write the methods of each class as source text and compile it when the class is made: 2,300 times until the first
request to a model, a third of the time to it (`benchmarks/startup.py`). Python keeps the bytecode of modules, but none
of these. What was compiled is kept in `__pycache__`, by its text; another text is compiled as ever. Who can write there
can replace the bytecode of our modules as well, and where nobody can, nothing is kept.
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
"""The compiler's flag for annotations that are not evaluated."""

WORTH_KEEPING = 80
"""New texts that are worth a new file: attrs writes some forty with the process' own hash seed in them, which no other
process can use. What is new in a version and stays below costs each start 0.1 ms a text."""


class GeneratedCode:
    """What was compiled. `file` is where it is kept; None keeps nothing."""

    def __init__(self, file: Path | None) -> None:
        self.n_compiled = 0
        """What was not known and had to be compiled."""
        self._file = file
        self._known: dict[bytes, CodeType] = {} if file is None else _read(file)
        self._used: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._known)

    def install(self) -> None:
        """Let both libraries ask here before they compile; a version of theirs that goes about it in another way is not
        touched. It is for the process that serves, and done before its classes are made."""
        import dataclasses

        import attr._make as attrs

        _shadow(attrs, "compile", self._compile_for(attrs))
        _shadow(dataclasses, "exec", self._exec_for(dataclasses))

    def save(self, worth: int = WORTH_KEEPING) -> None:
        """Keep what this process used, where that many texts were new. Where it cannot be, or Python keeps no bytecode,
        nothing is kept."""
        if self._file is None or self.n_compiled < worth or sys.dont_write_bytecode:
            return
        body = marshal.dumps({key: self._known[key] for key in self._used})
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._file.parent)  # several daemons may do this at once
            try:
                with os.fdopen(descriptor, "wb") as opened:
                    opened.write(hashlib.sha256(body).digest() + body)
                Path(name).replace(self._file)
            except OSError:
                Path(name).unlink()

    def code(self, text: str, name: str, flags: int) -> CodeType:
        """The code of a text, as `compile` makes it with these flags and no others. Raises as it does."""
        key = hashlib.blake2b(f"{flags}\0{name}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = builtins.compile(text, name, "exec", flags, dont_inherit=True)
            self.n_compiled += 1
        self._used.add(key)
        return found

    def _compile_for(self, module: ModuleType) -> Callable[..., object]:
        flags = _flags(module)

        def compile_(source: str, filename: str, mode: str) -> object:
            if mode == "exec":
                return self.code(source, filename, flags)
            return builtins.compile(source, filename, mode)

        return compile_

    def _exec_for(self, module: ModuleType) -> Callable[..., None]:
        flags = _flags(module)

        def exec_(source: str, *namespaces: Any) -> None:
            builtins.exec(self.code(source, "<string>", flags), *namespaces)  # noqa: S102 - as the library would have

        return exec_


def beside_the_bytecode() -> Path | None:
    """Where the daemon keeps it; None where Python has no place for bytecode."""
    try:
        return Path(importlib.util.cache_from_source(__file__)).with_suffix(".generated")
    except NotImplementedError:
        return None


def _shadow(module: ModuleType, name: str, ours: Callable[..., object]) -> None:
    """A global of a module stands before the builtin of the same name."""
    setattr(module, name, ours)


def _flags(module: ModuleType) -> int:
    """What the builtins take over from a module that calls them: whether it postpones annotations."""
    return POSTPONED if vars(module).get("annotations") is __future__.annotations else 0


def _read(file: Path) -> dict[bytes, CodeType]:
    """What is kept there; nothing where it is damaged, or another Python's."""
    try:
        content = file.read_bytes()
        digest, body = content[:32], content[32:]
        whole = hashlib.sha256(body).digest() == digest
        return marshal.loads(body) if whole else {}  # noqa: S302 - as Python reads the bytecode beside it
    except (OSError, ValueError, EOFError, TypeError):
        return {}
