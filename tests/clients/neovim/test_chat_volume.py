"""A chat with much in it: it is drawn a little at a time, and no more of it than a person can use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.clients.neovim.changes import take
from tests.clients.neovim.chats import ask, chat, closed, n_ends, open_chat, view
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.stories import called, finished, resulted, said, started
from tests.model_server import Step

TURNS_OF_THE_LOOP = """
_G.n_turns = 0
local timer = vim.uv.new_timer()
timer:start(0, 1, function()
  _G.n_turns = _G.n_turns + 1
end)
"""


def lines_from(lines: Sequence[str], first: str) -> list[str]:
    return list(lines[lines.index(first) :])


def test_2000_items_are_drawn_while_the_editor_goes_on(start: Start) -> None:
    editor = start()
    open_chat(editor)
    editor.lua("require('pygent.sessions').current():hold()")  # the daemon does not know of these items
    editor.command("bwipeout")
    items = [
        event for number in range(1000) for event in (said(f"Say {number}", f"i{number}", "text"), called(f"c{number}"))
    ]
    results = [resulted(f"c{number}", content=f"is {number}") for number in range(1000)]
    take(editor, started(), *items, *results, finished())
    editor.lua(TURNS_OF_THE_LOOP)
    before = editor.lua("return _G.n_turns")

    window = open_chat(editor)
    editor.until(lambda: n_ends(editor) == 1)

    lines = chat(editor)
    assert editor.lua("return _G.n_turns") - before > 5
    assert [line for line in lines if line.startswith("Say")] == [f"Say {number}" for number in range(1000)]
    assert len(closed(editor, window)) == 1000
    assert view(editor, window)["line"] == len(lines)


def test_an_answer_of_10000_lines_is_shown_whole(start: Start) -> None:
    editor = start()
    open_chat(editor)
    answer = "\n".join(f"- line {number}" for number in range(10_000))

    take(editor, started(), said(answer[:5000]), said(answer, kind="text"), finished())
    editor.until(lambda: n_ends(editor) == 1)

    assert lines_from(chat(editor), "- line 0")[:-2] == answer.split("\n")


def test_a_text_that_reads_otherwise_in_the_end_takes_the_place_of_its_pieces(start: Start) -> None:
    editor = start()
    open_chat(editor)
    take(editor, started(), said("Half a\n\nthought"), called())
    editor.until(lambda: "thought" in chat(editor))

    take(editor, said("A whole one.", kind="text"), resulted(), finished())
    editor.until(lambda: n_ends(editor) == 1)

    lines = lines_from(chat(editor), "## pygent")
    assert lines[:5] == ["## pygent", "", "A whole one.", "", "✓ Read a.py"]


def test_a_megabyte_of_output_is_a_screenful_while_it_comes_and_a_part_of_it_then(start: Start) -> None:
    editor = start()
    open_chat(editor)
    output = "".join(f"{number} of the output\n" for number in range(50_000))
    take(editor, started(), called(), {"type": "tool_progress", "toolId": "c1", "content": output})
    editor.until(lambda: "49999 of the output" in chat(editor))
    assert len(chat(editor)) < 80

    take(editor, resulted(content=output), finished())
    editor.until(lambda: n_ends(editor) == 1)

    lines = chat(editor)
    assert "0 of the output" in lines
    assert "… 49800 more lines; `gd` shows all" in lines
    assert len(lines) < 250
    editor.keys("gg/✓<CR>gd")
    editor.until("return vim.api.nvim_buf_line_count(0) == 50000")


def test_many_agents_at_once_each_speak_in_their_place(start: Start) -> None:
    editor = start()
    window = open_chat(editor)
    agents = [called(f"a{number}", f"Subagent: {number}") for number in range(3)]
    pieces = [
        {**said(f"{agent}{piece} ", f"i{agent}"), "parentToolId": f"a{agent}"}
        for piece in range(50)
        for agent in range(3)
    ]
    take(editor, started(), *agents, *pieces[:70])
    editor.until(lambda: any(line.startswith("  00 ") for line in chat(editor)))

    take(editor, *pieces[70:], *[resulted(f"a{number}") for number in range(3)], finished())
    editor.until(lambda: n_ends(editor) == 1)

    lines = chat(editor)
    assert closed(editor, window) == ["✓ Subagent: 0", "✓ Subagent: 1", "✓ Subagent: 2"]
    for agent in range(3):
        inner = lines_from(lines, f"✓ Subagent: {agent}")
        assert "  " + "".join(f"{agent}{piece} " for piece in range(50)) in inner[:12]


def test_a_daemon_that_tells_another_story_has_the_chat_drawn_anew(start: Start) -> None:
    editor = start([Step(text="One.")])
    open_chat(editor)
    before = ask(editor, "first")
    take(editor, started("what was never kept"), said("Lost."))
    editor.until(lambda: "Lost." in chat(editor))

    again = "require('pygent.sessions').current():_take({ seq = 3, items = {} }, 20)"
    editor.lua(again)

    editor.until(lambda: chat(editor) == before)


def test_a_call_without_input_is_no_part_of_the_one_above_it_while_the_user_types(start: Start) -> None:
    editor = start()
    window = open_chat(editor)
    editor.command("leftabove new")
    editor.keys("ityping")
    editor.until("return vim.api.nvim_get_mode().mode == 'i'")
    for number in range(3):
        take(editor, *([started()] if number == 0 else []), called(f"c{number}", f"Call {number}", input={}))
        editor.until(lambda number=number: f"… Call {number}" in chat(editor))

    editor.until(lambda: closed(editor, window) == ["… Call 0", "… Call 1", "… Call 2"])


def test_folds_of_two_windows_are_their_own(start: Start) -> None:
    editor = start()
    window = open_chat(editor)
    take(editor, started(), called("c1", "One"), resulted("c1"), called("c2", "Two"), resulted("c2"))
    editor.until(lambda: len(closed(editor, window)) == 2)
    editor.command("split")
    other = editor.lua("return vim.api.nvim_get_current_win()")
    editor.keys("gg/✓ Two<CR>zo")
    editor.until(lambda: closed(editor, other) == ["✓ One"])

    take(editor, called("c3", "Three"), resulted("c3"), finished())
    editor.until(lambda: n_ends(editor) == 1)

    assert closed(editor, window) == ["✓ One", "✓ Two", "✓ Three"]
    assert closed(editor, other) == ["✓ One", "✓ Three"]


def test_a_vim_session_with_a_chat_in_it_is_kept_and_loaded_without_an_error(start: Start, tmp_path: Path) -> None:
    editor = start([Step(text="One.")])
    open_chat(editor)
    ask(editor, "first")
    kept = tmp_path / "Session.vim"
    editor.command(f"mksession {kept}")
    editor.command("bwipeout")
    editor.command(f"source {kept}")

    open_chat(editor)

    editor.until(lambda: "One." in chat(editor))
    assert editor.lua("return vim.v.errmsg") == ""
