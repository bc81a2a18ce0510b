"""Open documents: what the editor tells of them, against a text that is edited one character at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pygent_ls.editors.lsp import standard as lsp
from pygent_ls.editors.lsp.capabilities import Encoding
from pygent_ls.editors.lsp.documents.buffers import MANY_CHANGES, Buffer, Buffers
from pygent_ls.editors.lsp.documents.positions import offset_at
from pygent_ls.editors.lsp.rpc.converter import structured
from pygent_ls.editors.lsp.standard import Position
from tests.editors.lsp.editor_documents import edited
from tests.fakes import bounded
from tests.work import calls_in

PATH = Path("/w/a.txt")
URI = "file:///w/a.txt"


class Open:
    """Buffers with one document open, and the paths that changed."""

    def __init__(self, text: str = "", *, encoding: Encoding = "utf-16", path: Path = PATH) -> None:
        self.changed_paths: list[Path] = []
        self.buffers = Buffers(self.changed_paths.append)
        self.buffers.encoding = encoding
        self.uri = path.as_uri()
        self.path = path
        self.open(text)

    def open(self, text: str, version: int = 1) -> None:
        self.buffers.opened(lsp.TextDocumentItem(uri=self.uri, language_id="x", version=version, text=text))

    def change(self, *changes: Mapping[str, Any], version: int = 2) -> None:
        params = {"textDocument": {"uri": self.uri, "version": version}, "contentChanges": list(changes)}
        told = structured("textDocument/didChange", params, lsp.DidChangeTextDocumentParams)
        self.buffers.changed(told.text_document, told.content_changes)

    @property
    def buffer(self) -> Buffer:
        found = self.buffers.get(self.path)
        assert found is not None
        return found


def ranged(line: int, start: int, end_line: int, end: int, text: str) -> dict[str, Any]:
    places = {"start": {"line": line, "character": start}, "end": {"line": end_line, "character": end}}
    return {"range": places, "text": text}


# Changes

pieces = st.lists(
    st.sampled_from(["a", "bc", "é", "日", "\U0001f600", "\n", "\r\n", "\r", "\f", "\u2028", ""]), max_size=8
)
texts = pieces.map("".join)
numbers = st.integers(0, 6)
positions = st.tuples(numbers, numbers)


@st.composite
def incremental(draw: st.DrawFn) -> dict[str, Any]:
    (line, start), (end_line, end) = sorted([draw(positions), draw(positions)])
    return ranged(line, start, end_line, end, draw(texts))


whole = texts.map(lambda text: {"text": text})
one_change = st.one_of(incremental(), whole)
changes_of_any_kind = st.lists(one_change, max_size=5) | st.lists(
    one_change, min_size=MANY_CHANGES, max_size=MANY_CHANGES + 2
)


@given(text=texts, changes=changes_of_any_kind, encoding=st.sampled_from(["utf-8", "utf-16"]))
def test_changes_make_the_text_that_the_editor_has(
    text: str, changes: Sequence[Mapping[str, Any]], encoding: Encoding
) -> None:
    opened = Open(text, encoding=encoding)

    opened.change(*changes)

    for change in changes:
        edits = [{"range": change["range"], "newText": change["text"]}] if "range" in change else None
        text = change["text"] if edits is None else edited(text, edits, encoding)
    assert opened.buffer.text == text


@given(
    text=texts,
    changes=st.lists(st.tuples(incremental(), positions), max_size=6),
    encoding=st.sampled_from(["utf-8", "utf-16"]),
)
@example(text="\r", changes=[(ranged(1, 0, 1, 0, "\n"), (1, 0))], encoding="utf-8")
def test_an_offset_is_the_same_whichever_was_asked_for_before(
    text: str, changes: Sequence[tuple[Mapping[str, Any], tuple[int, int]]], encoding: Encoding
) -> None:
    opened = Open(text, encoding=encoding)

    for change, place in changes:
        opened.change(change)
        position = Position(*place)
        assert opened.buffer.offset(position, encoding) == offset_at(opened.buffer.text, position, encoding)


def test_the_changes_of_one_message_apply_one_after_another() -> None:
    opened = Open("ab\n")

    opened.change(ranged(0, 0, 0, 1, "xyz"), ranged(0, 3, 0, 4, ""), version=9)

    assert (opened.buffer.text, opened.buffer.version) == ("xyz\n", 9)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (ranged(0, 99, 0, 99, "!"), "ab!\ncd"),
        (ranged(99, 0, 99, 0, "!"), "ab\ncd!"),
        (ranged(0, 1, 99, 99, "!"), "a!"),
        (ranged(1, 0, 0, 1, "!"), "a!cd"),
        (ranged(2**31 - 1, 2**31 - 1, 2**31 - 1, 0, "!"), "ab\ncd!"),
        ({"range": ranged(0, 0, 0, 1, "")["range"], "rangeLength": 7, "text": "!"}, "!b\ncd"),
    ],
    ids=str,
)
def test_places_beyond_the_text_are_its_end(change: Mapping[str, Any], text: str) -> None:
    opened = Open("ab\ncd")

    opened.change(change)

    assert opened.buffer.text == text


def test_form_feeds_and_the_like_end_no_line() -> None:
    opened = Open("a\fb\u2028c\x85d\vx\ne")

    opened.change(ranged(1, 0, 1, 1, "E"))

    assert opened.buffer.text == "a\fb\u2028c\x85d\vx\nE"


# Opening and closing


def test_what_is_not_open_is_not_changed_and_what_is_no_file_is_not_opened() -> None:
    opened = Open("a")
    opened.uri = "untitled:Untitled-1"

    opened.open("b")
    opened.change({"text": "c"})
    opened.buffers.saved(opened.uri)
    opened.buffers.closed(opened.uri)

    assert [buffer.text for buffer in opened.buffers] == ["a"]


def test_opening_twice_counts_once_and_the_last_text_holds() -> None:
    opened = Open("first")
    opened.open("second", version=5)

    assert [(buffer.text, buffer.version) for buffer in opened.buffers] == [("second", 5)]


def test_a_closed_document_is_not_open() -> None:
    opened = Open("a")

    opened.buffers.closed(opened.uri)
    opened.buffers.closed(opened.uri)

    assert opened.buffers.get(PATH) is None
    assert opened.changed_paths == [PATH, PATH]


def test_each_state_of_a_document_has_a_stamp_of_its_own() -> None:
    opened = Open("a")
    stamps = [opened.buffer.stamp]
    for text in ("b", "a", "a"):
        opened.change({"text": text})
        stamps.append(opened.buffer.stamp)
    opened.open("a")
    stamps.append(opened.buffer.stamp)

    assert len(set(stamps)) == 5


def test_a_document_has_the_text_version_and_digest_of_its_buffer() -> None:
    opened = Open("a")
    first = opened.buffer.document()
    opened.change({"text": "b"})
    opened.change({"text": "a"}, version=3)
    again = opened.buffer.document()

    assert (first.text, first.version, again.text, again.version) == ("a", 1, "a", 3)
    assert first.digest == again.digest
    assert first.stamp != again.stamp


def test_every_change_is_told_of() -> None:
    opened = Open("a")
    opened.change({"text": "b"})
    opened.buffers.saved(opened.uri)

    assert opened.changed_paths == [PATH] * 3


# Saved or not


def test_a_document_is_unsaved_while_it_differs_from_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    opened = Open("one", path=path)
    assert not opened.buffer.is_dirty

    opened.change({"text": "two"})
    assert opened.buffer.is_dirty
    opened.change({"text": "one"})
    assert not opened.buffer.is_dirty

    opened.change({"text": "two"})
    path.write_text("two")
    opened.buffers.saved(opened.uri)
    assert not opened.buffer.is_dirty


def test_a_new_document_is_unsaved_and_so_is_one_whose_text_differs_from_the_beginning(tmp_path: Path) -> None:
    assert Open("", path=tmp_path / "new.txt").buffer.is_dirty

    path = tmp_path / "a.txt"
    path.write_text("one")
    assert Open("restored from a crash", path=path).buffer.is_dirty


def test_a_document_that_was_loaded_again_is_not_unsaved(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    opened = Open("one", path=path)

    path.write_text("from outside")
    opened.change({"text": "from outside"})
    assert not opened.buffer.is_dirty

    opened.change({"text": "typed"})
    assert opened.buffer.is_dirty


def test_an_odd_encoding_or_line_endings_make_a_document_no_less_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("é\r\n".encode("latin-1"))

    assert not Open("é\r\n", path=path).buffer.is_dirty


# The daemon wrote the file


def test_a_file_that_the_daemon_wrote_counts_until_the_editor_speaks_of_the_document() -> None:
    opened = Open("a")

    opened.buffers.supersede(PATH)
    assert opened.buffers.get(PATH) is None
    assert list(opened.buffers) == []

    opened.change({"text": "b"})
    assert opened.buffer.text == "b"


def test_superseding_what_is_not_open_does_nothing() -> None:
    opened = Open("a")

    opened.buffers.supersede(Path("/w/other.txt"))

    assert opened.buffer.text == "a"


# Waiting for a text


async def test_a_watch_sees_the_text_at_the_moment_when_it_is_there() -> None:
    opened = Open("one")
    watch = opened.buffers.watch(PATH, "two")

    opened.change({"text": "two"}, {"text": "two and typing"})

    await bounded(watch)


@pytest.mark.parametrize("n_before", [0, MANY_CHANGES])
async def test_a_watch_sees_the_text_in_the_middle_of_many_changes(n_before: int) -> None:
    opened = Open("".join(f"line {number}\n" for number in range(20)))
    watch = opened.buffers.watch(PATH, opened.buffer.text.replace("line 3", "LINE 3").replace("line 1\n", "LINE 1\n"))
    typing = [ranged(9, number, 9, number, "x") for number in range(MANY_CHANGES)]
    there_and_back = [ranged(5, 0, 5, 0, "x"), ranged(5, 0, 5, 1, "")] * (n_before // 2)

    opened.change(*there_and_back, ranged(3, 0, 3, 4, "LINE"), ranged(1, 0, 1, 4, "LINE"), *typing)

    await bounded(watch)
    assert "x" * MANY_CHANGES + "line 9" in opened.buffer.text


async def test_a_watch_sees_a_document_that_is_opened() -> None:
    opened = Open("one")
    opened.buffers.closed(opened.uri)
    watch = opened.buffers.watch(PATH, "two")

    opened.open("two")

    await bounded(watch)


async def test_a_watch_is_not_fooled_by_another_document_or_another_text() -> None:
    opened = Open("one")
    watch = opened.buffers.watch(Path("/w/other.txt"), "two")
    other = opened.buffers.watch(PATH, "three")

    opened.change({"text": "two"})

    assert not watch.done()
    assert not other.done()
    watch.cancel()
    other.cancel()
    await asyncio.sleep(0)
    opened.change({"text": "three"})


async def test_two_watches_of_one_document_are_both_told() -> None:
    opened = Open("one")
    watches = [opened.buffers.watch(PATH, "two"), opened.buffers.watch(PATH, "two")]

    opened.change({"text": "two"})

    await bounded(asyncio.gather(*watches))


# Many documents


NAMES = ("a", "b/a", "b/c", "b/c/d", "bc")


class Told:
    """What is open, as a plain list: where each document is, its text, and whether the disk counts."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[str, str]] = {}
        self.superseded: set[str] = set()

    def open(self, uri: str, name: str, text: str) -> None:
        self.documents[uri] = (name, text)
        self.superseded.discard(uri)

    def close(self, uri: str, name: str) -> None:
        others = [other for other, (each, _) in self.documents.items() if each == name]
        if uri not in self.documents and len(others) == 1:
            uri = others[0]
        self.documents.pop(uri, None)

    def supersede(self, name: str) -> None:
        self.superseded |= {
            uri for uri, (each, _) in self.documents.items() if each == name or each.startswith(f"{name}/")
        }

    def texts(self, name: str) -> set[str]:
        return {text for uri, (each, text) in self.documents.items() if each == name and uri not in self.superseded}


