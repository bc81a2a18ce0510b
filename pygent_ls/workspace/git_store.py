"""One folder's states, kept by git outside the folder: a repository of the daemon's own in its state folder.

A store has all of its objects itself: what the user, a command or git does to the user's repository takes nothing from
it. Nothing of the user's configuration, hooks, filters or attributes has a say, so that bytes stay as they are.
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
from dataclasses import dataclass
from pathlib import Path

from pygent_ls.errors import SnapshotError
from pygent_ls.file_access import read_file
from pygent_ls.workspace.git_places import Place
from pygent_ls.workspace.git_program import Git, RunningGit, own_environment

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
"""A store with another configuration was made by an earlier version, and its index may name objects that it lacks."""

SEEN_INDEX = "seen-index"
"""A file with the stamp of the user's index when its ignored files were looked for."""

ATTRIBUTES = "* -text !eol !crlf !filter !ident !working-tree-encoding\n"
"""Stronger than any `.gitattributes`: no byte is converted, no filter is run."""

OF_OPEN_FILES = b".#*\n.*.sw[a-p]\n"
"""What Emacs and Vim keep beside a file while it is open there: no file of the user's, and gone when it is closed."""


PATTERNS = "patterns"
"""A folder with the ignore patterns that counted for a snapshot, as far as they are in no `.gitignore`; each file is
named by its content, and what counts at the moment is in `info/exclude`, too."""

SNAPSHOTS = "snapshots"
"""Names of the snapshots' trees; what else a snapshot has stands in `DISK` and `IGNORED` under the same name."""

DISK = "disk"
"""Names of the trees of the disk alone, where unsaved buffers make a difference."""

IGNORED = "ignored"
"""Names of the trees of ignored files, where there are any."""


PUT_AWAY = ".gone"
"""What the name of a store ends with while it is removed."""

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's name of a tree without entries."""


REPACK = ("repack", "-a", "-d", "-l", "-q", "--window=0")
"""Without a search for what is similar: somebody waits."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a tree: git's mode (`100644`, `100755`, `120000` for a link) and its content's name."""

    mode: str
    blob: str


Difference = tuple[str, Entry | None, Entry | None]
"""A path, what is there in the first tree, and in the second."""


class NoStoreError(SnapshotError):
    """What was kept of a folder has been removed."""


