"""Reads untrusted YAML, TOML and JSON as plain values at a bounded cost. Parsers are imported on first use."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

MAX_VALUES = 20_000
"""Maximum number of values in a document with all aliases expanded. Ten lines of aliases can expand to billions of
values, which merge keys, or any walk through the values, would create.
"""


MAX_KEY_PARTS = 100
"""Maximum number of parts of a dotted key in TOML. `tomllib` takes more than quadratic time: 100 kB of `a.a.a` took two
minutes.
"""

_PIECE = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?|'
    r"'{3}.*?'{3}|"
    r'"(?:[^"\\\n]|\\.)*+"?|'
    r"'[^'\n]*+'|#[^\n]*+|[\w-]++|[ \t]++|.",
    re.DOTALL,
)
"""Tokens of TOML relevant to dotted keys. An unclosed string extends to the end; the parser stops there, too."""


def read_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError or RecursionError for invalid TOML and for a key with too many parts."""
    import tomllib

    if any(line.count(".") > MAX_KEY_PARTS for line in text.split("\n")):
        _check_keys(text)
    return tomllib.loads(text)


def _check_keys(text: str) -> None:
    n_parts = 0
    was_dot = False
    for piece in _PIECE.findall(text):
        if piece[0] in " \t":
            continue
        if piece == ".":
            was_dot = True
            continue
        is_part = piece[0].isalnum() or piece[0] in "\"'_-"
        n_parts = (n_parts + 1 if was_dot else 1) if is_part else 0
        was_dot = False
        if n_parts > MAX_KEY_PARTS:
            raise ValueError(f"a key has more than {MAX_KEY_PARTS} parts separated by dots")


_STRING = r'"(?:[^"\\\n]|\\.)*+"?'

_JSON_COMMENT = re.compile(_STRING + r"|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
"""Strings and comments of JSON; an unclosed one extends to the end of the line, or of the text."""

_LAST_COMMA = re.compile(_STRING + r"|,(?=\s*+[}\]])", re.DOTALL)
"""Strings of JSON, and commas before a closing bracket."""


def read_json_with_comments(text: str) -> object:
    """Parse JSON in which comments and trailing commas are allowed. Raises ValueError or RecursionError."""
    import json

    text = _JSON_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    return json.loads(_LAST_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else "", text))


MAX_FLOW_NESTING = 100
"""Maximum nesting of brackets and braces in YAML: far more than any settings need."""


def read_yaml(text: str | bytes) -> list[object]:
    """Parse the YAML documents in a text. Raises ValueError or RecursionError for invalid YAML and for too much of
    it.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        flow_level: int

        def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 - PyYAML's name
            if self.flow_level >= MAX_FLOW_NESTING:  # the scanner's time grows with the square of it
                raise yaml.YAMLError(f"its brackets are nested deeper than {MAX_FLOW_NESTING}")
            super().fetch_flow_collection_start(TokenClass)  # pyright: ignore[reportUnknownMemberType]

    found: list[object] = []
    try:
        loader: Any = Loader(text)
        while loader.check_node():
            node = loader.get_node()
            if _size(node, {}) > MAX_VALUES:
                raise ValueError(f"its aliases expand to more than {MAX_VALUES:,} values")
            found.append(loader.construct_document(node))
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except (LookupError, AttributeError) as error:  # as in `!!bool maybe`, which PyYAML does not check
        raise ValueError(f"a value does not fit its tag: {error}") from None
    return found


def _size(node: Any, known: dict[int, int]) -> int:
    """Count the values in a node, with aliases expanded; a node that contains itself counts as one within itself."""
    if isinstance(node.value, str):
        return 1
    size = known.get(id(node))
    if size is None:
        known[id(node)] = 1
        is_table = bool(node.value) and isinstance(node.value[0], tuple)
        parts: list[Any] = list(chain.from_iterable(node.value)) if is_table else node.value
        size = 1 + sum(_size(part, known) for part in parts)
        known[id(node)] = size
    return size
