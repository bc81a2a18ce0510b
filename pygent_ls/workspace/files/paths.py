"""Resolution of paths given by a model, which must lead below a workspace folder with links resolved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.errors import OutsideWorkspaceError, ToolError

MAX_NAME_BYTES = 255
"""Longest file name on ext4, xfs, btrfs, APFS and NTFS (measured in other units there, but not longer)."""

MAX_PATH_BYTES = 4_095
"""PATH_MAX of Linux without its final NUL; macOS takes 1,023 and reports longer paths itself."""

NO_FOLDER = "No folder is open, so there are no files to read or change. Open a folder in the editor, or pass --cwd."


class Folders(Struct, frozen=True):
    """Workspace folders, as given and as resolved when this value was created.

    Created with `Folders.of`. Later changes to a link to a folder do not move the workspace.
    """

    given: tuple[Path, ...]
    """Absolute paths; for paths that repeat the editor's spelling."""
    resolved: tuple[Path, ...]
    """Absolute paths with links resolved; pairs with `given`."""
    names: tuple[str, ...]
    """Prefixes of paths, used with several folders: the basename, with `-2` and so on for repeated basenames. Empty for
    the root of the file system.
    """
    more: tuple[Path, ...] = ()
    """Folders outside the workspace that may also be used, links resolved; their paths are shown in full."""

    @classmethod
    def of(cls, folders: Iterable[str | Path], more: Iterable[Path] = ()) -> Folders:
        """Create the value for these folders, in this order; duplicates count once."""
        pairs: dict[Path, Path] = {}
        for folder in folders:
            pairs.setdefault(Path(os.path.realpath(folder)), Path(folder).absolute())
        resolved = tuple(pairs)
        names, beside = tuple(_names(resolved)), _beside(more, resolved)
        return cls(given=tuple(pairs.values()), resolved=resolved, names=names, more=beside)

    def resolve(self, path: str, *, follow: bool = True) -> Path:
        """Return the absolute path that the text refers to, with links resolved as the operating system does.

        Paths are relative to the first folder; with several folders, `NAME/…` selects one. With `follow` False the last
        part is not resolved, for deleting or moving a link itself. The file need not exist.

        Raises `OutsideWorkspaceError` for paths that are not below (or equal to) a folder or one of `more`; `ToolError`
        for text that cannot be a path.
        """
        _check_text(path)
        return self.check(self._anchored(path), follow=follow, said=path)

    def check(self, path: Path, *, follow: bool = True, said: str | None = None) -> Path:
        """Resolve an absolute path again and return it. Raises `OutsideWorkspaceError` as `resolve` does.

        For a path that was resolved earlier: a link may have replaced it since.
        """
        if not self.resolved:
            raise ToolError(NO_FOLDER)
        _check_length(str(path))
        found = _real(path) if follow else _real_but_last(path)
        if not self.holds(found):
            raise OutsideWorkspaceError(self._outside(str(path) if said is None else said, found))
        _check_length(str(found))
        return found

    def holds(self, path: Path) -> bool:
        """Return whether a resolved path is below (or equal to) a folder or one of `more`."""
        return any(path.is_relative_to(folder) for folder in (*self.resolved, *self.more))

    def folder_of(self, path: Path) -> Path | None:
        """Return the innermost folder that contains or equals a resolved path."""
        holding = [folder for folder in self.resolved if path.is_relative_to(folder)]
        return max(holding, key=lambda folder: len(folder.parts), default=None)

    def shown(self, path: Path) -> str:
        """Return the path for display: relative, with `/`, prefixed by the folder's name if there are several, and
        absolute if it is in no folder. `resolve` accepts it.

        Bytes that are not UTF-8 are shown as `\\xNN`, so that the text can be sent anywhere.
        """
        folder = self.folder_of(path)
        if folder is None:
            return printable(path.as_posix())
        inside = path.relative_to(folder).as_posix()
        if len(self.resolved) == 1:
            return printable(inside)
        name = self.names[self.resolved.index(folder)]
        if not name:
            return printable(path.as_posix())
        return printable(name if inside == "." else f"{name}/{inside}")

    def _anchored(self, path: str) -> Path:
        """Return the absolute path before links are resolved, with `..` kept."""
        if not self.resolved:
            raise ToolError(NO_FOLDER)
        asked = Path(path)
        if asked.is_absolute():
            for given, resolved in zip(self.given, self.resolved, strict=True):
                if asked.is_relative_to(given):
                    return resolved / asked.relative_to(given)
            return asked
        first, *others = self.resolved
        if others:
            for name, folder in zip(self.names, self.resolved, strict=True):
                if name and asked.parts[:1] == (name,):
                    return folder / asked.relative_to(name)
        return first / asked

    def _outside(self, said: str, found: Path) -> str:
        leads = "" if os.path.normpath(said) == str(found) else f" (it leads to {printable(str(found))})"
        folders = ", ".join(printable(str(folder)) for folder in (*self.resolved, *self.more))
        return f"{printable(said)} is outside the workspace{leads}. Only paths inside {folders} can be used."


