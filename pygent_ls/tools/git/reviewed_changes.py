"""Changes to review as one bounded diff: of commits, of the files on the disk, and of unsaved documents.

Git runs none of the repository's programs (`read_git`). Files that a rule withholds and ignored files are left out, and
secrets are masked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from pygent_ls.agent.edits.diffs import unified_diff
from pygent_ls.agent.ports.processes import Repository
from pygent_ls.agent.ports.workspace import Document
from pygent_ls.agent.tools.tool import ToolContext, is_withheld
from pygent_ls.errors import ToolError
from pygent_ls.tools.git.changes import MAX_PATHS_CHARS, holds_any
from pygent_ls.tools.git.program import failure, read_git, shown_git, without_secrets
from pygent_ls.tools.git.review_target import ReviewTarget

MAX_DIFF_CHARS = 60_000
"""Maximum length of a diff in a prompt, some 15,000 tokens; the model reads the rest with its tools."""

MAX_NEW_FILES = 200
"""Maximum number of untracked and unsaved files whose text is read."""

MAX_LISTED = 300
"""Maximum number of files in a list."""

_FILE = re.compile(r"^(?:diff --|\* )", re.MULTILINE)
"""Start of a file in a diff: a line of a file's content never begins like this."""

_ESCAPES = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", '"': '"', "\\": "\\"}
"""Characters of names that git escapes with a letter."""

_CHANGES = {"A": "new", "D": "deleted", "M": "changed", "T": "type changed"}


