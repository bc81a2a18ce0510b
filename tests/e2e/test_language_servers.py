"""Language servers that the daemon starts, real ones: pyright and ruff, through a real daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from lsprotocol import types

from tests.e2e.command_line import clean_environment, run, script, tool
from tests.e2e.lsp_client import CAPABILITIES, WAIT_S, EditorClient, editor_client
from tests.e2e.raw import RawClient, raw_client
from tests.e2e.test_mcp import have_ended

BIN = Path(sys.executable).parent

PYRIGHT = f"""
[language_servers.pyright]
command = [{json.dumps(str(BIN / "pyright-langserver"))}, "--stdio"]
files = ["*.py"]
"""

RUFF = f"""
[language_servers.ruff]
command = [{json.dumps(str(BIN / "ruff"))}, "server"]
files = ["*.py"]
"""

SHAPES = "def area(width: int, height: int) -> int:\n    return width * height\n"

MAIN = 'from shapes import area\n\nprint(area(2, "3"))\n'
"""A program with one problem."""

LONG = {"PYGENT_EDITS_DIAGNOSTICS_WAIT_S": "40"}
"""Time for servers that start while many tests run."""


@pytest.fixture
def home(folder: Path) -> Path:
    """The user's settings folder."""
    made = folder.parent / "home" / ".config" / "pygent-ls"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def code(folder: Path) -> Path:
    """A project of two modules."""
    (folder / "shapes.py").write_text(SHAPES)
    (folder / "main.py").write_text(MAIN)
    return folder


async def play(folder: Path, editor: EditorClient, *lines: dict[str, Any], mode: str = "trust") -> dict[str, Any]:
    """One turn of a scripted model that makes these calls."""
    model = script(folder.parent, *lines, {"text": "done"})
    return await editor.turn("go", model=model, mode=mode)


async def test_an_edit_reports_the_problems_that_it_has_brought_and_no_older_ones(code: Path, home: Path) -> None:
    (home / "config.toml").write_text(PYRIGHT + RUFF)
    async with editor_client(code, LONG) as editor:
        uri = editor.documents.open(code / "main.py")
        editor.documents.insert(uri, "print", "# typed, not saved\n")
        await play(
            code,
            editor,
            tool(
                "edit_file",
                path="main.py",
                old="from shapes import area\n",
                new="import os\n\nfrom shapes import area\n",
            ),
            tool("edit_file", path="main.py", old="import os\n\n", new=""),
            tool("edit_file", path="main.py", old="area(2,", new="area(2, 4,"),
            tool("create_file", path="new.py", content="x: int = 'text'\n"),
        )
        first, second, third, fourth = [text for _, text in editor.results()]

    assert "1 new problem in main.py after this edit:\n  1:8 warning: `os` imported but unused" in first
    assert "reportArgumentType" not in first
    assert "problem" not in second
    assert "reportCallIssue" in third
    assert "1 new problem in new.py after this edit:\n  1:10 error: " in fourth


async def test_a_rename_is_one_edit_of_all_files_and_one_question(code: Path, home: Path) -> None:
    (home / "config.toml").write_text(PYRIGHT)
    (code / "third.py").write_text("import shapes\n\nshapes.area(1, 2)\n")
    async with editor_client(code, {}) as editor:
        uri = editor.documents.open(code / "main.py")
        editor.documents.insert(uri, "print", "area(4, 5)  # \U0001f600 not saved\n")
        renaming = tool("rename_symbol", path="shapes.py", symbol="area", line=1, new_name="surface")
        await play(code, editor, renaming, mode="default")
        [(is_good, said)] = editor.results()
        after = editor.documents.text(uri)
        await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.undo", "arguments": []})

    assert is_good, said
    assert said.splitlines()[0] == "Renamed area to surface in 3 files:"
    assert after == ('from shapes import surface\n\nsurface(4, 5)  # \U0001f600 not saved\nprint(surface(2, "3"))\n')
    assert len(editor.prompts) == 1
    assert len(editor.applied) == 2  # the edit, and its undo
    assert "area(4, 5)" in editor.documents.text(uri)
    assert (code / "third.py").read_text() == "import shapes\n\nshapes.area(1, 2)\n"


