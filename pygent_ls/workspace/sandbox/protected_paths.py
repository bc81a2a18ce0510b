"""Protected paths of a workspace: those that would make programs run outside the sandbox later.

In a repository's own folder, everything is writable except names of programs and references to settings elsewhere. If
the list of such names is open (the repositories of submodules and work trees), the whole folder is read-only except for
known names.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from pygent_ls.agent.permissions.autorun_files import OPENED, VERSION_CONTROL
from pygent_ls.file_access import read_beginning
from pygent_ls.workspace.environment import steps
from pygent_ls.workspace.git import config as git_config
from pygent_ls.workspace.git.repositories import find_repository
from pygent_ls.workspace.sandbox.placeholders import PlaceholderKind, is_placeholder
from pygent_ls.workspace.sandbox.survey import Survey, listing

Protection = Literal["pin", "read"] | PlaceholderKind
"""Protection of a path: `pin` can be written but not renamed or replaced, `read` cannot be written; a kind of
placeholder is for a missing path that must not be created.
"""

MAX_REPOSITORIES = 40
"""Maximum number of repositories whose parts are protected individually; all others are read-only."""

MAX_ACTING = 60
"""Maximum number of files of editors, agents and shells in deeper folders that are protected."""

MAX_NAMED = 10
MAX_MODULE_FOLDERS = 2_000
MAX_CONFIG_FILES = 50
CONFIG_S = 5.0
MAX_GITLINK_BYTES = 4_096

_FILES = ("config", "config.worktree")
_FOLDERS = ("hooks", "remotes", "branches", "modules", "worktrees")
COVERED_IN_GIT = (*_FILES, "commondir", *_FOLDERS)
"""Names in a repository's own folder that are missing in most repositories, or are read-only."""
_ELSEWHERE = re.compile(
    r"^[^\S\n]*+(?:worktree\s*+=|bare[^\S\n]*+(?:=\s*+(?:true|yes|on|[1-9])|$))", re.MULTILINE | re.IGNORECASE
)
_RUNS = re.compile(
    r"core\.(?:fsmonitor|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)|sequence\.editor|alias\..*"
    r"|credential\..*helper|gpg\..*program|diff\..*(?:command|textconv)|diff\.external|merge\..*driver|filter\..*"
    r"|interactive\.difffilter|pager\..*|(?:diff|merge)tool\..*(?:cmd|path)|uploadpack\.packobjectshook"
    r"|hook\..*|trailer\..*|submodule\..*update|(?:browser|gui|guitool|imap|instaweb|lfs|man|remote|sendemail|tar)\..*",
    re.IGNORECASE,
)
_MAY_BE_NO_PATH = re.compile(r"(?:gui|imap|instaweb|lfs|remote|sendemail|trailer)\..*", re.IGNORECASE)
"""Settings of which only existing files are protected: most values are addresses or names."""
_INCLUDES = re.compile(r"include(?:if\..*)?\.path", re.IGNORECASE | re.DOTALL)


class Protections(Struct):
    """Protections by path. Paths are resolved except for their last name."""

    folders: Sequence[Path]
    paths: dict[Path, Protection] = field(default_factory=dict[Path, Protection])
    links: dict[Path, Path] = field(default_factory=dict[Path, Path])
    """Links with their targets, restored after the command, since mounts cannot be placed on links."""
    gits: dict[Path, Mapping[Path, bytes]] = field(default_factory=dict[Path, Mapping[Path, bytes]])
    """Partly writable folders of repositories, with the links in them, through which git would write."""

    def add(self, path: Path, how: Protection, *, is_inside: bool = False) -> None:
        """Protect a path in the folders, and the way to it; `is_inside` is for a path inside a read-only one."""
        top = max(
            (each for each in self.folders if path.is_relative_to(each)), key=lambda each: len(each.parts), default=None
        )
        if top is None or (path == top and how != "read"):
            return
        above = [each for each in path.parents if each != top and each.is_relative_to(top)]
        if not is_inside and any(self.paths.get(each, "pin") != "pin" for each in above):
            return
        for each in above:
            self.paths.setdefault(each, "pin")
        if how != "pin" or path not in self.paths:
            self.paths[path] = how

    def add_name(self, path: Path, missing: PlaceholderKind | None, *, is_inside: bool = False) -> None:
        """Protect the file with that name and its link targets; or if it is missing, reserve it as `missing`."""
        if path.is_symlink():
            for step in map(Path, steps(os.fspath(path))):
                if step.is_symlink() and any(step.is_relative_to(folder) for folder in self.folders):
                    self.links[step] = step.readlink()
                    self.add(step.parent, "pin", is_inside=is_inside)
            target = Path(os.path.realpath(path))
            is_there = os.path.lexists(target)
            self.add(
                target if is_there else _first_missing(target), "read" if is_there else "folder", is_inside=is_inside
            )
        elif os.path.lexists(path) and not is_placeholder(path):
            self.add(path, "read", is_inside=is_inside)
        elif missing is not None:
            self.add(path, missing, is_inside=is_inside)