steps = st.tuples(st.sampled_from(["open", "open as well", "close", "supersede", "forget"]), st.sampled_from(NAMES))


@given(st.lists(steps, max_size=30))
def test_whatever_is_opened_closed_and_written_a_path_leads_to_its_documents(done: Sequence[tuple[str, str]]) -> None:
    buffers, told = Buffers(lambda _: None), Told()
    for number, (step, name) in enumerate(done):
        uri, text = f"file:///nowhere/{name}", str(number)
        match step:
            case "open" | "open as well":
                uri += "" if step == "open" else "#again"
                buffers.opened(lsp.TextDocumentItem(uri=uri, language_id="", version=1, text=text))
                told.open(uri, name, text)
            case "close":
                buffers.closed(uri)
                told.close(uri, name)
            case "supersede":
                buffers.supersede(Path("/nowhere", name))
                told.supersede(name)
            case _:
                buffers.forget_all()
                told.documents.clear()

    for name in NAMES:
        found, expected = buffers.get(Path("/nowhere", name)), told.texts(name)
        assert (found.text in expected) if found else not expected
    seen = {each.path for each in buffers}
    assert seen == {Path("/nowhere", name) for name in NAMES if told.texts(name)}
    assert {each.path for each in buffers.below(Path("/nowhere/b"))} == {
        each for each in seen if Path("/nowhere/b") in each.parents
    }