async def test_code_is_looked_up_by_line_and_name(code: Path, home: Path) -> None:
    (home / "config.toml").write_text(PYRIGHT + '[permissions]\ndeny = ["read_file(secret.py)"]\n')
    (code / "secret.py").write_text("from shapes import area\n\narea(7, 7)\nKEY = 'plum'\n")
    (code / "user.py").write_text("import secret\nprint(secret.KEY)\n")
    look = "code_navigation"
    async with editor_client(code, {}) as editor:
        await play(
            code,
            editor,
            tool(look, operation="definition", path="main.py", line=3, symbol="area"),
            tool(look, operation="references", path="shapes.py", symbol="area"),
            tool(look, operation="hover", path="main.py", line=3, symbol="area"),
            tool(look, operation="document_symbols", path="shapes.py"),
            tool(look, operation="workspace_symbols", symbol="area"),
            tool(look, operation="incoming_calls", path="shapes.py", symbol="area"),
            tool(look, operation="definition", path="main.py", line=3, symbol="print"),
            tool(look, operation="definition", path="main.py", line=30, symbol="area"),
            tool(look, operation="hover", path="secret.py", symbol="area"),
            tool(look, operation="hover", path="user.py", line=2, symbol="KEY"),
            tool(look, operation="hover", path="main.py", line=1, symbol="from"),
        )
        results = editor.results()

    definition, references, hover, symbols, found, calls, outside, wrong_line, denied, hidden, unknown = [
        text for _, text in results
    ]
    assert definition == f"shapes.py:1: {SHAPES.splitlines()[0]}"
    assert references.splitlines()[:3] == [
        "main.py:1: from shapes import area",
        'main.py:3: print(area(2, "3"))',
        f"shapes.py:1: {SHAPES.splitlines()[0]}",
    ]
    assert "secret.py" not in references
    assert "left out" in references
    assert "width: int" in hover
    assert symbols == "1: function area\n  1: variable width\n  1: variable height"
    assert found.startswith("shapes.py:1: function area")
    assert 'called at main.py:3: print(area(2, "3"))' in calls
    assert "builtins.pyi:" in outside
    assert "def print" not in outside  # a file outside of the workspace is only named
    assert wrong_line == "Error: area does not occur in line 30 of main.py. It occurs in line 1, 3."
    assert hidden == "Error: A permission rule prevents the file that defines this from being read."
    assert denied.startswith("Error: The permission rule read_file(secret.py)")
    assert unknown.startswith("Error: The language server does not say which file defines from")


async def test_a_code_action_is_applied_as_an_edit(code: Path, home: Path) -> None:
    (home / "config.toml").write_text(RUFF)
    (code / "main.py").write_text("import os\nimport sys\n\nprint(sys.argv)\n")
    async with editor_client(code, {}) as editor:
        await play(
            code,
            editor,
            tool("code_actions", path="main.py", line=1),
            tool("apply_code_action", path="main.py", line=1, title="Ruff (F401): Remove unused import: `os`"),
            tool("apply_code_action", path="main.py", line=1, title="Make it better"),
        )
        listed, applied, unknown = [text for _, text in editor.results()]

    assert "- Ruff (F401): Remove unused import: `os` [quickfix]" in listed
    assert applied.startswith("Applied Ruff (F401): Remove unused import: `os` in 1 file:")
    assert (code / "main.py").read_text() == "import sys\n\nprint(sys.argv)\n"
    assert unknown.startswith("Error: No code action is titled 'Make it better' there. Offered: ")


async def test_a_text_is_formatted_before_its_diff_is_shown(code: Path, home: Path) -> None:
    (home / "config.toml").write_text(RUFF + '[edits]\nformat = "on"\n')
    (code / "ugly.py").write_text("x   =  1\ny = 2\n")
    async with editor_client(code, LONG) as editor:
        await play(
            code,
            editor,
            tool("edit_file", path="shapes.py", old="width * height", new="width  *  height*2"),
            tool("edit_file", path="ugly.py", old="y = 2", new="y   =  3"),
            mode="default",
        )
        (_, tidy), (_, left) = editor.results()
        asked = editor.prompts[0].message
        texts = [(code / name).read_text() for name in ("shapes.py", "ugly.py")]

    assert texts == [SHAPES.replace("height\n", "height * 2\n"), "x   =  1\ny   =  3\n"]
    assert "+    return width * height * 2" in asked
    assert "The formatter has changed your text of shapes.py" in tidy
    assert "formatter" not in left


