"""Sessions in worktrees beside the user's work tree, over real stdio with real git."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import attrs
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.e2e.lsp_client import CAPABILITIES, WAIT_S, EditorClient, editor_client
from tests.e2e.test_mcp import have_ended, toml_of
from tests.tools.repository import committed_project, git, make_repository

PLUGIN = types.ClientCapabilities(
    workspace=CAPABILITIES.workspace,
    window=CAPABILITIES.window,
    general=CAPABILITIES.general,
    experimental={"pygent": {"chatPanel": True, "pendingReview": True}},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a commit; the daemon's home will lie beside it."""
    return committed_project(tmp_path / "project")


def editor_in(folder: Path, **environment: str) -> AbstractAsyncContextManager[EditorClient]:
    rules = {"PYGENT_PERMISSIONS": '{"allow": ["shell", "edit_file", "create_file"]}'}
    return editor_client(folder, {**rules, **environment}, capabilities=PLUGIN)


def model(folder: Path, name: str, *calls: Mapping[str, Any]) -> str:
    """The name of a model that makes these calls, one by one, and then says `Done.`."""
    path = folder.parent / f"{name}.jsonl"
    lines = [*({"tool_calls": [each]} for each in calls), {"text": "Done."}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{path}"


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    return {"name": "edit_file", "input": {"path": path, "old": old, "new": new}}


def shell(command: str) -> dict[str, Any]:
    return {"name": "shell", "input": {"command": command}}


def save_or_allow(params: types.ShowMessageRequestParams) -> str | None:
    titles = [each.title for each in params.actions or ()]
    return next((each for each in ("Save and continue", "Allow once") if each in titles), None)


def is_there(session: Mapping[str, Any]) -> bool:
    return Path(session["cwd"]).exists()


async def new(editor: EditorClient, worktree: str, model_name: str) -> dict[str, Any]:
    return await editor.ask("pygent/session/new", {"worktree": worktree, "model": model_name})


async def say(editor: EditorClient, session: Mapping[str, Any], text: str, token: str = "events") -> str:
    """The text of a turn's answer, or its error."""
    done = await editor.turn(text, sessionId=session["sessionId"], partialResultToken=token)
    return done["error"]["message"] if "error" in done else done["text"]


async def test_two_sessions_work_side_by_side_and_do_not_see_each_other(folder: Path) -> None:
    go = folder.parent / "go"
    theirs = [
        shell(f"while [ ! -e {go} ]; do sleep 0.05; done; cat app.py"),
        edit("app.py", "x = 1", "x = 'worktree'"),
        shell("pwd; cat app.py"),
    ]
    ours = [edit("app.py", "x = 1", "x = 'mine'"), shell(f"touch {go}; cat app.py")]
    async with editor_in(folder) as editor:
        editor.choose = save_or_allow
        uri = editor.documents.open(folder / "app.py")
        beside = await new(editor, "topic", model(folder, "theirs", *theirs))
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours", *ours)})

        await asyncio.gather(say(editor, beside, "go", "beside"), say(editor, own, "go", "own"))

        worktree = Path(beside["cwd"])
        assert (beside["worktree"], "worktree" in own) == ("topic", False)
        assert git(worktree, "branch", "--show-current") == "pygent/topic\n"
        assert (worktree / "app.py").read_text() == "x = 'worktree'\n"
        assert editor.documents.text(uri) == (folder / "app.py").read_text() == "x = 'mine'\n"
        seen = [each["content"] for each in editor.events("beside") if each["type"] == "tool_result"]
        assert ("x = 1" in seen[0], str(worktree) in seen[2], "x = 'worktree'" in seen[2]) == (True, True, True)
        assert [*editor.pending] == [uri]
        listed = (await editor.ask("pygent/session/list", {"cwd": str(folder)}))["sessions"]
        names = {each["sessionId"]: each.get("worktree") for each in listed}
        assert names == {beside["sessionId"]: "topic", own["sessionId"]: None}

        assert "app.py" in await say(editor, beside, "/undo")
        assert (worktree / "app.py").read_text() == "x = 1\n"
        assert editor.documents.text(uri) == "x = 'mine'\n"


async def test_the_users_files_are_outside_and_open_files_of_the_worktree_are_edited_as_buffers(folder: Path) -> None:
    outside = str(folder / "app.py")
    calls = [
        {"name": "read_file", "input": {"path": outside}},
        {"name": "create_file", "input": {"path": str(folder / "new.py"), "content": "z = 1\n"}},
        edit(outside, "x = 1", "x = 2"),
        edit("app.py", "x = 1", "x = 2"),
        shell("cat app.py"),
    ]
    async with editor_in(folder) as editor:
        editor.choose = save_or_allow
        session = await new(editor, "topic", model(folder, "model", *calls))
        uri = editor.documents.open(Path(session["cwd"]) / "app.py")
        editor.documents.type_over(uri, "x = 1\n# not saved\n")

        context = {"activeUri": (folder / "app.py").as_uri()}
        await editor.turn("go", sessionId=session["sessionId"], context=context)

        (prompt, *_) = (await editor.ask("pygent/session/load", {"sessionId": session["sessionId"]}))["messages"]
        assert outside not in json.dumps(prompt)
        results = editor.results()
        assert [is_well for is_well, _ in results] == [False, False, False, True, True]
        assert all("outside the workspace" in text for _, text in results[:3])
        assert "# not saved" in results[4][1]
        assert editor.documents.text(uri) == "x = 2\n# not saved\n"
        assert git(folder, "status", "--porcelain") == ""


async def test_in_the_sandbox_git_reads_the_repository_and_the_users_files_are_out_of_reach(folder: Path) -> None:
    calls = [shell(f"git log --oneline; touch made; touch {folder}/made; cat {folder}/app.py; true")]
    async with editor_in(folder, PYGENT_SANDBOX="require", HOME=str(folder.parent)) as editor:
        session = await new(editor, "topic", model(folder, "model", *calls))
        await say(editor, session, "go")
        ((is_well, text),) = editor.results()
        assert (is_well, " start" in text, "x = 1" in text) == (True, True, False)
        assert git(folder, "status", "--porcelain") == ""
        assert git(Path(session["cwd"]), "status", "--porcelain") == "?? made\n"


async def test_the_changes_are_merged_staged_and_the_worktree_is_discarded_with_a_question(folder: Path) -> None:
    async with editor_in(folder) as editor:
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        told = await say(editor, own, "/worktree topic")
        assert "on the branch `pygent/topic`" in told
        (made,) = [
            each
            for each in (await editor.ask("pygent/session/list", {}))["sessions"]
            if each.get("worktree") == "topic"
        ]
        steps = model(folder, "theirs", edit("app.py", "x = 1", "x = 2"))
        await editor.ask("pygent/session/configure", {"sessionId": made["sessionId"], "model": steps})
        (folder / "part" / "part.py").write_text("y = 'mine'\n")
        await say(editor, made, "go")

        listed = await say(editor, own, "/worktree")
        assert "`topic` on `pygent/topic`: 0 commits, 1 uncommitted file" in listed
        assert f"`{made['sessionId']}` topic" in listed

        assert "Staged 1 changed file of `topic` in your work tree: `app.py`" in await say(
            editor, own, "/worktree merge topic"
        )
        assert git(folder, "status", "--porcelain") == "M  app.py\n M part/part.py\n"
        assert (folder / "app.py").read_text() == "x = 2\n"

        editor.choose = lambda _: "Keep"
        assert "Nothing was deleted" in await say(editor, own, "/worktree discard topic")
        assert "Discard it from another session" in await say(editor, made, "/worktree discard topic")
        assert is_there(made)
        editor.choose = lambda _: "Discard"
        assert "Deleted the worktree `topic`" in await say(editor, own, "/worktree discard topic")
        assert git(folder, "worktree", "list").count("\n") == 1
        assert git(folder, "branch", "--list", "pygent/*") == ""
        assert "There are no worktrees" in await say(editor, own, "/worktree list")

        assert "no longer exists" in await say(editor, made, "go on")
        assert not is_there(made)
        assert "no longer exists" in editor.events()[-2]["content"]
        assert (await editor.ask("pygent/session/load", {"sessionId": made["sessionId"]}))["messageCount"] > 0


async def test_a_conflict_changes_nothing_and_unsaved_changes_are_not_overwritten(folder: Path) -> None:
    async with editor_in(folder) as editor:
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        made = await new(editor, "topic", model(folder, "theirs", edit("app.py", "x = 1", "x = 2")))
        await say(editor, made, "go")

        uri = editor.documents.open(folder / "app.py")
        editor.documents.type_over(uri, "x = 'typed'\n")
        assert "with changes that are not saved" in await say(editor, made, "/worktree merge topic")
        editor.documents.close(uri)
        (folder / "app.py").write_text("x = 3\n")
        assert "Your own changes are in the way" in await say(editor, own, "/worktree merge topic")
        git(folder, "commit", "--quiet", "--all", "-m", "mine")
        assert "conflict with your branch in app.py" in await say(editor, own, "/worktree merge topic")
        assert git(folder, "status", "--porcelain") == ""
        assert (folder / "app.py").read_text() == "x = 3\n"


async def test_a_turn_keeps_its_worktree_from_being_merged_and_discarded(folder: Path) -> None:
    go = folder.parent / "go"
    calls = [edit("app.py", "x = 1", "x = 2"), shell(f"touch begun; while [ ! -e {go} ]; do sleep 0.05; done")]
    async with editor_in(folder) as editor:
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        made = await new(editor, "topic", model(folder, "theirs", *calls))
        turn = editor.begin_turn("go", sessionId=made["sessionId"], partialResultToken="beside")
        await editor.until(lambda: "tool_result" in editor.types("beside"))
        editor.choose = lambda _: "Discard"
        assert "used by a turn" in await say(editor, own, "/worktree merge topic")
        assert "A turn is running" in await say(editor, own, "/worktree discard topic")
        go.touch()
        assert (await turn)["stopReason"] == "end_turn"
        assert "Staged" in await say(editor, made, "/worktree merge topic")


async def test_a_restart_resumes_the_session_in_its_worktree_and_says_if_that_is_gone(folder: Path) -> None:
    async with editor_in(folder) as editor:
        made = await new(editor, "topic", model(folder, "model", edit("app.py", "x = 1", "x = 2")))
        await say(editor, made, "go")
    worktree = Path(made["cwd"])

    async with editor_in(folder) as editor:
        again = model(folder, "model", edit("app.py", "x = 2", "x = 3"), shell("pwd"))
        await editor.ask("pygent/session/configure", {"sessionId": made["sessionId"], "model": again})
        await say(editor, made, "go on")
        assert (worktree / "app.py").read_text() == "x = 3\n"
        assert str(worktree) in editor.results()[1][1]
        (checkpoint, *_) = (await editor.ask("pygent/checkpoint/list", {"sessionId": made["sessionId"]}))["checkpoints"]

    shutil.rmtree(worktree)
    git(folder, "worktree", "prune")
    async with editor_in(folder) as editor:
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        assert "The worktree topic no longer exists" in await say(editor, made, "go on")
        assert editor.results() == []
        with pytest.raises(JsonRpcException, match="no longer exists"):
            await editor.ask(
                "pygent/checkpoint/restore",
                {"checkpointId": checkpoint["checkpointId"], "files": True, "conversation": False},
            )
        assert not is_there(made)
        assert git(folder, "status", "--porcelain") == ""

        git(folder, "branch", "-D", "pygent/topic")
        await say(editor, own, "/worktree topic")
        await editor.ask("pygent/session/configure", {"sessionId": made["sessionId"], "model": model(folder, "last")})
        assert await say(editor, made, "go on") == "Done."


async def test_the_workspace_may_be_a_folder_of_the_repository_and_the_commit_any(folder: Path) -> None:
    git(folder, "checkout", "--quiet", "--detach")
    part = folder / "part"
    async with editor_client(part, {"PYGENT_PERMISSIONS": '{"allow": ["edit_file"]}'}) as editor:
        outside = {"name": "read_file", "input": {"path": "../app.py"}}
        made = await new(editor, "topic", model(folder, "model", edit("part.py", "y = 1", "y = 2"), outside))
        await say(editor, made, "go")
        assert Path(made["cwd"]).name == "part"
        assert (Path(made["cwd"]) / "part.py").read_text() == "y = 2\n"
        assert "outside the workspace" in editor.results()[1][1]
        assert "Staged 1 changed file" in await say(editor, made, "/worktree merge topic")
        assert git(folder, "status", "--porcelain", "--untracked-files=no") == "M  part/part.py\n"


async def test_a_submodule_has_worktrees_of_its_own(folder: Path) -> None:
    library = folder.parent / "library"
    library.mkdir()
    make_repository(library)
    (library / "lib.py").write_text("z = 1\n")
    git(library, "add", "--all")
    git(library, "commit", "--quiet", "-m", "start")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    git(folder / "lib", "config", "user.name", "Ada")
    git(folder / "lib", "config", "user.email", "ada@example.org")
    async with editor_client(folder / "lib", {"PYGENT_PERMISSIONS": '{"allow": ["edit_file"]}'}) as editor:
        made = await new(editor, "topic", model(folder, "model", edit("lib.py", "z = 1", "z = 2")))
        await say(editor, made, "go")
        assert (folder / "lib" / "lib.py").read_text() == "z = 1\n"
        assert "Staged 1 changed file" in await say(editor, made, "/worktree merge topic")
        assert git(folder / "lib", "status", "--porcelain") == "M  lib.py\n"


async def test_what_cannot_be_a_worktree_is_refused(folder: Path, tmp_path: Path) -> None:
    async with editor_in(folder) as editor:
        for name in ("../up", ".hidden", "a b"):
            with pytest.raises(JsonRpcException, match="cannot be the name of a worktree"):
                await new(editor, name, "offline")
        with pytest.raises(JsonRpcException, match="cwd"):
            await editor.ask("pygent/session/new", {"worktree": "topic", "cwd": str(folder)})
        (folder / "new").mkdir()
        editor.start_over(folder / "new")
        with pytest.raises(JsonRpcException, match="does not exist in the worktree's commit"):
            await new(editor, "topic", "offline")
        assert git(folder, "branch", "--list", "pygent/*") == ""
        bare = tmp_path / "plain"
        bare.mkdir()
        editor.start_over(bare)
        with pytest.raises(JsonRpcException, match="is not in a git repository"):
            await new(editor, "topic", "offline")


async def test_the_users_settings_and_trust_apply_and_not_those_of_the_worktree(folder: Path) -> None:
    ran = folder.parent / "ran"
    config = folder / ".pygent" / "config.toml"
    config.parent.mkdir()
    config.write_text('[permissions]\nallow = ["shell"]\n')
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "settings")
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    async with editor_client(folder, {}) as editor:
        asked: list[str] = []

        def choose(params: types.ShowMessageRequestParams) -> str | None:
            asked.append(params.message)
            return "Reject"

        editor.choose = choose
        made = await new(editor, "topic", model(folder, "model", shell("touch made"), shell("touch made")))
        (Path(made["cwd"]) / ".pygent" / "config.toml").write_text('hooks = [{event = "turn_start", command = "x"}]\n')
        await say(editor, made, "go")
        trust = [each for each in asked if "Do you trust" in each]
        assert (len(trust), str(folder) in trust[0]) == (1, True)
        assert "hook" not in "".join(asked)
        assert not (Path(made["cwd"]) / "made").exists()
    assert not ran.exists()


