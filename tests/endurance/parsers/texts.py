"""Texts of users and models: command lines, patches, secrets, chat documents, notebooks, rules."""

from __future__ import annotations

import asyncio
import difflib
import io
import json
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any
from zlib import crc32

from pygent_ls.agent.rules import globs, rule
from pygent_ls.agent.rules.matcher import allows, concerns
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.editors.lsp.chat_document.document import escaped_prompt, read_document
from pygent_ls.errors import SettingError, ToolError
from pygent_ls.llm.offline import grammar
from pygent_ls.secrets.env_files import secret_values
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.log_mask import redacted
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.secrets.stream import LiveRedactor
from pygent_ls.sessions.index.query import indexed, query_of
from pygent_ls.sessions.turns.mentions import mentions_in
from pygent_ls.shell.parser import read_line
from pygent_ls.shell.strict_grammar import read_strictly
from pygent_ls.tools.files.hunks import apply_hunks
from pygent_ls.tools.files.replacement import replace
from pygent_ls.tools.files.unified_diff import parse_patch
from pygent_ls.tools.notebooks.notebook_text import Notebook
from pygent_ls.tools.tests.reports import read_cargo, read_go, read_javascript, read_pytest, read_unittest
from pygent_ls.workspace.files.document_text import decode
from tests.endurance.parsers.target import Target, json_text_of, pieces_of, sized, text_of

# Command lines


def shell(data: bytes) -> None:
    """Any line is read; a line that the strict grammar takes is also understood by the lenient one, and by bash."""
    given = json_text_of(data)
    read_line.__wrapped__(given)
    strict = read_strictly(given)
    allows(RULES, [given])
    for each in RULES:
        concerns(each, [given])
    if strict is not None and "\0" not in given and _is_first(given):
        bash = subprocess.run(["bash", "-n"], input=given.encode(), capture_output=True, check=False, env={})
        assert bash.returncode == 0, bash.stderr


RULES = [Rule(text=f"shell({each})", decision="allow", origin="user") for each in ("git status", "git:*", "rm:*")]

_N_BASH = 50
"""One line of so many is checked by a bash, which takes a thousand times as long as our parser."""


def _is_first(text: str) -> bool:
    return crc32(text.encode()) % _N_BASH == 0 or len(text) < 3


# Patches and edits


def patches(data: bytes) -> None:
    """Any text is a patch or a `ToolError`, and a patch applies or is a `ToolError`."""
    given, _, text = text_of(data).partition("\0")
    try:
        for each in parse_patch(given):
            apply_hunks(text, each.hunks, "x")
    except ToolError:
        return


def differences(data: bytes) -> None:
    """A difference that `difflib` writes makes the new text of the old one."""
    old, _, new = text_of(data).partition("\0")
    if "\r" in old + new or not old or not new or old == new:
        return
    before, after = (io.StringIO(each).readlines() for each in (old, new))
    if not (before[-1].endswith("\n") and after[-1].endswith("\n")):
        return
    patch = "".join(difflib.unified_diff(before, after, "a/x", "b/x", n=2))
    (file,) = parse_patch(patch)
    assert apply_hunks(old, file.hunks, "x").text == new


def edits(data: bytes) -> None:
    """A replaced text is that of `str.replace`, or the tool says why not."""
    text, _, rest = text_of(data).partition("\0")
    old, _, new = rest.partition("\0")
    try:
        made = replace(text, old, new, name="x", every=True)
    except ToolError:
        return
    if "\r" not in text + old + new:
        assert made.text == text.replace(old, new)


# Secrets


def secrets(data: bytes) -> None:
    """Found secrets are places of the text, and what masks them can be undone."""
    given = text_of(data[1:])
    path = (None, ".env", "a.py", "x.diff")[data[0] % 4 if data else 0]
    for finding in find_secrets(given, path):
        assert 0 <= finding.start < finding.end <= len(given)
    for value in secret_values(given):
        assert 0 <= value.start <= value.end <= len(given)
    redacted(given)
    if "SECRET_" not in given:
        redactor = Redactor(find_secrets, key=b"k" * 32)
        masked = _run(redactor.redact, given[:1_000], path)
        assert redactor.restore(masked) == (given[:1_000], ())


