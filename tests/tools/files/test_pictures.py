"""read_file of an image adds it to what the model sees, and says what it is; other binary files are refused."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError
from pygent_ls.tools.files.edit_file import edit_file
from pygent_ls.tools.files.read_file import read_file
from pygent_ls.workspace.pictures.converter import PictureConverter
from tests.pictures import picture_file
from tests.tools.tool_bench import Bench


class PictureBench(Bench):
    """A bench whose calls can show pictures."""

    def new_context(self) -> ToolContext:
        context = super().new_context()
        context.pictures = PictureConverter(self.processes)
        return context


@pytest.fixture
def bench(tmp_path: Path) -> PictureBench:
    return PictureBench(tmp_path.resolve())


async def test_the_content_decides_and_not_the_name(bench: PictureBench) -> None:
    data = picture_file(64, 48)
    bench.write("notes.txt", data)
    bench.write("words.png", "only words\n")

    said = await bench.call(read_file, path="notes.txt")
    (image,) = bench.context.images
    assert said == f"notes.txt is an image: PNG, 64×48 pixels, {len(data):,} bytes."
    assert base64.b64decode(image.data) == data
    assert not bench.context.cacheable
    assert await bench.call(read_file, path="words.png") == "     1\tonly words"


async def test_what_was_changed_of_the_image_is_said(bench: PictureBench) -> None:
    bench.write("wide.png", picture_file(3000, 10))
    bench.write("moves.gif", picture_file(30, 10, "GIF", frames=4))

    wide = await bench.call(read_file, path="wide.png")
    moves = await bench.call(read_file, path="moves.gif")

    assert wide.endswith("It is shown at 2000×7 pixels.")
    assert "GIF, 30×10 pixels" in moves
    assert moves.endswith("It is an animation of 4 frames; the first one is shown.")


async def test_svg_is_text(bench: PictureBench) -> None:
    bench.write("a.svg", "<svg><script>alert(1)</script></svg>")

    assert "<script>" in await bench.call(read_file, path="a.svg")
    assert bench.context.images == []


async def test_other_bytes_pipes_and_huge_images_are_refused(bench: PictureBench) -> None:
    bench.write("a.bin", bytes(range(256)))
    bench.write("huge.png", b"\x89PNG\r\n\x1a\n" + bytes(11_000_000))
    os.mkfifo(bench.folder / "pipe.png")

    for path, why in (("a.bin", "not text"), ("huge.png", "an image of more than 10 MB"), ("pipe.png", "named pipe")):
        with pytest.raises(ToolError, match=why):
            await bench.call(read_file, path=path)
        assert bench.context.images == []


async def test_an_image_cannot_be_edited(bench: PictureBench) -> None:
    bench.write("a.png", picture_file(8, 8))

    with pytest.raises(ToolError, match=r"not read or edited as text\. It is an image: read_file shows it to you"):
        await bench.call(edit_file, path="a.png", old="a", new="b")
