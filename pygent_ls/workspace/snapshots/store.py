"""Store of one folder's states: a git repository of the daemon's own in its state folder.

A store contains all of its objects itself: changes to the user's repository by the user, a command or git do not affect
it. The user's configuration, hooks, filters and attributes do not apply, so that bytes stay unchanged.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Collection, Generator, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.errors import SnapshotError
from pygent_ls.file_access import read_file
from pygent_ls.workspace.git.program import Git, RunningGit, own_environment
from pygent_ls.workspace.git.worktree import WorktreePlace

CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = false
\tfilemode = true
\tsymlinks = true
\tignorecase = false
\tprecomposeunicode = false
\tautocrlf = false
\tsafecrlf = false
\tfsmonitor = false
\tuntrackedCache = false
\tpreloadIndex = true
\tprotectNTFS = false
\tprotectHFS = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsync = none
[gc]
\tauto = 0
[maintenance]
\tauto = false
[pygent]
\tobjects = own
"""
"""Configuration of a store. A store with another one was made by an earlier version, and its index may name missing
objects.
"""

SEEN_INDEX = "seen-index"
"""File with the stamp of the user's index at the last search for its ignored files."""

ATTRIBUTES = "* -text !eol !crlf !filter !ident !working-tree-encoding\n"
"""Attributes that override any `.gitattributes`: no byte is converted and no filter is run."""

OF_OPEN_FILES = b".#*\n.*.sw[a-p]\n"
"""Files that Emacs and Vim create beside an open file and remove when it is closed; they are not the user's."""


PATTERNS = "patterns"
"""Folder with the ignore patterns that applied to a snapshot, except those in `.gitignore` files; each file is named by
its content. The current patterns are also in `info/exclude`.
"""

SNAPSHOTS = "snapshots"
"""References to the snapshots' trees; a snapshot's other trees are in `DISK` and `IGNORED` under the same name."""

DISK = "disk"
"""References to the trees of the disk alone, if unsaved buffers make a difference."""

IGNORED = "ignored"
"""References to the trees of ignored files, if there are any."""


PUT_AWAY = ".gone"
"""Suffix of a store's name while it is being removed."""

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's name of the empty tree."""


REPACK = ("repack", "-a", "-d", "-l", "-q", "--window=0")
"""Repack command without a search for similar objects: a caller is waiting."""


class TreeEntry(Struct, frozen=True):
    """File in a tree: git's mode (`100644`, `100755`, `120000` for a link) and its content's name."""

    mode: str
    blob: str


Difference = tuple[str, TreeEntry | None, TreeEntry | None]
"""Path with its entry in the first and in the second tree."""


class NoStoreError(SnapshotError):
    """Raised if the store of a folder has been removed."""