def live_secrets(data: bytes) -> None:
    """What is masked in pieces is the text with placeholders, and shows no more than what is masked at once."""
    size, data = sized(data)
    given = text_of(data[1:])[:1_000]
    path = (None, ".env", "a.py", "x.diff")[data[0] % 4 if data else 0]
    if "SECRET_" in given:
        return
    redactor = Redactor(find_secrets, key=b"k" * 32)

    async def live() -> str:
        reader = LiveRedactor(redactor, path)
        shown = [await reader.feed(piece) for piece in pieces_of(given, size)]
        return "".join([*shown, await reader.close()])

    assert redactor.restore(asyncio_run(live))[0] == given


def _run(function: Callable[..., Any], *arguments: Any) -> Any:
    return asyncio_run(lambda: function(*arguments))


def asyncio_run(begin: Callable[[], Any]) -> Any:
    """Run a coroutine in a loop that stays."""
    return _runner().run(begin())


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


# Documents


def chats(data: bytes) -> None:
    """Sections of a chat document are places of the text; an escaped prompt is read as one section, as it was."""
    given = json_text_of(data)
    document = read_document(given)
    assert all(0 <= each.heading <= each.start <= each.end <= len(given) for each in document.sections)
    assert [each.line for each in document.sections] == sorted({each.line for each in document.sections})
    asked = read_document(f"## You\n\n{escaped_prompt(given)}\n\n## pygent\n\nok\n")
    assert [each.role for each in asked.sections] == ["user", "assistant"]
    again = read_document(f"## You\n\n{escaped_prompt(asked.sections[0].said)}\n\n## pygent\n\nok\n")
    assert again.sections[0].said == asked.sections[0].said


def notebooks(data: bytes) -> None:
    """A text is a notebook or a `ToolError`; an edit of a notebook changes what it is about and nothing else."""
    given = json_text_of(data)
    try:
        notebook = Notebook(given)
    except ToolError:
        return
    expected = json.loads(given.lstrip("\ufeff"))
    assert [dict(cell.value) for cell in notebook.cells] == expected["cells"]
    for wanted in ("1", "9" * 5_000, "a", given[:10]):
        try:
            cell = notebook.cell(wanted)
        except ToolError:
            continue
        after = json.loads(notebook.with_source(cell, "x\ny").lstrip("\ufeff"))
        at = cell.number - 1
        source = after["cells"][at].pop("source")
        assert "".join(source) == "x\ny"
        left = {key: value for key, value in expected["cells"][at].items() if key != "source"}
        assert after == {**expected, "cells": [*expected["cells"][:at], left, *expected["cells"][at + 1 :]]}
        without = json.loads(notebook.without(cell).lstrip("\ufeff"))
        assert without["cells"] == [*expected["cells"][:at], *expected["cells"][at + 1 :]]
    added = json.loads(notebook.with_new_cell(None, "code", "z").lstrip("\ufeff"))
    assert added["cells"][1:] == expected["cells"]


def files(data: bytes) -> None:
    """A file is a text or not; its text has its bytes."""
    found = decode(data)
    if found is not None:
        text, encoding = found
        assert encoding.encode(text) == data


# Rules, prompts, reports


def rules(data: bytes) -> None:
    """A rule is a pattern or a `SettingError`; a glob escapes to itself."""
    given = text_of(data)
    with suppress(SettingError):
        rule.parse.__wrapped__(given)
    pattern, _, path = given.partition("\0")
    globs.compiled.__wrapped__(pattern).fullmatch(path)
    assert globs.compiled.__wrapped__(globs.escape(given)).fullmatch(given)
    globs.literal_prefix(pattern)


def prompts(data: bytes) -> None:
    """Any prompt may hold mentions, and can be searched for."""
    given = json_text_of(data)
    for mention in mentions_in(given):
        assert mention is not None
    indexed(given)
    query_of(given)
    grammar.parse(given)


