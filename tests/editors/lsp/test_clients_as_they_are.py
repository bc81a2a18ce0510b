"""What real clients send and the specification does not promise."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.messages import ImageBlock
from tests.editors.lsp.chat_document.conversation import answered
from tests.editors.lsp.editor import Editor, Setup, connected, wired
from tests.fakes import Call, say

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


async def prompt_blocks(editor: Editor, prompt: object, **params: object) -> tuple[Any, ...]:
    """The blocks of the user's message as the model was given it."""
    await editor.turn(prompt, **params)
    return editor.core.model.requests[-1].messages[-1].blocks


# Lifecycle


async def test_a_client_that_says_nothing_of_itself_is_initialized(folder: Path) -> None:
    async with wired(folder) as editor:
        result = await editor.request("initialize", {"processId": None, "capabilities": None})

    assert result["capabilities"]["positionEncoding"] == "utf-16"


async def test_initialized_without_parameters_is_heard(folder: Path) -> None:
    async with wired(folder, Setup(problems=["the environment: no such setting"])) as editor:
        await editor.request("initialize", {"rootUri": folder.as_uri()})
        editor.send({"jsonrpc": "2.0", "method": "initialized"})
        await editor.until(lambda: editor.notifications("window/showMessage"))

    assert "no such setting" in editor.notifications("window/showMessage")[0]["message"]


@pytest.mark.parametrize("info", ["Vim", [], {}, {"name": None}, {"name": 7}, {"version": "9"}], ids=str)
async def test_a_client_whose_name_is_odd_has_none(folder: Path, info: object) -> None:
    async with wired(folder) as editor:
        await editor.request("initialize", {"rootUri": folder.as_uri(), "capabilities": {}, "clientInfo": info})

        assert (await editor.request("pygent/status"))["sessions"] == 0


# Commands


@pytest.mark.parametrize(
    "arguments", [{"arguments": ["Why?"]}, {"arguments": "Why?"}, {"arguments": ["Why?", None, 7, {"a": 1}]}], ids=str
)
async def test_one_argument_may_come_without_its_list_and_with_others(
    folder: Path, arguments: dict[str, object]
) -> None:
    async with connected(folder, Setup(script=[say("Because.")])) as editor:
        await editor.request("workspace/executeCommand", {"command": "pygent.ask", **arguments})
        await editor.until(lambda: editor.core.model.requests)

        assert editor.core.model.requests[0].messages[-1].text == "Why?"


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": []}], ids=str)
async def test_arguments_may_be_missing_or_null(folder: Path, arguments: dict[str, object]) -> None:
    async with connected(folder) as editor:
        answered = await editor.request("workspace/executeCommand", {"command": "pygent.cancel", **arguments})

        assert answered == {"cancelled": False}


async def test_a_session_may_be_named_without_a_list(folder: Path) -> None:
    async with connected(folder) as editor:
        session = (await editor.request("pygent/session/new"))["sessionId"]
        named = {"command": "pygent.setModel", "arguments": {"sessionId": session}}

        assert (await editor.request("workspace/executeCommand", named))["sessionId"] == session


async def test_a_command_that_there_is_not_is_refused_by_its_name(folder: Path) -> None:
    async with connected(folder) as editor:
        error = await editor.error("workspace/executeCommand", {"command": "pygent.fly", "arguments": []})

    assert (error.code, "pygent.fly" in error.message) == (-32602, True)


# Prompts


async def test_a_context_that_is_no_file_is_left_out(folder: Path) -> None:
    context = {
        "activeUri": "untitled:Untitled-1",
        "visibleUris": None,
        "selection": {"uri": "output:log", "range": span(0, 1)},
        "diagnostics": [{"uri": "untitled:Untitled-1", "items": [{"range": span(0, 1), "message": "odd"}]}],
    }
    async with connected(folder, Setup(script=[say("Hello")])) as editor:
        blocks = await prompt_blocks(editor, "hi", context=context)

    assert [block.text for block in blocks] == ["hi"]


async def test_a_diagnostic_may_have_any_code(folder: Path) -> None:
    (folder / "a.py").write_text("x\n")
    item = {"range": span(0, 1), "message": "undefined name 'x'", "code": {"value": "F821", "target": "https://x.y"}}
    block = {"type": "diagnostics", "uri": (folder / "a.py").as_uri(), "items": [item]}
    async with connected(folder, Setup(script=[say("Hello")])) as editor:
        blocks = await prompt_blocks(editor, [block, {"type": "text", "text": "fix it"}])

    assert "undefined name 'x'" in blocks[0].text
    assert "F821" in blocks[0].text


async def test_a_picture_may_be_data_a_data_address_or_a_file(folder: Path) -> None:
    (folder / "pixel.png").write_bytes(base64.b64decode(PIXEL))
    pictures = [
        {"type": "image", "mimeType": "image/png", "data": PIXEL},
        {"type": "image", "mimeType": "image/png", "uri": f"data:image/png;base64,{PIXEL}"},
        {"type": "image", "mimeType": "image/png", "uri": (folder / "pixel.png").as_uri()},
    ]
    async with connected(folder, Setup(script=[say("A pixel")])) as editor:
        blocks = await prompt_blocks(editor, [*pictures, {"type": "text", "text": "what is it?"}])

    assert list(blocks[:3]) == [ImageBlock(mime_type="image/png", data=PIXEL)] * 3


