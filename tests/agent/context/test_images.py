"""Pictures in a conversation."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.context.attachments import ImagePart, render
from pygent_ls.agent.context.images import (
    LEFT_OUT,
    MAX_PICTURE_BYTES,
    mime_type_of,
    picture,
    picture_from_base64,
    without_pictures,
)
from pygent_ls.agent.events import Notice
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.messages import ImageBlock, Message, TextBlock, ToolResultBlock, user_message
from pygent_ls.agent.ports.model import ModelFacts
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from tests.agent.abilities import FILE_TOOLS, place
from tests.agent.turns import run_turn
from tests.fakes import Call, FakeModel, make_rig, say

READ = Call(name="read_file", arguments={"path": "a.txt"})

PNG = b"\x89PNG\r\n\x1a\n and more"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", None),
        (b"<svg/>", None),
        (b"BM\0\0", None),
        (b"", None),
    ],
)
def test_the_bytes_tell_the_kind(data: bytes, kind: str | None) -> None:
    assert mime_type_of(data) == kind


@given(st.binary(max_size=20) | st.binary(max_size=9).map(lambda rest: PNG + rest))
def test_any_bytes_are_a_picture_or_an_error_that_names_it(data: bytes) -> None:
    if mime_type_of(data) is None:
        with pytest.raises(ToolError, match=r"^a\.png is "):
            picture(data, "a.png")
    else:
        assert base64.b64decode(picture(data, "a.png").data) == data


def test_base64_may_be_broken_into_lines_and_must_be_base64() -> None:
    text = base64.encodebytes(PNG).decode()
    assert picture_from_base64(text, "it") == picture(PNG, "it")
    with pytest.raises(ToolError, match=r"^it is not valid base64\.$"):
        picture_from_base64("!!", "it")


def test_a_picture_that_no_model_would_take_is_refused_with_its_size() -> None:
    with pytest.raises(ToolError, match=r"big\.png is too large: 3\.9 MB, but models accept images of up to 3\.9 MB"):
        picture(PNG.ljust(MAX_PICTURE_BYTES + 1), "big.png")
    with pytest.raises(ToolError, match=r"^a.bmp is not a PNG, JPEG, GIF or WebP image"):
        picture(b"BM\0\0", "a.bmp")
    with pytest.raises(ToolError, match=r"^a.png is empty\.$"):
        picture(b"", "a.png")


async def test_a_file_that_is_no_picture_is_said_so_in_its_place() -> None:
    rig = make_rig(files={"shot.png": "not really"})

    content = await render(
        (ImagePart(path=place("shot.png"), mime_type="image/png"), "look"), rig.workspace, rig.services.memory.reads
    )

    assert isinstance(content, tuple)
    assert isinstance(content[0], TextBlock)
    assert "Could not be read: shot.png is not a PNG, JPEG, GIF or WebP image." in content[0].text


def test_for_a_model_that_takes_none_words_stand_in_their_place() -> None:
    image = ImageBlock(mime_type="image/png", data="AA==")
    message = user_message((image, TextBlock(text="look")))
    assert without_pictures(message).blocks == (TextBlock(text=LEFT_OUT), TextBlock(text="look"))
    plain = user_message("hello")
    assert without_pictures(plain) is plain


async def test_a_model_that_takes_no_pictures_is_sent_words_and_the_user_is_told_once() -> None:
    rig, model = make_rig(*FILE_TOOLS, files={"a.txt": "x"}), FakeModel([say("", READ), say("done")])
    model.facts = ModelFacts(takes_images=False)
    shown = (ImageBlock(mime_type="image/png", data="AA=="), TextBlock(text="look"))

    await run_turn(rig, model, content=shown)

    assert [request.messages[0].blocks[0] for request in model.requests] == [TextBlock(text=LEFT_OUT)] * 2
    assert [each.content for each in rig.events.of(Notice)] == [
        "fake/model does not accept images, so they are left out. Choose a model that does, or describe what they show."
    ]


async def test_a_model_that_takes_pictures_is_sent_them() -> None:
    rig, model, history = make_rig(), FakeModel([say("done")]), list[Message]()
    shown = (ImageBlock(mime_type="image/png", data="AA=="), TextBlock(text="look"))

    await run_turn(rig, model, history, content=shown)

    assert model.requests[0].messages[0].blocks == shown
    assert rig.events.of(Notice) == []


@tool(risk=ToolRisk.LOW, category=ToolCategory.MCP, kind="read", title="Take {names}", read_only=True)
async def take_pictures(context: ToolContext, names: list[str]) -> str:
    """Take pictures; of "nothing" none can be taken."""
    context.images += [ImageBlock(mime_type="image/png", data=each) for each in names]
    if "nothing" in names:
        raise ToolError("It is dark.")
    return f"took {len(names)}"


async def test_pictures_of_a_result_follow_all_results_of_the_answer() -> None:
    took = Call(name="take_pictures", arguments={"names": ["AA==", "BB=="]})
    failed = Call(name="take_pictures", arguments={"names": ["CC==", "nothing"]})
    rig, model = make_rig(take_pictures), FakeModel([say("", took, failed), say("done")])

    await run_turn(rig, model)

    first, second, *rest = model.requests[1].messages[-1].blocks
    assert isinstance(first, ToolResultBlock)
    assert isinstance(second, ToolResultBlock)
    assert ("took 2" in first.content, second.is_error) == (True, True)
    assert rest == [
        TextBlock(text="Images in the result of take_pictures:"),
        ImageBlock(mime_type="image/png", data="AA=="),
        ImageBlock(mime_type="image/png", data="BB=="),
    ]


async def test_a_picture_of_an_earlier_turn_is_left_out_without_a_word_to_the_user() -> None:
    rig, model = make_rig(), FakeModel([say("done")])
    model.facts = ModelFacts(takes_images=False)
    history = [user_message((ImageBlock(mime_type="image/png", data="AA=="),), turn_id="earlier")]

    await run_turn(rig, model, history)

    assert model.requests[0].messages[0].blocks == (TextBlock(text=LEFT_OUT),)
    assert rig.events.of(Notice) == []
