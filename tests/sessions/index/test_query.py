"""Search queries, and excerpts of matches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.context.conversation_text import utf8
from pygent_ls.sessions.index.query import MAX_SNIPPET_CHARS, holds, indexed, query_of, snippet
from pygent_ls.sessions.index.tables import WORDS

TEXTS = st.text(alphabet=st.characters(exclude_characters="\0"), max_size=60).map(utf8)
SPECIMENS = (
    *("read_file", "getUserName", "HTTPServer", "C++", "naïve", "Straße", "don’t", "a.b(c)", "->", "--flag", "#123"),
    *('"', "OR", "NOT", "x", "42", "ﬁne", "İ", "搜索会话", "테스트를", "ไทยง่าย", "日本語のテキスト", "\ud83d\ude00"),
)
SAYINGS = st.lists(st.sampled_from(SPECIMENS), max_size=6).map(lambda words: utf8(" ".join(words)))


@pytest.fixture(name="words", scope="module")
def table_of_words() -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute(WORDS)
    yield database
    database.close()


def is_found(words: sqlite3.Connection, text: str, looked_for: str) -> bool:
    """Whether a text is found by its words in the index or, if that is not enough, by itself."""
    query = query_of(looked_for)
    words.execute("BEGIN")
    words.execute("INSERT INTO words(rowid, text, whole) VALUES (1, ?, ?)", indexed(text))
    match = " AND ".join(word.match for word in query.in_index)
    found = not match or words.execute("SELECT 1 FROM words WHERE words MATCH ?", (match,)).fetchone() is not None
    words.execute("ROLLBACK")
    return found and holds(text, query.in_text)


@pytest.mark.parametrize(
    ("text", "looked_for"),
    [
        ("The Zygote question is settled.", "zygote"),
        ("The Zygote question is settled.", "SETTLED zyg"),
        ("call read_file again", "read_file"),
        ("call read_file again", "file"),
        ("def getUserName(self)", "getUserName"),
        ("def getUserName(self)", "getusername"),
        ("def getUserName(self)", "getuser"),
        ("def getUserName(self)", "name"),
        ("an HTTPServer here", "server"),
        ("an HTTPServer here", "httpserver"),
        ("it is written in C++ here", "c++"),
        ("crème brûlée", "creme BRULEE"),
        ("creme", "crème"),
        ("die Straße", "STRASSE"),
        ("I don’t know", "don't"),
        ("使用搜索会话", "搜索"),
        ("使用搜索会话", "索"),
        ("テキストを検索する", "検索"),
        ("검색을 합니다", "검색"),
        ("the red\nfox runs", '"red fox"'),
        ("the red fox runs", '"red fox'),
        ("see (the parser), please", "parser,"),
        ("x -> y", "->"),
        ("see tests/unit/test_a.py", "unit/test_a.py"),
        ("1 + 1", "+ 1"),
        ("anything", ""),
    ],
)
def test_a_text_is_found_by_what_stands_in_it(words: sqlite3.Connection, text: str, looked_for: str) -> None:
    assert is_found(words, text, looked_for)


@pytest.mark.parametrize(
    ("text", "looked_for"),
    [
        ("the parser", "parser lexer"),
        ("read the file", "read_file"),
        ("a red car and a fox", '"red fox"'),
        ("c and cats", "c++"),
        ("cats", "c"),
        ("xyz", "y"),
        ("使用搜索", "索搜"),
        ("x - > y", "->"),
        ("either this", "this OR that"),
        ("neat", "NEAR(neat)"),
    ],
)
def test_a_text_is_not_found_by_what_does_not(words: sqlite3.Connection, text: str, looked_for: str) -> None:
    assert not is_found(words, text, looked_for)


@given(text=TEXTS | SAYINGS, looked_for=TEXTS | SAYINGS)
def test_whatever_is_looked_for_is_no_error_and_has_a_snippet(
    words: sqlite3.Connection, text: str, looked_for: str
) -> None:
    is_found(words, text, looked_for)

    assert len(snippet(text, query_of(looked_for).words)) <= MAX_SNIPPET_CHARS + 2


@given(before=SAYINGS, said=SAYINGS, after=SAYINGS)
def test_what_was_said_is_found_by_its_own_words(words: sqlite3.Connection, before: str, said: str, after: str) -> None:
    assert is_found(words, f"{before} {said} {after}", said.replace('"', " "))


@given(text=TEXTS | SAYINGS)
def test_the_words_of_a_text_are_taken_back_by_the_text(words: sqlite3.Connection, text: str) -> None:
    words.execute("INSERT INTO words(rowid, text, whole) VALUES (1, ?, ?)", indexed(text))
    words.execute("INSERT INTO words(words, rowid, text, whole) VALUES ('delete', 1, ?, ?)", indexed(text))

    words.execute("INSERT INTO words(words) VALUES ('integrity-check')")


def test_a_snippet_is_the_line_around_the_first_word_that_is_found() -> None:
    text = "word " * 50 + "the\nZygote question" + " end" * 50

    found = snippet(text, query_of("question zygote").words)

    assert found == f"…{'word ' * 15}the Zygote question{' end' * 16}…"


@pytest.mark.parametrize("letter", ["é", "ß", "ﬁ", "字", "e\u0301"])
def test_a_snippet_shows_the_word_also_where_letters_before_it_are_longer_or_shorter_when_compared(letter: str) -> None:
    text = letter * 1000 + " zygote " + letter * 1000

    assert "zygote" in snippet(text, query_of("zygote").words)


def test_a_snippet_of_a_text_that_holds_no_word_is_its_beginning() -> None:
    assert snippet("one two", query_of("three").words) == "one two"
    assert snippet("", query_of("three").words) == ""


def test_a_very_long_query_is_no_harder_than_a_short_one(words: sqlite3.Connection) -> None:
    many = " ".join(f"word{number}" for number in range(3000))

    assert is_found(words, f"so {many} it is", many)
    assert not is_found(words, f"so {many} it is", f"{many} missing")
    assert is_found(words, f"so {many} it is", f'"{many}"')
    assert not is_found(words, f"so {many} it is", f'"{many} missing"')
