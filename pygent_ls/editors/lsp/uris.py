"""File URIs and paths. An editor's own spelling of a URI is kept, because the editor identifies its documents by it."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

MAX_FOLDERS = 500
"""Maximum number of workspace folders: each path is compared with all of them."""

MAX_PATH_BYTES = 4_096
"""Maximum length of a path (PATH_MAX on Linux). Resolving a longer one takes the square of its length."""


def path_of(uri: str, *, follow: bool = True) -> Path | None:
    """Return the absolute path with links resolved (the last component too, unless `follow` is False), or None if the
    URI is not a file."""
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or not parts.path.startswith("/"):
            return None
        path = unquote(parts.path, errors="surrogateescape")
        if len(os.fsencode(path)) > MAX_PATH_BYTES:
            return None
        if follow:
            return Path(os.path.realpath(path))
        folder, name = os.path.split(os.path.normpath(path))
        return Path(os.path.realpath(folder), name)
    except ValueError:  # an invalid host, a NUL byte, half a surrogate pair
        return None


class FileUris:
    """Makes URIs of paths, using the client's spelling of its workspace folders."""

    def __init__(self) -> None:
        self._folders: dict[Path, str] = {}

    def set_folders(self, uris: list[str]) -> list[Path]:
        """Set the client's folders and return their paths. Those beyond `MAX_FOLDERS` are left out."""
        taken = uris[:MAX_FOLDERS]
        self._folders = {path: uri.rstrip("/") for uri in taken if (path := path_of(uri)) is not None}
        return list(self._folders)

    @property
    def folders(self) -> list[Path]:
        """The client's workspace folders."""
        return list(self._folders)

    def uri_of(self, path: Path) -> str:
        """Return the URI of an absolute, resolved path."""
        for folder, uri in self._folders.items():
            if path == folder:
                return uri
            if folder in path.parents:
                return uri + path.as_uri()[len(folder.as_uri().rstrip("/")) :]
        return path.as_uri()
