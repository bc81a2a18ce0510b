"""Finds and disarms files left by a sandboxed command that would make programs run outside the sandbox later."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from pygent_ls import file_access
from pygent_ls.workspace.sandbox.protected_paths import Protections, leads_to, links_in
from pygent_ls.workspace.sandbox.survey import MORE_ENTRIES, Survey, survey

MAX_CONFIG_BYTES = 65_536
MAX_NAMED = 10

OF_PACKAGES = frozenset({"site-packages", "node_modules"})
"""Folders of installed packages, which are full of files that take effect when the packages are used: not reported."""

_SECTION = re.compile(r'\[(?:(?P<plain>[a-z]+)|(?P<named>remote|branch|submodule) "[^"\\\n]*")\]')
_SETTING = re.compile(r'(?P<key>[a-zA-Z]+) = (?P<value>[^"\\;#\n]*)')
_PLAIN_KEYS = {
    "core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode"}
    | {"symlinks", "autocrlf", "eol"},
    "extensions": {"objectformat", "partialclone", "refstorage"},
    "user": {"name", "email"},
    "init": {"defaultbranch"},
    "pull": {"rebase"},
    "commit": {"gpgsign"},
    "remote": {"url", "fetch", "promisor", "partialclonefilter", "tagopt"},
    "branch": {"remote", "merge", "rebase"},
    "submodule": {"active", "url"},
}
"""Keys that `git init`, `git clone` and tests write into a repository and that run nothing."""

_REMOTE_PROGRAM = re.compile(r"\w+::|-")


def look_after(protected: Protections, before: Survey, *, runs: bool = False) -> tuple[list[str], Survey]:
    """Disarm what a command has created, as far as it can be found; return the notes, in sentences, and the current
    survey.

    New repositories that would run something are made unusable: git no longer finds them. Other new acting files are
    reported, unless the command still `runs`.
    """
    told = [*_restore_links(protected), *_remove_links(protected)]
    after = survey(protected.folders, max_entries=before.entries + MORE_ENTRIES, before=before, opens=True)
    for path in _new(after.repositories, before.repositories):
        if path not in protected.links and not _is_harmless(path, before):
            told += _disarm(path, protected.folders, bare=False)
    for path in _new(after.bare, before.bare):
        if not _is_harmless_folder(path, is_module=False):
            told += _disarm(path, protected.folders, bare=True)
    acting = [
        path
        for path in _new(after.acting, before.acting)
        if path not in protected.links and OF_PACKAGES.isdisjoint(path.parts)
    ]
    if acting and not runs:
        names = ", ".join(_name(path, protected.folders) for path in acting[:MAX_NAMED])
        more = f" and {len(acting) - MAX_NAMED} more" if len(acting) > MAX_NAMED else ""
        told.append(
            f"There are new files that programs run or load automatically: {names}{more}. The user should look at them."
        )
    if before.is_whole and not after.is_whole and not runs:
        told.append(
            "The command created so many files that not all were checked for repositories and files that programs run."
        )
    return told, after


def _new(after: dict[Path, tuple[int, int]], before: dict[Path, tuple[int, int]]) -> Sequence[Path]:
    return [path for path, identity in after.items() if before.get(path) != identity]


def _restore_links(protected: Protections) -> Iterator[str]:
    for path, target in protected.links.items():
        with contextlib.suppress(OSError):
            if path.is_symlink() and path.readlink() == target:
                continue
            if os.path.lexists(path):
                yield from _disarm(path, protected.folders, bare=False)
            file_access.make_link(path, os.fsencode(target))
            yield (
                f"The link {_name(path, protected.folders)} was put back, because it cannot be changed in the sandbox."
            )


def _remove_links(protected: Protections) -> Iterator[str]:
    """Remove new links from repositories' own folders: git writes through them, and the data, such as a commit message
    or branch names, would reach the file that they lead to.
    """
    for git, before in protected.gits.items():
        for path, target in links_in(git, opens=True).items():
            if before.get(path) == target:
                continue
            with contextlib.suppress(OSError):
                file_access.unlink(path)
                if path in before:
                    file_access.make_link(path, before[path])
                yield (f"The link {_name(path, protected.folders)} was removed, because git would write to its target.")


def _is_harmless(path: Path, before: Survey) -> bool:
    """Return whether git may find this `.git`."""
    status = path.lstat()
    if stat.S_ISDIR(status.st_mode):
        return _is_harmless_folder(path, is_module=False)
    if not stat.S_ISREG(status.st_mode):
        return False
    targets = list(leads_to(path))
    homes = (*(each for each in before.repositories), path.parent / ".git")
    modules = [each.resolve() / "modules" for each in homes] + [parent / ".git" / "modules" for parent in path.parents]
    for target in targets:
        is_module = any(target.is_relative_to(each) for each in modules)
        if not is_module or not _is_harmless_folder(target, is_module=True):
            return False
    return bool(targets)


def _is_harmless_folder(git: Path, *, is_module: bool) -> bool:
    """Return whether a repository's folder is as git itself creates it: no hook, and only the usual settings."""
    try:
        if not stat.S_ISDIR(git.lstat().st_mode):
            return False
        if links_in(git, opens=True):
            return False
        names = {each.name.casefold(): each for each in git.iterdir()}
        if not names.keys().isdisjoint({"commondir", "config.worktree", "worktrees"}):
            return False
        if "hooks" in names and any(each.suffix != ".sample" for each in names["hooks"].iterdir()):
            return False
        if "config" in names and not _is_harmless_config(names["config"], is_module=is_module):
            return False
        return "modules" not in names or all(_are_harmless_modules(names["modules"]))
    except OSError:
        return False


