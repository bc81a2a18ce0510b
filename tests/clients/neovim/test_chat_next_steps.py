"""What can follow a turn in the chat: implementing its plan, continuing, editing its prompt, restoring."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.neovim.chats import ask, chat, n_ends, open_chat, place, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.picking import Picker
from tests.clients.neovim.prompts import PROMPT, last_prompt, prompt_text, told
from tests.clients.neovim.terminal import terminal
from tests.model_server import Call, Step

PLAN_STEPS = ["I  Implement: ask for each edit", "A  Implement: accept edits", "i  Keep planning"]

EDIT = Step(calls=(Call(name="edit_file", arguments={"path": "code.py", "old": "one", "new": "two"}),))


def planned(start: Start, *steps: Step, **settings: object) -> Editor:
    """After a turn in plan mode whose answer is a plan; the chat is the current window."""
    editor = start([Step(text="I would change one to two."), *steps])
    (editor.folder / "code.py").write_text("one\n", encoding="utf-8")
    editor.lua("require('pygent').setup(...)", {"settings": {"mode": "plan"}, "review": {"when": "off"}, **settings})
    open_chat(editor)
    ask(editor, "what would you do?")
    return editor


def footer(editor: Editor) -> list[str]:
    """What stands behind the end of the last turn."""
    lines = chat(editor)
    return lines[max(place for place, each in enumerate(lines, 1) if each.startswith(("· Done", "! "))) :]


def mode(editor: Editor) -> str:
    return editor.lua("return require('pygent.sessions').current().info.mode")


def session_id(editor: Editor) -> str:
    return editor.lua("return require('pygent.sessions').current().id")


@pytest.mark.parametrize(("key", "new_mode", "asks"), [("I", "default", True), ("A", "accept_edits", False)])
def test_an_approved_plan_is_implemented_in_the_chosen_mode(
    start: Start, key: str, new_mode: str, *, asks: bool
) -> None:
    editor = planned(start, EDIT, Step(text="Changed."))
    assert footer(editor) == ["", "Approve the plan?", *PLAN_STEPS]

    editor.keys(key * 2)
    if asks:
        editor.until("return require('pygent.sessions').current().asks[1] ~= nil", what="the permission")
        editor.lua("require('pygent.sessions').current().asks[1].answer({ optionId = 'allow_once' })")
    editor.until(lambda: n_ends(editor) == 2, what="the end of the second turn")

    editor.until(lambda: mode(editor) == new_mode)
    assert [each for each in chat(editor) if each.startswith("I approve")] == ["I approve the plan. Implement it."]
    assert editor.lines("code.py") == ["two"]
    assert footer(editor) == []


def test_a_plan_is_kept_and_gone_on_with(start: Start) -> None:
    editor = planned(start, Step(text="Or to three."))

    editor.keys("i")
    editor.until(f"return {PROMPT}")
    editor.keys("and what else?<C-s>")
    editor.until(lambda: n_ends(editor) == 2)

    assert (mode(editor), footer(editor)[2:]) == ("plan", PLAN_STEPS)


def test_a_line_below_a_plan_does_what_it_says(start: Start) -> None:
    editor = planned(start, Step(text="Nothing to change."))

    editor.keys(f"{place(editor, PLAN_STEPS[1])}G<CR>")
    editor.until(lambda: n_ends(editor) == 2)

    assert mode(editor) == "accept_edits"


def test_a_plan_is_approved_by_a_command(start: Start) -> None:
    editor = planned(start, Step(text="Nothing to change."))

    editor.command("Pygent implement accept_edits")
    editor.until(lambda: n_ends(editor) == 2)
    assert last_prompt(editor).endswith("I approve the plan. Implement it.")
    editor.command("Pygent implement")

    told(editor, "there is no plan to approve")
    editor.command("Pygent implement twice")
    told(editor, "unknown mode twice; known are: accept_edits, default")


def test_a_mode_that_cannot_be_set_leaves_the_plan_and_says_why(start: Start) -> None:
    editor = planned(start)
    editor.lua(
        "local s = require('pygent.sessions').current()\n"
        "s:request('pygent/session/configure', { sessionId = s.id, agent = 'plan' },\n"
        "  function(err) vim.g.has_agent = err and err.message or 'yes' end)"
    )
    assert editor.until("return vim.g.has_agent") == "yes"

    editor.keys("I")
    told(editor, "the agent plan only plans: choose another with `:Pygent agent`")

    assert footer(editor)[2:] == PLAN_STEPS


@pytest.mark.parametrize(("status", "title"), [(401, "Try again"), (0, "Continue")])
def test_a_turn_that_ended_early_goes_on(start: Start, status: int, title: str) -> None:
    first = Step(status=status, error="no such key") if status else Step(text="It goes on and on", pause_after=3)
    editor = start([first, Step(text="Here it is.")])
    open_chat(editor)
    send(editor, "go")
    if not status:
        editor.until(lambda: "It goes" in "\n".join(chat(editor)))
        editor.keys("<C-c>")
    editor.until(lambda: n_ends(editor) == 1)
    assert footer(editor) == ["", f"R  {title}"]

    editor.keys("RR")
    editor.until(lambda: n_ends(editor) == 2)

    assert "Here it is." in chat(editor)
    assert (chat(editor).count("/continue"), footer(editor)) == (1, [])
    editor.keys("R")
    told(editor, "there is nothing to continue")


def test_a_command_continues_too(start: Start) -> None:
    editor = start([Step(status=401, error="no such key"), Step(text="Here it is.")])
    open_chat(editor)
    ask(editor, "go")

    editor.command("Pygent continue")
    editor.until(lambda: n_ends(editor) == 2)

    assert "Here it is." in chat(editor)


def test_a_prompt_is_edited_in_a_copy_that_ends_before_it(start: Start) -> None:
    editor = start([Step(text="One."), Step(text="Two."), Step(text="Three."), Step(text="Four.")])
    (editor.folder / "code.py").write_text("one\n", encoding="utf-8")
    editor.edit("code.py")
    open_chat(editor)
    ask(editor, "first")
    ask(editor, "/cost")
    editor.command("wincmd p")
    editor.command("1Pygent ask second")
    editor.until(lambda: "Two." in chat(editor) and n_ends(editor) == 3)
    origin = session_id(editor)
    editor.lua("vim.api.nvim_set_current_win(require('pygent.chat').window())")

    editor.keys(f"{place(editor, 'Two.')}GE")
    editor.until(f"return {PROMPT}")
    assert session_id(editor) != origin
    assert prompt_text(editor) == "second"
    assert editor.lua("return require('pygent.prompt.drafts').current().attachments[1].label") == "code.py:1"
    editor.keys("<Esc>cchow?<C-s>")
    editor.until(lambda: "Three." in chat(editor) and n_ends(editor) == 1)

    assert [each for each in chat(editor) if each in {"first", "second", "how?"}] == ["first", "how?"]
    assert "one" in last_prompt(editor)
    assert "Two." not in "".join(editor.model.requests[-1].texts("assistant"))


def test_the_first_prompt_is_edited_in_a_session_like_its_own(start: Start) -> None:
    editor = planned(start)
    origin = session_id(editor)

    editor.keys("ggE")
    editor.until(f"return {PROMPT}")

    assert session_id(editor) != origin
    assert (prompt_text(editor), mode(editor)) == ("what would you do?", "plan")


def test_the_state_before_a_turn_is_restored_as_far_as_is_chosen(start: Start) -> None:
    editor = start([EDIT, Step(text="Changed."), Step(text="Second.")])
    (editor.folder / "code.py").write_text("one\n", encoding="utf-8")
    editor.lua("require('pygent').setup({ settings = { mode = 'accept_edits' }, review = { when = 'off' } })")
    editor.edit("code.py")
    open_chat(editor)
    ask(editor, "change it")
    ask(editor, "and now?")
    assert editor.lines("code.py") == ["two"]
    picker = Picker(editor)

    picker.will_choose("files only")
    editor.keys("ggU")
    assert picker.offered() == [
        [
            "Show the changes since then",
            "Restore files and conversation",
            "Restore files only",
            "Restore the conversation only",
        ]
    ]
    told(editor, "restored: code.py")
    editor.until(lambda: editor.lines("code.py") == ["one"])
    assert editor.lua("return vim.bo.filetype") == "pygent-chat"

    picker.will_choose("conversation only")
    editor.keys("ggU")
    editor.until(f"return {PROMPT}")
    assert prompt_text(editor) == "change it"
    editor.until(lambda: "undone" in " ".join(beside(editor)))


def beside(editor: Editor) -> list[str]:
    """Virtual texts of the chat."""
    return editor.lua(
        "local buffer = require('pygent.chat.buffer_names').buffer(require('pygent.sessions').current())\n"
        "local marks = vim.api.nvim_buf_get_extmarks(buffer, -1, 0, -1, { details = true })\n"
        "return vim.iter(marks):map(function(mark) return vim.iter(mark[4].virt_text or {}):map(function(chunk)\n"
        "  return chunk[1] end):join('') end):totable()"
    )


def test_before_the_first_turn_no_key_of_a_turn_does_anything(start: Start) -> None:
    editor = start()
    open_chat(editor)

    for keys, reason in {"R": "nothing to continue", "I": "no plan to approve", "E": "no turn at the cursor"}.items():
        editor.keys(keys)
        told(editor, reason)
    editor.command("messages clear")
    editor.keys("U")
    told(editor, "no turn at the cursor")


def test_a_plan_is_approved_on_a_narrow_terminal(folder: Path, home: Path) -> None:
    (folder / "code.py").write_text("one\n", encoding="utf-8")
    script = [Step(text="To two."), EDIT, Step(text="Changed.")]
    with terminal(folder, home, script, "code.py", size=(60, 24)) as screen:
        screen.shows("one")
        screen.keys(":Pygent mode plan", "Enter")
        screen.shows("mode: plan")
        screen.keys(":Pygent ask what would you do?", "Enter")
        screen.shows("Approve the plan?", "I  Implement: ask", "A  Implement: accept", "i  Keep planning")
        screen.keys(":Pygent implement accept_edits", "Enter")
        screen.shows("Changed.", "┃ two")
        screen.shows_no("Approve the plan?")