class GitStore:
    """The store of one place. Blocking; for one job, whose programs `git` runs."""

    def __init__(self, root: Path, place: Place, git: Git) -> None:
        self.place = place
        self.path = root / place.key
        self.git = git
        self.index = self.path / "index"
        """Of what git does not ignore."""
        self.ignored_index = self.path / "index.ignored"
        """Of what is kept though git ignores it."""
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
        """One job at a time in each store, also of several daemons.

        Raises `NoStoreError` where there is no such store and none is to be made.
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
        """What differs between two trees, by path."""
        if old == new:
            return []
        fields = self.run("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", old, new).split(b"\0")
        found: list[Difference] = []
        for facts, path in zip(fields[0::2], fields[1::2], strict=False):
            old_mode, new_mode, old_blob, new_blob, _ = facts.decode().lstrip(":").split(" ")
            found.append((os.fsdecode(path), _entry(old_mode, old_blob), _entry(new_mode, new_blob)))
        return sorted(found, key=lambda each: each[0])

    def entries(self, tree: str) -> dict[str, Entry]:
        """All that is in a tree, by path."""
        found: dict[str, Entry] = {}
        for listed in split(self.run("ls-tree", "-r", "-z", tree)):
            facts, _, path = listed.partition("\t")
            mode, kind, blob = facts.split(" ")
            if kind == "blob":
                found[path] = Entry(mode, blob)
        return found

    def paths_in(self, tree: str) -> list[str]:
        """The paths of all files in a tree."""
        return split(self.run("ls-tree", "-r", "-z", "--name-only", tree))

    def read(self, blobs: Sequence[str]) -> dict[str, bytes]:
        """The contents by name; what is no longer there is left out."""
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
        """Which of the paths the patterns in that tree ignore."""
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
                stdin=joined(f"./{prefix}{path}" for path in paths),  # a name that begins with `:` is no pattern then
                good=(0, 1),
            )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return {path.removeprefix(f"./{prefix}") for path in split(found)}

    def prune(self, oldest: str, n_kept: int) -> int:
        """Forget what is named before `oldest`, and all but the newest `n_kept`; returns how many went.

        Call it in `locked`.
        """
        names = self.names()
        kept = [name for name in names if name >= oldest][-n_kept:]
        self._keep_only(kept)
        self.clean(packs=True)
        return len(names) - len(kept)

    def forget(self, owners: Collection[str]) -> None:
        """Forget the snapshots of these owners, and the store where it has no others; call it in `locked`.

        What only they had stays until `clean`.
        """
        left = [each for each in self.names() if _owner(each) not in owners]
        self._keep_only(left)
        self.forget_all()

    def clean(self, *, packs: bool = False) -> None:
        """Remove what no name leads to any more, from `packs` too; call it in `locked`.

        Raises `SnapshotError` where the job ends before that: then it goes with what is pruned next.
        """
        if not self._loose_ends.exists():
            return
        if names := self.names():
            (self.path / SEEN_INDEX).unlink(missing_ok=True)
            newest = next(kind for kind in (DISK, SNAPSHOTS) if (self.path / "refs" / kind / names[-1]).exists())
            self.run("read-tree", "-m", f"refs/{newest}/{names[-1]}")  # what stands in the index is not pruned
        self.ignored_index.unlink(missing_ok=True)
        if packs or self._unkept_pack.exists():
            self.run(*REPACK)
            self._unkept_pack.unlink(missing_ok=True)
        self.run("prune", "--expire=now")
        self._loose_ends.unlink()

    @property
    def _loose_ends(self) -> Path:
        """A file that is there while there may be objects that no name leads to."""
        return self.path / "loose-ends"

    @property
    def _unkept_pack(self) -> Path:
        """A file that is there while a pack has objects that were taken for an owner; `git prune` spares packs."""
        return self.path / "unkept-pack"

    def names(self) -> list[str]:
        """The snapshots, the oldest first."""
        return sorted(each.name for each in (self.path / "refs" / SNAPSHOTS).glob("*"))

    def _keep_only(self, names: Collection[str]) -> None:
        for file in (self.path / "refs").glob("*/*"):
            if file.name not in names:
                self._loose_ends.touch()
                file.unlink()

    def forget_all(self) -> None:
        """Remove the store, where no snapshot is in it, with what was taken in halves; call it in `locked`.

        Where the time is over before, `forget_unused` removes the rest.
        """
        if self.names():
            return
        gone = _put_away(self.path)
        for folder in (gone / "objects").glob("*"):
            if not self.git.left_s():
                return
            shutil.rmtree(folder, ignore_errors=True)  # another daemon may remove the same
        shutil.rmtree(gone, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()  # where it is empty now

    # For what reads and writes the store

    def run(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        """Output of a git program on the store; `index` stands in for the store's own."""
        return self.start(*arguments, index=index).end(stdin)

    def start(self, *arguments: str, index: Path | None = None) -> RunningGit:
        """Start a git program on the store."""
        environment = self.environment if index is None else {**self.environment, "GIT_INDEX_FILE": str(index)}
        cwd = self.place.top if self.place.top.is_dir() else self.path  # what was kept can be read all the same
        return self.git.start(arguments, cwd=cwd, environment=environment)

    def name_trees(self, name: str, tree: str, *, disk: str, ignored: str) -> None:
        """Keep the trees of a snapshot under its name until it is pruned."""
        named = {DISK: disk if disk != tree else "", IGNORED: ignored if ignored != EMPTY_TREE else "", SNAPSHOTS: tree}
        for kind, each in named.items():
            if each:
                put(self.path / "refs" / kind / name, f"{each}\n".encode(), staged_in=self.path)

    def may_pack(self, name: str) -> bool:
        """Whether a snapshot's files may go into a pack: beside those of others, files of an owner must not, since git
        takes nothing out of a pack without writing it anew."""
        owner = _owner(name)
        if owner and not all(_owner(each) == owner for each in self.names()):
            return False
        if owner:
            self._unkept_pack.touch()
        return True

    def _make(self) -> None:
        """Make the store, or what is missing of it."""
        if _bytes_of(self.path / "config") != CONFIG.encode():
            for folder in ("objects", f"refs/{SNAPSHOTS}", "info"):
                (self.path / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            for index in (self.index, self.ignored_index):
                index.unlink(missing_ok=True)
            put(self.path / "info" / "attributes", ATTRIBUTES.encode())
            put(self.path / "HEAD", b"ref: refs/heads/none\n")
            put(self.path / "config", CONFIG.encode())

    def use_patterns(self, name: str = "") -> str:
        """Let git ignore what it ignored when these patterns counted, or what it ignores now; returns their name."""
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
        if self.path.is_relative_to(self.place.top):  # a home folder holds the stores, too
            patterns += b"/" + os.fsencode(self.path.parent.relative_to(self.place.top)) + b"/\n"
        return patterns


def _owner(name: str) -> str:
    """For whom a snapshot was taken, by its name."""
    return name.split("-", 2)[2] if name.count("-") >= 2 else ""


def _entry(mode: str, blob: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, blob)


def forget_unused(root: Path, oldest: str) -> None:
    """Remove the stores of folders that no snapshot was taken of since `oldest`, and what is left of removed ones;
    those in use now are left."""
    for gone in root.glob(f"*{PUT_AWAY}"):
        shutil.rmtree(gone, ignore_errors=True)
    for path in sorted(root.glob("*/refs/snapshots")):
        store = path.parents[1]
        with contextlib.suppress(OSError), (store / "lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if all(each.name < oldest for each in path.iterdir()):
                shutil.rmtree(_put_away(store))


def _put_away(store: Path) -> Path:
    """Rename a store that is to be removed, so that who waits for its lock finds none or a new one."""
    gone = store.with_name(f"{store.name}-{secrets.token_hex(4)}{PUT_AWAY}")
    store.rename(gone)
    return gone


def split(output: bytes) -> list[str]:
    """Names that end with NUL each."""
    return [os.fsdecode(each) for each in output.split(b"\0") if each]


def joined(paths: Iterable[str]) -> bytes:
    """Names that end with NUL each, as git reads them."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _bytes_of(file: Path) -> bytes:
    try:
        return read_file(Path(os.path.realpath(file)))[0]
    except OSError:
        return b""


def put(file: Path, data: bytes, *, staged_in: Path | None = None) -> None:
    """Write a file whole or not at all."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    staged = (staged_in or file.parent) / f"{file.name}.{os.getpid()}.new"
    staged.write_bytes(data)
    staged.replace(file)
