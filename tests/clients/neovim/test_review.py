"""Edits of the agent wait inline for the user's review, and are accepted or rejected hunk by hunk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.neovim.changing import (
    TRUSTING,
    bypass_permissions,
    edits,
    replaced,
    results,
    send,
    turn,
)
from tests.clients.neovim.chats import chat, closed, count, n_ends, open_chat, place
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.reviews import DONE, LINES, TWO_HUNKS, added, drawn, edited, marks, until_waiting, waiting


def prompts(editor: Editor) -> str:
    """All that the model was asked last."""
    return str(editor.model.requests[-1].body["messages"])


def test_hunks_are_shown_where_they_stand(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)

    assert waiting(editor) == [
        (3, ["line 3"], ["line three", "and more"]),
        (21, ["line 20", "line 21"], []),
    ]
    assert added(editor, buffer) == [3, 4]
    assert drawn(editor, buffer, "virt_lines") == [3, 21]
    shown = [details["virt_lines"] for _, details in marks(editor, buffer) if "virt_lines" in details]
    assert [[chunks[0][0].rstrip() for chunks in lines] for lines in shown] == [["line 3"], ["line 20", "line 21"]]
    hints = [details["virt_text"][0][0] for _, details in marks(editor, buffer) if "virt_text" in details]
    assert hints == [" 1 of 2 · gdaih accept · gdrih reject", " 2 of 2 · gdaih accept · gdrih reject"]


def test_accepting_and_rejecting_with_keys(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)

    editor.keys("gg]h")
    editor.until("return vim.fn.line('.') == 3")
    editor.keys("gdrih")
    until_waiting(editor, 1)
    assert editor.lines(buffer) == [f"line {n}" for n in range(1, 31) if n not in (20, 21)]
    editor.keys("G[h")
    editor.until("return vim.fn.line('.') == 20")
    editor.keys("gdaih")
    until_waiting(editor, 0)

    assert editor.lines(buffer) == [f"line {n}" for n in range(1, 31) if n not in (20, 21)]
    assert marks(editor, buffer) == []
    editor.command("silent undo")
    assert editor.lines(buffer)[2:4] == ["line three", "and more"]


def test_a_selection_and_a_whole_file_are_decided_at_once(start: Start, folder: Path) -> None:
    changes = [replaced("a.txt", f"line {n}\n", f"LINE {n}\n") for n in (2, 5, 9, 12)]
    editor, buffer = edited(start, folder, edits(*changes))
    until_waiting(editor, 4)

    editor.keys("5GV9Ggdr")
    until_waiting(editor, 2)
    assert [line for line, _, _ in waiting(editor)] == [2, 12]
    editor.keys("gdA")
    until_waiting(editor, 0)

    assert [n for n, line in enumerate(editor.lines(buffer), 1) if line.isupper() or "LINE" in line] == [2, 12]


def test_keys_are_mapped_only_while_edits_wait(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text(LINES)
    editor = start([TWO_HUNKS, DONE], **TRUSTING)
    editor.edit("a.txt")
    editor.command("nnoremap <buffer> gda :let g:mine = 1<CR>")
    turn(editor)
    until_waiting(editor, 2)
    mapped = "return vim.fn.maparg(..., 'n', false, true).desc or ''"
    assert editor.lua(mapped, "gda") == "pygent: Accept the agent's edits in the lines of a motion"

    editor.command("Pygent! accept")
    until_waiting(editor, 0)

    assert editor.lua(mapped, "gdr") == ""
    editor.keys("gda")
    assert editor.until("return vim.g.mine") == 1


def test_the_users_own_typing_is_no_hunk_and_stays(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)

    editor.keys("ggOmine above<Esc>Gomine below<Esc>")
    editor.until(lambda: waiting(editor)[0][0] == 4 or None, what="the hunks further below")
    editor.command("Pygent! reject")
    until_waiting(editor, 0)

    assert editor.lines(buffer) == ["mine above", *LINES.splitlines(), "mine below"]


def test_undoing_an_edit_takes_its_hunks_away(start: Start, folder: Path) -> None:
    editor, _ = edited(start, folder)
    until_waiting(editor, 2)

    editor.command("silent undo")
    until_waiting(editor, 1)
    editor.command("silent undo")

    until_waiting(editor, 0)


def test_going_back_to_a_checkpoint_leaves_nothing_to_judge(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)

    editor.lua(
        "local session = require('pygent.sessions').current(); "
        "session:request('pygent/checkpoint/list', { sessionId = session.id }, function(_, found) "
        "session:request('pygent/checkpoint/restore', { checkpointId = found.checkpoints[1].checkpointId, "
        "files = true, conversation = false }, function(err, result) _G.restored = result or err end) end)"
    )

    editor.until("return _G.restored")
    until_waiting(editor, 0)
    assert editor.lines(buffer) == LINES.splitlines()


def test_the_model_hears_what_was_rejected_with_the_next_prompt(start: Start, folder: Path) -> None:
    editor, _ = edited(start, folder)
    until_waiting(editor, 2)

    editor.command("3Pygent reject")
    until_waiting(editor, 1)
    turn(editor, "and now?")

    assert "a.txt @@ -3,1 +3,2 @@" in prompts(editor)
    assert "+and more" in prompts(editor)
    turn(editor, "what else?")
    assert prompts(editor).count("took some back") == 1


def test_a_rejection_stands_in_the_chat_as_a_line_that_unfolds(start: Start, folder: Path) -> None:
    editor, _ = edited(start, folder)
    window = open_chat(editor, enter=False)
    until_waiting(editor, 2)
    editor.until(lambda: n_ends(editor) == 1)

    editor.command("3Pygent reject")
    editor.until(lambda: count(editor, "· Done · 1 change rejected") == 1, what="the end of the turn")
    turn(editor, "and now?")
    editor.until(lambda: n_ends(editor) == 2)

    lines = chat(editor)
    assert "· You rejected 1 change in a.txt" in closed(editor, window)
    assert lines.index("· You rejected 1 change in a.txt") < place(editor, "and now?")
    assert "+and more" in lines
    assert not [line for line in lines if "and now?" in line and "took" in line]
    assert count(editor, "· Done · 1 change rejected") == 1


def test_the_model_hears_at_once_while_a_turn_runs(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text(LINES)
    asks = edits({"question": "Go on?", "choices": [{"title": "Yes"}]}, name="ask_user")
    editor = start([TWO_HUNKS, asks, DONE], **TRUSTING)
    editor.lua("require('pygent.permission.question').show = function(ask) _G.ask = ask; return function() end end")
    editor.edit("a.txt")
    send(editor)
    until_waiting(editor, 2)
    editor.until("return _G.ask ~= nil")
    editor.lua(
        "local handlers = require('pygent.daemon.client').ready().handlers; "
        "local handle = handlers['pygent/review/didChange']; "
        "handlers['pygent/review/didChange'] = function(err, told, ctx) _G.told = told; handle(err, told, ctx) end"
    )
    editor.command("Pygent! reject")
    editor.until(
        "return _G.told and #_G.told.hunks == 0 and #_G.told.rejected == 0", what="the daemon to tell the model"
    )
    editor.lua("_G.ask.answer({ choice = 'Yes' })")
    editor.until_over()

    assert "took some back" in prompts(editor)
    steered = "return vim.tbl_filter(function(item) return item.type == 'prompt' and item.steered end, "
    assert editor.lua(steered + "require('pygent.sessions').current().conversation.items)") == []


def test_a_file_that_the_daemon_wrote_itself_is_shown_when_it_is_opened(start: Start, folder: Path) -> None:
    text = LINES.replace("line 9\n", "line 9\r\n")  # editors convert such a file: the daemon writes it
    (folder / "a.txt").write_bytes(text.encode())
    editor = start([edits(replaced("a.txt", "line 7\n", "LINE 7\n")), DONE], **TRUSTING)
    editor.edit("other.txt")
    turn(editor)
    assert (folder / "a.txt").read_bytes() == text.replace("line 7", "LINE 7").encode()
    until_waiting(editor, 1)

    buffer = editor.edit("a.txt")

    editor.until(lambda: added(editor, buffer) == [7] or None)
    editor.keys("7Ggdrih")
    until_waiting(editor, 0)
    editor.command("silent write")
    assert (folder / "a.txt").read_bytes() == text.encode()


def test_a_new_file_goes_and_a_deleted_one_comes_back_when_that_is_rejected(
    start: Start, folder: Path, home: Path
) -> None:
    (folder / "old.txt").write_text("old\n")
    bypass_permissions(home)
    new = edits({"path": "new.txt", "content": "new\n"}, name="create_file")
    editor = start([new, edits({"path": "old.txt"}, name="delete_file"), DONE])
    editor.edit("other.txt")
    turn(editor)
    assert [ok for ok, _ in results(editor)] == [True, True], results(editor)
    until_waiting(editor, 1, "new.txt")
    until_waiting(editor, 1, "old.txt")

    editor.command("Pygent! reject")

    until_waiting(editor, 0, "new.txt")
    until_waiting(editor, 0, "old.txt")
    assert not (folder / "new.txt").exists()
    assert (folder / "old.txt").read_text() == "old\n"
    assert editor.lua("return vim.fn.bufexists(...)", str(folder / "new.txt")) == 0


@pytest.mark.parametrize(
    "content",
    [b"\x7fELF\r\n\x00\xff\xfe\r\n", "caf\u00e9\r\nna\u00efve\r\n".encode("latin-1"), b"\xef\xbb\xbfone\r\ntwo", b""],
    ids=["binary", "latin-1", "bom", "empty"],
)
def test_a_deleted_file_comes_back_byte_for_byte_with_its_mode_when_that_is_rejected(
    start: Start, folder: Path, home: Path, content: bytes
) -> None:
    path = folder / "old.bin"
    path.write_bytes(content)
    path.chmod(0o751)
    bypass_permissions(home)
    editor = start([edits({"path": "old.bin"}, name="delete_file"), DONE, DONE])
    editor.edit("other.txt")
    turn(editor)
    assert not path.exists()
    until_waiting(editor, 1, "old.bin")

    editor.command("Pygent! reject")

    until_waiting(editor, 0, "old.bin")
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o7777 == 0o751
    turn(editor, "and now?")
    assert "ELF" not in prompts(editor)


def test_a_deleted_file_that_was_edited_before_comes_back_as_it_was(start: Start, folder: Path, home: Path) -> None:
    path = folder / "old.txt"
    path.write_bytes("caf\u00e9\r\ntwo\r\n".encode("latin-1"))
    bypass_permissions(home)
    path.chmod(0o751)
    deletes = edits({"path": "old.txt"}, name="delete_file")
    editor = start([edits(replaced("old.txt", "two", "2")), DONE, deletes, DONE])
    editor.edit("old.txt")
    turn(editor)
    editor.command("silent write")
    turn(editor)
    assert all(ok for ok, _ in results(editor)), results(editor)
    editor.until(lambda: waiting(editor, "old.txt") == [(1, ["caf\u00e9", "two"], [])] or None)

    editor.command("Pygent! reject")
    until_waiting(editor, 0, "old.txt")

    editor.edit("old.txt")
    editor.command("silent write")
    assert path.read_bytes() == "caf\u00e9\r\ntwo\r\n".encode("latin-1")
    assert path.stat().st_mode & 0o7777 == 0o751


def test_undoing_a_rejection_makes_the_hunk_wait_again_and_the_model_hears_nothing(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)
    before = waiting(editor)

    editor.keys("3Ggdrih")
    until_waiting(editor, 1)
    editor.keys("20Ggdaih")
    until_waiting(editor, 0)
    editor.command("silent undo")
    until_waiting(editor, 1)
    assert waiting(editor) == before[:1]
    assert added(editor, buffer) == [3, 4]
    turn(editor, "and now?")
    assert "took some back" not in prompts(editor)

    editor.command("silent redo")
    until_waiting(editor, 0)
    turn(editor, "and now?")
    assert "+and more" in prompts(editor)


def test_the_model_hears_of_a_rejection_that_is_undone_after_it_was_told(start: Start, folder: Path) -> None:
    editor, _ = edited(start, folder)
    until_waiting(editor, 2)
    editor.keys("3Ggdrih")
    until_waiting(editor, 1)
    turn(editor, "and now?")
    assert "+and more" in prompts(editor)

    editor.command("silent undo")
    until_waiting(editor, 2)
    turn(editor, "and now?")

    assert "I undid" in prompts(editor)


def test_other_line_breaks_are_no_hunk(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)

    editor.command("set fileformat=dos | silent write")
    (folder / "a.txt").write_bytes((folder / "a.txt").read_bytes().replace(b"\r\n", b"\n"))
    editor.command("checktime")
    assert len(waiting(editor)) == 2

    def reject() -> bool:  # refused if the daemon has just seen the other line breaks
        editor.command("silent! Pygent! reject")
        return not waiting(editor)

    editor.until(reject)
    editor.until(lambda: editor.lines(buffer) == LINES.splitlines())


def test_a_rejection_keeps_what_another_program_has_written(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)
    editor.command("silent write")
    path = folder / "a.txt"
    path.write_text(f"theirs\n{path.read_text()}")

    editor.keys("3Ggdrih")

    until_waiting(editor, 1)
    assert editor.lines(buffer)[0] == "theirs"
    editor.command("silent write")
    assert path.read_text() == "theirs\n" + "".join(f"line {n}\n" for n in range(1, 31) if n not in (20, 21))


def test_files_that_another_program_has_made_or_filled_since_are_left_alone_by_a_rejection(
    start: Start, folder: Path, home: Path
) -> None:
    (folder / "old.txt").write_text("old\n")
    bypass_permissions(home)
    new = edits({"path": "new.txt", "content": "new\n"}, name="create_file")
    editor = start([new, edits({"path": "old.txt"}, name="delete_file"), DONE])
    editor.edit("other.txt")
    turn(editor)
    until_waiting(editor, 1, "new.txt")
    until_waiting(editor, 1, "old.txt")
    editor.command("silent wall")
    (folder / "new.txt").write_text("new\ntheirs\n")
    (folder / "old.txt").write_text("theirs\n")

    editor.command("Pygent! reject")

    editor.until(lambda: "old.txt was not changed" in editor.messages() or None)
    editor.until(lambda: "new.txt was not changed" in editor.messages() or None)
    assert (folder / "new.txt").read_text() == "new\ntheirs\n"
    assert (folder / "old.txt").read_text() == "theirs\n"


def test_what_waits_is_listed_in_the_quickfix_window(start: Start, folder: Path) -> None:
    editor, _ = edited(start, folder)
    until_waiting(editor, 2)

    editor.command("Pygent changes")
    listed = [(item["lnum"], item["text"]) for item in editor.lua("return vim.fn.getqflist()")]
    assert listed == [(3, "pending: +line three"), (21, "pending: -line 20")]
    editor.command("Pygent! accept")
    editor.command("Pygent changes")

    listed = [(item["lnum"], item["text"]) for item in editor.lua("return vim.fn.getqflist()")]
    assert listed == [(3, "-line 3"), (21, "-line 20")]
    assert "pygent changes" in editor.lua("return vim.fn.getqflist({ title = 1 }).title")
    assert editor.lua("return vim.bo.filetype") == "qf"


def test_of_very_many_hunks_those_are_marked_that_are_scrolled_to(start: Start, folder: Path) -> None:
    text = "".join(f"{'foo' if number % 2 else 'plain'} {number}\n" for number in range(2000))
    reads = edits({"path": "a.txt"}, name="read_file")
    replaces = edits({**replaced("a.txt", "foo", "bar"), "all": True})
    editor, buffer = edited(start, folder, reads, replaces, text=text)
    until_waiting(editor, 1000)
    assert added(editor, buffer)[:2] == [2, 4]
    assert len(added(editor, buffer)) < 200

    editor.keys("G")
    editor.until(lambda: added(editor, buffer)[-1] == 2000 or None, what="marks at the end")
    assert len(added(editor, buffer)) < 200
    editor.command("split | normal! gg")
    editor.until(lambda: {2, 2000} <= set(added(editor, buffer)) or None, what="marks in both windows")
    assert len(added(editor, buffer)) == len(set(added(editor, buffer)))
    editor.keys("gda1800j")
    until_waiting(editor, 100)
    assert added(editor, buffer)[-1] == 2000
    assert added(editor, buffer)[0] >= 1802


def test_commands_say_what_is_missing(start: Start, folder: Path) -> None:
    editor, _ = edited(start, folder)
    until_waiting(editor, 2)

    editor.command("10Pygent accept")
    editor.command("Pygent accept all")
    editor.command("Pygent accept file")
    editor.command("Pygent reject")
    said = editor.messages()

    assert "no edit at the cursor; ]h goes to the next" in said
    assert "unknown argument all: use `file`, or none for the edit at the cursor" in said
    assert "no edit waits for review" in said


def test_with_review_off_nothing_waits(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text(LINES)
    editor = start([TWO_HUNKS, DONE], **TRUSTING)
    editor.lua("require('pygent').setup({ review = { when = 'off' } })")
    editor.edit("a.txt")

    turn(editor)

    assert editor.lua("return #require('pygent.review').waiting()") == 0


def test_a_buffer_that_was_closed_shows_its_edits_again(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)
    editor.command("silent write")

    editor.command(f"enew | bdelete {buffer}")
    again = editor.edit("a.txt")

    editor.until(lambda: added(editor, again) == [3, 4] or None)
    editor.keys("3Ggdrih")
    until_waiting(editor, 1)
    assert editor.lines(again)[2] == "line 3"


def test_edits_of_a_file_that_is_moved_move_with_it(start: Start, folder: Path, home: Path) -> None:
    (folder / "a.txt").write_text(LINES)
    bypass_permissions(home)
    editor = start([TWO_HUNKS, edits({"source": "a.txt", "destination": "b.txt"}, name="move_file"), DONE])
    buffer = editor.edit("a.txt")
    turn(editor)
    assert all(ok for ok, _ in results(editor)), results(editor)

    until_waiting(editor, 2, "b.txt")
    assert added(editor, buffer) == [3, 4]
    editor.keys("gdA")

    until_waiting(editor, 0, "b.txt")


def test_a_wiped_buffer_is_no_trouble(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)

    editor.command(f"bwipeout! {buffer}")

    until_waiting(editor, 0)
    assert "E5" not in editor.messages()


@pytest.fixture
def asked(start: Start, folder: Path) -> Editor:
    """An editor in which a turn waits for the review of two hunks."""
    (folder / "a.txt").write_text(LINES)
    editor = start([edits(replaced("a.txt", LINES, changed_at(3, 20))), DONE], **TRUSTING)
    editor.lua("require('pygent').setup({ review = { when = 'each' } })")
    editor.edit("a.txt")
    send(editor)
    until_waiting(editor, 2)
    return editor


def changed_at(*numbers: int) -> str:
    return "".join(f"{'LINE' if number in numbers else 'line'} {number}\n" for number in range(1, 31))


def test_a_turn_waits_for_its_review_and_rejected_hunks_are_taken_back(asked: Editor) -> None:
    asked.keys("ggOmine<Esc>")
    asked.until(lambda: waiting(asked)[0][0] == 4 or None, what="hunks further below")
    asked.keys("4Ggdaih")
    until_waiting(asked, 1)
    assert asked.lua("return require('pygent.sessions').current().conversation.running_turn_id ~= nil")
    asked.keys("21Ggdrih")
    asked.until_over()

    assert asked.lines() == ["mine", *changed_at(3).splitlines()]
    assert "rejected" in results(asked)[0][1]
    assert waiting(asked) == []


def test_all_of_a_review_is_answered_at_once(asked: Editor) -> None:
    asked.command("Pygent! accept")
    asked.until_over()

    assert asked.lines() == changed_at(3, 20).splitlines()
    assert waiting(asked) == []


def test_a_review_is_withdrawn_when_the_turn_is_stopped(asked: Editor) -> None:
    asked.lua("require('pygent.sessions').current():cancel()")
    asked.until_over()

    until_waiting(asked, 0)
    assert asked.lines() == changed_at(3, 20).splitlines()