async def test_what_was_changed_during_the_question_is_not_discarded(folder: Path) -> None:
    async with editor_in(folder) as editor:
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        made = await new(editor, "topic", model(folder, "theirs", edit("app.py", "x = 1", "x = 2")))
        await say(editor, made, "go")
        late = Path(made["cwd"]) / "late.py"

        def choose(_: types.ShowMessageRequestParams) -> str:
            late.write_text("z = 1\n")
            return "Discard"

        editor.choose = choose
        assert "has just been changed, so it was not deleted" in await say(editor, own, "/worktree discard topic")
        assert late.read_text() == "z = 1\n"
        assert "Deleted the worktree" in await say(editor, own, "/worktree discard topic")
        assert not late.exists()


async def test_a_worktree_in_which_a_command_runs_in_the_background_is_not_discarded(folder: Path) -> None:
    background = {"name": "shell", "input": {"command": "sleep 600", "background": True}}
    async with editor_in(folder) as editor:
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        made = await new(editor, "topic", model(folder, "theirs", background, edit("app.py", "x = 1", "x = 2")))
        await say(editor, made, "go")
        editor.choose = lambda _: "Discard"
        assert "run in the background of the worktree" in await say(editor, own, "/worktree discard topic")
        assert (Path(made["cwd"]) / "app.py").read_text() == "x = 2\n"

        params = {"sessionId": made["sessionId"]}
        (running,) = (await editor.ask("pygent/background/list", params))["commands"]
        await editor.ask("pygent/background/stop", {**params, "id": running["id"]})
        assert "Deleted the worktree" in await say(editor, own, "/worktree discard topic")
        assert not is_there(made)


