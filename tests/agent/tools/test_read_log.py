"""What the model knows of each file."""

from __future__ import annotations

from pygent_ls.agent.ports.workspace import Document
from pygent_ls.agent.tools.read_log import ReadLog
from tests.fakes import FOLDER, digest_of

PATH = FOLDER / "a.txt"


def document(text: str, stamp: str = "1") -> Document:
    return Document(path=PATH, text=text, digest=digest_of(text), stamp=stamp)


def test_a_file_that_was_never_read_is_neither_known_nor_stale() -> None:
    log = ReadLog()
    assert not log.knows(PATH)
    assert not log.is_stale(document("one"))


def test_a_file_is_stale_when_its_text_is_another_than_was_read_last() -> None:
    log = ReadLog()
    log.record(document("one"))
    assert log.knows(PATH)
    assert not log.is_stale(document("one"))
    assert log.is_stale(document("two"))
    log.record(document("two"))
    assert log.is_stale(document("one"))


def test_the_text_counts_and_not_the_stamp() -> None:
    log = ReadLog()
    log.record(document("one", stamp="disk"))
    assert not log.is_stale(document("one", stamp="buffer"))


def test_a_forgotten_file_is_as_if_never_read() -> None:
    log = ReadLog()
    log.record(document("one"))
    log.forget(PATH)
    log.forget(PATH)
    assert not log.knows(PATH)
    assert not log.is_stale(document("two"))


def test_a_reading_can_be_taken_back_to_what_was_known_before() -> None:
    log = ReadLog()
    assert log.known(PATH) is None
    log.record(document("one"))
    known = log.known(PATH)
    log.record(document("two"))
    log.take_back(PATH, known)
    assert not log.is_stale(document("one"))
    log.take_back(PATH, None)
    assert not log.knows(PATH)


def test_an_outdated_file_is_stale_whatever_it_holds_until_it_is_read() -> None:
    log = ReadLog()
    log.record(document("one"))
    log.outdate(PATH)
    assert log.knows(PATH)
    assert log.is_stale(document("one"))
    log.record(document("one"))
    assert not log.is_stale(document("one"))


def test_what_the_conversation_has_lost_counts_as_not_read_and_is_stale_where_it_changed() -> None:
    log = ReadLog()
    log.record(document("one"))
    log.settle()
    log.fade(seen=())
    assert not log.knows(PATH)
    assert not log.is_stale(document("one"))
    assert log.is_stale(document("two"))
    log.record(document("one"))
    assert log.knows(PATH)


def test_what_is_still_shown_and_what_was_read_since_does_not_fade() -> None:
    log = ReadLog()
    log.record(document("one"))
    log.fade(seen=())
    assert log.knows(PATH), "it was read since the last request"
    log.settle()
    log.fade(seen={PATH})
    assert log.knows(PATH)


def test_a_reading_that_is_taken_back_leaves_what_had_faded() -> None:
    log = ReadLog()
    log.record(document("one"))
    log.settle()
    log.fade(seen=())
    known = log.known(PATH)
    log.record(document("two"))
    log.take_back(PATH, known)
    assert not log.knows(PATH)
    assert log.is_stale(document("two"))
