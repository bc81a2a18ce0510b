"""Bytecode of the modules of a start in one file, for a faster daemon start.

A start imports 610 of ours and 200 of libraries. Python searches, opens and reads a file for each, a tenth of the
processor time to the first request to a model (`benchmarks/startup.py`); to read parts of one file takes a fifth of
that. As with Python's own bytecode, a module is taken from the bundle only while its source has the same time and size,
and is the one that Python would find; else it is imported as usual. The bundle is made of Python's own bytecode and
stored beside it.

The modules of ours that the import of another one needed last time are imported before it, in the order in which they
were completed. Its own import statements then find them: importlib's search for one takes 25 µs, a quarter of what the
module takes. In no case may two of them import each other, which `lint-imports` checks.
"""

from __future__ import annotations

import _imp
import hashlib
import importlib.util
import marshal
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import _bootstrap  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType] - in no stub
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from pygent_ls import __version__
from pygent_ls.startup.code_cache import store

HEADER = b"pygent-ls bytecode 4\n" + __version__.encode() + b"\n" + importlib.util.MAGIC_NUMBER
"""First bytes of a file. They name the release, because installers may give the files of two releases the same time and
remove nothing but Python's bytecode. The length of the index follows in 8 bytes, its digest in 16, the index, and the
bytecode."""

DIGEST_BYTES = 16

PYC_HEADER_BYTES = 16
"""Magic number, flags, and time and size of the source, 4 bytes each (PEP 552)."""

WORTH_KEEPING = 200
"""Minimum number of imported modules that the file lacks for writing a new one: more than one command has alone."""

AHEAD_BYTES = 120_000
"""Bytes that are read at once of modules that are imported in the order in which they are stored: a tenth of the reads
of a start, which took 1 % of its processor time. Memory for more would be mapped anew for each."""

Entry = tuple[str, str, int, int, int, int, int]
"""The paths of a source and of Python's bytecode of it, the source's time in ns and its size in bytes, the place and
the length of the bytecode here, and the number of modules before it in the file that its import completed."""

_LOCKED: Any = getattr(_bootstrap, "_ModuleLockManager", None)
"""importlib's own lock of a module by its name, as a context manager; None in a Python without it."""


