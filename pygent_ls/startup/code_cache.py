"""Cache of the code that dataclasses, regular expressions and annotations compile, stored beside the modules' bytecode
for a faster daemon start.

The methods of each dataclass are written as source text and compiled when the class is created, and an annotation of a
setting or a tool's argument when its type is looked up. Without a cache, these would take 5 % of the time to the first
request to a model (`benchmarks/startup.py`), and the 450 regular expressions of modules a fifth. Python caches the
bytecode of modules, but not these. Compiled code is stored in `__pycache__` by its source text; unknown text is
compiled as usual. A user who can write there can replace the bytecode of our modules as well, and if it is not
writable, nothing is stored.
"""

from __future__ import annotations
import __future__

import builtins
import collections
import hashlib
import importlib.util
import marshal
import re
import sys
import typing
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

POSTPONED: int = __future__.annotations.compiler_flag  # pyright: ignore[reportOptionalMemberAccess]
"""Compiler flag for annotations that are not evaluated."""

Pattern = tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]
"""Arguments of `_sre.compile` after the pattern's text: flags, code, number of groups, and their names."""

CALLER_DEPTH = 3
"""Frames up to the caller of `re.compile`, which calls `_compile`, which calls the compiler."""

IN_FUNCTION = 1
"""`inspect.CO_OPTIMIZED`: the code of functions has this flag, and that of modules and classes has not."""

FORMAT = b"pygent-ls compiled code 3\n" + importlib.util.MAGIC_NUMBER
"""First bytes of a file. One of an earlier release or Python may lie in the same folder, and must not be read."""

WORTH_KEEPING = 80
"""Minimum number of new texts for writing a new file. New texts below this number cost each start 0.1 ms each."""


class GeneratedCode:
    """Cache of compiled code, stored in `file`; None to store nothing."""

    def __init__(self, file: Path | None) -> None:
        self.n_compiled = 0
        """Number of texts that were not cached and had to be compiled."""
        self._file = file
        self._known: dict[bytes, bytes] = {} if file is None else _read(file)
        """Code objects and parts of patterns, each marshalled on its own: `initialize` needs few of them."""
        self._used: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._known)

    def install(self) -> None:
        """Make `dataclasses`, `re`, `typing` and named tuples consult the cache before they compile; a version that
        compiles differently is left unchanged. For the process that serves; call before its classes are created.
        """
        import dataclasses

        dataclasses.__dict__["exec"] = self._exec_for(dataclasses)
        collections.__dict__["eval"] = self._eval_for_tuples
        typing.__dict__["compile"] = partial(self.code, flags=_flags(typing))
        compiler: Any = getattr(re, "_compiler", None)
        if all(callable(getattr(compiler, name, None)) for name in ("compile", "_code")):
            compiler.compile = self._pattern_for(compiler)

    def save(self, worth: int = WORTH_KEEPING) -> None:
        """Store the code that this process used if at least `worth` texts were new, and up to as much other code, which
        another command may use. Stores nothing if the file cannot be written or Python stores no bytecode.
        """
        if self._file is None or self.n_compiled < worth or sys.dont_write_bytecode:
            return
        known = list(self._known.items())  # a thread may still be importing
        used = {key: kept for key, kept in known if key in self._used}
        others = [each for each in known if each[0] not in used][: len(used)]
        body = marshal.dumps({**used, **dict(others)})
        store(self._file, FORMAT + hashlib.sha256(body).digest() + body)

    def code(self, text: str, name: str, mode: str, flags: int) -> CodeType:
        """Return the code of a text, compiled with these flags and no others. Raises what `compile` raises."""
        told = f"{flags}\0{mode}\0{name}\0{text}".encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(told, digest_size=16).digest()
        return self._kept(key, lambda: builtins.compile(text, name, mode, flags, dont_inherit=True))

    def _kept(self, key: bytes, make: Callable[[], Any]) -> Any:
        found = self._known.get(key)
        if found is not None:
            self._used.add(key)
            return marshal.loads(found)  # noqa: S302 - as Python reads the bytecode beside it
        made = make()
        self._known[key] = marshal.dumps(made)
        self._used.add(key)
        self.n_compiled += 1
        return made

    def _eval_for_tuples(self, source: str, *namespaces: Any) -> Any:
        return builtins.eval(self.code(source, "<string>", "eval", _flags(collections)), *namespaces)  # noqa: S307 - as the library would

    def _pattern_for(self, compiler: Any) -> Callable[..., Any]:
        """Return `compile` of `re._compiler`, with the patterns of modules and classes kept. Patterns that functions
        make are not: they may hold what a user typed.
        """
        compile_, engine = compiler.compile, compiler._sre

        def compile_pattern(pattern: Any, flags: int = 0) -> Any:
            caller = sys._getframe(CALLER_DEPTH)  # pyright: ignore[reportPrivateUsage] - inspect takes a hundred times as long
            is_of_module = not caller.f_code.co_flags & IN_FUNCTION and isinstance(pattern, str)
            if not is_of_module or flags & re.DEBUG:
                return compile_(pattern, flags)
            text = f"{engine.MAGIC}\0{int(flags)}\0{pattern}".encode("utf-8", "surrogatepass")
            key = hashlib.blake2b(text, digest_size=16, person=b"re").digest()
            parts: Pattern = self._kept(key, lambda: parts_of(compiler, pattern, flags))
            return engine.compile(pattern, *parts)

        return compile_pattern

    def _exec_for(self, module: ModuleType) -> Callable[..., None]:
        flags = _flags(module)

        def exec_(source: str, *namespaces: Any) -> None:
            builtins.exec(self.code(source, "<string>", "exec", flags), *namespaces)  # noqa: S102 - as the library would

        return exec_