async def test_in_a_workspace_without_the_editors_trust_no_worktree_is_used(folder: Path) -> None:
    async with editor_in(folder) as editor:
        made = await new(editor, "topic", model(folder, "theirs", edit("app.py", "x = 1", "x = 2")))
    restricted = attrs.evolve(PLUGIN, experimental={"pygent": {"restricted": True}})
    async with editor_client(folder, {}, capabilities=restricted) as editor:
        with pytest.raises(JsonRpcException, match="does not trust this workspace"):
            await new(editor, "other", "offline")
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        for command in ("", " other", " merge topic", " discard topic"):
            assert "does not trust this workspace" in await say(editor, own, f"/worktree{command}")
        assert "does not trust this workspace" in await say(editor, made, "go")
    assert (Path(made["cwd"]) / "app.py").read_text() == "x = 1\n"
    assert git(folder, "branch", "--list", "pygent/*").split() == ["+", "pygent/topic"]


async def test_a_session_in_the_worktree_of_another_repository_is_not_continued(folder: Path) -> None:
    other = committed_project(folder.parent / "other")
    async with editor_in(other) as editor:
        made = await new(editor, "topic", model(folder, "theirs", edit("app.py", "x = 1", "x = 2")))
    async with editor_in(folder) as editor:
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        assert "belongs to another repository" in await say(editor, made, "go")
        for what in ("merge", "discard"):
            assert "There is no worktree 'topic'" in await say(editor, own, f"/worktree {what} topic")
    assert (Path(made["cwd"]) / "app.py").read_text() == "x = 1\n"