class ReviewedChanges(Struct, kw_only=True):
    """Changes to review."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    """What happened to each file, by its name in the repository."""
    diffs: list[str] = field(default_factory=list[str])
    """Diffs that fit into a prompt, one per file."""
    left_out: list[str] = field(default_factory=list[str])
    """Files whose diff did not fit, or whose content is not text."""
    n_withheld: int = 0
    """Number of changed files that a rule protects from being read."""
    _n_chars: int = 0

    def add(self, name: str, diff: str) -> None:
        """Add the diff of a file if it still fits."""
        if self._n_chars + len(diff) > MAX_DIFF_CHARS:
            self.left_out.append(name)
        else:
            self._n_chars += len(diff)
            self.diffs.append(diff.rstrip("\n"))

    @property
    def listed(self) -> list[str]:
        """Lines with all files, as far as a list may be long."""
        lines = [f"- {name} ({kind})" for name, kind in self.files.items()]
        more = len(lines) - MAX_LISTED
        return lines if more <= 0 else [*lines[:MAX_LISTED], f"[{more} more files left out]"]


async def changes_of(
    context: ToolContext, repository: Repository, target: ReviewTarget, below: Path | None = None
) -> ReviewedChanges:
    """Return the changes of a target below a folder, or below the workspace folder. Raises `ToolError`."""
    below = below or context.workspace.resolve(".")
    changes = ReviewedChanges()
    unsaved: dict[str, Document] = {}
    new: list[str] = []
    revisions = target.arguments
    named = await _names(context, repository, "diff", "--name-status", *_PLAIN, *revisions, "--", str(below))
    for kind, name in zip(named[0::2], named[1::2], strict=False):
        _note(context, repository, changes, name, _CHANGES.get(kind[:1], "changed"))
    if target.state in ("disk", "editor"):
        new = await _names(context, repository, "ls-files", "--others", "--exclude-standard", "--", str(below))
    if target.state == "editor":
        unsaved = await _unsaved(context, repository, target, {*changes.files, *new}, below)
    for name in (*new, *unsaved):
        if name not in changes.files:
            _note(context, repository, changes, name, "new" if name in new else "changed, unsaved")
    withheld = [name for name in named[1::2] if name not in changes.files]
    on_disk = [name for name in changes.files if name not in unsaved and name not in new]
    changes.left_out += [name for name in on_disk if holds_any(name, withheld)]
    on_disk = [name for name in on_disk if not holds_any(name, withheld)]
    await _add_committed(context, repository, changes, revisions, on_disk)
    for name in [*unsaved, *(name for name in new if name not in unsaved)][:MAX_NEW_FILES]:
        if name in changes.files:
            await _add_text(context, repository, changes, target.old, name, unsaved.get(name))
    shown = {name for name in changes.files if name in new or name in unsaved}
    changes.left_out += sorted(shown)[MAX_NEW_FILES:]
    return changes


_PLAIN = ("--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
"""Options of a diff that runs no program. A renamed file counts as a deleted and a new one, because the new name must
not reveal protected content."""


async def _names(context: ToolContext, repository: Repository, command: str, *args: str) -> list[str]:
    """Return what git lists with `-z`."""
    result = await read_git(context, repository, command, "-z", *args)
    if result.exit_code:
        raise ToolError(failure(result, f"git {command} failed"))
    if result.omitted_chars:
        raise ToolError("Too many files have changed to list them. Review a smaller range of commits.")
    return list(filter(None, result.stdout.split("\0")))


def _note(context: ToolContext, repository: Repository, changes: ReviewedChanges, name: str, what: str) -> None:
    """Count a changed file, unless a rule withholds it."""
    if is_withheld(context, repository.top / name):
        changes.n_withheld += 1
    else:
        changes.files[name] = what


async def _unsaved(
    context: ToolContext, repository: Repository, target: ReviewTarget, known: set[str], below: Path
) -> dict[str, Document]:
    """Return the unsaved documents by name, of files that git knows or would add. A document that was never saved is
    left out, because git cannot tell whether it is ignored."""
    found: dict[str, Document] = {}
    for document in context.workspace.unsaved():
        if not document.path.is_relative_to(below) or not document.path.is_relative_to(repository.top):
            continue
        name = document.path.relative_to(repository.top).as_posix()
        if name in known or await _blob(context, repository, target.old, name) is not None:
            found[name] = document
    return found


async def _add_committed(
    context: ToolContext,
    repository: Repository,
    changes: ReviewedChanges,
    revisions: Sequence[str],
    names: Sequence[str],
) -> None:
    """Add the differences that git shows in these files."""
    if not names:
        return
    if sum(map(len, names)) > MAX_PATHS_CHARS:
        changes.left_out += names
        return
    options = (*_PLAIN, "--src-prefix=a/", "--dst-prefix=b/")
    result = await shown_git(context, repository, "diff", *options, *revisions, "--", *names)
    if result.exit_code:
        raise ToolError(failure(result, "git diff failed"))
    if result.omitted_chars:
        await _add_each(context, repository, changes, revisions, names)
        return
    parts = _parts(result.stdout, names)
    for name in sorted(names, key=lambda name: name.encode("utf-8", "surrogateescape")):
        _add_part(changes, name, parts[name])


async def _add_each(
    context: ToolContext,
    repository: Repository,
    changes: ReviewedChanges,
    revisions: Sequence[str],
    names: Sequence[str],
) -> None:
    """Add the differences file by file, as many as fit."""
    options = (*_PLAIN, "--src-prefix=a/", "--dst-prefix=b/")
    for number, name in enumerate(names):
        if number >= MAX_NEW_FILES:
            changes.left_out += names[number:]
            return
        result = await shown_git(context, repository, "diff", *options, *revisions, "--", name)
        if result.exit_code or result.omitted_chars:
            changes.left_out.append(name)
        else:
            _add_part(changes, name, _parts(result.stdout, [name])[name])


def _parts(diff: str, names: Sequence[str]) -> dict[str, str]:
    """Return the parts of a diff by name; empty for a file that it does not contain. Parts of other files are dropped:
    git also shows those below a folder that has replaced a file, or has been replaced by one."""
    headers = {f"diff --git {_quoted(f'a/{name}')} {_quoted(f'b/{name}')}": name for name in names}
    parts = dict.fromkeys(names, "")
    starts = [found.start() for found in _FILE.finditer(diff)]
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        part = diff[start:end]
        name = headers.get(part.partition("\n")[0])
        if name is not None:
            parts[name] += part  # a file that has become a link has two
    return parts


def _quoted(name: str) -> str:
    """Return a name as git writes it in a diff."""
    escaped = "".join(
        f"\\{_ESCAPES[each]}" if each in _ESCAPES else f"\\{ord(each):03o}" if each < " " or each == "\x7f" else each
        for each in name
    )
    return name if escaped == name else f'"{escaped}"'


def _add_part(changes: ReviewedChanges, name: str, part: str) -> None:
    if part:
        changes.add(name, without_secrets(part))
    else:
        changes.left_out.append(name)


async def _add_text(
    context: ToolContext,
    repository: Repository,
    changes: ReviewedChanges,
    old_revision: str,
    name: str,
    unsaved: Document | None,
) -> None:
    """Add the difference from the earlier text of a file to the text that the user sees."""
    path = repository.top / name
    try:
        now = unsaved or await _untracked(context, path)
    except ToolError:
        changes.left_out.append(name)
        return
    before = await _blob(context, repository, old_revision, name)
    new_text = (await context.masks.document(now, str(path))).text
    old_text = await context.masks.text(before, str(path)) if before is not None else ""
    if "\r" not in old_text and before is not None:  # git may have stored the text with other line ends
        new_text = new_text.replace("\r\n", "\n")
    patch = unified_diff(old_text, new_text, name, is_new=before is None).patch
    if before is not None and not patch:
        del changes.files[name]
        return
    note = " (unsaved text of the editor)" if unsaved is not None else ""
    changes.add(name, f"diff --git a/{name} b/{name}{note}\n{patch or '(empty file)'}")


async def _untracked(context: ToolContext, path: Path) -> Document:
    """Return an untracked file. Raises `ToolError` for a link, whose target is not part of the change."""
    resolved = context.workspace.resolve(str(path))
    if resolved != context.workspace.resolve(str(path), follow=False):
        raise ToolError("A link is not read.")
    return await context.workspace.read(resolved)


async def _blob(context: ToolContext, repository: Repository, revision: str, name: str) -> str | None:
    """Return the text of a file in a commit; None if it does not exist there, or is too large."""
    result = await read_git(context, repository, "cat-file", "blob", f"{revision}:{name}")
    return None if result.exit_code or result.omitted_chars else result.stdout