def opened(n_documents: int) -> Buffers:
    buffers = Buffers(lambda _: None)
    for number in range(n_documents):
        uri = f"file:///nowhere/{number % 7}/{number}.py"
        buffers.opened(lsp.TextDocumentItem(uri=uri, language_id="", version=1, text=f"{number}\n"))
    return buffers


Look = Callable[[Buffers], object]

FINDING: Mapping[str, Look] = {
    "get": lambda buffers: buffers.get(Path("/nowhere/3/10.py")),
    "uri": lambda buffers: buffers.uri_of(Path("/nowhere/3/10.py")),
    "entry": lambda buffers: buffers.uri_of_entry(Path("/nowhere/3/10.py")),
    "spelling": lambda buffers: buffers.version_of("file:///nowhere/3/%310.py"),
    "missing": lambda buffers: buffers.get(Path("/nowhere/missing.py")),
}


@pytest.mark.parametrize("look", FINDING.values(), ids=FINDING)
def test_a_document_is_found_among_many_as_fast_as_among_few(look: Look) -> None:
    few, many = opened(20), opened(1_000)

    look(few)  # what is only done once in a process is done
    assert calls_in(lambda: look(many)) <= calls_in(lambda: look(few)) + 5


ALL: Mapping[str, Look] = {
    "each": lambda buffers: [each.is_dirty for each in buffers],
    "below": lambda buffers: list(buffers.below(Path("/nowhere/3"))),
    "supersede": lambda buffers: buffers.supersede(Path("/nowhere/3")),
}


@pytest.mark.parametrize("look", ALL.values(), ids=ALL)
def test_what_looks_at_each_document_looks_at_it_once(look: Look) -> None:
    few, many = opened(100), opened(1_000)

    assert calls_in(lambda: look(many)) <= 15 * calls_in(lambda: look(few))
