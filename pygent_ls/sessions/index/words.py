"""What is looked for, and where it stands in a text. Pure.

Texts are cut into words here and not by SQLite, whose tokenizer is then only asked to split at spaces: all forms of a
letter are one, the parts of `camelCase` and `snake_case` are words of their own, and so is each character of a script
that has no spaces between words, which makes any part of a text in it a phrase that can be found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

MAX_SNIPPET_CHARS = 160
"""Around the first word that is found."""

MAX_WORDS = 24
"""Of a query that are looked up in the index; in what they find, the others are looked for."""

MAX_PARTS = 32
"""Of a word, likewise."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Japanese, Chinese
    "\uac00-\ud7af"  # Korean, which has spaces, but writes what belongs to a word onto it
)
_CAPITAL = re.compile(r"[A-Za-z0-9][A-Z]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARKS = re.compile("[\u0300-\u036f]+")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
_PIECE = re.compile(r'"([^"]*)"|(\S+)')
_AROUND = "\"'`()[]{}<>.,;:!?…«»„。、「」！？（），："
"""What stands around a word without being a part of it."""


@dataclass(frozen=True, slots=True)
class Word:
    """A part of a query that a text must hold: a word, or several in quotation marks."""

    core: str
    """As it stands in a folded text."""
    parts: tuple[str, ...]
    """The words of the index that it consists of; none where it is punctuation alone."""
    whole: str = ""
    """The same as one word, where capital letters part it."""

    @property
    def is_exact(self) -> bool:
        """Whether the index cannot tell all of it, so that the text has to be looked at."""
        return not self.parts or len(self.parts) > MAX_PARTS or re.search(r"[^\w\s]|_", self.core) is not None

    @property
    def match(self) -> str:
        """What FTS5 is asked for, whose syntax nothing of a query can be: parts consist of letters and digits."""
        parts = self.parts[:MAX_PARTS]
        last = parts[-1]
        is_begun = len(last) > 1 and self.core.endswith(last)
        phrase = f'"{" ".join(parts)}"{" *" if is_begun else ""}'
        return f'({phrase} OR "{self.whole}" *)' if self.whole else phrase


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: all of the words."""

    words: tuple[Word, ...]

    @property
    def in_index(self) -> tuple[Word, ...]:
        """The words that the index is asked for."""
        return tuple(each for each in self.words if each.parts)[:MAX_WORDS]

    @property
    def in_text(self) -> tuple[Word, ...]:
        """The words for which the text has to be looked at."""
        asked = self.in_index
        return tuple(each for each in self.words if each.is_exact or each not in asked)


def query_of(text: str) -> Query:
    """What a user typed: words, and several in quotation marks that stand together. Any text is a query."""
    words: dict[str, Word] = {}
    for quoted, plain in _PIECE.findall(_plain(text)):
        piece: str = quoted or plain
        word = _word(_bare(piece.strip()))
        if word.core:
            words.setdefault(word.core, word)
    return Query(tuple(words.values()))


def _bare(piece: str) -> str:
    """The piece without what stands around it, unless there is nothing else."""
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
    """The words of a folded text."""
    return _token().findall(text)


@cache
def _token() -> re.Pattern[str]:
    """A word; made when it is needed, for that takes some milliseconds, which the start would be longer."""
    return re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+")


def folded(text: str) -> str:
    """The text as it is compared: no capital letters, no diacritics, one form of each letter."""
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text.translate(_QUOTES)))
    return unicodedata.normalize("NFC", bare.casefold())


def squeezed(text: str) -> str:
    """The text with one space wherever there is any."""
    return " ".join(text.split())


def indexed(text: str) -> tuple[str, str]:
    """The words of a text with spaces between them, and once more those that capital letters part, each as one."""
    apart = _apart(text)
    words = folded(apart)
    if not words.isascii():
        words = " ".join(_tokens(words))
    if apart == text:
        return words, ""
    joined = [each for each in re.findall(r"[^\W_]+", text) if _CAMEL.search(each)]
    return words, folded(" ".join(joined))


def _apart(text: str) -> str:
    """The text with spaces before the capital letters within words."""
    return _CAMEL.sub(" ", text) if _CAPITAL.search(text) else text


def holds(text: str, words: Sequence[Word]) -> bool:
    """Whether each of the words stands in a text as it is."""
    if not words:
        return True
    found = squeezed(folded(text))
    return all(each.core in found for each in words)


def snippet(text: str, words: Sequence[Word]) -> str:
    """The text around the first word that stands in it, on one line."""
    at = _first(text, words)
    start = max(0, at - MAX_SNIPPET_CHARS // 2)
    end = start + MAX_SNIPPET_CHARS
    line = squeezed(text[start:end])
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"


def _first(text: str, words: Sequence[Word]) -> int:
    """Where the first of the words stands, rather at the beginning of a word than within one; 0 where none does."""
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
    """The place in a text of a place in the folded one."""
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
