"""What works on a stranger's text takes ten times as long for ten times the text, whatever the text is.

Each function is given texts of one repeated fragment, and those that are the slowest ten and a hundred times as long.
The profile `nightly` tries them all at each length, and mixtures.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest
from hypothesis import settings

from pygent_ls.agent.context.conversation_text import fenced
from pygent_ls.agent.context.untrusted_text import unmarked
from pygent_ls.agent.display_text import in_full, on_one_line, whole_on_one_line
from pygent_ls.agent.edits.diffs import unified_diff
from pygent_ls.agent.tools.arguments import parse_arguments
from pygent_ls.editors.lsp.chat_document.document import escaped_prompt, read_document
from pygent_ls.editors.lsp.commands.comment_requests import comment_requests
from pygent_ls.editors.terminal.text import harmless
from pygent_ls.errors import PygentError
from pygent_ls.llm.cli.output import Cleaner, without_escapes
from pygent_ls.llm.errors.model_errors import _detail  # pyright: ignore[reportPrivateUsage]
from pygent_ls.llm.openai.think_tags import ThinkTags
from pygent_ls.llm.text_tools.blocks import ToolBlocks
from pygent_ls.secrets.env_files import secret_values
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.log_mask import redacted
from pygent_ls.sessions.export.markdown_html import markdown_html
from pygent_ls.sessions.index.query import indexed, query_of
from pygent_ls.sessions.titles import name_of
from pygent_ls.sessions.turns.mentions import mentions_in
from pygent_ls.tools.files.hunks import apply_hunks
from pygent_ls.tools.files.near_matches import explain_missing
from pygent_ls.tools.files.replacement import replace
from pygent_ls.tools.files.unified_diff import parse_patch
from pygent_ls.tools.git.program import without_secrets
from pygent_ls.tools.tests.reports import read_cargo, read_go, read_javascript, read_pytest, read_unittest
from pygent_ls.workspace.files.document_text import decode
from pygent_ls.workspace.files.paths import Folders
from tests.editors.lsp.conversation.story import called, events, progress, reducer, started, text_delta
from tests.house.growth import EndlessError, grows_too_fast, seconds
from tests.house.patterns import FRAGMENTS, repeating

IN_PIECES = 7
"""Characters of a piece of what a model says."""


def fed(reader: ThinkTags | ToolBlocks, text: str) -> None:
    for at in range(0, len(text), IN_PIECES):
        list(reader.feed(text[at : at + IN_PIECES]))
    list(reader.close())


def cleaned(text: str) -> None:
    cleaner = Cleaner()
    for at in range(0, len(text), IN_PIECES):
        cleaner.feed(text[at : at + IN_PIECES])
    cleaner.close()


def streamed(text: str) -> None:
    """A text of the model, and the live output of a call, each piece sent to a client by itself."""
    pieces = [text[at : at + IN_PIECES] for at in range(0, len(text), IN_PIECES)]
    told = [started(), called(), *map(text_delta, pieces), *map(progress, pieces)]
    stream = reducer()
    for each in events(*told):
        stream.after([each])


def patched(text: str) -> None:
    for patch in parse_patch(f"--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-{text}\n+b\n"):
        apply_hunks(f"a\n{text}\nb\n", patch.hunks, "x")


def not_patched(text: str) -> None:
    """A hunk that stands nowhere, although what it adds nearly does."""
    body = "-b\n" + "".join(f"+{line}\n" for line in text.split("\n"))
    for patch in parse_patch(f"--- a/x\n+++ b/x\n@@\n{body}+b\n"):
        apply_hunks(f"{text}\n{text}\n", patch.hunks, "x")


FUNCTIONS: Mapping[str, Callable[[str], object]] = {
    "a model's arguments": lambda text: parse_arguments('{"a": "' + text),
    "arguments in a fence": lambda text: parse_arguments("```json\n" + text),
    "a model's answer with think tags": lambda text: fed(ThinkTags(), f"<think>{text}"),
    "a model's answer with calls": lambda text: fed(ToolBlocks(["x"]), f"```tool\n{text}"),
    "a model's answer with calls, in one piece": lambda text: ToolBlocks(["x"]).feed(f"```tool\n{text}\n```\n{text}"),
    "a model's answer with JSON": lambda text: fed(ToolBlocks(["x"]), f'```json\n{{"name": "x", "input": "{text}'),
    "a model's answer without calls": lambda text: fed(ToolBlocks(["x"]), text),
    "a conversation that is streamed": streamed,
    "a provider's error": lambda text: _detail([ValueError(text)], ["key"]),
    "a program's escapes": without_escapes,
    "a program's output": cleaned,
    "a program's output with an escape": lambda text: cleaned(f"\x1b[{text}"),
    "a diff of a new text": lambda text: unified_diff(text, f"x{text}", "a"),
    "a diff of lines in another order": lambda text: unified_diff(
        "\n".join(sorted(text.split(), reverse=True)), text, "a"
    ),
    "a patch": patched,
    "a patch that does not apply": not_patched,
    "a path": lambda text: Folders.of(["/"]).resolve(text),
    "an edit": lambda text: replace(f"{text}\nx\n{text}", "\nx\n", "y", name="a", every=True),
    "an edit of what is not there": lambda text: explain_missing(text, f"{text[:500]}x"),
    "a long edit of what is not there": lambda text: explain_missing(text, f"{text}x"),
    "a question": in_full,
    "a question on one line": on_one_line,
    "a question of trust": whole_on_one_line,
    "a fenced text": lambda text: fenced(text, "text"),
    "marks of untrusted text": unmarked,
    "a document of a chat": read_document,
    "a prompt in a document of a chat": escaped_prompt,
    "comments": lambda text: list(comment_requests("file:///a.py", text)),
    "text on a terminal": harmless,
    "a line of the log": redacted,
    "a session's name": name_of,
    "a session's words": indexed,
    "a search": query_of,
    "a session's page": markdown_html,
    "mentions": mentions_in,
    "git's output": without_secrets,
    "pytest's output": lambda text: read_pytest(f"{text}\n1 failed in 1s"),
    "unittest's output": lambda text: read_unittest(f"{text}\nRan 1 test in 1s\n"),
    "cargo's output": lambda text: read_cargo(f"{text}\ntest result: ok. 1 passed; 0 failed; 0 ignored\n"),
    "go's output": lambda text: read_go(f"{text}\n--- FAIL: a\n"),
    "a JavaScript runner's output": lambda text: read_javascript(f"{text}\nTests: 1 failed, 1 total\n"),
    "a file": lambda text: decode(text.encode("utf-8", "replace")),
    "a file of variables": lambda text: list(secret_values(f"KEY={text}\n{text}")),
    "secrets": lambda text: list(find_secrets(text, None)),
    "secrets of a file of variables": lambda text: list(find_secrets(text, ".env")),
}

OF_RUNNERS = (
    *("=== RUN   a\n", "--- FAIL: a/b\n", "    --- FAIL: a\n", "FAIL\ta [b]\n", "---- a stdout ----\n"),
    *("=" * 70 + "\nFAIL: a\n", "-" * 70 + "\n", "___ a ___\n", "FAILED a - b\n", "  1 passing\n", "  1) a\n"),
)
OF_FILES = ("a b\n", "- a\n", "@@ -1 +1 @@\n", "A=1\n", 'A="', "BEGIN RSA PRIVATE KEY-----\n", "eyJ", "sk-", "AKIA")
ALL = (*FRAGMENTS, *OF_RUNNERS, *OF_FILES)

MANY = 0 if settings.get_current_profile_name() == "ci" else 100
"""Number of random texts."""

SHORT, FLOOR_S = 10_000 if MANY else 1_000, 0.02


def texts() -> list[Callable[[int], str]]:
    mixed = random.Random(MANY)
    pairs = ("".join(mixed.choices(ALL, k=mixed.randint(2, 4))) for _ in range(MANY))
    return [repeating("", each, "") for each in (*ALL, *pairs)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ten_times_the_text_takes_about_ten_times_as_long(name: str) -> None:
    def run(text: str) -> None:
        with suppress(PygentError, ValueError):
            FUNCTIONS[name](text)

    def cost(make: Callable[[int], str]) -> float:
        try:
            return seconds(run, make(SHORT), n_runs=1)
        except EndlessError:
            return float("inf")

    run("a")  # what is imported with the first text
    slowest = sorted(texts(), key=cost, reverse=True)

    for make in slowest if MANY else slowest[:3]:
        assert not grows_too_fast(run, make, length=SHORT, times=10, floor_s=FLOOR_S), repr(make(20))
    for make in slowest[:10] if MANY else slowest[:1]:
        assert not grows_too_fast(run, make, length=SHORT * 10, times=10, floor_s=FLOOR_S), repr(make(20))