def beside_the_bytecode(suffix: str) -> Path | None:
    """Return the path of one of the daemon's cache files; None if Python has no place for bytecode."""
    try:
        return Path(importlib.util.cache_from_source(__file__)).with_suffix(suffix)
    except NotImplementedError:
        return None


def store(file: Path, content: bytes) -> None:
    """Replace one of the daemon's cache files, if that is possible. Those who may read its folder may read it; only its
    owner may write it, whatever the umask, because the daemon runs what it contains."""
    with suppress(OSError, ImportError):  # the installation may have been removed
        from pygent_ls.workspace.files.writer import replace_file

        replace_file(file, content, file.parent.stat().st_mode & 0o644)


def parts_of(compiler: Any, pattern: str, flags: int) -> Pattern:
    """Compile a pattern as `re._compiler`, the given module, does. Raises `re.error`."""
    parsed = compiler._parser.parse(pattern, flags)
    code = list(map(int, compiler._code(parsed, flags)))  # marshal takes no named constants
    names: list[str | None] = [None] * parsed.state.groups
    for name, number in parsed.state.groupdict.items():
        names[number] = name
    flags |= parsed.state.flags
    return int(flags), code, parsed.state.groups - 1, parsed.state.groupdict, tuple(names)


def _flags(module: ModuleType) -> int:
    """Return the flags that builtins inherit from the calling module: whether it postpones annotations."""
    return POSTPONED if vars(module).get("annotations") is __future__.annotations else 0


def _read(file: Path) -> dict[bytes, bytes]:
    """Read the cache file; empty if it is damaged, or from another release or Python."""
    try:
        content = file.read_bytes()
        digest, body = content[len(FORMAT) : len(FORMAT) + 32], content[len(FORMAT) + 32 :]
        whole = content.startswith(FORMAT) and hashlib.sha256(body).digest() == digest
        return marshal.loads(body) if whole else {}  # noqa: S302 - as Python reads the bytecode beside it
    except (OSError, ValueError, EOFError, TypeError):
        return {}