async def test_a_worktree_whose_folder_was_deleted_comes_back_with_what_was_committed(folder: Path) -> None:
    async with editor_in(folder) as editor:
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        made = await new(editor, "topic", model(folder, "theirs", shell("pwd")))
        worktree = Path(made["cwd"])
        (worktree / "app.py").write_text("x = 2\n")
        git(worktree, "commit", "--quiet", "--all", "-m", "of the agent")
        shutil.rmtree(worktree)
        assert "no longer exists" in await say(editor, made, "go")
        assert "Created the session" in await say(editor, own, "/worktree topic")
        assert (worktree / "app.py").read_text() == "x = 2\n"
        assert "Staged 1 changed file" in await say(editor, own, "/worktree merge topic")
        assert (folder / "app.py").read_text() == "x = 2\n"


async def test_folders_of_the_settings_are_those_of_the_worktree_and_none_contains_the_users_files(
    tmp_path: Path,
) -> None:
    folder = committed_project(tmp_path / "outer" / "project")
    outer = folder.parent
    library, link = outer / "library", outer / "link"
    library.mkdir()
    (library / "lib.py").write_text("z = 1\n")
    link.symlink_to(folder)
    settings = {
        "PYGENT_PERMISSIONS": '{"allow": ["edit_file"]}',
        "PYGENT_ADDITIONAL_DIRS": f"{library},{link},{outer}",
        "HOME": str(tmp_path / "home"),
    }
    inside = [edit("../app.py", "x = 1", "x = 2")]
    outside = [edit(str(each), "1", "3") for each in (folder / "app.py", link / "app.py", library / "lib.py")]
    async with editor_client(folder / "part", settings) as editor:
        made = await new(editor, "topic", model(folder, "model", *inside, *outside))
        await say(editor, made, "go")
        assert [is_well for is_well, _ in editor.results()] == [True, False, False, True]
        notices = [each["content"] for each in editor.events() if each["type"] == "notice"]
        assert any("contains your work tree" in each for each in notices)
    assert (Path(made["cwd"]).parent / "app.py").read_text() == "x = 2\n"
    assert (folder / "app.py").read_text() == "x = 1\n"
    assert (library / "lib.py").read_text() == "z = 3\n"


