"""What a rule keeps from being read, no tool shows: not in searches, differences, copies, nor in what an edit says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.editor_state import FileProblems, Problem
from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.agent.rules.rule import Rule, RuleDecision
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.errors import ToolError
from pygent_ls.tools.diagnostics import diagnostics
from pygent_ls.tools.files.apply_patch import apply_patch
from pygent_ls.tools.files.edit_file import create_file, edit_file
from pygent_ls.tools.files.file_operations import copy_file, delete_file, move_file
from pygent_ls.tools.files.multi_edit import multi_edit
from pygent_ls.tools.files.read_file import list_files
from pygent_ls.tools.git.read_tools import git_diff
from pygent_ls.tools.search.definitions import find_definition
from pygent_ls.tools.search.grep import find_files, grep_search
from tests.agent.context.test_editor_text import FakeEditor
from tests.tools.repository import commit_all, git, make_repository
from tests.tools.tool_bench import Bench

ONE_LEFT_OUT = "[1 file was left out: a permission rule prevents reading it.]"

SECRET = "KEY=plum-1234\n"


class RuledBench(Bench):
    """Tools in a session with rules about reading."""

    def __init__(self, folder: Path, *rules: Rule) -> None:
        self.reading = Reading.of(rules)
        super().__init__(folder)

    def new_context(self) -> ToolContext:
        context = super().new_context()
        context.reading = self.reading
        return context


def rule(pattern: str = "**/.env", decision: RuleDecision = "deny") -> Rule:
    return Rule(text=f"read_file({pattern})", decision=decision, origin="user")


def ruled(folder: Path, *rules: Rule) -> RuledBench:
    bench = RuledBench(folder, *(rules or (rule(),)))
    bench.write(".env", SECRET)
    bench.write("a.txt", "KEY=apple\n")
    return bench


# Searches


@pytest.mark.parametrize("decision", ["deny", "ask"])
async def test_grep_leaves_out_a_file_that_is_denied_or_asked_for_and_says_so(
    tmp_path: Path, decision: RuleDecision
) -> None:
    bench = ruled(tmp_path, rule(decision=decision))
    assert await bench.call(grep_search, pattern="KEY") == f"a.txt:1: KEY=apple\n{ONE_LEFT_OUT}"


@pytest.mark.parametrize("given_path", [{"path": ".env"}, {"glob": ".env"}, {"glob": "**/.e*"}, {"path": "."}])
async def test_grep_does_not_show_it_when_it_is_named(tmp_path: Path, given_path: dict[str, str]) -> None:
    found = await ruled(tmp_path).call(grep_search, pattern="plum", context_lines=1, **given_path)
    assert "KEY=plum" not in found
    assert found.endswith(ONE_LEFT_OUT)


@given(guess=st.sampled_from(["KEY=p", "KEY=x", "1234", "nothing", "."]))
async def test_what_grep_says_of_a_withheld_file_does_not_tell_whether_a_guess_is_in_it(
    tmp_path: Path, guess: str
) -> None:
    bench = ruled(tmp_path)
    (tmp_path / "a.txt").unlink()
    assert (await bench.call(grep_search, pattern=guess)).endswith(f"searched.\n{ONE_LEFT_OUT}")


async def test_grep_leaves_out_what_is_typed_and_not_saved_in_such_a_file(tmp_path: Path) -> None:
    bench = ruled(tmp_path)
    bench.workspace.type_into(bench.folder / ".env", "KEY=typed\n")
    assert "typed" not in await bench.call(grep_search, pattern="KEY")


async def test_find_definition_leaves_it_out(tmp_path: Path) -> None:
    bench = ruled(tmp_path, rule("secret/**"))
    bench.write("secret/keys.py", "def plum():\n    return 1\n")
    bench.write("open.py", "def plum():\n    return 2\n")
    found = await bench.call(find_definition, symbol="plum")
    assert "open.py:1: function: def plum():" in found
    assert "keys.py" not in found
    assert found.endswith(ONE_LEFT_OUT)


async def test_its_name_may_be_seen(tmp_path: Path) -> None:
    bench = ruled(tmp_path)
    assert await bench.call(list_files) == ".env\na.txt"
    assert await bench.call(find_files, pattern=".env") == ".env"


async def test_a_rule_that_denies_all_reading_leaves_all_out_and_one_that_asks_for_all_leaves_none(
    tmp_path: Path,
) -> None:
    denied = ruled(tmp_path, Rule(text="read_file", decision="deny", origin="user"))
    assert "apple" not in await denied.call(grep_search, pattern="KEY=")
    asked = ruled(tmp_path, Rule(text="read_file", decision="ask", origin="user"))
    assert "KEY=apple" in await asked.call(grep_search, pattern="KEY=")


async def test_problems_of_such_a_file_which_may_quote_it_are_left_out(tmp_path: Path) -> None:
    bench = ruled(tmp_path)
    problem = Problem(line=1, column=1, severity="error", message="plum-1234 is no number")
    found = [
        FileProblems(path=bench.folder / name, problems=(problem,), is_stale=False, is_whole=True)
        for name in (".env", "a.txt")
    ]
    context = bench.new_context()
    context.editor = FakeEditor(told=found)
    told = await diagnostics.run(context)
    assert isinstance(told, str)
    assert "a.txt" in told
    assert ".env" not in told
    assert told.endswith(ONE_LEFT_OUT)


# Differences


@pytest.fixture
def repo(tmp_path: Path) -> RuledBench:
    """A repository in which `.env` and `a.txt` are committed and changed."""
    bench = ruled(tmp_path)
    make_repository(bench.folder)
    commit_all(bench, "start")
    bench.write(".env", "KEY=pear\n")
    bench.write("a.txt", "changed\n")
    return bench


async def test_git_diff_leaves_it_out_and_says_so(repo: RuledBench) -> None:
    diff = await repo.call(git_diff)
    assert "+changed" in diff
    assert "plum" not in diff
    assert "pear" not in diff
    assert diff.endswith(ONE_LEFT_OUT)


@pytest.mark.parametrize("asked", [{"path": ".env"}, {"path": ".env", "revision": "HEAD"}])
async def test_git_diff_of_nothing_else_shows_nothing(repo: RuledBench, asked: dict[str, str]) -> None:
    assert (
        await repo.call(git_diff, **asked)
        == f"No changes, except in files that permission rules withhold.\n{ONE_LEFT_OUT}"
    )


async def test_git_diff_shows_it_under_no_other_name(repo: RuledBench) -> None:
    blob = git(repo.folder, "rev-parse", "HEAD:.env").strip()
    tree = git(repo.folder, "rev-parse", "HEAD^{tree}").strip()
    for revision in ("HEAD:.env", blob, tree, f"HEAD..{tree}", f"{blob}..HEAD"):
        with pytest.raises(ToolError, match="is not a commit or branch"):
            await repo.call(git_diff, revision=revision, path="a.txt")


async def test_git_diff_of_a_renamed_file_does_not_show_what_was_in_it(repo: RuledBench) -> None:
    repo.write(".env", SECRET * 9)
    commit_all(repo, "more")
    git(repo.folder, "mv", ".env", "open.txt")
    repo.write("open.txt", SECRET.replace("plum", "cherry"))
    git(repo.folder, "add", "open.txt")
    diff = await repo.call(git_diff, staged=True)
    assert "+KEY=cherry" in diff
    assert "plum" not in diff


async def test_git_diff_between_commits_leaves_it_out(repo: RuledBench) -> None:
    commit_all(repo, "second")
    for revision in ("HEAD~1", "HEAD~1..HEAD", "HEAD~1...main"):
        diff = await repo.call(git_diff, revision=revision)
        assert "+changed" in diff
        assert "plum" not in diff


# Copies, moves and edits


async def refused(bench: Bench, tool: Tool, **arguments: object) -> str:
    with pytest.raises(ToolError, match="permission rule read_file") as raised:
        await bench.call(tool, **arguments)
    assert "plum" not in str(raised.value)
    return str(raised.value)


PATCH = """--- a/.env
+++ b/.env
@@ -1 +1 @@
-KEY=guess
+KEY=x
"""

RENAME = """diff --git a/.env b/open.txt
rename from .env
rename to open.txt
"""


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (copy_file, {"source": ".env", "destination": "open.txt"}),
        (copy_file, {"source": "link.txt", "destination": "open.txt"}),
        (move_file, {"source": ".env", "destination": "open.txt"}),
        (edit_file, {"path": ".env", "old": "KEY=guess", "new": "x"}),
        (edit_file, {"path": "link.txt", "old": "KEY=guess", "new": "x"}),
        (multi_edit, {"path": ".env", "edits": [{"old": "KEY=guess", "new": "x"}]}),
        (create_file, {"path": ".env", "content": SECRET, "overwrite": True}),
        (apply_patch, {"patch": PATCH}),
        (apply_patch, {"patch": RENAME}),
    ],
)
async def test_it_is_not_copied_moved_or_edited_since_that_would_show_it(
    tmp_path: Path, tool: Tool, arguments: dict[str, object]
) -> None:
    bench = ruled(tmp_path)
    (tmp_path / "link.txt").symlink_to(".env")
    assert ".env" in await refused(bench, tool, **arguments)
    assert bench.bytes_of(".env") == SECRET.encode()
    assert not (tmp_path / "open.txt").exists()


async def test_what_a_rule_asks_for_is_edited_and_copied_once_it_was_read_with_the_users_word(tmp_path: Path) -> None:
    bench = ruled(tmp_path, rule(decision="ask"))
    told = await refused(bench, edit_file, path=".env", old="plum", new="fig")
    assert "Read it with read_file first, which asks the user." in told

    bench.reads.record(await bench.workspace.read(bench.folder / ".env"))

    await bench.call(edit_file, path=".env", old="plum", new="fig")
    await bench.call(copy_file, source=".env", destination="b.txt")
    assert bench.bytes_of("b.txt") == b"KEY=fig-1234\n"


async def test_a_folder_that_holds_it_is_not_moved_away_from_its_rule(tmp_path: Path) -> None:
    bench = ruled(tmp_path, rule("secret/**"))
    bench.write(".gitignore", "*.key\n")
    bench.write("secret/deep/a.key", SECRET)
    await refused(bench, move_file, source="secret", destination="open")
    await refused(bench, move_file, source="secret/deep", destination="open")


async def test_what_no_rule_is_about_is_copied_moved_and_edited_as_ever(tmp_path: Path) -> None:
    bench = ruled(tmp_path)
    await bench.call(copy_file, source="a.txt", destination="b.txt")
    await bench.call(move_file, source="b.txt", destination="c.txt")
    await bench.call(edit_file, path="c.txt", old="apple", new="fig")
    assert bench.bytes_of("c.txt") == b"KEY=fig\n"


async def test_it_may_be_deleted_which_shows_nothing(tmp_path: Path) -> None:
    bench = ruled(tmp_path)
    assert "plum" not in await bench.call(delete_file, path=".env")
    assert not (tmp_path / ".env").exists()
