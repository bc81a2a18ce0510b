"""File with the outlines of parsed files: names and lines, but no text, since text may hold secrets."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pygent_ls import syntax

MAX_BYTES = 200_000_000
"""Maximum size of the file: outlines of some 100,000 files."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was parsed of one file."""

    stamp: str
    outline: bytes
    """JSON: `null` for a file that is not parsed."""


def load(data: bytes) -> dict[str, Row]:
    """Return the rows by path; none if the file is damaged or another version wrote it."""
    header, _, body = data.partition(b"\n")
    rows: dict[str, Row] = {}
    if header != _header(body):
        return rows
    for line in body.splitlines():
        name, stamp, outline = line.split(b"\t")
        rows[json.loads(name)] = Row(stamp.decode("ascii"), outline)
    return rows


def dump(rows: Mapping[str, Row]) -> bytes:
    """Return the file, with as many rows as there is room for."""
    lines: list[bytes] = []
    room = MAX_BYTES - len(_header(b"")) - 1
    for path, row in rows.items():
        line = b"\t".join((json.dumps(path).encode(), row.stamp.encode("ascii"), row.outline)) + b"\n"
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    body = b"".join(lines)
    return _header(body) + b"\n" + body


def _header(body: bytes) -> bytes:
    return b"%s %08x" % (_version(), zlib.crc32(body))


@cache
def _version() -> bytes:
    """Return a digest of the code that makes outlines."""
    sha = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(str(syntax.__file__)).parent):
        for module in sorted(folder.glob("*.py")):
            sha.update(module.read_bytes())
    return sha.hexdigest().encode()
