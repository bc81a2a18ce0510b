"""Undo, redo and restore take back what the agent wrote and nothing else, whoever else wrote meanwhile, and where."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.lsp_client import editor_client
from tests.e2e.undo_trial.desk import Desk, call, desk_at, edit, shell
from tests.model_server import Call, ModelServer, Received, Step

FILES: Mapping[str, str] = {
    "a.txt": "one\ntwo\nthree\n",
    "b.txt": "one\ntwo\nthree\n",
    "out/log.txt": "one\ntwo\nthree\n",
    "out/old.txt": "old\n",
}


@pytest_asyncio.fixture(params=["git", "no git"])
async def desk(folder: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Desk]:
    async with desk_at(folder, FILES, has_git=request.param == "git") as made:
        yield made


# While a command runs


async def test_what_is_typed_while_a_command_runs_stays(desk: Desk) -> None:
    desk.open("a.txt")
    held = await desk.held(shell(f"{desk.hold}; echo made > made.txt"))
    desk.type("a.txt", "one\ntyped\ntwo\nthree\n")
    session = (await held.finish())["sessionId"]

    answer = await desk.undo(session)

    assert desk.see("a.txt") == "one\ntyped\ntwo\nthree\n"
    assert desk.see("made.txt") is None
    assert answer.restored == {"made.txt"}


async def test_what_is_saved_while_a_command_runs_stays(desk: Desk) -> None:
    desk.open("a.txt")
    held = await desk.held(shell(f"{desk.hold}; echo made > made.txt"))
    desk.type("a.txt", "saved\n")
    desk.save("a.txt")
    desk.open("b.txt")
    desk.type("b.txt", "saved and closed\n")
    desk.save("b.txt")
    desk.close("b.txt")
    session = (await held.finish())["sessionId"]

    await desk.undo(session)

    assert desk.path("a.txt").read_text() == desk.see("a.txt") == "saved\n"
    assert desk.see("b.txt") == "saved and closed\n"


async def test_a_command_that_writes_a_file_has_no_part_in_what_is_typed_into_its_buffer(desk: Desk) -> None:
    desk.open("a.txt")
    held = await desk.held(shell(f"echo four >> a.txt; {desk.hold}; echo five >> a.txt"))
    desk.type("a.txt", "typed\n")
    session = (await held.finish())["sessionId"]

    await desk.undo(session)

    assert desk.see("a.txt") == "typed\n"


async def test_what_another_session_writes_while_a_command_runs_stays(desk: Desk) -> None:
    held = await desk.held(shell(f"{desk.hold}; echo made > made.txt"))
    await desk.turn(edit("a.txt", "two", "two of the other"), call("create_file", path="other.txt", content="new\n"))
    session = (await held.finish())["sessionId"]

    await desk.undo(session)

    assert desk.see("a.txt") == "one\ntwo of the other\nthree\n"
    assert desk.see("other.txt") == "new\n"
    assert desk.see("made.txt") is None


async def test_what_another_session_takes_back_while_a_command_runs_stays_taken_back(desk: Desk) -> None:
    other = (await desk.turn(edit("a.txt", "two", "2"), edit("b.txt", "two", "2")))["sessionId"]
    held = await desk.held(shell(f"{desk.hold}; touch a.txt"))
    await desk.undo(other)
    session = (await held.finish())["sessionId"]

    await desk.undo(session)
    await desk.slash("/checkpoint restore " + (await desk.checkpoints(session))[0]["checkpointId"], session)

    assert (desk.see("a.txt"), desk.see("b.txt")) == (FILES["a.txt"], FILES["b.txt"])


@pytest.mark.parametrize("reads", ["true", "cat a.txt | head -n 1", "grep -q one *.txt"])
async def test_a_closed_file_that_changes_while_a_command_runs_is_named_before_it_is_touched(
    desk: Desk, reads: str
) -> None:
    held = await desk.held(shell(f"{reads}; {desk.hold}; echo made > made.txt"))
    desk.write("a.txt", "the user's\n")
    session = (await held.finish())["sessionId"]

    answer = await desk.undo(session)

    assert desk.see("a.txt") == "the user's\n"
    assert (answer.restored, answer.left) == ({"made.txt"}, {"a.txt"})

    await desk.restart()
    rest = await desk.slash("/undo --rest", session)

    assert rest.restored == {"a.txt"}
    assert desk.see("a.txt") == FILES["a.txt"]


@pytest.mark.parametrize("is_open_before", [True, False], ids=["before", "meanwhile"])
async def test_a_file_that_is_open_and_changes_on_the_disk_while_a_command_runs_stays(
    desk: Desk, *, is_open_before: bool
) -> None:
    if is_open_before:
        desk.open("a.txt")
    held = await desk.held(shell(f"{desk.hold}; echo made > made.txt"))
    desk.write("a.txt", "the user's\n")
    desk.write("new.txt", "the user's\n")
    if is_open_before:
        desk.type("a.txt", "the user's\n")  # the editor reads it again
    else:
        desk.open("a.txt")
    desk.open("new.txt")
    session = (await held.finish())["sessionId"]

    answer = await desk.undo(session)

    assert (desk.see("a.txt"), desk.see("new.txt")) == ("the user's\n", "the user's\n")
    assert answer.restored == {"made.txt"}


async def test_the_rest_is_brought_back_by_a_restore_that_says_so(desk: Desk) -> None:
    session = (await desk.turn(shell(desk.script("echo four >> a.txt; rm b.txt; echo new > new.txt"))))["sessionId"]
    (first, *_) = await desk.checkpoints(session)

    spared = await desk.restore(first["checkpointId"])

    assert (spared.restored, spared.left) == (frozenset(), {"a.txt", "b.txt", "new.txt"})
    assert desk.see("a.txt") == f"{FILES['a.txt']}four\n"

    done = await desk.restore(first["checkpointId"], uncertain=True)

    assert (done.restored, done.left) == ({"a.txt", "b.txt", "new.txt"}, frozenset())
    assert (desk.see("a.txt"), desk.see("b.txt"), desk.see("new.txt")) == (FILES["a.txt"], FILES["b.txt"], None)


async def test_what_a_command_says_that_it_changes_goes_back_without_a_question(desk: Desk) -> None:
    session = (await desk.turn(shell("echo four >> a.txt; rm b.txt; mkdir d && echo new > d/new.txt")))["sessionId"]

    answer = await desk.undo(session)

    assert answer.restored == {"a.txt", "b.txt", "d/new.txt"}
    assert (desk.see("a.txt"), desk.see("b.txt"), desk.see("d/new.txt")) == (FILES["a.txt"], FILES["b.txt"], None)


# Between turns, and within one


async def test_a_second_undo_leaves_what_the_user_made_between_two_turns(desk: Desk) -> None:
    session = (await desk.turn(edit("a.txt", "two", "agent 1")))["sessionId"]
    desk.write("mine.txt", "mine\n")
    desk.write("a.txt", "one\nagent 1\nmine\n")
    await desk.turn(edit("a.txt", "one", "agent 2"), shell("echo agent >> mine.txt"), session=session)

    await desk.undo(session)
    assert (desk.see("a.txt"), desk.see("mine.txt")) == ("one\nagent 1\nmine\n", "mine\n")

    answer = await desk.undo(session)

    assert (desk.see("a.txt"), desk.see("mine.txt")) == ("one\nagent 1\nmine\n", "mine\n")
    assert answer.left >= {"a.txt"}


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
async def test_what_the_user_writes_in_the_middle_of_a_turn_stays_though_the_agent_edits_the_file_again(
    desk: Desk, *, is_open: bool
) -> None:
    if is_open:
        desk.open("a.txt")
    write = desk.type if is_open else desk.write
    look = call("read_file", path="a.txt")
    held = await desk.held(edit("a.txt", "one", "agent 1"), shell(desk.hold), look, edit("a.txt", "three", "agent 3"))
    write("a.txt", "agent 1\nmine\nthree\n")
    session = (await held.finish())["sessionId"]
    assert desk.see("a.txt") == "agent 1\nmine\nagent 3\n"

    answer = await desk.undo(session)

    assert "mine" in (desk.see("a.txt") or "")
    assert answer.left == {"a.txt"}


async def test_what_the_user_writes_while_they_are_asked_stays(desk: Desk) -> None:
    contents = iter(["one\ntwo\nthree\nmine 1\n", "agent\ntwo\nthree\nmine 1\nmine 2\n"])
    desk.at_prompt = lambda _: desk.write("a.txt", next(contents))
    session = (await desk.turn(edit("a.txt", "one", "agent"), edit("b.txt", "one", "agent")))["sessionId"]
    assert desk.see("a.txt") == "agent\ntwo\nthree\nmine 1\nmine 2\n"

    answer = await desk.undo(session)

    assert desk.see("a.txt") == "agent\ntwo\nthree\nmine 1\nmine 2\n"
    assert (answer.restored, answer.left) == ({"b.txt"}, {"a.txt"})


async def test_a_turn_of_tools_goes_back_and_forth_again_byte_for_byte(desk: Desk) -> None:
    before = desk.visible()
    patch = "--- a/out/log.txt\n+++ b/out/log.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+patched\n three\n"
    edits = [{"old": "one", "new": "1"}, {"old": "three", "new": "3"}]
    session = (
        await desk.turn(
            edit("a.txt", "two", "2"),
            call("move_file", source="a.txt", destination="d/moved.txt"),
            call("multi_edit", path="b.txt", edits=edits),
            call("copy_file", source="b.txt", destination="out/copy.txt"),
            call("apply_patch", patch=patch),
            call("delete_file", path="out/old.txt"),
            call("create_file", path="new.txt", content="new\n"),
        )
    )["sessionId"]
    after = desk.visible()
    changed = {"a.txt", "d/moved.txt", "b.txt", "out/copy.txt", "out/log.txt", "out/old.txt", "new.txt"}
    assert {name for name in before | after if before.get(name) != after.get(name)} == changed

    for _ in range(2):
        undone = await desk.undo(session)
        assert desk.visible() == before
        assert (undone.restored, undone.left) == (changed, frozenset())
        redone = await desk.redo(session)
        assert desk.visible() == after
        assert (redone.restored, redone.left) == (changed, frozenset())


async def test_what_the_user_writes_after_an_undo_is_spared_by_redo_and_by_its_checkpoint(desk: Desk) -> None:
    session = (await desk.turn(edit("a.txt", "two", "2"), edit("b.txt", "two", "2")))["sessionId"]
    (first, *_) = await desk.checkpoints(session)
    back = await desk.restore(first["checkpointId"])
    desk.write("a.txt", "mine\n")

    answer = await desk.restore(back.undo_id)

    assert (answer.restored, answer.left) == ({"b.txt"}, {"a.txt"})
    assert (desk.see("a.txt"), desk.see("b.txt")) == ("mine\n", "one\n2\nthree\n")

    await desk.undo(session)
    desk.write("b.txt", "mine, too\n")
    answer = await desk.redo(session)

    assert answer.left >= {"b.txt"}
    assert (desk.see("a.txt"), desk.see("b.txt")) == ("mine\n", "mine, too\n")


async def test_a_move_goes_back_without_a_loss_though_the_user_has_put_a_new_file_in_its_place(desk: Desk) -> None:
    session = (await desk.turn(call("move_file", source="a.txt", destination="moved.txt")))["sessionId"]
    desk.write("a.txt", "mine\n")

    answer = await desk.undo(session)

    assert desk.see("a.txt") == "mine\n"
    assert desk.see("moved.txt") == FILES["a.txt"]
    assert answer.left >= {"a.txt"}


async def test_what_was_moved_from_a_path_stays_if_the_user_has_then_written_there(desk: Desk) -> None:
    session = (await desk.turn(call("move_file", source="a.txt", destination="moved.txt")))["sessionId"]
    desk.write("a.txt", "mine\n")
    await desk.turn(call("move_file", source="a.txt", destination="next.txt"), session=session)
    (first, *_) = await desk.checkpoints(session)

    answer = await desk.restore(first["checkpointId"])

    assert (desk.see("a.txt"), desk.see("moved.txt"), desk.see("next.txt")) == ("mine\n", FILES["a.txt"], None)
    assert answer.left >= {"a.txt", "moved.txt"}


@pytest.mark.parametrize(
    "moving",
    [
        call("copy_file", source="a.txt", destination="other.txt"),
        call(
            "apply_patch",
            patch="diff --git a/a.txt b/other.txt\nrename from a.txt\nrename to other.txt\n"
            "--- a/a.txt\n+++ b/other.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n three\n",
        ),
    ],
    ids=["copy", "patch"],
)
async def test_a_text_that_was_copied_or_renamed_stays_if_the_user_has_replaced_its_source(
    desk: Desk, moving: Mapping[str, object]
) -> None:
    desk.write("a.txt", "one\ntwo\nthree\n")
    session = (await desk.turn(moving))["sessionId"]
    there = desk.see("other.txt")
    desk.write("a.txt", "mine\n")

    answer = await desk.undo(session)

    assert "other.txt" in answer.left
    assert (desk.see("a.txt"), desk.see("other.txt")) == ("mine\n", there)
    assert there is not None
    assert there.endswith("two\nthree\n")


async def test_a_copy_stays_if_the_user_has_replaced_its_source_before_the_agent_edited_that(desk: Desk) -> None:
    copied = await desk.turn(call("copy_file", source="a.txt", destination="other.txt"))
    desk.write("a.txt", "mine\n")
    await desk.turn(edit("a.txt", "mine", "mine, edited"), session=copied["sessionId"])

    await desk.undo(copied["sessionId"])
    answer = await desk.undo(copied["sessionId"])

    assert (desk.see("a.txt"), desk.see("other.txt")) == ("mine\n", FILES["a.txt"])
    assert answer.left >= {"other.txt"}


async def test_unsaved_text_that_was_moved_stays_though_a_turn_without_edits_is_redone(desk: Desk) -> None:
    desk.open("a.txt")
    desk.type("a.txt", "one\ntwo\nthree\ntyped\n")
    session = (await desk.turn(call("move_file", source="a.txt", destination="moved.txt")))["sessionId"]
    await desk.turn(session=session)
    after = desk.visible()

    await desk.undo(session)
    back = await desk.undo(session)
    assert (back.restored, back.left) == ({"a.txt", "moved.txt"}, frozenset())
    assert desk.see("a.txt") == "one\ntwo\nthree\ntyped\n"
    await desk.redo(session)
    again = await desk.redo(session)

    assert again.names == frozenset()
    assert desk.visible() == after
    assert desk.see("moved.txt") == "one\ntwo\nthree\ntyped\n"


async def test_what_was_put_back_by_hand_stays_though_a_turn_without_edits_is_redone(desk: Desk) -> None:
    session = (await desk.turn(edit("a.txt", "two", "2"), edit("b.txt", "two", "2")))["sessionId"]
    desk.write("a.txt", FILES["a.txt"])
    await desk.turn(session=session)

    await desk.undo(session)
    await desk.undo(session)
    await desk.redo(session)
    again = await desk.redo(session)

    assert again.names == frozenset()
    assert (desk.see("a.txt"), desk.see("b.txt")) == (FILES["a.txt"], "one\n2\nthree\n")


async def test_force_brings_back_what_the_user_has_changed_since(desk: Desk) -> None:
    session = (await desk.turn(edit("a.txt", "two", "2")))["sessionId"]
    (first, *_) = await desk.checkpoints(session)
    desk.write("a.txt", "mine\n")

    assert (await desk.restore(first["checkpointId"])).left == {"a.txt"}
    assert desk.see("a.txt") == "mine\n"

    forced = await desk.restore(first["checkpointId"], force=True)

    assert (forced.restored, desk.see("a.txt")) == ({"a.txt"}, FILES["a.txt"])
    await desk.restore(forced.undo_id, force=True)
    assert desk.see("a.txt") == "mine\n"


async def test_two_sessions_take_back_what_is_their_own(desk: Desk) -> None:
    one = (await desk.turn(edit("a.txt", "one", "of one"), edit("b.txt", "one", "of one")))["sessionId"]
    other = (await desk.turn(edit("a.txt", "two", "of other")))["sessionId"]

    answer = await desk.undo(one)

    assert (answer.restored, answer.left) == ({"b.txt"}, {"a.txt"})
    assert desk.see("a.txt") == "of one\nof other\nthree\n"

    await desk.undo(other)
    assert desk.see("a.txt") == "of one\ntwo\nthree\n"


async def test_what_the_user_writes_while_no_daemon_runs_stays(desk: Desk) -> None:
    session = (await desk.turn(edit("a.txt", "two", "2"), edit("b.txt", "two", "2")))["sessionId"]
    await desk.restart(lambda: desk.write("a.txt", "mine\n"))

    answer = await desk.undo(session)

    assert (answer.restored, answer.left) == ({"b.txt"}, {"a.txt"})
    assert (desk.see("a.txt"), desk.see("b.txt")) == ("mine\n", FILES["b.txt"])

    await desk.restart(lambda: desk.write("b.txt", "mine, too\n"))
    answer = await desk.redo(session)

    assert answer.left >= {"b.txt"}
    assert (desk.see("a.txt"), desk.see("b.txt")) == ("mine\n", "mine, too\n")


async def test_the_command_of_the_editor_goes_by_the_same_rules(desk: Desk) -> None:
    session = (await desk.turn(edit("a.txt", "two", "2"), edit("out/log.txt", "two", "2")))["sessionId"]
    desk.open("a.txt")
    desk.type("a.txt", "mine\n")

    answer = await desk.undo_by_command(session)

    assert (answer.restored, answer.left) == ({"out/log.txt"}, {"a.txt"})
    assert (desk.see("a.txt"), desk.see("out/log.txt")) == ("mine\n", FILES["out/log.txt"])


# Honesty


async def test_what_a_command_did_to_an_ignored_file_is_brought_back_or_named(desk: Desk) -> None:
    before = desk.visible()
    session = (await desk.turn(shell("echo four >> out/log.txt; rm out/old.txt")))["sessionId"]

    answer = await desk.undo(session)

    after = desk.visible()
    standing = {name for name in before | after if before.get(name) != after.get(name)}
    assert standing <= answer.left
    assert "No files needed to be restored" not in answer.text


async def test_a_file_that_a_command_makes_too_large_to_be_kept_is_brought_back(desk: Desk) -> None:
    hidden = desk.script(f"cd {desk.folder}; head -c 20000000 /dev/zero >> a.txt")
    session = (await desk.turn(shell(hidden)))["sessionId"]

    answer = await desk.undo(session)
    rest = await desk.slash("/undo --rest", session)

    assert (answer.left, rest.restored) == ({"a.txt"}, {"a.txt"})
    assert desk.see("a.txt") == FILES["a.txt"]


async def test_what_could_not_be_kept_before_a_command_changed_it_is_named_after_a_restart_too(desk: Desk) -> None:
    for name in ("large.bin", "larger.bin", "out/large.bin"):
        desk.path(name).write_bytes(bytes(17 * 1024**2))
    desk.outside("beside.txt").write_text("theirs\n")
    has_git = desk.path(".git").exists()
    hidden = desk.script(f"cd {desk.folder}; echo four >> out/log.txt; rm out/old.txt; rm -rf .git; echo > larger.bin")
    line = f"rm large.bin out/large.bin; echo more >> ../beside.txt; {hidden}"
    session = (await desk.turn(shell(line)))["sessionId"]
    await desk.restart()

    answer = await desk.undo(session)

    lost = {"large.bin", "larger.bin", "out/large.bin", "out/log.txt", "out/old.txt", str(desk.outside("beside.txt"))}
    assert answer.left >= (lost | {".git"} if has_git else lost)
    assert "No files needed to be restored" not in answer.text


# Hooks


async def test_what_a_hook_makes_of_another_file_is_named_before_it_is_touched(folder: Path) -> None:
    async with desk_at(folder, FILES, has_hook=True) as desk:
        desk.hook("echo formatted >> b.txt\n")
        session = (await desk.turn(edit("a.txt", "two", "2")))["sessionId"]
        assert desk.see("b.txt") == f"{FILES['b.txt']}formatted\n"

        answer = await desk.undo(session)

        assert (answer.restored, answer.left) == ({"a.txt"}, {"b.txt"})
        assert (desk.see("a.txt"), desk.see("b.txt")) == (FILES["a.txt"], f"{FILES['b.txt']}formatted\n")


async def test_what_is_typed_while_a_hook_runs_stays(folder: Path) -> None:
    async with desk_at(folder, FILES, has_hook=True) as desk:
        desk.open("b.txt")
        desk.hook(f"{desk.hold}\n")
        turn = desk.begin(edit("a.txt", "two", "2"))
        await desk.until_held(turn)
        desk.type("b.txt", "typed\n")
        desk.let_go()
        session = (await turn)["sessionId"]

        answer = await desk.undo(session)

        assert answer.restored == {"a.txt"}
        assert (desk.see("a.txt"), desk.see("b.txt")) == (FILES["a.txt"], "typed\n")


# The user's repository


@pytest.mark.parametrize(
    "command",
    ["rm -rf .git", "rm -rf .git && git init -q", "git reflog expire --expire=now --all && git gc -q --prune=now"],
    ids=["gone", "replaced", "pruned"],
)
async def test_a_command_that_takes_the_users_repository_takes_no_checkpoint(folder: Path, command: str) -> None:
    async with desk_at(folder, FILES) as desk:
        desk.write("a.txt", "never committed\n")
        desk.git("add", "a.txt")
        before = desk.visible()
        session = (
            await desk.turn(
                edit("a.txt", "never", "not"),
                edit("b.txt", "two", "2"),
                call("delete_file", path="out/old.txt"),
                shell("git reset -q"),
                shell(command),
            )
        )["sessionId"]
        after = desk.visible()

        await desk.undo(session)
        assert desk.visible() == before

        await desk.restart()
        await desk.redo(session)
        assert desk.visible() == after


# The conversation


@pytest.mark.parametrize("is_last", [True, False], ids=["last", "before the turn"])
async def test_a_compaction_outlives_undo_redo_and_a_restart(folder: Path, *, is_last: bool) -> None:
    def answer(request: Received, number: int) -> Step:
        last = str(request.messages[-1])
        if "Write the summary" in last:
            return Step(text="A SUMMARY")
        create = Call(name="create_file", arguments={"path": "new.txt", "content": "new\n"})
        return Step(text="" if number else "MANGO " * 900, calls=(create,) if "make it" in last else ())

    with ModelServer(answer) as server:
        environment = {**server.env(), "PYGENT_MODEL": "openai/mock", "PYGENT_MODE": "trust"}
        async with editor_client(folder, environment) as editor:
            session = (await editor.turn("say a fruit"))["sessionId"]
            await editor.turn("say another", sessionId=session)
            for prompt in ("make it", "/compact") if is_last else ("/compact", "make it"):
                assert "othing to compact" not in (await editor.turn(prompt, sessionId=session))["text"]
            for command in ("/undo", "/redo", "/undo"):
                await editor.turn(command, sessionId=session)
        async with editor_client(folder, environment) as editor:
            await editor.turn("/redo", sessionId=session)
            assert (folder / "new.txt").exists()
        async with editor_client(folder, environment) as editor:
            await editor.turn("and now", sessionId=session)
            said = str(server.requests[-1].messages)

    assert "A SUMMARY" in said
    assert "MANGO" not in said