class WrittenFormatter:
    """ruff, as an editor that formats only the text that a document has."""

    def __init__(self, editor: EditorClient) -> None:
        self.editor = editor
        self.when_asked: Callable[[str, str], None] = lambda _uri, _text: None

        @editor.client.feature("pygent/client/format")
        def answer(params: Any) -> Any:
            return {"result": self.formatted(params["uri"], params["text"])}

        _ = answer

    def formatted(self, uri: str, text: str) -> str | None:
        held = self.editor.documents.open_documents.get(uri)
        if text != (held.text if held else Path(unquote(urlsplit(uri).path)).read_text()):
            return None
        self.when_asked(uri, text)
        given = [BIN / "ruff", "format", "-"]
        done = subprocess.run(given, input=text, capture_output=True, text=True, check=True, timeout=WAIT_S)
        return done.stdout


@asynccontextmanager
async def with_written_formatter(code: Path) -> AsyncGenerator[tuple[EditorClient, WrittenFormatter]]:
    capabilities = types.ClientCapabilities(
        workspace=CAPABILITIES.workspace,
        general=CAPABILITIES.general,
        experimental={"pygent": {"languageFeatures": ["formatWritten"], "pendingReview": True}},
    )
    environment = {"PYGENT_EDITS_FORMAT": "on", "PYGENT_EDITS_DIAGNOSTICS_WAIT_S": "0"}
    async with editor_client(code, environment, capabilities=capabilities) as editor:
        yield editor, WrittenFormatter(editor)


WIDE = tool("edit_file", path="shapes.py", old="width * height", new="width  *  height*2")

FORMATTED = SHAPES.replace("height\n", "height * 2\n")


async def test_an_editor_that_formats_only_what_is_written_formats_before_the_review(code: Path) -> None:
    (code / "ugly.py").write_text("x   =  1\ny = 2\n")
    async with with_written_formatter(code) as (editor, _):
        uri = editor.documents.open(code / "shapes.py")
        ended = await play(
            code,
            editor,
            WIDE,
            tool("edit_file", path="ugly.py", old="y = 2", new="y   =  3"),
            tool("create_file", path="new.py", content="z   =  1\n"),
        )
        (_, tidy), (_, left), (_, new) = editor.results()
        [hunk] = editor.pending[uri]["hunks"]
        texts = [editor.documents.text(uri), *((code / name).read_text() for name in ("ugly.py", "new.py"))]
        [change] = [each for each in ended["filesChanged"] if each["uri"] == uri]
        await editor.ask("pygent/review/reject", {"uri": uri, "hunkIds": [hunk["hunkId"]]})
        rejected = editor.documents.text(uri)

    assert texts == [FORMATTED, "x   =  1\ny   =  3\n", "z = 1\n"]
    assert "The formatter has changed your text of shapes.py:" in tidy
    assert "+    return width * height * 2" in tidy
    assert "formatter" not in left
    assert "The formatter has changed your text of new.py:" in new
    assert (change["added"], change["removed"]) == (1, 1)
    assert rejected == SHAPES


async def test_what_is_typed_while_an_edit_is_formatted_stays(code: Path) -> None:
    async with with_written_formatter(code) as (editor, formatter):
        uri = editor.documents.open(code / "shapes.py")

        def type_after_the_edit(where: str, text: str) -> None:
            if "height*2" in text:
                editor.documents.insert(where, "def", "# typed\n")

        formatter.when_asked = type_after_the_edit
        await play(code, editor, WIDE)
        [(is_made, said)] = editor.results()
        text = editor.documents.text(uri)

    assert (is_made, text) == (True, "# typed\n" + SHAPES.replace("width * height", "width  *  height*2"))
    assert "formatter" not in said


async def test_an_undo_takes_back_the_edit_and_its_formatting(code: Path) -> None:
    async with with_written_formatter(code) as (editor, _):
        uri = editor.documents.open(code / "shapes.py")
        ended = await play(code, editor, WIDE)
        formatted = editor.documents.text(uri)
        await editor.turn("/undo", sessionId=ended["sessionId"])
        undone = editor.documents.text(uri)

    assert (formatted, undone) == (FORMATTED, SHAPES)


