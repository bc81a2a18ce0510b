"""What the chat shows while a turn runs: prompts that wait, seconds of silence, and durations without the user's."""

from __future__ import annotations

import re

from tests.clients.neovim.chats import chat, n_ends, open_chat, screen, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import PROMPT, type_keys
from tests.model_server import Call, Step

WAIT = Call(name="shell", arguments={"command": "until [ -e go ]; do sleep 0.05; done"})

ASKED = "return require('pygent.sessions').current().asks[1] ~= nil"


def allow(editor: Editor) -> None:
    editor.until(ASKED, what="the permission")
    editor.lua("require('pygent.sessions').current().asks[1].answer({ optionId = 'allow_once' })")


def with_code(editor: Editor) -> None:
    (editor.folder / "code.py").write_text("one\ntwo\nthree\n", encoding="utf-8")
    editor.edit("code.py")
    open_chat(editor, enter=False)


def test_a_queued_prompt_is_shown_with_what_it_is_about_until_its_turn(start: Start) -> None:
    editor = start([Step(text="One.", pause_after=1), Step(text="Two.")])
    with_code(editor)
    send(editor, "first")
    editor.command("2,3Pygent attach")
    editor.until(f"return {PROMPT}")
    type_keys(editor, "second<CR>line<C-s>")

    editor.until(lambda: chat(editor)[-1] == "… next: second line · code.py:2-3", what="the prompt that waits")
    assert any("… next: second line · code.py:2-3" in line for line in screen(editor))
    editor.model.resume()
    editor.until(lambda: n_ends(editor) == 2)

    lines = chat(editor)
    place = lines.index("second")
    assert lines[place : place + 3] == ["second", "line", "· attached code.py:2-3"]
    assert not [line for line in lines if line.startswith("… next")]


def test_a_prompt_to_the_running_turn_is_shown_with_what_it_is_about_until_the_model_reads_it(start: Start) -> None:
    editor = start([Step(calls=(WAIT,)), Step(text="So.")])
    with_code(editor)
    send(editor, "first")
    allow(editor)
    editor.until("return require('pygent.sessions').current().asks[1] == nil")
    editor.command("2Pygent attach")
    editor.until(f"return {PROMPT}")
    type_keys(editor, "use tabs<M-CR>")

    editor.until(lambda: "… sent to the running turn: use tabs · code.py:2" in chat(editor), what="the prompt")
    editor.until("return #require('pygent.prompt.drafts').current().sent == 0", what="the daemon to take the prompt")
    (editor.folder / "go").touch()
    editor.until(lambda: n_ends(editor) == 1)

    lines = chat(editor)
    place = lines.index("> use tabs")
    assert lines[place + 1] == "· attached code.py:2"
    assert not [line for line in lines if line.startswith("… sent")]


def silence(editor: Editor) -> int:
    """The seconds that the line above the chat shows; 0 without them."""
    found = re.search(r"● working (\d+) s", "\n".join(screen(editor)[:2]))
    return int(found[1]) if found else 0


def test_the_line_above_the_chat_counts_the_seconds_of_a_silent_model_and_of_a_silent_command(start: Start) -> None:
    editor = start([Step(text="I wait.", pause_after=1, calls=(WAIT,)), Step(text="So.")])
    open_chat(editor)
    send(editor, "first")
    editor.until(lambda: silence(editor) >= 2, what="two seconds without a word of the model")
    editor.until(lambda: silence(editor) >= 3)

    editor.model.resume()
    editor.until(ASKED)
    editor.until(lambda: any("waiting for you" in line for line in screen(editor)[:2]))
    assert silence(editor) == 0, "the user is waited for"
    allow(editor)
    editor.until(lambda: silence(editor) >= 2, what="two seconds without output of the command")
    (editor.folder / "go").touch()
    editor.until(lambda: n_ends(editor) == 1)
    assert not any("working" in line for line in screen(editor)[:2])


def test_a_duration_is_without_the_time_that_the_user_took_to_answer(start: Start) -> None:
    editor = start([Step(calls=(Call(name="shell", arguments={"command": "true"}),)), Step(text="So.")])
    open_chat(editor)
    send(editor, "first")
    editor.until(ASKED)
    asked_ms = editor.lua("return vim.uv.hrtime() / 1e6")
    editor.until("return vim.uv.hrtime() / 1e6 - ... > 2000", asked_ms, what="the user to make up their mind")
    allow(editor)
    editor.until(lambda: n_ends(editor) == 1)

    call, end, whole_ms = editor.lua(
        "local known = require('pygent.sessions').current().conversation\n"
        "local call = vim.iter(known.items):find(function(item) return item.type == 'tool' end)\n"
        "local last = known.items[#known.items]\n"
        "local elapsed = require('pygent.conversation.timestamps').elapsed_ms\n"
        "local turn = known.turns[last.turnId]\n"
        "return { call.result.durationMs, last.durationMs, elapsed(turn.startedAt, turn.finishedAt) }"
    )
    assert whole_ms > 2000
    assert end <= whole_ms - 2000
    assert call <= whole_ms - 2000