class GitStore:
    """Store of one place. Blocking; for one job, which runs programs with `git`."""

    def __init__(self, root: Path, place: WorktreePlace, git: Git) -> None:
        self.place = place
        self.path = root / place.key
        self.git = git
        self.index = self.path / "index"
        """Index of files that git does not ignore."""
        self.ignored_index = self.path / "index.ignored"
        """Index of stored ignored files."""
        self.environment = own_environment(
            {
                "GIT_DIR": str(self.path),
                "GIT_WORK_TREE": str(place.top),
                "GIT_INDEX_FILE": str(self.index),
                "GIT_OBJECT_DIRECTORY": str(self.path / "objects"),
            },
            place.folder,
        )

    @contextlib.contextmanager
    def locked(self, *, make: bool = False) -> Generator[None]:
        """Lock the store, which also excludes other daemons.

        Raises `NoStoreError` if the store does not exist and `make` is false.
        """
        with contextlib.ExitStack() as stack:
            while not self._try_to_lock(stack, make=make):
                self.git.check()
                time.sleep(0.005)
            for left in self.path.glob("*.lock"):  # of a job that was killed
                left.unlink()
            if make:
                self._make()
            yield

    def _try_to_lock(self, stack: contextlib.ExitStack, *, make: bool) -> bool:
        if make:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not self.path.exists():
            raise NoStoreError("it is no longer stored")
        with contextlib.ExitStack() as attempt:
            try:
                file = attempt.enter_context((self.path / "lock").open("ab"))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_removed = os.fstat(file.fileno()).st_ino != (self.path / "lock").stat().st_ino
            except (BlockingIOError, FileNotFoundError):  # another daemon works in it, or has just removed it
                return False
            if not is_removed:
                stack.enter_context(attempt.pop_all())
            return not is_removed

    def differences(self, old: str, new: str) -> list[Difference]:
        """Return the differences between two trees, by path."""
        if old == new:
            return []
        fields = self.run("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", old, new).split(b"\0")
        found: list[Difference] = []
        for facts, path in zip(fields[0::2], fields[1::2], strict=False):
            old_mode, new_mode, old_blob, new_blob, _ = facts.decode().lstrip(":").split(" ")
            found.append((os.fsdecode(path), _entry(old_mode, old_blob), _entry(new_mode, new_blob)))
        return sorted(found, key=lambda each: each[0])

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """Return all entries of a tree, by path."""
        found: dict[str, TreeEntry] = {}
        for listed in split(self.run("ls-tree", "-r", "-z", tree)):
            facts, _, path = listed.partition("\t")
            mode, kind, blob = facts.split(" ")
            if kind == "blob":
                found[path] = TreeEntry(mode, blob)
        return found

    def paths_in(self, tree: str) -> list[str]:
        """Return the paths of all files in a tree."""
        return split(self.run("ls-tree", "-r", "-z", "--name-only", tree))

    def read(self, blobs: Sequence[str]) -> dict[str, bytes]:
        """Return contents by name; missing ones are left out."""
        if not blobs:
            return {}
        output = self.run("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blobs).encode())
        found: dict[str, bytes] = {}
        at = 0
        while at < len(output):
            end = output.index(b"\n", at)
            blob, kind, *size = output[at:end].decode().split(" ")
            at = end + 1
            if kind == "blob":
                n_bytes = int(size[0])
                found[blob] = output[at : at + n_bytes]
                at += n_bytes + 1
        return found

    def ignored(self, tree: str, paths: Sequence[str]) -> set[str]:
        """Return the paths that the patterns in that tree ignore."""
        if not paths:
            return set()
        names = [name for name in self.run("ls-tree", "-r", "-z", "--name-only", tree).split(b"\0") if name]
        wanted = [os.fsdecode(name) for name in names if name.rpartition(b"/")[2] == b".gitignore"]
        scratch = self.path / f"patterns-{os.getpid()}"
        prefix = self.place.prefix
        try:
            for above in Path(prefix).parents if prefix else ():
                with contextlib.suppress(OSError):
                    put(scratch / above / ".gitignore", read_file(self.place.top / above / ".gitignore")[0])
            for path in wanted:
                put(scratch / prefix / path, self.run("cat-file", "blob", f"{tree}:{path}"))
            scratch.mkdir(parents=True, exist_ok=True)
            found = self.git.run(
                ["check-ignore", "-z", "--stdin", "--no-index"],
                cwd=scratch,
                environment={**self.environment, "GIT_WORK_TREE": str(scratch), "GIT_LITERAL_PATHSPECS": "0"},
                stdin=joined(f"./{prefix}{path}" for path in paths),  # so that `:` does not begin a pattern
                good=(0, 1),
            )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return {path.removeprefix(f"./{prefix}") for path in split(found)}

    def prune(self, oldest: str, n_kept: int) -> int:
        """Forget references older than `oldest`, and all but the newest `n_kept`; return the number removed.

        Call it in `locked`.
        """
        names = self.names()
        kept = [name for name in names if name >= oldest][-n_kept:]
        self._keep_only(kept)
        self.clean(packs=True)
        return len(names) - len(kept)

    def forget(self, owners: Collection[str]) -> None:
        """Forget these owners' snapshots, and the store if it has no others; call it in `locked`.

        Objects that only they had stay until `clean`.
        """
        left = [each for each in self.names() if _owner(each) not in owners]
        self._keep_only(left)
        self.forget_all()

    def clean(self, *, packs: bool = False) -> None:
        """Remove unreferenced objects, with `packs` also from packs; call it in `locked`.

        Raises `SnapshotError` if the job ends before that; the next pruning then removes them.
        """
        if not self._loose_ends.exists():
            return
        if names := self.names():
            (self.path / SEEN_INDEX).unlink(missing_ok=True)
            newest = next(kind for kind in (DISK, SNAPSHOTS) if (self.path / "refs" / kind / names[-1]).exists())
            self.run("read-tree", "-m", f"refs/{newest}/{names[-1]}")  # objects in the index are not pruned
        self.ignored_index.unlink(missing_ok=True)
        if packs or self._unkept_pack.exists():
            self.run(*REPACK)
            self._unkept_pack.unlink(missing_ok=True)
        self.run("prune", "--expire=now")
        self._loose_ends.unlink()

    @property
    def _loose_ends(self) -> Path:
        """Marker file that exists while there may be unreferenced objects."""
        return self.path / "loose-ends"

    @property
    def _unkept_pack(self) -> Path:
        """Marker file that exists while a pack has objects that were stored for an owner; `git prune` skips packs."""
        return self.path / "unkept-pack"

    def names(self) -> list[str]:
        """Return the names of the snapshots, oldest first."""
        return sorted(each.name for each in (self.path / "refs" / SNAPSHOTS).glob("*"))

    def _keep_only(self, names: Collection[str]) -> None:
        for file in (self.path / "refs").glob("*/*"):
            if file.name not in names:
                self._loose_ends.touch()
                file.unlink()

    def forget_all(self) -> None:
        """Remove the store, including unfinished snapshots, if it has no snapshot; call it in `locked`.

        If time runs out, `forget_unused` removes the rest.
        """
        if self.names():
            return
        gone = _put_away(self.path)
        for folder in (gone / "objects").glob("*"):
            if not self.git.left_s():
                return
            shutil.rmtree(folder, ignore_errors=True)  # another daemon may be removing it, too
        shutil.rmtree(gone, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()  # succeeds only if it is empty

    # Access for readers and writers of the store

    def run(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        """Run a git program on the store and return its output; `index` replaces the store's own."""
        return self.start(*arguments, index=index).end(stdin)

    def start(self, *arguments: str, index: Path | None = None) -> RunningGit:
        """Start a git program on the store."""
        environment = self.environment if index is None else {**self.environment, "GIT_INDEX_FILE": str(index)}
        cwd = self.place.top if self.place.top.is_dir() else self.path  # states stay readable without the folder
        return self.git.start(arguments, cwd=cwd, environment=environment)

    def name_trees(self, name: str, tree: str, *, disk: str, ignored: str) -> None:
        """Reference the trees of a snapshot by its name until it is pruned."""
        named = {DISK: disk if disk != tree else "", IGNORED: ignored if ignored != EMPTY_TREE else "", SNAPSHOTS: tree}
        for kind, each in named.items():
            if each:
                put(self.path / "refs" / kind / name, f"{each}\n".encode(), staged_in=self.path)

    def may_pack(self, name: str) -> bool:
        """Return whether a snapshot's files may go into a pack. An owner's files must not be packed with others, since
        git removes nothing from a pack without rewriting it.
        """
        owner = _owner(name)
        if owner and not all(_owner(each) == owner for each in self.names()):
            return False
        if owner:
            self._unkept_pack.touch()
        return True

    def _make(self) -> None:
        """Create the store or its missing parts."""
        if _bytes_of(self.path / "config") != CONFIG.encode():
            for folder in ("objects", f"refs/{SNAPSHOTS}", "info"):
                (self.path / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            for index in (self.index, self.ignored_index):
                index.unlink(missing_ok=True)
            put(self.path / "info" / "attributes", ATTRIBUTES.encode())
            put(self.path / "HEAD", b"ref: refs/heads/none\n")
            put(self.path / "config", CONFIG.encode())

    def use_patterns(self, name: str = "") -> str:
        """Make git ignore what it ignored under these patterns, or what it ignores now; return the patterns' name."""
        kept = self.path / PATTERNS / name
        if name and kept.exists():
            patterns = kept.read_bytes()
        else:
            patterns = self._patterns()
            kept = self.path / PATTERNS / hashlib.sha256(patterns).hexdigest()
        if not kept.exists():
            put(kept, patterns)
        if _bytes_of(self.path / "info" / "exclude") != patterns:
            put(self.path / "info" / "exclude", patterns)
        return kept.name

    def _patterns(self) -> bytes:
        patterns = OF_OPEN_FILES + b"".join(_bytes_of(file).rstrip(b"\n") + b"\n" for file in self.place.excludes)
        if self.path.is_relative_to(self.place.top):  # the place may be a home folder, which contains the stores
            patterns += b"/" + os.fsencode(self.path.parent.relative_to(self.place.top)) + b"/\n"
        return patterns


def _owner(name: str) -> str:
    """Return the owner in a snapshot's name."""
    return name.split("-", 2)[2] if name.count("-") >= 2 else ""


def _entry(mode: str, blob: str) -> TreeEntry | None:
    return None if mode == "000000" else TreeEntry(mode, blob)


def forget_unused(root: Path, oldest: str) -> None:
    """Remove stores of folders without snapshots since `oldest`, and remains of removed ones; stores in use are
    left.
    """
    for gone in root.glob(f"*{PUT_AWAY}"):
        shutil.rmtree(gone, ignore_errors=True)
    for path in sorted(root.glob("*/refs/snapshots")):
        store = path.parents[1]
        with contextlib.suppress(OSError), (store / "lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if all(each.name < oldest for each in path.iterdir()):
                shutil.rmtree(_put_away(store))


def _put_away(store: Path) -> Path:
    """Rename a store that is to be removed, so that processes waiting for its lock find none or a new one."""
    gone = store.with_name(f"{store.name}-{secrets.token_hex(4)}{PUT_AWAY}")
    store.rename(gone)
    return gone


def split(output: bytes) -> list[str]:
    """Split NUL-terminated names."""
    return [os.fsdecode(each) for each in output.split(b"\0") if each]


def joined(paths: Iterable[str]) -> bytes:
    """Join names, each terminated by NUL, as git reads them."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _bytes_of(file: Path) -> bytes:
    try:
        return read_file(Path(os.path.realpath(file)))[0]
    except OSError:
        return b""


def put(file: Path, data: bytes, *, staged_in: Path | None = None) -> None:
    """Write a file atomically."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    staged = (staged_in or file.parent) / f"{file.name}.{os.getpid()}.new"
    staged.write_bytes(data)
    staged.replace(file)