async def test_a_picture_that_is_gone_is_said_in_its_place(folder: Path) -> None:
    picture = {"type": "image", "mimeType": "image/png", "uri": (folder / "gone.png").as_uri()}
    async with connected(folder, Setup(script=[say("A pity")])) as editor:
        blocks = await prompt_blocks(editor, [picture, {"type": "text", "text": "what is it?"}])

    assert "gone.png" in blocks[0].text
    assert "Could not be read" in blocks[0].text


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"data": "not base64!"}, "The data of the image is not valid base64."),
        ({"uri": "data:image/png;base64,QUJD"}, "The data of the image is not a PNG, JPEG, GIF or WebP image."),
    ],
)
async def test_data_that_is_no_picture_is_refused_with_the_reason(
    folder: Path, source: dict[str, str], why: str
) -> None:
    async with connected(folder) as editor:
        picture = {"type": "image", "mimeType": "image/png", **source}
        error = await editor.error("pygent/turn/start", {"prompt": [picture]})

    assert error.code == -32602
    assert error.message.startswith(f"prompt: {why}")


async def test_the_bytes_of_a_picture_count_and_not_what_the_client_says_they_are(folder: Path) -> None:
    picture = {"type": "image", "mimeType": "image/jpeg", "data": PIXEL}
    async with connected(folder, Setup(script=[say("A pixel")])) as editor:
        blocks = await prompt_blocks(editor, [picture, {"type": "text", "text": "what is it?"}])

    assert blocks[0] == ImageBlock(mime_type="image/png", data=PIXEL)


@pytest.mark.parametrize("source", [{}, {"data": PIXEL, "uri": "file:///a.png"}])
async def test_a_picture_has_one_source(folder: Path, source: dict[str, str]) -> None:
    picture = {"type": "image", "mimeType": "image/png", **source}
    async with connected(folder) as editor:
        error = await editor.error("pygent/turn/start", {"prompt": [picture]})

    assert error.code == -32602
    assert "either `data` or `uri`" in error.message


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ([{"type": "text", "text": "x"}, {"type": "file"}], "prompt.blocks.1.file.uri: Field required"),
        ([{"type": "image", "mimeType": "a/b"}], "prompt.blocks.0.image: Value error, an image requires either"),
        ([], "prompt.blocks: List should have at least 1 item"),
        ("", "prompt.text: String should have at least 1 character"),
        ({"text": "x"}, "prompt: Input should be text, or a list of content blocks"),
        (None, "prompt: Input should be text, or a list of content blocks"),
    ],
)
async def test_of_a_prompt_that_is_wrong_the_one_field_is_named(folder: Path, prompt: object, said: str) -> None:
    async with connected(folder) as editor:
        error = await editor.error("pygent/turn/start", {"prompt": prompt})

    assert error.code == -32602
    assert error.message.startswith(said)
    assert "; " not in error.message


@pytest.mark.parametrize("prompt", [" \n", [{"type": "text", "text": ""}]])
async def test_a_prompt_that_says_nothing_is_refused(folder: Path, prompt: object) -> None:
    async with connected(folder) as editor:
        error = await editor.error("pygent/turn/start", {"prompt": prompt})

    assert (error.code, error.message) == (-32602, "prompt: it is empty")


async def test_where_the_user_is_makes_no_prompt(folder: Path) -> None:
    """Clients send it with every turn: a command among them is answered all the same."""
    (folder / "a.py").write_text("x\n")
    uri = (folder / "a.py").as_uri()
    problems = [{"range": span(0, 1), "message": "odd"}]
    where = {"selection": {"uri": uri, "range": span(0, 1)}, "diagnostics": [{"uri": uri, "items": problems}]}
    async with connected(folder) as editor:
        error = await editor.error("pygent/turn/start", {"prompt": " ", "context": where})
        result = await editor.turn("/cost", context=where)

        assert (error.code, error.message) == (-32602, "prompt: it is empty")
        assert result["iterations"] == 0
        assert editor.core.model.requests == []


async def test_a_cursor_selects_nothing_and_a_clean_file_has_no_problems(folder: Path) -> None:
    (folder / "a.py").write_text("x\n")
    uri = (folder / "a.py").as_uri()
    clean: dict[str, Any] = {"uri": uri, "items": []}
    where = {"selection": {"uri": uri, "range": span(0, 0)}, "diagnostics": [clean]}
    async with connected(folder, Setup(script=[say("Hello")])) as editor:
        blocks = await prompt_blocks(editor, "hi", context=where)

    assert [block.text for block in blocks] == ["hi"]


async def test_whole_numbers_may_have_a_decimal_point(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("", Call(name="list_files", arguments={}))])) as editor:
        result = await editor.turn("go", maxIterations=1.0)

    assert result["stopReason"] == "max_iterations"


# Order


async def test_the_call_is_told_before_its_permission_is_asked(folder: Path) -> None:
    create = Call(name="create_file", arguments={"path": "a.txt", "content": "a\n"})
    async with connected(folder, Setup(script=[say("", create), say("Done")])) as editor:
        told: list[list[str]] = []

        def ask(_: object) -> dict[str, str]:
            told.append(editor.types())
            return {"title": "Reject"}

        editor.handlers["window/showMessageRequest"] = ask
        await editor.turn("make it")

    assert told[0][-2:] == ["tool_call", "permission_requested"]


# Code lenses


async def test_a_comment_that_asks_for_something_has_a_lens_that_does_it(folder: Path) -> None:
    (folder / "a.py").write_text("import math\n\n# pygent: make this async\ndef f(): ...\n")
    document = {"textDocument": {"uri": (folder / "a.py").as_uri()}}
    async with connected(folder, Setup(script=[say("It is async now.")])) as editor:
        (lens,) = await editor.request("textDocument/codeLens", document)
        await editor.request("workspace/executeCommand", lens["command"])
        await answered(editor)

    assert lens["range"]["start"]["line"] == 2
    assert "make this async" in editor.core.model.requests[0].messages[-1].text
    assert editor.initialize_result["capabilities"]["codeLensProvider"] is not None


def span(first: int, last: int) -> dict[str, Any]:
    return {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}