def reports(data: bytes) -> None:
    """The output of any test runner is a report."""
    given = text_of(data)
    for read in (read_pytest, read_unittest, read_cargo, read_go, read_javascript):
        assert read(given) is not None


PATCH = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ f\n a\n-b\n+c\n\\ No newline at end of file\n\0a\nb\n"
NOTEBOOK = (
    b'{\n "cells": [\n  {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "source": ["x\\n", "y"]},\n'
    b'  {"cell_type": "markdown", "metadata": {}, "source": "z"}\n ],\n "metadata": {}, "nbformat": 4, '
    b'"nbformat_minor": 5}\n'
)

TARGETS: Mapping[str, Target] = {
    "shell": Target(
        shell,
        [
            b"cd /a && git -C . status | grep -v 'x y' > \"$HOME/b\" 2>&1; echo $(rm -rf `pwd`)",
            b"for x in a{b,c}; do case $x in (a) ;; esac; done <<E\nb\nE\n[[ -f ~ ]] && env -S 'bash -c \"rm x\"' \\\n",
            b"sudo -u a timeout 5 xargs -I{} sh -c $'\\x72m {}' <(awk '{print $1}') ${a:-b} $((1)) b+=(c) f() { x; }",
        ],
    ),
    "patches": Target(
        patches,
        [
            PATCH,
            b"```diff\n--- /dev/null\n+++ b/n\n@@\n+a\n```",
            b'diff --git "a/\\303\\244" b/x\nrename from a\nrename to b\nnew file mode 100755\n',
            b"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        ],
    ),
    "differences": Target(differences, [b"a\nb\nc\n\0a\nx\nc\n", b"--- a\n+++ b\n\0-- a\n\n"]),
    "edits": Target(edits, [b"a b c\0b\0d", b"a\r\nb\r\n\0a\nb\0c", b"  x\n  y\n\0x\ny\0z"]),
    "secrets": Target(
        secrets,
        [
            b"\x01export API_KEY='sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD' # x\nPASSWORD=\"a\nb\"\n",
            b"\x00https://user:hunter22@host/x AKIAIOSFODNN7EXAMPLQ eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x",
            b"\x03+TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789\n-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n"
            b"-----END RSA PRIVATE KEY-----\n",
        ],
    ),
    "live_secrets": Target(
        live_secrets,
        [
            b"\x02\x01API_KEY='sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD'\nPASSWORD=\"a\nb\"\n",
            b"\x07\x03--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-A_KEY=x8f7Q2mmPz\n+A_KEY=y8f7Q2mmPz\n",
        ],
    ),
    "chats": Target(
        chats, [b"# a\n\n## You\n\nb\n\n```\n## You\n```\n\n## pygent\n\n> read: x\n*pygent: y*\n\n## You\n"]
    ),
    "notebooks": Target(notebooks, [NOTEBOOK, NOTEBOOK.replace(b"\n", b""), NOTEBOOK.replace(b"\n", b"\r\n")]),
    "files": Target(files, [b"a\r\nb", b"\xef\xbb\xbfa", b"\xff\xfea\0", b"\xe9"]),
    "rules": Target(
        rules, [b"shell(git status:*)\0a", b"edit_file(src/**/*.p[y]?)\0src/a/b.py", b"web_fetch(domain:a.b)"]
    ),
    "prompts": Target(prompts, [b'read @a.py#L1-L2 and @"b c" @diff, https://x.y/z). read file a', b"/x 'y' -z"]),
    "reports": Target(
        reports,
        [
            b"FAILED a.py::b - AssertionError: x\n=== 1 failed, 2 passed in 0.1s ===\n",
            b"FAIL: a (b.c)\n----\nTraceback\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n",
            b"---- a::b stdout ----\npanicked\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n",
            b"--- FAIL: TestA (0.00s)\n    a_test.go:1: x\nFAIL\ta\t0.1s\nok  \tb\t0.1s\n",
            b"  1 passing\n  1 failing\n\n  1) a\n       b:\n     Error: x\nTests: 1 failed, 2 passed, 3 total\n",
        ],
    ),
}
