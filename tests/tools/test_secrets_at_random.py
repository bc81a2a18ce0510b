"""Secrets of each kind, at random places of random texts, behind every window that a tool cuts: no piece is shown."""

from __future__ import annotations

import random
import string
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import with_parts
from tests.tools.masked_bench import MaskedBench, shows

LETTERS = string.ascii_letters + string.digits


def _letters(seed: int, count: int, alphabet: str = LETTERS) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=count))


def _pem(seed: int) -> str:
    lines = [_letters(seed + n, 64) for n in range(8)]
    return "\n".join(["", "-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----", ""])


KINDS: Mapping[str, Callable[[int], str]] = {
    "anthropic": lambda seed: "sk-ant-api03-" + _letters(seed, 93),
    "github": lambda seed: "ghp_" + _letters(seed, 36),
    "aws": lambda seed: "AKIA" + _letters(seed, 16, string.ascii_uppercase + "234567"),
    "slack": lambda seed: f"xoxb-123456789012-123456789012-{_letters(seed, 24)}",
    "long": lambda seed: "sk-proj-" + _letters(seed, 3_000),
    "pem": _pem,
}
"""Secrets of a seed by kind. Their prefixes name the kind, and do not count as pieces of them."""

N_TELLING = 13

fillings = st.tuples(st.sampled_from(["x", "word ", "a.b;", "=", '"', "ä"]), st.integers(0, 2_300)).map(
    lambda drawn: drawn[0] * (drawn[1] // len(drawn[0]))
)
secrets = st.tuples(st.sampled_from(sorted(KINDS)), st.integers(0, 10_000))
texts = st.lists(st.tuples(fillings, secrets, st.sampled_from([" ", "\n", ' "', "\n# "])), min_size=1, max_size=4)


@given(text=texts, is_env=st.booleans(), first=st.integers(1, 12), limit=st.integers(500, 9_000))
async def test_no_window_of_any_tool_shows_a_piece_of_a_secret(
    text: list[tuple[str, tuple[str, int], str]], is_env: bool, first: int, limit: int
) -> None:
    made = [KINDS[kind](seed) for _, (kind, seed), _ in text]
    parts = [f"{filling}{apart}{secret}{apart[::-1]}" for (filling, _, apart), secret in zip(text, made, strict=True)]
    body = "".join(parts) + "\nthe end\n"
    with tempfile.TemporaryDirectory() as folder:
        bench = MaskedBench(Path(folder))
        bench.services = with_parts(bench.services, max_tool_result_chars=limit)
        name = "a.env" if is_env else "a.txt"
        bench.write(name, f"VALUE={body}" if is_env else body)

        said = [
            await bench.call("grep_search", pattern="a|e|x|=", max_results=5),
            await bench.call("grep_search", pattern="end", context_lines=first),
            await bench.call("read_file", path=name, start_line=first),
            await bench.call("read_file", path=name),
            await bench.call("edit_file", path=name, old=body[: 2 * first] + "?", new="b"),
            await bench.call("shell", command=f"cat {name} {name}; head -c 250000 /dev/zero | tr '\\0' x; cat {name}"),
        ]

        for result in (*said, bench.told()):
            assert shows(result, *(_after_what_tells(each) for each in made)) == []


def _after_what_tells(secret: str) -> str:
    return secret[N_TELLING:] if "\n" not in secret else "\n".join(secret.splitlines()[2:-1])