def _beside(more: Iterable[Path], resolved: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders outside the workspace, links resolved."""
    found = dict.fromkeys(Path(os.path.realpath(each)) for each in more)
    return tuple(each for each in found if not any(each.is_relative_to(folder) for folder in resolved))


def printable(text: str) -> str:
    """Escape lone surrogates (bytes of a name that are not UTF-8, or a model's mistake)."""
    try:
        return os.fsencode(text).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _check_text(path: str) -> None:
    """Raise `ToolError` for text that cannot be a path."""
    _check_length(path)
    if not path.strip():
        raise ToolError("The path is empty; `.` is the workspace folder.")
    if "\0" in path:
        raise ToolError(f"The path {path!r} contains a NUL character, which is not allowed in file names.")
    if path == "~" or path.startswith("~/"):
        raise ToolError(
            f"{printable(path)}: `~` is not expanded. Use a path relative to the workspace folder "
            "(or `./~` for a file of that name)."
        )
    try:
        parts = [os.fsencode(part) for part in path.split("/")]
    except UnicodeEncodeError:
        raise ToolError(f"The path {printable(path)} contains characters that are not allowed in file names.") from None
    longest = max(parts, key=len)
    if len(longest) > MAX_NAME_BYTES:
        start = longest[:40].decode("utf-8", "replace")
        raise ToolError(f"The name {start}… is too long: {len(longest)} bytes; the limit is {MAX_NAME_BYTES}.")


def _check_length(path: str) -> None:
    """Raise `ToolError` for a path longer than the system accepts; resolving a very long one takes minutes."""
    n_bytes = len(path) if len(path) > MAX_PATH_BYTES else len(path.encode("utf-8", "surrogatepass"))
    if n_bytes > MAX_PATH_BYTES:
        raise ToolError(f"The path is too long: {n_bytes} bytes; the limit is {MAX_PATH_BYTES}.")


def _real(path: Path) -> Path:
    """Resolve the links of a path.

    Raises `OutsideWorkspaceError` for circular or unreadable links, which hide where the rest leads: `realpath` stops
    there and processes the rest as text, links included.
    """
    try:
        real = os.path.realpath(path)
        is_circle = real != str(path) and os.path.realpath(real) != real
    except OSError as error:
        raise OutsideWorkspaceError(f"{printable(str(path))} cannot be resolved: {error.strerror}.") from None
    if is_circle:
        raise OutsideWorkspaceError(f"{printable(str(path))} leads through a loop of links.")
    return Path(real)


def _real_but_last(path: Path) -> Path:
    if path.name in {"", ".."}:
        return _real(path)
    return _real(path.parent) / path.name


def _names(folders: Sequence[Path]) -> Iterable[str]:
    """Return a one-word name per folder, so that no name can be the beginning of a path in another folder."""
    taken = {folder.name for folder in folders}
    seen: set[str] = set()
    for folder in folders:
        name, number = folder.name, 1
        while name in seen or (number > 1 and name in taken):
            number += 1
            name = f"{folder.name}-{number}"
        seen.add(name)
        yield name