async def test_without_servers_no_tool_is_offered_for_them(code: Path, home: Path) -> None:
    (home / "config.toml").write_text("[edits]\ndiagnostics_wait_s = 30\n")
    async with editor_client(code, {}) as editor:
        tools = await editor.ask("pygent/tools/list", {})
        await play(code, editor, tool("edit_file", path="main.py", old="2,", new="2, 4,"))
        [(_, said)] = editor.results()

    assert not {each["name"] for each in tools["tools"]} & {"code_navigation", "rename_symbol", "code_actions"}
    assert "problem" not in said


STUCK = "import sys, os\nopen(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\nsys.stdin.read()\n"
"""A server that answers nothing, and does not end with its input."""


def stuck(folder: Path) -> str:
    program = folder.parent / "stuck.py"
    program.write_text(STUCK)
    command = json.dumps([sys.executable, str(program), str(folder.parent / "pids")])
    return f'[language_servers.stuck]\ncommand = {command}\nfiles = ["*.py"]\nstartup_timeout_s = 0.2\n'


def pids(folder: Path) -> list[int]:
    file = folder.parent / "pids"
    return [os.pidfd_open(int(each)) for each in file.read_text().split()] if file.exists() else []


async def test_a_stuck_server_neither_keeps_an_edit_nor_outlives_its_time(code: Path, home: Path) -> None:
    (home / "config.toml").write_text(stuck(code))
    async with editor_client(code, {}) as editor:
        await play(
            code,
            editor,
            tool("edit_file", path="main.py", old="2,", new="5,"),
            tool("code_navigation", operation="definition", path="main.py", symbol="area"),
        )
        (is_made, _), (_, by_name) = editor.results()

    assert is_made
    assert by_name.startswith("shapes.py:1: def area(")
    assert [each for each in editor.messages if "did not start within 0.2 s" in each]


