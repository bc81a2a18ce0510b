"""What a prompt carries besides its text."""

from __future__ import annotations

import pytest

from pygent_ls.agent.context.attachments import (
    MAX_ATTACHED_CHARS,
    DiagnosticsPart,
    EditorPart,
    FilePart,
    NotePart,
    PromptPart,
    SelectionPart,
    TerminalPart,
    render,
)
from pygent_ls.agent.messages import Block, ImageBlock, TextBlock
from pygent_ls.agent.ports.editor_state import LineRange
from tests.agent.abilities import place
from tests.fakes import Rig, make_rig


async def rendered(rig: Rig, *parts: PromptPart) -> str | tuple[Block, ...]:
    return await render(parts, rig.workspace, rig.services.memory.reads)


async def context_of(rig: Rig, part: PromptPart) -> str:
    """The text of one attachment before the words."""
    content = await rendered(rig, part, "words")
    assert isinstance(content, tuple)
    block, words = content
    assert words == TextBlock(text="words")
    assert isinstance(block, TextBlock)
    return block.text


async def test_every_text_of_a_prompt_goes_through_the_mask_with_the_name_of_the_file_that_it_shows() -> None:
    async def mask(text: str, path: str | None) -> str:
        return text.replace("plums", f"[{path}]")

    rig = make_rig(files={"a/.env": "A=plums"})
    lines = LineRange(first=1, last=1)
    selection = SelectionPart(path=place("b.py"), lines=lines, text="plums")
    diagnostics = DiagnosticsPart(path=place("c.py"), lines=("plums",))
    parts = (FilePart(path=place("a/.env")), selection, diagnostics, "eat plums")

    content = await render(parts, rig.workspace, rig.services.memory.reads, mask)

    texts = "".join(block.text for block in content if isinstance(block, TextBlock))
    assert [texts.count(each) for each in ("[.env]", "[b.py]", "[c.py]", "eat [None]", "plums")] == [1, 1, 1, 1, 0]


async def test_words_alone_are_plain_text() -> None:
    assert await rendered(make_rig(), "Fix ", "it") == "Fix it"


async def test_a_file_is_shown_as_the_user_sees_it_and_counts_as_read() -> None:
    rig = make_rig(files={"a.txt": "one\n"})
    rig.workspace.type_text("a.txt", "typed\n")
    assert await context_of(rig, FilePart(path=place("a.txt"))) == (
        '<context kind="file" path="a.txt">\ntyped\n\n</context>'
    )
    assert rig.services.memory.reads.knows(place("a.txt"))


async def test_some_lines_of_a_file_do_not_count_as_the_file() -> None:
    rig = make_rig(files={"a.txt": "one\r\ntwo\r\nthree\r\n"})
    shown = await context_of(rig, FilePart(path=place("a.txt"), lines=LineRange(first=2, last=3)))
    assert shown == '<context kind="file" path="a.txt" lines="2-3">\ntwo\r\nthree\r\n\n</context>'
    assert not rig.services.memory.reads.knows(place("a.txt"))


async def test_a_file_that_cannot_be_read_is_said_so_in_its_place() -> None:
    shown = await context_of(make_rig(), FilePart(path=place("gone.txt")))
    assert 'path="gone.txt"' in shown
    assert "Could not be read: There is no file gone.txt." in shown


async def test_a_long_file_is_cut_says_so_and_does_not_count_as_read() -> None:
    rig = make_rig(files={"a.txt": "x" * (MAX_ATTACHED_CHARS + 7)})
    assert "7 characters left out" in await context_of(rig, FilePart(path=place("a.txt")))
    assert not rig.services.memory.reads.knows(place("a.txt"))


async def test_nothing_that_is_attached_is_longer_than_a_file_may_be() -> None:
    lines = LineRange(first=1, last=9)
    for part in (
        SelectionPart(path=place("a.txt"), lines=lines, text="x" * (MAX_ATTACHED_CHARS + 7)),
        DiagnosticsPart(path=place("a.txt"), lines=("x" * MAX_ATTACHED_CHARS, "123456")),
        NotePart(kind="diff", text="x" * (MAX_ATTACHED_CHARS + 7)),
        TerminalPart(command="", output="x" * (MAX_ATTACHED_CHARS + 7)),
    ):
        assert "\n[… 7 characters left out" in await context_of(make_rig(), part)


async def test_lines_that_a_file_does_not_have_are_said_so() -> None:
    rig = make_rig(files={"a.txt": "one\ntwo\n"})
    shown = await context_of(rig, FilePart(path=place("a.txt"), lines=LineRange(first=10, last=20)))
    assert shown == ('<context kind="file" path="a.txt" lines="10-20">\nThe file has only 2 lines.\n</context>')


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (
            SelectionPart(path=place("a.txt"), lines=LineRange(first=2, last=3), text="two"),
            '<context kind="selection" path="a.txt" lines="2-3">\ntwo\n</context>',
        ),
        (
            DiagnosticsPart(path=place("a.txt"), lines=("1: E1", "2: E2")),
            '<context kind="diagnostics" path="a.txt">\n1: E1\n2: E2\n</context>',
        ),
        (
            EditorPart(active=place("a.txt"), visible=(place("a.txt"), place("b.txt"))),
            '<context kind="editor">\nActive file: a.txt\nVisible files: a.txt, b.txt\n</context>',
        ),
        (
            TerminalPart(command="npm test", output="1 failed\n\n", exit_code=1),
            '<context kind="terminal">\n$ npm test\n1 failed\n[exit code 1]\n</context>',
        ),
        (TerminalPart(command="", output="ready"), '<context kind="terminal">\nready\n</context>'),
        (TerminalPart(command="true", output=""), '<context kind="terminal">\n$ true\n[no output]\n</context>'),
    ],
)
async def test_what_the_editor_knows_comes_before_the_words(part: PromptPart, shown: str) -> None:
    assert await context_of(make_rig(), part) == shown


async def test_of_many_visible_files_the_first_are_named() -> None:
    part = EditorPart(active=None, visible=tuple(place(f"{n}.py") for n in range(1_000)))
    assert "9.py and 990 more\n" in await context_of(make_rig(), part)


async def test_an_image_is_a_block_of_its_own() -> None:
    image = ImageBlock(mime_type="image/png", data="AA==")
    assert await rendered(make_rig(), "What is this?", image) == (image, TextBlock(text="What is this?"))


async def test_without_words_there_is_no_empty_block_which_some_providers_would_reject() -> None:
    image = ImageBlock(mime_type="image/png", data="AA==")
    assert await rendered(make_rig(), image, " \n") == (image,)


async def test_an_editor_that_shows_nothing_is_not_worth_a_word() -> None:
    assert await rendered(make_rig(), EditorPart(active=None, visible=()), "hello") == "hello"
