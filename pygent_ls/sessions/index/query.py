"""Words of search queries, and their positions in a text. Pure.

Texts are split into words here and not by SQLite, whose tokenizer only splits at spaces. All forms of a letter are
equal. The parts of `camelCase` and `snake_case` are separate words. So is each character of a script without spaces
between words, which makes any part of such a text a phrase that can be found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import Struct

MAX_SNIPPET_CHARS = 160
"""Maximum number of characters of a snippet, around the first word that is found."""

MAX_WORDS = 24
"""Maximum number of query words looked up in the index. The others are searched in the texts that these find."""

MAX_PARTS = 32
"""Maximum number of parts of a word looked up in the index."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Japanese, Chinese
    "\uac00-\ud7af"  # Korean, which has spaces but attaches particles to words
)
_CAPITAL = re.compile(r"[A-Za-z0-9][A-Z]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARKS = re.compile("[\u0300-\u036f]+")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
_PIECE = re.compile(r'"([^"]*)"|(\S+)')
_AROUND = "\"'`()[]{}<>.,;:!?…«»„。、「」！？（），："
"""Characters around a word that do not belong to it."""


class Word(Struct, frozen=True):
    """A part of a query that a text must contain: a word, or several in quotation marks."""

    core: str
    """The word as it occurs in a folded text."""
    parts: tuple[str, ...]
    """Words of the index that it consists of; empty if it is only punctuation."""
    whole: str = ""
    """The same as one word, if capital letters split it; else empty."""

    @property
    def is_exact(self) -> bool:
        """Whether the index cannot match it exactly, so that the text must be searched."""
        return not self.parts or len(self.parts) > MAX_PARTS or re.search(r"[^\w\s]|_", self.core) is not None

    @property
    def match(self) -> str:
        """FTS5 expression. A query cannot inject syntax, because parts consist of letters and digits."""
        parts = self.parts[:MAX_PARTS]
        last = parts[-1]
        is_begun = len(last) > 1 and self.core.endswith(last)
        phrase = f'"{" ".join(parts)}"{" *" if is_begun else ""}'
        return f'({phrase} OR "{self.whole}" *)' if self.whole else phrase


class Query(Struct, frozen=True):
    """A search query: all of the words must occur."""

    words: tuple[Word, ...]

    @property
    def in_index(self) -> tuple[Word, ...]:
        """Words that are looked up in the index."""
        return tuple(each for each in self.words if each.parts)[:MAX_WORDS]

    @property
    def in_text(self) -> tuple[Word, ...]:
        """Words that must be searched in the text."""
        asked = self.in_index
        return tuple(each for each in self.words if each.is_exact or each not in asked)


def query_of(text: str) -> Query:
    """Parse what a user typed: words, and phrases in quotation marks. Any text is a valid query."""
    words: dict[str, Word] = {}
    for quoted, plain in _PIECE.findall(_plain(text)):
        piece: str = quoted or plain
        word = _word(_bare(piece.strip()))
        if word.core:
            words.setdefault(word.core, word)
    return Query(tuple(words.values()))


def _bare(piece: str) -> str:
    """Return the piece without surrounding punctuation, unless it is only punctuation."""
    bare = piece.strip(_AROUND)
    return bare if re.search(r"[^\W_]", bare) else piece


def _word(text: str) -> Word:
    apart = _apart(text)
    core = squeezed(folded(text))
    return Word(
        core=core,
        parts=tuple(_tokens(folded(apart))),
        whole="".join(_tokens(core)) if apart != text and re.fullmatch(r"[^\W_]+", core) else "",
    )


def _tokens(text: str) -> list[str]:
    """Return the words of a folded text."""
    return _token().findall(text)


@cache
def _token() -> re.Pattern[str]:
    """Return the pattern of a word. It is compiled on first use, because that takes some milliseconds of start-up
    time."""
    return re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+")


def folded(text: str) -> str:
    """Return the text for comparison: lower case, without diacritics, one form of each letter."""
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text.translate(_QUOTES)))
    return unicodedata.normalize("NFC", bare.casefold())


def squeezed(text: str) -> str:
    """Return the text with single spaces."""
    return " ".join(text.split())


def indexed(text: str) -> tuple[str, str]:
    """Return the words of a text separated by spaces, and those that capital letters split once more, unsplit."""
    apart = _apart(text)
    words = folded(apart)
    if not words.isascii():
        words = " ".join(_tokens(words))
    if apart == text:
        return words, ""
    joined = [each for each in re.findall(r"[^\W_]+", text) if _CAMEL.search(each)]
    return words, folded(" ".join(joined))


def _apart(text: str) -> str:
    """Return the text with spaces before the capital letters within words."""
    return _CAMEL.sub(" ", text) if _CAPITAL.search(text) else text


def holds(text: str, words: Sequence[Word]) -> bool:
    """Whether the text contains each of the words exactly."""
    if not words:
        return True
    found = squeezed(folded(text))
    return all(each.core in found for each in words)


def snippet(text: str, words: Sequence[Word]) -> str:
    """Return the text around the first word that occurs in it, on one line."""
    at = _first(text, words)
    start = max(0, at - MAX_SNIPPET_CHARS // 2)
    end = start + MAX_SNIPPET_CHARS
    line = squeezed(text[start:end])
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"


def _first(text: str, words: Sequence[Word]) -> int:
    """Return the position of the first word that occurs, preferring the beginning of a word; 0 if none does."""
    found = folded(text)
    loose = [each for word in words if (each := _pattern(word))]
    if not loose:
        return 0
    any_of = "|".join(loose)
    match = re.search(rf"(?<![^\W_])(?:{any_of})", found) or re.search(any_of, found)
    return _place_in(text, match.start()) if match else 0


def _pattern(word: Word) -> str:
    between = r"[\W_]*"
    return between.join(map(re.escape, word.parts[:MAX_PARTS])) if word.parts else re.escape(word.core)


def _place_in(text: str, at: int) -> int:
    """Return the position in the text for a position in the folded text."""
    if text.isascii():
        return at
    done = 0
    for start, piece in _pieces(text):
        n_chars = len(folded(piece))
        if done + n_chars > at:
            return min(start + at - done, len(text))
        done += n_chars
    return len(text)


def _pieces(text: str, size: int = 64) -> Iterator[tuple[int, str]]:
    for start in range(0, len(text), size):
        yield start, text[start : start + size]


def _plain(text: str) -> str:
    return text.translate({0x201C: '"', 0x201D: '"', 0x201E: '"'})
