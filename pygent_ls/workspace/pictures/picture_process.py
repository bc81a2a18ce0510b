"""Checks one picture and makes it fit the limits of providers: a separate program, started by `converter.py`.

It is a process and not a function because decoders work on untrusted bytes, and may take gigabytes: a process
can be limited and ended.

Reads from standard input one line of JSON, `{"max_side": …, "max_bytes": …, "max_pixels": …}`, followed by the bytes of
the picture. Writes `{"width": …, "height": …, "n_frames": …, "shown_width": …, "shown_height": …, "data": …}`,
with `data` as base64, or null for the bytes as they are; or `{"problem": …}`.
"""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pygent_ls.workspace.processes.child_limits import confine

if TYPE_CHECKING:
    from PIL.Image import Image

CPU_S = 15
"""CPU time limit. A photograph of 50 megapixels takes a second."""

MAX_MEMORY_BYTES = 1_500_000_000
"""Address space limit: twice what a picture of the most pixels takes."""

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")

QUALITY = 85
"""Quality of a photograph that is scaled down."""


def main() -> None:
    """Process the job given on standard input."""
    job: Mapping[str, int] = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    confine(cpu_s=CPU_S, memory_bytes=MAX_MEMORY_BYTES, file_bytes=0)
    sys.stdout.write(json.dumps(fitted(data, job)))


def fitted(data: bytes, job: Mapping[str, int]) -> Mapping[str, Any]:
    """Return what is told about the picture."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # checked below, before anything is decoded
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
        width, height = image.size
        if width * height > job["max_pixels"]:
            return {"problem": f"it has {width}×{height} pixels, more than are decoded here"}
        image.draft("RGB", (job["max_side"], job["max_side"]))
        image.load()
        n_frames = getattr(image, "n_frames", 1)
    except UnidentifiedImageError:
        return {"problem": "it is damaged"}
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        return {"problem": f"it is damaged ({error})"}
    told = {"width": width, "height": height, "n_frames": n_frames}
    is_fitting = max(width, height) <= job["max_side"] and len(data) <= job["max_bytes"]
    if is_fitting and n_frames == 1 and image.format != "GIF":  # some providers take no GIF, and none all frames
        return told | {"shown_width": width, "shown_height": height, "data": None}
    is_photograph = image.format == "JPEG"
    image.seek(0)
    shown = ImageOps.exif_transpose(image)
    shown = shown.convert("RGBA" if shown.has_transparency_data else "RGB")
    shown.thumbnail((job["max_side"], job["max_side"]))
    made = _encoded(shown, job["max_bytes"], is_photograph=is_photograph)
    return told | {
        "shown_width": shown.width,
        "shown_height": shown.height,
        "data": base64.b64encode(made).decode(),
    }


def _encoded(image: Image, max_bytes: int, *, is_photograph: bool) -> bytes:
    """Return the picture's bytes: PNG without a loss, unless that is too large or it was a photograph."""
    if not is_photograph:
        file = io.BytesIO()
        image.save(file, "PNG")
        if file.tell() <= max_bytes:
            return file.getvalue()
    flat = image.convert("RGB")
    while True:
        file = io.BytesIO()
        flat.save(file, "JPEG", quality=QUALITY)
        if file.tell() <= max_bytes or min(flat.size) < 2:
            image.thumbnail(flat.size)
            return file.getvalue()
        flat.thumbnail((flat.width // 2, flat.height // 2))


if __name__ == "__main__":
    main()