class GitSettingsReader(Struct, frozen=True):
    """Reads git's settings with the given program and environment."""

    git: str
    environment: Mapping[str, str]

    def of(self, top: Path, files: Sequence[Path]) -> Iterator[tuple[Path | None, str, str]]:
        """Yield the file, the key and the value of each setting that applies in this work tree, or would under another
        condition: on another branch, or for another owner of the folder. `files` are the repository's own. Runs no
        program of the repository.
        """
        waiting, seen = list(files), set[Path | None]()
        for source, key, value in self._listed(top):
            seen.add(source)
            if source is not None and _INCLUDES.fullmatch(key):
                waiting.append(_place(source.parent, value))
            yield source, key, value
        for file in waiting:  # the list grows
            if file in seen or len(seen) >= MAX_CONFIG_FILES:
                continue
            seen.add(file)
            with contextlib.suppress(ValueError):
                for key, value in git_config.read(file):
                    if _INCLUDES.fullmatch(key):
                        waiting.append(_place(file.parent, value or ""))
                    yield file, key, value or ""

    def _listed(self, top: Path) -> Iterator[tuple[Path | None, str, str]]:
        try:
            done = subprocess.run(
                [
                    *(self.git, "-c", "safe.directory=*"),
                    *("config", "--list", "--includes", "--show-origin", "-z"),
                ],
                cwd=top,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CONFIG_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return
        parts = os.fsdecode(done.stdout).split("\0")
        for origin, setting in zip(parts[::2], parts[1::2], strict=False):
            key, _, value = setting.partition("\n")
            file = origin.removeprefix("file:")
            yield Path(os.path.realpath(top / file)) if file != origin else None, key, value


def protections(folders: Sequence[Path], found: Survey, settings: GitSettingsReader | None) -> Protections:
    """Return the protections for these folders with the surveyed contents; without `settings`, none from git's
    settings.
    """
    made = Protections(folders)
    for folder in folders:
        for name in OPENED:
            made.add_name(folder / name, "folder")
        if folder not in found.bare and folder / ".git" not in found.repositories:
            made.add_name(folder / ".git", "folder")
    for number, path in enumerate((*found.repositories, *found.bare)):
        _protect_repository(made, path, is_whole=number >= MAX_REPOSITORIES)
    if settings is not None:
        _protect_all_settings(made, found, settings)
    _protect_acting(made, found)
    return made


def _protect_acting(made: Protections, found: Survey) -> None:
    """Protect files of editors, agents and shells, and files that name programs in repositories of other systems than
    git.
    """
    n_deeper = 0
    for path in found.acting:
        if files := VERSION_CONTROL.get(path.name.casefold()):
            for file in (path / name for name in files):
                if file.parent.is_dir():
                    made.add_name(file, "file")
        elif path.parent in made.folders:
            made.add_name(path, None)
        elif n_deeper < MAX_ACTING and not path.is_symlink():
            made.paths.setdefault(path, "read")
            n_deeper += 1


def _protect_repository(made: Protections, path: Path, *, is_whole: bool) -> None:
    """Protect the repository at `path`, a `.git` or a bare repository."""
    if path.is_symlink() or path.is_file():
        made.add_name(path, None)
        targets = [path.resolve()] if path.is_symlink() else list(leads_to(path))
    else:
        targets = [path]
    for target in targets:
        if target.is_dir():
            _protect_git_folder(made, target, is_whole=is_whole)


def leads_to(gitlink: Path) -> Iterator[Path]:
    """Yield the targets of a file named `.git`: a repository's folder, and the one that it shares settings with."""
    text = _text(gitlink, MAX_GITLINK_BYTES)
    if not text.startswith("gitdir: "):
        return
    folder = (gitlink.parent / text.removeprefix("gitdir: ").rstrip("\r\n")).resolve()
    yield folder
    if common := _text(folder / "commondir", MAX_GITLINK_BYTES).strip():
        yield (folder / common).resolve()


def _protect_git_folder(made: Protections, git: Path, *, is_whole: bool = False, is_module: bool = False) -> None:
    if made.paths.get(git) == "read":
        return
    if is_whole or (not is_module and git.name == ".git" and _leads_elsewhere(git / "config")):
        made.add(git, "read")
        return
    made.add(git, "pin", is_inside=is_module)
    made.gits[git] = links_in(git)
    for name in _FILES:
        made.add_name(git / name, "file", is_inside=is_module)
    made.add_name(git / "commondir", "dot", is_inside=is_module)
    for name in _FOLDERS:
        made.add_name(git / name, "folder", is_inside=is_module)
    for module in _repositories_in(git / "modules"):
        _protect_git_folder(made, module, is_module=True)
    for tree in _folders_in(git / "worktrees"):
        made.add(tree, "pin", is_inside=True)
        for name in ("commondir", "gitdir"):
            made.add_name(tree / name, None, is_inside=True)
        made.add_name(tree / "config.worktree", "file", is_inside=True)


def _repositories_in(modules: Path) -> Iterator[Path]:
    """Yield the repositories of submodules, whose names may contain slashes."""
    left = list(_folders_in(modules))
    for looked_at, folder in enumerate(left):  # the list grows
        if looked_at >= MAX_MODULE_FOLDERS:
            return
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            yield folder
        else:
            left += _folders_in(folder)


def _folders_in(folder: Path) -> Iterable[Path]:
    if folder.is_symlink():
        return ()
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return ()


def _leads_elsewhere(config: Path) -> bool:
    """Return whether the settings of a repository may name another work tree."""
    text = _text(config, git_config.MAX_BYTES + 1)
    return len(text) > git_config.MAX_BYTES or _ELSEWHERE.search(text) is not None


def _text(path: Path, max_bytes: int) -> str:
    """Return the text of a file whose type is unknown; empty if it cannot be read."""
    try:
        return os.fsdecode(read_beginning(path, max_bytes))
    except OSError:
        return ""


def links_in(git: Path, *, opens: bool = False) -> dict[Path, bytes]:
    """Return the links in a repository's own folder with their targets; among its objects, only in the top folder."""
    found: dict[Path, bytes] = {}
    left = [os.fspath(git)]
    objects = {os.fspath(each / "objects") for each in (git, *_repositories_in(git / "modules"))}
    for folder in left:  # the list grows
        with contextlib.suppress(OSError):
            for entry in listing(folder, opens=opens):
                if entry.is_symlink():
                    found[Path(entry.path)] = os.readlink(os.fsencode(entry.path))  # noqa: PTH115 - as bytes
                elif folder not in objects and entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
    return found


def _protect_all_settings(made: Protections, found: Survey, settings: GitSettingsReader) -> None:
    tops = [path.parent for path in found.repositories if path.parent not in made.folders]
    for top in (*made.folders, *tops[:MAX_REPOSITORIES]):
        _protect_settings(made, top, settings)
    for bare in list(found.bare)[:MAX_REPOSITORIES]:
        _protect_named(made, bare, settings.of(bare, [bare / "config"]))


def _protect_settings(made: Protections, top: Path, settings: GitSettingsReader) -> None:
    """Protect paths named by the settings that apply in a work tree's folder."""
    with contextlib.suppress(OSError, RuntimeError):  # the second for circular links
        if repository := find_repository(top):
            files = [repository.common / "config", repository.own / "config.worktree"]
            _protect_named(made, repository.top, settings.of(repository.top, files))
            return
    _protect_named(made, top, settings.of(top, []))


def _protect_named(made: Protections, top: Path, settings: Iterable[tuple[Path | None, str, str]]) -> None:
    """Protect paths named by git's settings: hook folders, further settings files, programs in the workspace. Git
    resolves relative paths from the top folder of the work tree.
    """
    for source, key, value in settings:
        if source is not None:
            made.add_name(source, None)
        if key == "core.hookspath":
            if value:
                made.add_name(_first_missing(_place(top, value)), "folder")
        elif source is not None and _INCLUDES.fullmatch(key):
            place = _place(source.parent, value)
            made.add_name(_first_missing(place), "file" if place.parent.is_dir() else "folder")
        elif _RUNS.fullmatch(key):
            words = _words(value)
            for word in words:
                place = _place(top, word)
                if place.is_file():
                    made.add_name(place, None)
            if words and "/" in words[0] and not _MAY_BE_NO_PATH.fullmatch(key):
                made.add_name(_first_missing(_place(top, words[0])), "folder")


def _place(base: Path, value: str) -> Path:
    """Return the path that a setting refers to, resolved except for its last name."""
    path = base / os.path.expanduser(value)  # noqa: PTH111 - only a leading `~` is a home
    if path.name in ("", ".."):
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent)) / path.name


def _first_missing(path: Path) -> Path:
    """Return the path, or its first missing parent."""
    missing = [each for each in (path, *path.parents) if not os.path.lexists(each)]
    return missing[-1] if missing else path


def _words(value: str) -> Sequence[str]:
    text = value.removeprefix("!")
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def explanations(made: Protections, missing: Collection[Path], output: str) -> list[str]:
    """Explain, in sentences for the model, why a command failed whose output names a protected path."""
    told: list[str] = []
    named: list[str] = []
    for path in made.paths.keys() | made.links.keys():
        for folder in made.folders:
            if made.paths.get(path) != "pin" and path.is_relative_to(folder):
                name = os.path.relpath(path, folder)
                if name == ".git" and path in missing and ".git" in output:
                    told.append(
                        "A git repository cannot be created in the sandbox, because its settings could make git "
                        "run programs outside the sandbox. Ask the user to run `git init`."
                    )
                elif name != ".git" and name in output:
                    named.append(name)
    if named:
        told.append(
            f"In the sandbox these cannot be written: {', '.join(sorted(named)[:MAX_NAMED])}. They control "
            "programs outside the sandbox. Edit files with the editing tools, which ask the user, or ask the "
            "user to do it."
        )
    return told