def words_in(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def place_of(process: str) -> str:
    """The working directory of a process."""
    return str(Path(f"/proc/{process}/cwd").readlink())


async def words_of(editor: EditorClient, path: Path, number: int) -> list[str]:
    """The words in a file once there are so many."""
    async with asyncio.timeout(WAIT_S):
        while len(words_in(path)) < number:
            await editor.ask("pygent/status", {})
    return words_in(path)


async def test_each_worktree_has_servers_of_its_own_which_end_with_it(folder: Path) -> None:
    config, pids = folder.parent / "home" / ".config" / "pygent-ls" / "config.toml", folder.parent / "pids"
    config.parent.mkdir(parents=True)
    config.write_text(toml_of(folder.parent))
    async with editor_in(folder) as editor:
        own = await editor.ask("pygent/session/new", {"model": model(folder, "ours")})
        await say(editor, own, "go")
        [first] = await words_of(editor, pids, 1)
        made = await new(editor, "topic", model(folder, "theirs"))
        await say(editor, made, "go")
        [first, second] = await words_of(editor, pids, 2)
        assert [place_of(first), place_of(second)] == [str(folder), made["cwd"]]
        ended = os.pidfd_open(int(second))
        assert "Deleted the worktree" in await say(editor, own, "/worktree discard topic")
        assert await asyncio.to_thread(have_ended, [ended])
        assert place_of(first) == str(folder)