def _are_harmless_modules(folder: Path) -> Iterator[bool]:
    for each in sorted(folder.iterdir()):
        if each.is_symlink() or not each.is_dir():
            yield not each.is_symlink()
        elif (each / "HEAD").exists():
            yield _is_harmless_folder(each, is_module=True)
        else:
            yield from _are_harmless_modules(each)


def _is_harmless_config(config: Path, *, is_module: bool) -> bool:
    data, _ = file_access.read_file(config, MAX_CONFIG_BYTES)
    section = ""
    for line in os.fsdecode(data).split("\n"):
        text = line.strip(" \t")
        if not text:
            continue
        if header := _SECTION.fullmatch(text):
            section = header["plain"] or header["named"]
            continue
        setting = _SETTING.fullmatch(text)
        if setting is None or section not in _PLAIN_KEYS:
            return False
        key, value = setting["key"].lower(), setting["value"]
        if is_module and section == "core" and key == "worktree" and value.startswith("../"):
            continue
        if key not in _PLAIN_KEYS[section] or (key == "url" and _REMOTE_PROGRAM.match(value)):
            return False
    return True


def _disarm(path: Path, folders: Sequence[Path], *, bare: bool) -> Iterator[str]:
    """Rename the files by which git finds a repository, without following a link on the way."""
    mark = f".untrusted-{secrets.token_hex(4)}"
    name = _name(path, folders)
    try:
        if bare:
            file_access.rename(path / "HEAD", path / f"HEAD{mark}")
            yield f"{name} would make git run programs; its HEAD was renamed to HEAD{mark}."
        else:
            with contextlib.suppress(OSError):  # the folder by itself is a bare repository
                if not path.is_symlink() and path.is_dir():
                    file_access.rename(path / "HEAD", path / f"HEAD{mark}")
            file_access.rename(path, path.with_name(f"{path.name}{mark}"))
            yield f"{name} would make programs run outside the sandbox; it was renamed to {path.name}{mark}."
    except OSError as error:
        yield f"{name} would make programs run outside the sandbox, and cannot be renamed: {error.strerror}."


def _name(path: Path, folders: Sequence[Path]) -> str:
    return next((os.path.relpath(path, each) for each in folders if path.is_relative_to(each)), str(path))
