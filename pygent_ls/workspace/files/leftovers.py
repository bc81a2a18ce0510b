"""Cleanup of temporary files that processes killed during an edit have left beside the user's files."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pygent_ls.file_access import is_there, remove_folder, status_of, unlink
from pygent_ls.workspace.files.relocation import place_new
from pygent_ls.workspace.files.temporary_files import PREFIX

log = logging.getLogger(__name__)

_NAME = re.compile(r"\.pygent-[0-9a-f]{16}\.tmp")


def clean_up(folder: Path) -> None:
    """Remove the files left by processes with records in that folder, and restore files whose deletion was unfinished,
    as far as the disk permits. Running processes keep theirs. Blocking.

    Only recorded paths are touched, and files that do not match their record are kept. `temporary_files` writes the
    records.
    """
    for record in folder.glob(f"{PREFIX}*.jsonl"):
        with contextlib.suppress(OSError):  # usually its process still runs
            descriptor = os.open(record, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clean_up(list(_lines(record.read_bytes())))
                record.unlink()
            finally:
                os.close(descriptor)


def _clean_up(lines: Sequence[Mapping[str, Any]]) -> None:
    unwanted = {str(each) for line in lines if isinstance(line.get("dropped"), list) for each in line["dropped"]}
    for line in reversed(lines):  # records of a folder's contents follow that of the folder
        with contextlib.suppress(OSError, ValueError):  # no system accepts some paths
            match line:
                case {"draft": str(draft)} if _NAME.fullmatch(Path(draft).name):
                    unlink(Path(draft))
                case {"aside": str(aside), "of": str(path)} if _NAME.fullmatch(Path(aside).name):
                    _settle(Path(aside), Path(path), is_unwanted=aside in unwanted)
                case {"holder": str(holder), "inode": int(inode), "source": str(source)} if is_there(Path(source)):
                    _remove_empty(Path(holder), inode)
                case _:
                    pass


def _lines(data: bytes) -> Iterator[Mapping[str, Any]]:
    for each in data.splitlines():
        with contextlib.suppress(ValueError):  # the line was being written
            line = json.loads(each)
            if isinstance(line, dict):
                yield cast("Mapping[str, Any]", line)


def _settle(aside: Path, path: Path, *, is_unwanted: bool) -> None:
    """Delete a file for good, or restore it if the edit that was to delete it did not finish."""
    if is_unwanted:
        unlink(aside)
        return
    try:
        place_new(aside, path)
    except FileExistsError:
        if os.path.samestat(status_of(aside), status_of(path)):
            unlink(aside)
        else:
            log.warning("a file that was to be deleted was kept as %s, because there is another %s", aside, path.name)


def _remove_empty(holder: Path, inode: int) -> None:
    status = status_of(holder)
    if status.st_ino != inode:
        return
    if stat.S_ISDIR(status.st_mode):
        remove_folder(holder)
    elif stat.S_ISREG(status.st_mode) and not status.st_size:
        unlink(holder)
