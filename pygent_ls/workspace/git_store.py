"""One folder's states, kept by git outside the folder: a repository of the daemon's own in its state folder.

The user's repository is only read: its objects stand beside the store's own, so that what git has is not kept twice.
(Of an object that is found there git sets the time to now, as it does for every object that is still in use.)
Nothing of the user's configuration, hooks, filters or attributes has a say, so that bytes stay as they are.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

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
"""

SEEN_INDEX = "seen-index"
"""A file with the stamp of the user's index when its ignored files were looked for."""

ATTRIBUTES = "* -text !eol !crlf !filter !ident !working-tree-encoding\n"
"""Stronger than any `.gitattributes`: no byte is converted, no filter is run."""

OF_OPEN_FILES = b".#*\n.*.sw[a-p]\n"
"""What Emacs and Vim keep beside a file while it is open there: no file of the user's, and gone when it is closed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a tree: git's mode (`100644`, `100755`, `120000` for a link) and its content's name."""

    mode: str
    blob: str


Difference = tuple[str, Entry | None, Entry | None]
"""A path, what is there in the first tree, and in the second."""


class GitStore:
    """The store of one place. Blocking; for one job, whose programs `git` runs."""

    def __init__(self, root: Path, place: Place, git: Git) -> None:
        self.place = place
        self.path = root / place.key
        self.git = git
        self.index = self.path / "index"
        own = {
            "GIT_DIR": str(self.path),
            "GIT_WORK_TREE": str(place.top),
            "GIT_INDEX_FILE": str(self.index),
            "GIT_OBJECT_DIRECTORY": str(self.path / "objects"),
        }
        if place.objects is not None:
            own["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _quoted(place.objects)
        self.environment = own_environment(own)

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """One job at a time in each store, also of several daemons."""
        with contextlib.ExitStack() as stack:
            while not self._try_to_lock(stack):
                self.git.check()
                time.sleep(0.005)
            (self.path / "index.lock").unlink(missing_ok=True)  # of a job that was killed
            self._make()
            yield

    def _try_to_lock(self, stack: contextlib.ExitStack) -> bool:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
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

    def entry(self, tree: str, path: str) -> Entry | None:
        """What is at a path of a tree."""
        listed = self.run("ls-tree", "-z", tree, "--", path).decode("utf-8", "surrogateescape")
        mode, _, blob = listed.partition("\t")[0].partition(" ")
        return Entry(mode, blob.removeprefix("blob ")) if blob.startswith("blob ") else None

    def names(self, tree: str) -> list[str]:
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
                    put(scratch / above / ".gitignore", (self.place.top / above / ".gitignore").read_bytes())
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
        names = sorted(each.name for each in (self.path / "refs" / "snapshots").iterdir())
        kept = [name for name in names if name >= oldest][-n_kept:]
        gone = set(names) - set(kept)
        for name in gone:
            (self.path / "refs" / "snapshots" / name).unlink(missing_ok=True)
        if gone:
            self.run("repack", "-a", "-d", "-l", "-q")
            self.run("prune", "--expire=now")
        return len(gone)

    def forget(self, owner: str) -> None:
        """Forget the snapshots of that owner, and what only they have; call it in `locked`.

        Raises `SnapshotError` where the job ends before that: then the names are gone, and what they named goes with
        what is pruned next.
        """
        names = sorted(each.name for each in (self.path / "refs" / "snapshots").iterdir())
        gone = [each for each in names if each.endswith(f"-{owner}")]
        left = [each for each in names if each not in gone]
        for name in gone:
            (self.path / "refs" / "snapshots" / name).unlink(missing_ok=True)
        if not left:
            self._remove()
        elif gone:
            (self.path / SEEN_INDEX).unlink(missing_ok=True)
            newest = (self.path / "refs" / "snapshots" / left[-1]).read_text(encoding="ascii").strip()
            self.run("read-tree", "-m", newest)  # what stands in the index is not pruned
            self.run("prune", "--expire=now")

    def _remove(self) -> None:
        """Remove the store. Where the job ends before, the next snapshot makes it anew."""
        for file in (self.path / "HEAD", self.index):
            file.unlink(missing_ok=True)
        for folder in sorted((self.path / "objects").iterdir()):
            self.git.check()
            shutil.rmtree(folder)
        shutil.rmtree(self.path)

    def forget_all(self) -> None:
        """Remove the store, where no snapshot is in it; call it in `locked`. What was taken in halves goes, too."""
        if not any((self.path / "refs" / "snapshots").iterdir()):
            for each in self.path.iterdir():
                if each.name != "lock":
                    shutil.rmtree(each) if each.is_dir() else each.unlink()

    # For what reads and writes the store

    def run(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        """Output of a git program on the store; `index` stands in for the store's own."""
        return self.start(*arguments, index=index).end(stdin)

    def start(self, *arguments: str, index: Path | None = None) -> RunningGit:
        """Start a git program on the store."""
        environment = self.environment if index is None else {**self.environment, "GIT_INDEX_FILE": str(index)}
        cwd = self.place.top if self.place.top.is_dir() else self.path  # what was kept can be read all the same
        return self.git.start(arguments, cwd=cwd, environment=environment)

    def name_tree(self, tree: str, name: str) -> None:
        """Keep a tree under a name until it is pruned."""
        put(self.path / "refs" / "snapshots" / name, f"{tree}\n".encode(), staged_in=self.path)

    def _make(self) -> None:
        """Make the store, or what is missing of it, and let it know what is ignored."""
        if not (self.path / "HEAD").exists():
            for folder in ("objects", "refs/snapshots", "info"):
                (self.path / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            put(self.path / "config", CONFIG.encode())
            put(self.path / "info" / "attributes", ATTRIBUTES.encode())
            put(self.path / "HEAD", b"ref: refs/heads/none\n")
        patterns = OF_OPEN_FILES + b"".join(_bytes_of(file).rstrip(b"\n") + b"\n" for file in self.place.excludes)
        if self.path.is_relative_to(self.place.top):  # a home folder holds the stores, too
            patterns += b"/" + os.fsencode(self.path.parent.relative_to(self.place.top)) + b"/\n"
        if _bytes_of(self.path / "info" / "exclude") != patterns:
            put(self.path / "info" / "exclude", patterns)


def _entry(mode: str, blob: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, blob)


def forget_unused(root: Path, oldest: str) -> None:
    """Remove the stores of folders that no snapshot was taken of since `oldest`; those in use now are left."""
    for path in sorted(root.glob("*/refs/snapshots")):
        store = path.parents[1]
        with contextlib.suppress(OSError), (store / "lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if all(each.name < oldest for each in path.iterdir()):
                shutil.rmtree(store)


def split(output: bytes) -> list[str]:
    """Names that end with NUL each."""
    return [os.fsdecode(each) for each in output.split(b"\0") if each]


def joined(paths: Iterable[str]) -> bytes:
    """Names that end with NUL each, as git reads them."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def put(file: Path, data: bytes, *, staged_in: Path | None = None) -> None:
    """Write a file whole or not at all."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    staged = (staged_in or file.parent) / f"{file.name}.{os.getpid()}.new"
    staged.write_bytes(data)
    staged.replace(file)


def _quoted(path: Path) -> str:
    """As git wants it in a list of folders."""
    text = str(path)
    if ":" not in text and not text.startswith('"'):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