@pytest.mark.parametrize("how", ["shutdown", "kill -9"])
def test_no_language_server_outlives_the_daemon(how: str, code: Path, home: Path) -> None:
    (home / "config.toml").write_text(stuck(code).replace("0.2", "60"))
    model = script(code.parent, tool("code_navigation", operation="hover", path="main.py", symbol="area"))
    with raw_client(code, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(code)
        client.begin("turn", "pygent/turn/start", {"prompt": "go"})
        until_started(client, code)
        servers = pids(code)
        if how == "shutdown":
            assert client.finish() == 0
        else:
            client.process.send_signal(signal.SIGKILL)
            client.wait()

    assert len(servers) == 1
    assert have_ended(servers)


def until_started(client: RawClient, folder: Path) -> None:
    """Wait until the server runs, as long as the daemon answers."""
    for number in range(100_000):
        if pids(folder):
            return
        client.request(f"status {number}", "pygent/status")
    raise TimeoutError


def test_a_server_of_an_untrusted_workspace_is_not_started(code: Path, home: Path) -> None:
    (code / ".pygent").mkdir()
    (code / ".pygent" / "config.toml").write_text(stuck(code))
    model = script(
        code.parent, tool("code_navigation", operation="hover", path="main.py", symbol="area"), {"text": "done"}
    )
    with raw_client(code, environment={"PYGENT_MODEL": model}) as client:
        client.initialize(code)
        client.begin("turn", "pygent/turn/start", {"prompt": "go"})
        asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": None})
        client.answer("turn")

    assert "start the language server stuck: " in asked["params"]["message"]
    assert "stuck.py" in asked["params"]["message"]
    assert pids(code) == []


def test_a_run_without_an_editor_uses_them_too(code: Path, home: Path) -> None:
    (home / "config.toml").write_text(PYRIGHT)
    environment = clean_environment(code.parent / "home", XDG_CONFIG_HOME=str(home.parent), **LONG)
    renaming = tool("rename_symbol", path="main.py", symbol="area", line=3, new_name="surface")
    breaking = tool("edit_file", path="main.py", old="2,", new="2, 4,")
    model = script(code.parent, renaming, breaking, {"text": "done"})
    done = run("run", "--model", model, "--permission-mode", "trust", "--output-format", "stream-json", "go",
               environment=environment, cwd=code)  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert (code / "main.py").read_text() == 'from shapes import surface\n\nprint(surface(2, 4, "3"))\n'
    assert "Renamed area to surface in 2 files:" in done.stdout
    assert "new problem in main.py after this edit" in done.stdout


ANSWERS: list[Any] = [None, 7, "text", [], {"result": {"changes": 5}}, {"result": [1]}, {"positionEncoding": 3}]
"""What a client may answer instead of what it should."""


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
async def test_a_client_that_answers_oddly_spoils_nothing(code: Path, answer: Any) -> None:
    names = ["diagnostics", "locations", "hover", "symbols", "calls", "rename", "codeActions", "format"]
    capabilities = types.ClientCapabilities(
        workspace=CAPABILITIES.workspace,
        general=CAPABILITIES.general,
        experimental={"pygent": {"languageFeatures": [*names, "telepathy", 4]}},
    )
    environment = {"PYGENT_EDITS_FORMAT": "on"}

    def answered(_: object) -> Any:
        return answer

    async with editor_client(code, environment, capabilities=capabilities) as editor:
        for name in names:
            editor.client.feature(f"pygent/client/{name}")(answered)
        await play(
            code,
            editor,
            tool("edit_file", path="main.py", old="2,", new="5,"),
            tool("code_navigation", operation="references", path="main.py", symbol="area"),
            tool("code_navigation", operation="hover", path="main.py", symbol="area"),
            tool("code_navigation", operation="workspace_symbols", symbol="area"),
            tool("code_navigation", operation="outgoing_calls", path="main.py", symbol="area"),
            tool("rename_symbol", path="main.py", symbol="area", new_name="surface"),
            tool("code_actions", path="main.py", line=1),
        )
        results = editor.results()

    assert results[0] == (True, "Edited main.py: +1 −1 lines; 1 replacement at line 3.")
    assert len(results) == 7
    assert results[5][0] is False
    assert (code / "main.py").read_text() == MAIN.replace("2,", "5,")


async def test_a_renaming_of_the_editor_is_made_from_the_text_that_it_was_computed_from(code: Path) -> None:
    capabilities = types.ClientCapabilities(
        workspace=CAPABILITIES.workspace,
        general=CAPABILITIES.general,
        experimental={"pygent": {"languageFeatures": ["rename"]}},
    )
    async with editor_client(code, {}, capabilities=capabilities) as editor:
        uri = editor.documents.open(code / "main.py")
        where = {"start": {"line": 2, "character": 6}, "end": {"line": 2, "character": 10}}
        edit = {"changes": {uri: [{"range": where, "newText": "surface"}]}}
        is_typed = False

        def rename(_: Any) -> Any:
            nonlocal is_typed
            if not is_typed:
                is_typed = True
                editor.documents.insert(uri, "print", "# typed meanwhile\n")
            return {"result": edit}

        editor.client.feature("pygent/client/rename")(rename)
        renaming = tool("rename_symbol", path="main.py", symbol="area", line=3, new_name="surface")
        await play(code, editor, renaming)
        [(is_made, said)] = editor.results()

        assert not is_made
        assert "main.py was changed while the language server computed this edit. Nothing was changed." in said
        assert "surface" not in editor.documents.text(uri)


async def test_what_no_language_server_answers_is_found_by_the_syntax_of_the_files(code: Path, home: Path) -> None:
    (home / "config.toml").write_text(PYRIGHT + '[permissions]\ndeny = ["read_file(secret/**)"]\n')
    (code / "secret").mkdir()
    (code / "secret" / "b.ts").write_text("priceOf(3);\n")
    (code / "a.ts").write_text("export function priceOf(n: number) {\n    return n;\n}\n")
    async with editor_client(code, {}) as editor:
        uri = editor.documents.open(code / "a.ts")
        editor.documents.insert(uri, "export", "// not saved\n")
        looks = [
            tool("code_navigation", operation=operation, path="a.ts", symbol="priceOf")
            for operation in ("definition", "references", "document_symbols", "implementation")
        ]
        await play(code, editor, *looks, tool("code_navigation", operation="workspace_symbols", symbol="priceOf"))
        definition, references, symbols, implementation, in_workspace = [text for _, text in editor.results()]

    by_name = "[no language server answered: found by name, so other things of this name are among them]"
    assert definition == f"a.ts:2: export function priceOf(n: number) {{\n{by_name}"
    assert references.startswith("a.ts:2: export function priceOf")
    assert "secret" not in references
    assert symbols == "2: function priceOf"
    assert implementation.startswith("Nothing was found.")
    assert in_workspace == f"a.ts:2: function priceOf\n{by_name}"
