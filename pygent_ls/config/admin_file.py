"""Reads the administrator's settings file.

Whoever can change the file can lift its restrictions, so it is refused if others than root can write it. It is also
refused for any mistake: a setting that is misspelled would restrict nothing. Until it is corrected, no turn starts.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.admin_limits import is_allowed
from pygent_ls.config.admin import ADMIN_FILE, NO_ADMIN, AdminSettings, AdminTable
from pygent_ls.config.layer import Layer
from pygent_ls.config.layers import load
from pygent_ls.config.sources import file_layer
from pygent_ls.config.table import converted
from pygent_ls.errors import SettingError

ROOT = 0
"""User id of the administrator."""

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class AdminFile(Struct, frozen=True, kw_only=True):
    """The file, and the user who must own it."""

    path: Path = ADMIN_FILE
    owner: int = ROOT

    def read(self, last: AdminSettings = NO_ADMIN) -> AdminSettings:
        """Return the settings; `last` are those that were read before, which stay in effect if the file cannot be read
        now. Costs one `stat` if there is no file. Blocking; never raises."""
        if os.name != "posix":  # a file has no owner who could be checked
            return NO_ADMIN
        try:
            self.path.stat()
        except FileNotFoundError:
            return NO_ADMIN
        except OSError as error:
            return self._refused(f"it cannot be read: {error.strerror or error}", last)
        layer = file_layer(f"admin file {self.path}", self.path, "admin", self._check)
        if layer.problems:
            return self._refused(layer.problems[0].problem, last)
        return self._settings(layer)

    def _refused(self, why: str, last: AdminSettings) -> AdminSettings:
        said = (
            f"The administrator's settings {self.path} are not usable: {why}. Nothing runs until the administrator "
            "corrects this."
        )
        return replace(last, file=str(self.path), problem=said)

    def _settings(self, read: Layer) -> AdminSettings:
        unknown = {key: value for key, value in read.unknown.items() if key != "admin"}
        layer = replace(read, unknown=unknown)
        found = AdminSettings(file=str(self.path), layer=layer)
        raw = read.unknown.get("admin", {})
        try:
            if not isinstance(raw, dict):
                raise SettingError("expected a table")
            found = replace(found, table=converted(AdminTable, cast("dict[str, object]", raw)))
        except SettingError as error:
            return self._refused(f"admin: {error}", found)
        loaded = load((), found)
        if loaded.problems:
            return self._refused(
                "; ".join(each.text.removeprefix(f"{layer.name}: ") for each in loaded.problems), found
            )
        if "mode" in layer.values and not is_allowed(loaded.settings.mode, found.table.modes):
            return self._refused(f"mode = {loaded.settings.mode} is not in admin.modes", found)
        if loaded.settings.mode == "bypass" and not loaded.settings.allow_bypass:
            return self._refused("mode = bypass requires allow_bypass = true", found)
        return found

    def _check(self, status: os.stat_result) -> None:
        """Check the opened file and the folders around it. Raises OSError."""
        for name, each in [(str(self.path), status), *self._folders()]:
            if each.st_uid not in (self.owner, ROOT):
                raise OSError(f"{name} is owned by user {each.st_uid}, not by root")
            is_shared = (
                stat.S_ISDIR(each.st_mode) and each.st_mode & stat.S_ISVTX
            )  # only owners rename and delete there
            if each.st_mode & OTHERS_WRITE and not is_shared:
                raise OSError(f"{name} is writable by others than its owner (chmod go-w)")

    def _folders(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the folders through which the file is reached: who can write one can replace the file."""
        folders = dict.fromkeys((*self.path.parents, *self.path.resolve().parents))
        yield from ((str(folder), folder.stat()) for folder in folders)