class BytecodeBundle:
    """Finder of the modules whose bytecode is stored in `file`; None to store nothing."""

    def __init__(self, file: Path | None, package: str = "pygent_ls") -> None:
        """`package`: the one whose modules are imported ahead."""
        self.package = package
        self.completed: dict[int, list[tuple[_Loader, int]]] = {}
        """Loaders of the modules that each thread has imported, in the order of their completion, each with the number
        of those that were imported for it."""
        self._file = file
        self._stamp: tuple[int, int] | None = None
        """Identity of the file whose index was read: another daemon may replace it."""
        self._ahead = (0, b"")
        """Bytes that were read last, and their place."""
        self._next = 0
        """Place behind the part that was read last."""
        self._entries: dict[str, Entry] = {}
        if file is not None:
            with suppress(OSError, ValueError, EOFError, TypeError):
                self._entries = self._index()
        self._order = list(self._entries)
        self._ranks = {name: rank for rank, name in enumerate(self._order)}

    def __len__(self) -> int:
        return len(self._entries)

    def install(self) -> None:
        """Import from the file from now on, after the finders that Python asks before it searches its path: a folder
        in the path must replace no module that is a part of Python. For the process that serves."""
        if self._file is not None and PathFinder in sys.meta_path:
            sys.meta_path.insert(sys.meta_path.index(PathFinder), self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Implement `MetaPathFinder`: return a module whose source is as it was, or another one with a source."""
        entry = self._entries.get(name)
        begun = len(self.done)
        if entry is None or not _is_as_it_was(name, entry, path):
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and type(spec.loader) is SourceFileLoader:
                spec.loader = _Loader(name, spec.loader.path, self, begun)
            return spec
        return self._spec(name, entry, begun)

    @property
    def done(self) -> list[tuple[_Loader, int]]:
        """What this thread has imported."""
        return self.completed.setdefault(threading.get_ident(), [])

    def import_needed(self, name: str) -> None:
        """Import what the module's import completed last time. Stops at what has changed or fails, so that the module
        imports it itself."""
        if _LOCKED is None:
            return
        rank, done = self._ranks[name], self.done
        begun: list[int] = []
        for each in self._order[rank - self._entries[name][6] : rank]:
            begun.append(len(done))
            if each in sys.modules or not self.is_own(each):
                continue
            known = self._entries[each]
            parent, _, own_name = each.rpartition(".")
            if not _is_as_it_was(each, known, getattr(sys.modules.get(parent), "__path__", ())):
                return
            try:
                self._import(each, self._spec(each, known, begun[max(0, len(begun) - 1 - known[6])]))
            except Exception:
                return
            setattr(sys.modules[parent], own_name, sys.modules[each])

    def is_own(self, name: str) -> bool:
        """Return whether a module is one of the package's."""
        return name.startswith(f"{self.package}.")

    @staticmethod
    def _import(name: str, spec: ModuleSpec) -> None:
        """Import a module as importlib does, so that other threads wait until it is complete."""
        with _LOCKED(name):
            if name in sys.modules:
                return
            module: Any = importlib.util.module_from_spec(spec)
            module.__spec__._initializing = True
            sys.modules[name] = module
            try:
                module.__loader__.exec_module(module)
            except BaseException:
                sys.modules.pop(name, None)
                raise
            finally:
                module.__spec__._initializing = False

    def _spec(self, name: str, entry: Entry, begun: int) -> ModuleSpec:
        source, cached, _, _, place, length, _ = entry
        folder, file_name = os.path.split(source)
        loader, is_package = _Loader(name, source, self, begun, place, length), file_name == "__init__.py"
        spec = ModuleSpec(name, loader, origin=source, is_package=is_package)
        spec.has_location = True
        spec.cached = cached
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        return spec

    def part(self, place: int, length: int) -> bytes:
        """Return bytes of the file, fewer if it is shorter. Raises OSError, also if it is another file now."""
        begin, ahead = self._ahead
        if place < begin or place + length > begin + len(ahead):
            is_in_order = place == self._next  # as another command may not import the modules
            begin, ahead = self._ahead = place, self._read(place, max(length, AHEAD_BYTES if is_in_order else 0))
        self._next = place + length
        return ahead[place - begin : place - begin + length]

    def _read(self, place: int, length: int) -> bytes:
        assert self._file is not None
        opened = os.open(self._file, os.O_RDONLY | getattr(os, "O_BINARY", 0))  # not kept open for a daemon's life
        try:
            found = os.fstat(opened)
            self._stamp = self._stamp or (found.st_ino, found.st_mtime_ns)
            if self._stamp != (found.st_ino, found.st_mtime_ns):
                raise OSError("the file was replaced")
            os.lseek(opened, place, os.SEEK_SET)
            return os.read(opened, min(length, found.st_size))  # a damaged length may be any number
        finally:
            os.close(opened)

    def save(self, worth: int = WORTH_KEEPING) -> None:
        """Store the bytecode of the modules that were imported if at least `worth` of them are not in the file. Stores
        nothing if the file cannot be written or Python stores no bytecode.
        """
        threads = [list(each) for each in list(self.completed.values())]  # one may still be importing
        n_new = sum(not loader.length for each in threads for loader, _ in each)
        if self._file is None or n_new < worth or sys.dont_write_bytecode or not os.access(self._file.parent, os.W_OK):
            return
        entries: dict[str, Entry] = {}
        parts: list[bytes] = []
        place = 0
        for each in threads:
            n_stored = [len(entries)]
            for loader, n_needed in each:
                with suppress(OSError, ValueError):
                    source = loader.path
                    time_ns, size = _stamp(source)
                    cached = importlib.util.cache_from_source(source)
                    part = _bytecode_of(cached, time_ns, size)
                    n_before = len(entries) - n_stored[-1 - n_needed]
                    entries[loader.name] = source, cached, time_ns, size, place, len(part), n_before
                    parts.append(part)
                    place += len(part)
                n_stored.append(len(entries))
        if len(entries) < worth:
            return
        index = marshal.dumps(entries)
        length = len(index).to_bytes(8, "little")
        store(self._file, b"".join((HEADER, length, _digest(index), index, *parts)))

    def _index(self) -> dict[str, Entry]:
        """Read the index. Raises ValueError if it is damaged, or from another release or Python."""
        head = self.part(0, len(HEADER) + 8 + DIGEST_BYTES)
        if not head.startswith(HEADER):
            raise ValueError
        length = int.from_bytes(head[len(HEADER) : -DIGEST_BYTES], "little")
        index = self.part(len(head), length)
        if _digest(index) != head[-DIGEST_BYTES:]:
            raise ValueError
        entries: dict[str, Entry] = marshal.loads(index)  # noqa: S302 - as Python reads the bytecode beside it
        first = len(head) + length
        return {name: (*each[:4], first + each[4], *each[5:]) for name, each in entries.items()}


class _Loader(SourceFileLoader):
    """Loader of a module whose bytecode may be a part of a bundle."""

    def __init__(
        self, name: str, source: str, bundle: BytecodeBundle, begun: int, place: int = 0, length: int = 0
    ) -> None:
        """`begun`: number of modules that this thread had imported before it began with this one."""
        super().__init__(name, source)
        self._bundle = bundle
        self._begun = begun
        self._place = place
        self.length = length

    def create_module(self, spec: ModuleSpec) -> None:
        """Import what the module needs; importlib creates the module. It holds its global lock in `find_spec`, so that
        an import there could wait for ever for another thread's."""
        if self.length and self._bundle.is_own(spec.name):
            self._bundle.import_needed(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, and note it."""
        super().exec_module(module)
        done = self._bundle.done
        done.append((self, max(0, len(done) - self._begun)))  # another thread may have begun with it

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the module's code; read as usual if it is not in the file, or the file is damaged there."""
        if not self.length:
            return super().get_code(fullname)
        try:
            code = marshal.loads(self._bundle.part(self._place, self.length))  # noqa: S302 - as above
            # As Python does for bytecode that was made in another place. Raises TypeError for anything but code.
            _imp._fix_co_filename(code, self.path)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - in no stub
            return code
        except (OSError, ValueError, EOFError, TypeError, MemoryError, SystemError):
            return super().get_code(fullname)


def _is_as_it_was(name: str, entry: Entry, path: Sequence[str] | None) -> bool:
    """Return whether Python would find a module in this source, and the source is the same."""
    source = entry[0]
    folder, file_name = os.path.split(source)
    found_in = os.path.split(folder)[0] if file_name == "__init__.py" else folder
    return _is_first(name, found_in, path) and _stamp(source) == [*entry[2:4]]


def _is_first(name: str, folder: str, path: Sequence[str] | None) -> bool:
    """Return whether Python would look for a module in this folder, or there before it would find another one."""
    if path is not None:
        return bool(path) and path[0] == folder
    if folder not in sys.path:
        return False
    return PathFinder.find_spec(name, sys.path[: sys.path.index(folder)]) is None


def _bytecode_of(cached: str, time_ns: int, size: int) -> bytes:
    """Return the bytecode that Python has stored in that file for the source of that time and size. Raises ValueError
    if that is of another one, or OSError."""
    content = Path(cached).read_bytes()
    stamp = b"".join((each & 0xFFFFFFFF).to_bytes(4, "little") for each in (time_ns // 1_000_000_000, size))
    if content[:PYC_HEADER_BYTES] != importlib.util.MAGIC_NUMBER + bytes(4) + stamp:
        raise ValueError
    return content[PYC_HEADER_BYTES:]


def _stamp(source: str) -> list[int]:
    """Return a file's time in ns and its size; empty if it cannot be read."""
    try:
        found = os.stat(source)  # noqa: PTH116 - a `Path` takes three times as long
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]


def _digest(index: bytes) -> bytes:
    return hashlib.blake2b(index, digest_size=DIGEST_BYTES).digest()
