"""YAML of strangers, read as plain values. Imports the parser only if something is read."""

from __future__ import annotations

from itertools import chain
from typing import Any

MAX_VALUES = 20_000
"""Values of a document once each alias is replaced by what it stands for. Ten lines of aliases can stand for billions,
which merge keys, and whatever walks through the values, would make."""


def read_yaml(text: str | bytes) -> list[object]:
    """The documents in a text. Raises ValueError or RecursionError for what is no YAML, and for what is too large."""
    import yaml

    found: list[object] = []
    try:
        loader: Any = yaml.SafeLoader(text)
        while loader.check_node():
            node = loader.get_node()
            if _size(node, {}) > MAX_VALUES:
                raise ValueError(f"its aliases stand for more than {MAX_VALUES:,} values")
            found.append(loader.construct_document(node))
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    return found


def _size(node: Any, known: dict[int, int]) -> int:
    """Values in a node, those of an alias counted each time; a node that holds itself counts as one within itself."""
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
