"""Code review: `/review` reports findings, which any LSP editor shows at their lines and acts on."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.e2e.command_line import clean_environment, run, script, tool
from tests.e2e.lsp_client import CAPABILITIES, EditorClient, editor_client
from tests.model_server import Call, ModelServer, Step
from tests.tools.repository import git, make_repository

TEXT = "def area(width, height):\n    return width * height\n\n\ndef half(number):\n    return number / 2\n"
CHANGED = TEXT.replace("width * height", "width + height")

FINDING = {
    "path": "shapes.py",
    "first_line": 2,
    "last_line": 2,
    "title": "Multiply the sides",
    "body": "area(2, 3) returns 5 instead of 6.",
    "priority": 1,
    "confidence": 0.9,
    "suggestion": "    return width * height",
}


def reports(**changed: object) -> Step:
    return Step(calls=(Call(name="report_finding", arguments={**FINDING, **changed}),))


VERDICT = Step(text="The changes are not correct.")


@dataclass(frozen=True, slots=True)
class Review:
    """An editor without a plugin, and its model."""

    editor: EditorClient
    model: ModelServer
    folder: Path

    @property
    def uri(self) -> str:
        return (self.folder / "shapes.py").as_uri()

    async def shown(self, number: int) -> list[Any]:
        """The diagnostics of the file, once there are so many."""
        await self.editor.until(lambda: self.uri in self.editor.diagnostics and len(self._findings) == number)
        return self._findings

    @property
    def _findings(self) -> list[Any]:
        shown = self.editor.diagnostics.get(self.uri, [])
        return [each for each in shown if each.source == "pygent review"]

    async def shown_at(self, line: int) -> Any:
        """The only diagnostic, once it is at a line, counted from 0."""
        await self.editor.until(lambda: [each.range.start.line for each in self._findings] == [line])
        return self._findings[0]

    async def actions(self, line: int) -> dict[str, Any]:
        """The code actions on findings at a line, by title."""
        place = {"line": line, "character": 0}
        params: dict[str, Any] = {
            "textDocument": {"uri": self.uri},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        }
        found = await self.editor.ask_lsp("textDocument/codeAction", params)
        return {each["title"]: each["command"] for each in found}

    async def run(self, command: Any) -> Any:
        named: dict[str, Any] = {"command": command} if isinstance(command, str) else command
        params: dict[str, Any] = {"command": named["command"], "arguments": named.get("arguments", [])}
        return await self.editor.ask_lsp("workspace/executeCommand", params)


@pytest.fixture
def repository(folder: Path) -> Path:
    """A repository on `main` with one commit, and a change that is not committed."""
    make_repository(folder)
    (folder / "shapes.py").write_text(TEXT)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "start")
    (folder / "shapes.py").write_text(CHANGED)
    return folder


@asynccontextmanager
async def reviewing(
    folder: Path, *steps: Step, capabilities: types.ClientCapabilities = CAPABILITIES
) -> AsyncGenerator[Review]:
    with ModelServer(steps) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock"}
        async with editor_client(folder, environment, capabilities=capabilities) as editor:
            yield Review(editor, model, folder)


async def test_a_finding_is_shown_at_its_lines_and_moves_while_the_user_types(repository: Path) -> None:
    async with reviewing(repository, reports(), VERDICT) as review:
        uri = review.editor.documents.open(repository / "shapes.py")
        result = await review.editor.turn("/review")
        assert (result["stopReason"], result["text"]) == ("end_turn", "The changes are not correct.")

        (shown,) = await review.shown(1)
        assert (shown.source, shown.severity) == ("pygent review", types.DiagnosticSeverity.Warning)
        assert shown.message == "Multiply the sides\narea(2, 3) returns 5 instead of 6."
        assert (shown.range.start, shown.range.end) == (types.Position(1, 4), types.Position(1, 25))

        review.editor.documents.insert(uri, "def area", "# Shapes\n\n")
        await review.shown_at(3)
        listed = await review.editor.ask("pygent/codeReview/list", {})
        (told,) = listed["findings"]
        assert told["range"]["start"] == {"line": 3, "character": 4}
        assert (told["isChanged"], told["hasSuggestion"], told["confidence"]) == (False, True, 0.9)


async def test_the_reviewer_reads_the_diff_and_can_change_nothing(repository: Path) -> None:
    edit = Call(name="edit_file", arguments={"path": "shapes.py", "old": "+", "new": "*"})
    async with reviewing(repository, Step(calls=(edit,)), VERDICT, VERDICT) as review:
        await review.editor.turn("/review uncommitted look at the arithmetic", mode="accept_edits")
        first = review.model.requests[0]
        told = json.dumps(first.messages)
        assert "-    return width * height" in told
        assert "+    return width + height" in told
        assert "look at the arithmetic" in told
        offered = {each["function"]["name"] for each in first.body["tools"]}
        assert {"report_finding", "read_file", "git_diff"} <= offered
        assert not offered & {"edit_file", "apply_patch", "shell", "run_tests", "git_commit", "create_file"}
        assert [went_well for went_well, _ in review.editor.results()] == [False]
        assert (repository / "shapes.py").read_text() == CHANGED

        await review.editor.turn("hello")
        offered = {each["function"]["name"] for each in review.model.requests[-1].body["tools"]}
        assert "report_finding" not in offered
        assert "edit_file" in offered


async def test_a_suggestion_is_applied_and_an_undo_brings_the_finding_back(repository: Path) -> None:
    async with reviewing(repository, reports(), VERDICT) as review:
        uri = review.editor.documents.open(repository / "shapes.py")
        await review.editor.turn("/review")
        await review.shown(1)
        actions = await review.actions(1)
        assert list(actions) == [
            "Apply suggestion: Multiply the sides",
            "Fix with pygent: Multiply the sides",
            "Dismiss finding: Multiply the sides",
        ]
        assert await review.run(actions["Apply suggestion: Multiply the sides"]) == {"left": 0}
        assert review.editor.documents.text(uri) == TEXT
        await review.shown(0)

        review.editor.documents.type_over(uri, CHANGED)
        await review.shown(1)


async def test_a_suggestion_for_lines_that_changed_is_refused(repository: Path) -> None:
    async with reviewing(repository, reports(), VERDICT) as review:
        uri = review.editor.documents.open(repository / "shapes.py")
        await review.editor.turn("/review")
        await review.shown(1)
        apply = (await review.actions(1))["Apply suggestion: Multiply the sides"]
        review.editor.documents.insert(uri, "width +", "abs")
        with pytest.raises(JsonRpcException, match="have changed since the review"):
            await review.run(apply)
        assert "Apply suggestion: Multiply the sides" not in await review.actions(1)
        await review.editor.until(lambda: "changed since" in review.editor.diagnostics[uri][0].message)
        assert review.editor.documents.text(uri) == CHANGED.replace("return width +", "return abswidth +")


async def test_findings_are_dismissed_one_by_one_and_all_at_once(repository: Path) -> None:
    second = reports(first_line=6, last_line=6, title="Divide exactly", suggestion=None)
    third = reports(first_line=5, last_line=5, title="Name the argument", priority=3)
    async with reviewing(repository, reports(), second, third, VERDICT) as review:
        review.editor.documents.open(repository / "shapes.py")
        await review.editor.turn("/review")
        await review.shown(3)
        actions = await review.actions(1)
        assert "Dismiss all 3 findings" in actions
        assert await review.run(actions["Dismiss finding: Multiply the sides"]) == {"left": 2}
        assert [each.code for each in await review.shown(2)] == ["P1", "P3"]
        assert await review.run(actions["Dismiss all 3 findings"]) == {"left": 0}
        await review.shown(0)
        with pytest.raises(JsonRpcException, match="no longer listed"):
            await review.run(actions["Fix with pygent: Multiply the sides"])


async def test_a_fix_settles_its_finding(repository: Path) -> None:
    read = Call(name="read_file", arguments={"path": "shapes.py"})
    edit = Call(name="edit_file", arguments={"path": "shapes.py", "old": "width + height", "new": "width * height"})
    steps = (reports(), VERDICT, Step(calls=(read, edit)), Step(text="Fixed."))
    async with reviewing(repository, *steps) as review:
        uri = review.editor.documents.open(repository / "shapes.py")
        session = (await review.editor.turn("/review"))["sessionId"]
        await review.shown(1)
        started = await review.run((await review.actions(1))["Fix with pygent: Multiply the sides"])
        assert started["sessionId"] == session
        await review.shown(0)
        assert review.editor.documents.text(uri) == TEXT
        assert "area(2, 3) returns 5 instead of 6." in json.dumps(review.model.requests[2].messages)


async def test_a_wrong_place_is_refused_and_a_quote_corrects_the_line(repository: Path) -> None:
    steps = (
        reports(path="missing.py"),
        reports(path="../outside.py"),
        reports(first_line=90, last_line=90),
        reports(first_line=1, last_line=1, quote="return width + height"),
        VERDICT,
    )
    async with reviewing(repository, *steps) as review:
        await review.editor.turn("/review")
        results = review.editor.results()
        assert [went_well for went_well, _ in results] == [False, False, False, True]
        assert "the file has 6 lines" in results[2][1]
        await review.shown_at(1)


async def test_unsaved_and_untracked_changes_are_reviewed_and_withheld_files_are_not(repository: Path) -> None:
    (repository / "new.py").write_text("brand_new = 1\n")
    (repository / "private.py").write_text("hidden_text = 1\n")
    (repository / ".gitignore").write_text("ignored.py\n")
    (repository / "ignored.py").write_text("ignored_text = 1\n")
    (repository / ".pygent").mkdir()
    async with reviewing(repository, VERDICT, reports(path="private.py", first_line=1, last_line=1), VERDICT) as review:
        session = (await review.editor.turn("hello"))["sessionId"]
        (repository / ".pygent" / "config.toml").write_text('[permissions]\ndeny = ["read_file(private.py)"]\n')
        uri = review.editor.documents.open(repository / "shapes.py")
        review.editor.documents.insert(uri, "def area", "unsaved = 2\n")
        await review.editor.turn("/review", sessionId=session)
        told = json.dumps(review.model.requests[1].messages)
        assert "+unsaved = 2" in told
        assert "+brand_new = 1" in told
        assert "hidden_text" not in told
        assert "ignored_text" not in told
        assert "1 file was left out" in told
        ((went_well, why),) = review.editor.results()
        assert not went_well
        assert "prevents private.py from being read" in why


async def test_a_branch_a_commit_and_a_range_are_reviewed(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "topic")
    git(repository, "commit", "--quiet", "--all", "-m", "second")
    (repository / "shapes.py").write_text(CHANGED + "late = 1\n")
    async with reviewing(repository, VERDICT, VERDICT, VERDICT) as review:
        for target in ("main", "HEAD", "main..topic"):
            await review.editor.turn(f"/review {target}")
        told = [each.texts("user")[-1] for each in review.model.requests]
        assert all("+    return width + height" in text for text in told)
        assert ["+late = 1" in text for text in told] == [True, False, False]
        assert "the changes since main" in told[0]

        result = await review.editor.turn("/review nowhere")
        assert "There is no branch or commit 'nowhere'" in result["text"]
        git(repository, "checkout", "--quiet", "shapes.py")
        result = await review.editor.turn("/review")
        assert "nothing to review" in result["text"]


# Without an editor


REPORT = {**tool("report_finding", **FINDING), "text": "I look."}


def test_a_run_prints_the_findings_after_the_verdict(repository: Path, tmp_path: Path) -> None:
    model = script(tmp_path, REPORT, {"text": "Not correct."})
    environment = clean_environment(tmp_path)
    done = run("run", "/review", "--model", model, "--cwd", str(repository), environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(
        "Not correct.\n\nFindings: 1\n\nP1 shapes.py:2 Multiply the sides\n  area(2, 3) returns 5 instead of 6.\n"
    )


def test_a_run_tells_programs_the_findings(repository: Path, tmp_path: Path) -> None:
    environment = clean_environment(tmp_path)

    def result(prompt: str, *answers: Any) -> Any:
        given = ("--model", script(tmp_path, *answers), "--cwd", str(repository), "--output-format", "json")
        done = run("run", prompt, *given, environment=environment)
        return done.returncode, json.loads(done.stdout)

    code, told = result("/review HEAD..HEAD", {"text": "unused"})
    assert (code, told["is_error"]) == (1, True)
    assert "nothing to review" in told["result"]
    code, told = result("/review", REPORT, {"text": "Not correct."})
    assert (code, told["result"]) == (0, "Not correct.")
    assert told["findings"] == [
        {
            "title": "Multiply the sides",
            "body": "area(2, 3) returns 5 instead of 6.",
            "priority": 1,
            "confidence_score": 0.9,
            "code_location": {
                "path": "shapes.py",
                "absolute_file_path": str(repository / "shapes.py"),
                "line_range": {"start": 2, "end": 2},
            },
            "suggestion": "    return width * height\n",
        }
    ]
    code, told = result("/review", {"text": "All correct."})
    assert (code, told["findings"]) == (0, [])
    code, told = result("hello", {"text": "Hi."})
    assert (code, "findings" in told) == (0, False)


def test_a_model_without_tool_calls_reports_findings_as_text(repository: Path, tmp_path: Path) -> None:
    call = f"```tool\n{json.dumps({'name': 'report_finding', 'input': FINDING})}\n```"
    environment = clean_environment(tmp_path)
    with ModelServer([Step(text=call), VERDICT]) as server:
        environment |= {**server.env(), "PYGENT_TEXT_TOOL_CALLS": "on"}
        done = run("run", "/review", "--model", "openai/mock", "--cwd", str(repository), environment=environment)
    assert done.returncode == 0, done.stderr
    assert "P1 shapes.py:2 Multiply the sides" in done.stdout
