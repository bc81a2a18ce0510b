"""Pictures are decoded in a process of their own, fit the limits of providers, and never harm the daemon."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from pygent_ls.errors import ToolError
from pygent_ls.workspace.pictures.converter import MAX_BYTES, MAX_SIDE, PictureConverter
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.fakes import bounded
from tests.pictures import bomb, picture_file


@pytest.fixture
def converter() -> PictureConverter:
    return PictureConverter(LocalProcesses())


@pytest.mark.parametrize(
    ("format", "mime_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp")]
)
async def test_a_picture_that_fits_is_sent_byte_for_byte(
    converter: PictureConverter, format: str, mime_type: str
) -> None:
    data = picture_file(64, 48, format)

    found = await bounded(converter.fitted(data, "a"))

    assert (found.image.mime_type, base64.b64decode(found.image.data)) == (mime_type, data)
    assert (found.width, found.height, found.shown_width, found.shown_height) == (64, 48, 64, 48)


@pytest.mark.parametrize(
    ("size", "format", "shown"),
    [
        ((3000, 1500), "PNG", (2000, 1000)),
        ((3000, 1500), "JPEG", (2000, 1000)),
        ((20_000, 1), "PNG", (2000, 1)),
        ((1800, 1800), "PNG", (1800, 1800)),
    ],
    ids=["wide", "photograph", "line", "heavy"],
)
async def test_a_large_picture_is_scaled_down_to_what_providers_take(
    converter: PictureConverter, size: tuple[int, int], format: str, shown: tuple[int, int]
) -> None:
    found = await bounded(converter.fitted(picture_file(*size, format), "a"))

    sent = base64.b64decode(found.image.data)
    image = Image.open(io.BytesIO(sent))
    assert (found.shown_width, found.shown_height) == image.size == shown
    assert max(image.size) <= MAX_SIDE
    assert len(sent) <= MAX_BYTES


async def test_an_animation_is_shown_by_its_first_frame_as_png(converter: PictureConverter) -> None:
    found = await bounded(converter.fitted(picture_file(40, 30, "GIF", frames=3), "a.gif"))

    assert (found.image.mime_type, found.n_frames) == ("image/png", 3)


SMALL = picture_file(64, 48)

HOSTILE = {
    "a bomb": (bomb(30_000, 20_000), "30000×20000 pixels"),
    "cut off": (SMALL[:-200], "damaged"),
    "only its beginning": (SMALL[:12], "damaged"),
    "a changed byte": (SMALL[:300] + bytes([SMALL[300] ^ 255]) + SMALL[301:], "damaged"),
    "zeros": (b"\x89PNG\r\n\x1a\n" + bytes(1000), "damaged"),
    "another format under its first bytes": (b"\xff\xd8\xff" + b"BM" * 500, "damaged"),
    "nothing": (b"", "damaged"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_picture_that_providers_would_refuse_is_an_error(converter: PictureConverter, name: str) -> None:
    data, why = HOSTILE[name]

    with pytest.raises(ToolError, match=f"a.png cannot be shown as an image.*{why}"):
        await bounded(converter.fitted(data, "a.png"))
