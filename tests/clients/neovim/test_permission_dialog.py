"""How a permission is asked for, in the window that lies over the others."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tests.clients.neovim import dialogs
from tests.clients.neovim.nvim import WAIT_S, Editor, bare_neovim
from tests.e2e.command_line import clean_environment

SHOW = """
local kind, request = ...
local id = request[kind .. "Id"]
_G.answers, _G.remove = _G.answers or {}, _G.remove or {}
local ask = { kind = kind, id = id, request = request, is_over = function() return _G.remove[id] == nil end }
ask.answer = function(result)
  table.insert(_G.answers, { id = id, result = result == nil and vim.NIL or result })
  _G.remove[id]()
end
_G.remove[id] = require(kind == "permission" and "pygent.permission" or "pygent.permission.question").show(ask)
"""

KEPT = "Shell(ls *), until you revoke it."

OPTIONS = [
    {"optionId": "1", "kind": "allow_once", "title": "Allow once", "appliesTo": "this call only."},
    {"optionId": "2", "kind": "allow_session", "title": "Allow for this session", "appliesTo": KEPT},
    {"optionId": "3", "kind": "allow_always", "title": "Always allow", "appliesTo": KEPT},
    {"optionId": "4", "kind": "reject_once", "title": "Reject", "appliesTo": "this call only."},
    {"optionId": "5", "kind": "reject_always", "title": "Always reject", "appliesTo": KEPT},
]

GRAVE = [OPTIONS[3], *OPTIONS[:3], OPTIONS[4]]


class Asked(Editor):
    """An editor in which dialogs are shown as if a daemon had asked."""

    def asks(self, permission_id: str = "p1", **fields: Any) -> None:
        """Something is asked; what is left out is harmless."""
        request = {
            "permissionId": permission_id,
            "sessionId": "s1",
            "turnId": "t1",
            "toolCall": {"toolId": "c1", "toolName": "shell", "title": "List", "kind": "execute"},
            "title": "Run a command",
            "message": "ls -l",
            "risk": "medium",
            "options": OPTIONS,
            "source": "",
        }
        self.lua(SHOW, "permission", {**request, **fields})

    def questions(self, question: str, *choices: Mapping[str, str], allow_text: bool = False) -> None:
        """The agent wants to know something."""
        asked = {"questionId": "q1", "sessionId": "s1", "question": question, "choices": list(choices)}
        self.lua(SHOW, "question", {**asked, "allowText": allow_text})

    @property
    def window(self) -> int | None:
        """Lines of the open dialog."""
        return dialogs.dialog(self)

    @property
    def shown(self) -> list[str]:
        """The lines of the dialog."""
        return dialogs.shown(self)

    def part(self, name: str) -> str:
        """Title or footer of its border."""
        return dialogs.border(self, name)

    def goes_there(self) -> None:
        """`:Pygent answer`, until keys count."""
        self.command("Pygent answer")
        self.until_it_counts()

    def until_it_counts(self) -> None:
        """The dialog has the focus, and takes keys."""
        dialogs.until_it_counts(self)

    def until_blocked(self) -> None:
        """Neovim waits for keys, and for nothing else."""
        deadline = time.monotonic() + WAIT_S
        while self.nvim.api.get_mode()["mode"] != "c":
            assert time.monotonic() < deadline, "nothing is asked"
            self.nvim.wait_for_news()

    def until_gone(self) -> None:
        """No dialog is shown."""
        dialogs.until_gone(self)

    @property
    def answers(self) -> list[Any]:
        """What was answered so far."""
        return [each["result"] for each in self.lua("return _G.answers or {}")]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Any]:
    home = tmp_path_factory.mktemp("h")
    with bare_neovim(clean_environment(home), home, home) as nvim:
        nvim.exec_lua("_G.told = {}; require('pygent').setup({ notify = function(m) table.insert(told, m) end })")
        yield nvim


@pytest.fixture
def asked(shared: Any, tmp_path: Path) -> Generator[Asked]:
    yield Asked(nvim=shared, folder=tmp_path, model=cast("Any", None), environment={})
    shared.input("<C-\\><C-n>")
    shared.exec_lua("for _, remove in pairs(_G.remove or {}) do remove() end; _G.answers, _G.told = {}, {}")
    shared.api.ui_try_resize(120, 40)
    shared.command("silent! tabonly! | silent! only! | enew!")


def test_it_says_what_would_happen_what_it_risks_and_what_would_be_kept(asked: Asked) -> None:
    asked.asks(
        message="ls -l\nsecond line",
        source="subagent explorer",
        description="List",
        confinement="sandboxed, no network",
    )

    assert "medium risk" in asked.part("title")
    assert asked.shown == [
        "List",
        "Run a command",
        "ls -l",
        "second line",
        "Sandboxed, no network",
        "Asked by: subagent explorer",
        "",
        "  1 o Allow once",
        "  2 s Allow for this session",
        "  3 a Always allow",
        "  4 r Reject",
        "  5 n Always reject",
        "",
        "  o, r  Applies to: this call only.",
        "  s, a, n  Applies to: Shell(ls *), until you revoke it.",
    ]


@pytest.mark.parametrize(
    ("key", "chosen"), [("o", "1"), ("s", "2"), ("a", "3"), ("r", "4"), ("n", "5"), ("4", "4"), ("<CR>", "1")]
)
def test_a_key_answers(asked: Asked, key: str, chosen: str) -> None:
    asked.asks()
    asked.goes_there()
    asked.keys(key)

    asked.until_gone()
    assert asked.answers == [{"optionId": chosen}]


def test_who_types_goes_on_to_type_and_answers_nothing(asked: Asked) -> None:
    before = asked.nvim.api.get_current_win()
    asked.keys("i")
    asked.asks()
    for key in ["a", "s", "<CR>", "r", "A"]:
        asked.keys(key)

    asked.until(lambda: asked.lines() == ["as", "rA"])
    assert asked.nvim.api.get_current_win() == before
    assert asked.part("footer") == " :Pygent answer to focus "
    assert asked.answers == []


def test_it_takes_the_focus_from_who_types_nothing_in_normal_mode(asked: Asked) -> None:
    asked.asks()
    assert asked.nvim.api.get_current_win() != asked.window

    asked.until_it_counts()
    assert asked.nvim.api.get_current_win() == asked.window


def test_a_key_that_comes_with_the_dialog_was_meant_for_something_else(asked: Asked) -> None:
    asked.asks("p1")
    asked.asks("p2", message="rm -r build")
    asked.goes_there()
    asked.keys("ooo")  # a key that repeats

    asked.until(lambda: asked.window and "rm -r build" in asked.shown)
    assert asked.answers == [{"optionId": "1"}]


def test_for_high_risk_enter_rejects_and_a_letter_only_goes_to_its_line(asked: Asked) -> None:
    asked.asks(risk="high", options=GRAVE)
    assert "HIGH RISK" in asked.part("title")
    asked.goes_there()
    asked.keys("aa")
    asked.until(lambda: asked.lua("return vim.api.nvim_get_current_line()") == "  4 a Always allow")
    assert asked.answers == []
    asked.keys("r")
    asked.until_gone()
    asked.asks("p2", risk="high", options=OPTIONS)  # the first of them allows: it is not proposed all the same
    asked.goes_there()
    asked.keys("<CR>")
    asked.until_gone()
    asked.asks("p3", risk="high", options=GRAVE)
    asked.goes_there()
    asked.keys("o<CR>")
    asked.until_gone()

    assert asked.answers == [{"optionId": "4"}, {"optionId": "4"}, {"optionId": "1"}]


@pytest.mark.parametrize("how", ["q", "<Esc>", ":q<CR>", "<C-w>c"])
def test_to_hide_it_is_no_answer_and_says_so(asked: Asked, how: str) -> None:
    asked.asks()
    asked.goes_there()
    asked.keys(how)

    asked.until_gone()
    told = asked.until("return _G.told[1]")
    assert told.endswith("hidden; `:Pygent answer` shows it again")
    assert asked.answers == []
    asked.goes_there()
    asked.keys("o")
    asked.until_gone()
    assert asked.answers == [{"optionId": "1"}]


def test_it_rejects_with_words(asked: Asked) -> None:
    asked.asks()
    asked.goes_there()
    asked.keys("fuse the tests<CR>")

    asked.until_gone()
    assert asked.answers == [{"optionId": "4", "feedback": "use the tests"}]


def test_words_that_are_not_given_leave_the_question(asked: Asked) -> None:
    asked.asks()
    asked.goes_there()
    asked.keys("fuse<C-c>")

    asked.until_it_counts()
    assert asked.answers == []


def test_what_is_withdrawn_closes_by_itself_and_the_next_is_shown(asked: Asked) -> None:
    before = asked.nvim.api.get_current_win()
    asked.asks("p1")
    asked.asks("p2", message="make")
    asked.command("Pygent answer")
    asked.lua("_G.remove.p1()")
    assert "make" in asked.shown
    asked.lua("_G.remove.p2()")

    assert asked.window is None
    assert asked.nvim.api.get_current_win() == before
    assert asked.answers == []


def test_the_diff_is_shown_with_its_colours_and_opens_in_a_tab(asked: Asked) -> None:
    uri = (asked.folder / "a.py").as_uri()
    patch = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n x = 1\n--- x\n+++ y\n"
    asked.asks(diff=[{"uri": uri, "oldText": "x = 1\n-- x\n", "newText": "x = 1\n++ y\n", "patch": patch}])
    marks = asked.lua(
        "local b = vim.api.nvim_win_get_buf(...); local r = {} "
        "for _, m in ipairs(vim.api.nvim_buf_get_extmarks(b, -1, 0, -1, { details = true })) do "
        "r[vim.api.nvim_buf_get_lines(b, m[2], m[2] + 1, true)[1]] = m[4].hl_group end; return r",
        asked.window,
    )
    assert (marks["--- x"], marks["+++ y"]) == ("PygentAskDeleted", "PygentAskAdded")
    assert "+++ a.py" not in asked.shown

    asked.goes_there()
    asked.keys("d")
    asked.until("return #vim.api.nvim_list_tabpages() == 2")
    texts = asked.lua(
        "return vim.tbl_map(function(w) return { vim.wo[w].diff, "
        "table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(w), 0, -1, true), '\\n') } end, "
        "vim.api.nvim_tabpage_list_wins(0))"
    )
    assert texts == [[True, "x = 1\n-- x\n"], [True, "x = 1\n++ y\n"]]
    asked.keys("q")
    asked.until("return #vim.api.nvim_list_tabpages() == 1")
    asked.until_it_counts()
    asked.keys("o")
    asked.until_gone()
    assert asked.answers == [{"optionId": "1"}]


def test_the_diff_stands_once_above_the_choices_and_what_does_not_fit_below_them(asked: Asked) -> None:
    uri = (asked.folder / "a.py").as_uri()
    patch = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    asked.command(f"cd {asked.folder}")
    asked.asks(
        "p1",
        description="Change x",
        title="Edit a.py",
        message="Edit a.py (+1 −1)",
        confinement="sandboxed, no network",
        diff=[{"uri": uri, "oldText": "x = 1\n", "newText": "x = 2\n", "patch": patch}],
    )
    head = ["Change x", "Edit a.py (+1 −1)", "@@ -1 +1 @@", "-x = 1", "+x = 2", "Sandboxed, no network"]
    assert asked.shown[:8] == [*head, "", "  1 o Allow once"]
    asked.lua("_G.remove.p1()")

    long = "@@ -0,0 +1,99 @@\n" + "".join(f"+line {number}\n" for number in range(99))
    asked.asks("p2", diff=[{"uri": uri, "oldText": "", "newText": "", "patch": long}])
    shown = asked.shown
    choice = shown.index("  1 o Allow once")
    assert choice >= 10
    assert "more lines below" in shown[choice - 2]
    assert [line for line in shown if line.startswith("+line ")] == [f"+line {number}" for number in range(99)]
    asked.goes_there()
    position = asked.lua("local w = ...; return vim.fn.screenpos(w, vim.fn.line('$', w), 1)", asked.window)
    assert position["row"] == 0
    position = asked.lua("local w, l = ...; return vim.fn.screenpos(w, l, 1)", asked.window, choice + 5)
    assert position["row"] > 0, "the choices are on the screen"


def test_a_key_lets_the_choices_cover_a_wider_rule(asked: Asked) -> None:
    words = "every command that begins with `npm test`."
    suggestion = {"rule": "shell(npm test:*)", "title": "npm test:*", "appliesTo": dict.fromkeys("235", words)}
    options = [each | ({"rules": ["shell(npm test)"]} if each["appliesTo"] == KEPT else {}) for each in OPTIONS]
    for permission_id, keys, result in [
        ("p1", "pa", {"optionId": "3", "rules": ["shell(npm test:*)"]}),
        ("p2", "po", {"optionId": "1"}),
        ("p3", "pps", {"optionId": "2"}),
    ]:
        asked.asks(permission_id, options=options, ruleSuggestions=[suggestion])
        assert asked.shown[-5:] == [
            "  5 n Always reject",
            "  6 p Let s, a and n cover `npm test:*`",
            "",
            "  o, r  Applies to: this call only.",
            f"  s, a, n  Applies to: {KEPT}",
        ]
        asked.goes_there()
        asked.keys("p")
        asked.until(lambda: asked.shown[-1] == f"  s, a, n  Applies to: {words}")
        assert asked.shown[-4] == "  6 p Let s, a and n cover this command alone"
        assert asked.lua("return vim.api.nvim_get_current_line()") == "  1 o Allow once"
        asked.keys(keys[1:])
        asked.until_gone()
        assert asked.answers[-1] == result


def test_select_asks_again_after_the_rule_was_changed(asked: Asked) -> None:
    suggestion = {"rule": "shell(ls:*)", "title": "ls:*", "appliesTo": {"3": "every command that begins with `ls`."}}
    asked.lua(
        "require('pygent').setup({ permission = { ui = 'select' }, notify = function(m) table.insert(told, m) end }) "
        "_G.selects = vim.ui.select; _G.prompts = {} "
        "vim.ui.select = function(items, options, take) table.insert(prompts, options.prompt) "
        "take(items[#prompts == 1 and 6 or 3]) end"
    )
    try:
        asked.asks(ruleSuggestions=[suggestion])
        asked.until("return #(_G.answers or {}) == 1")
        assert asked.answers == [{"optionId": "3", "rules": ["shell(ls:*)"]}]
        assert "Applies to: every command that begins with `ls`." in asked.lua("return prompts[2]")
        assert asked.lua("return _G.told") == []
    finally:
        asked.lua(
            "vim.ui.select = _G.selects; require('pygent').setup({ notify = function(m) table.insert(told, m) end })"
        )


def test_a_huge_diff_is_bounded_and_says_so(asked: Asked) -> None:
    long = "+" + "x" * 1_000_000
    patch = "@@ -1 +1 @@\n" + "+line\n" * 200_000
    diffs = [{"uri": "file:///a", "oldText": "", "newText": "", "patch": each} for each in (long, patch)]
    asked.asks(diff=diffs)

    shown = asked.shown
    assert len(shown) < 2100
    assert max(map(len, shown)) < 1100
    assert any("more bytes" in line for line in shown)
    assert any("more lines" in line for line in shown)


def test_a_long_command_hides_nothing(asked: Asked) -> None:
    asked.asks(message="\n".join(f"line {number}" for number in range(30)))

    shown = asked.shown
    first, choice = shown.index("line 0"), shown.index("  1 o Allow once")
    n_hidden = 30 - (choice - 2 - first)
    assert f"… {n_hidden} more lines below" == shown[choice - 2]
    assert shown[-n_hidden:] == [f"line {number}" for number in range(30 - n_hidden, 30)]


@pytest.mark.parametrize("size", [(40, 10), (12, 5), (200, 60)])
def test_it_fits_into_a_window_of_any_size_and_its_resize(asked: Asked, size: tuple[int, int]) -> None:
    asked.asks(message="x" * 300, title="T" * 5000)
    asked.nvim.api.ui_try_resize(*size)
    asked.until(lambda: asked.lua("return vim.o.columns") == size[0])
    asked.goes_there()

    width, height, row = asked.lua(
        "local w = ...; return { vim.api.nvim_win_get_width(w), vim.api.nvim_win_get_height(w), "
        "vim.fn.win_screenpos(w)[1] }",
        asked.window,
    )
    assert 1 <= width <= size[0]
    assert row >= 1
    assert row + height <= size[1]
    asked.keys("r")
    asked.until_gone()
    assert asked.answers == [{"optionId": "4"}]


def test_it_does_not_lie_over_the_cursor(asked: Asked) -> None:
    asked.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.fn['repeat']({ 'x' }, 200))")
    for where, is_above in [("normal! zt", False), ("normal! zb", True)]:
        asked.command(f"100 | {where}")
        asked.asks()
        top = asked.lua("return vim.fn.win_screenpos(...)[1]", asked.window)
        assert (top < 10) == is_above
        asked.lua("_G.remove.p1()")


def test_it_follows_into_the_tab_that_is_looked_at(asked: Asked) -> None:
    asked.asks()
    asked.command("tabnew")

    asked.until(
        lambda: (
            asked.window
            and asked.lua("return vim.api.nvim_win_get_tabpage(...)", asked.window)
            == asked.nvim.api.get_current_tabpage()
        )
    )
    assert asked.answers == []
    assert asked.lua("return _G.told") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"options": []},
        {"options": [{"optionId": "9", "kind": "allow_for_ever", "title": "\x1b[31mSure\nthing\x07"}], "risk": "dire"},
        {"title": "a\nb\x1b]0;x\x07" * 1000, "message": "\x00\x1b[2J\r\n\u202e", "source": "\n\n"},
        {"title": "漢字" * 500, "message": "漢字🎉" * 500},
        {"message": "", "title": ""},
        {"diff": None},
        {"diff": [{"uri": "nonsense", "oldText": "", "newText": "", "patch": "\x1b[2J"}]},
    ],
)
def test_whatever_it_holds_it_is_shown_and_can_be_rejected(asked: Asked, fields: Mapping[str, Any]) -> None:
    asked.asks(**fields)
    asked.goes_there()
    assert "\n" not in asked.part("title")
    assert "\x1b" not in asked.part("title")
    asked.keys("r")

    asked.until_gone()
    assert asked.answers[0] in [None, {"optionId": "4"}]


def test_select_shows_it_where_the_user_wants_that(asked: Asked) -> None:
    asked.lua(
        "require('pygent').setup({ permission = { ui = 'select' }, notify = function(m) table.insert(told, m) end }) "
        "_G.selects = vim.ui.select; _G.selected = {} "
        "vim.ui.select = function(items, options, take) table.insert(selected, { items, options.prompt }) "
        "vim.ui.take = function(i) take(items[i], i) end end"
    )
    try:
        asked.asks()
        items, prompt = asked.until(
            "local s = selected[1]; return s and { vim.tbl_map(function(i) return i.title end, s[1]), s[2] }"
        )
        assert items[:4] == ["Allow once", "Allow for this session", "Always allow", "Reject"]
        assert "ls -l" in prompt
        assert "Applies to: Shell(ls *)" in prompt
        asked.lua("vim.ui.take(nil)")
        assert asked.answers == []
        assert "hidden; `:Pygent answer`" in asked.lua("return _G.told[1]")
        asked.command("Pygent answer")
        asked.until("return #selected == 2")
        asked.lua("vim.ui.take(4)")
        assert asked.answers == [{"optionId": "4"}]
    finally:
        asked.lua(
            "vim.ui.select = _G.selects; require('pygent').setup({ notify = function(m) table.insert(told, m) end })"
        )


def test_neovims_own_select_waits_until_nothing_is_typed(asked: Asked) -> None:
    asked.lua("require('pygent').setup({ permission = { ui = 'select' } })")
    try:
        asked.keys("i")
        asked.asks()
        asked.keys("1<CR>2")
        asked.until(lambda: asked.lines() == ["1", "2"])
        assert asked.answers == []
        asked.keys("<Esc>")
        asked.until_blocked()
        asked.keys("4<CR>")
        asked.until("return #(_G.answers or {}) == 1")
        assert asked.answers == [{"optionId": "4"}]
    finally:
        asked.lua("require('pygent').setup({ notify = function(m) table.insert(told, m) end })")


def test_without_a_window_it_is_selected(asked: Asked) -> None:
    asked.lua(
        "_G.opens, _G.selects = vim.api.nvim_open_win, vim.ui.select "
        "vim.api.nvim_open_win = function() error('E36: Not enough room') end "
        "vim.ui.select = function(items, _, take) take(items[1], 1) end"
    )
    try:
        asked.asks()
        asked.until("return #(_G.answers or {}) == 1")
        assert asked.answers == [{"optionId": "1"}]
    finally:
        asked.lua("vim.api.nvim_open_win, vim.ui.select = _G.opens, _G.selects")


def test_in_the_window_of_command_lines_it_waits_for_its_end(asked: Asked) -> None:
    asked.keys("q:")
    asked.until("return vim.fn.getcmdwintype() ~= ''")
    asked.asks()
    asked.keys(":q<CR>")

    asked.until_it_counts()
    asked.keys("o")
    asked.until_gone()
    assert asked.answers == [{"optionId": "1"}]


def test_nothing_waits(asked: Asked) -> None:
    asked.command("Pygent answer")
    assert asked.lua("return _G.told") == ["pygent: no question waits for your answer"]


# Questions


def test_a_choice_answers_a_question(asked: Asked) -> None:
    asked.questions("Which\ncolour?", {"title": "Red", "description": "as\nblood"}, {"title": "Blue"})
    assert asked.shown == ["Which", "colour?", "", "  1   Red: as blood", "  2   Blue", "  3 x No answer"]
    asked.goes_there()
    asked.keys("2")

    asked.until_gone()
    assert asked.answers == [{"choice": "Blue"}]


def test_a_question_is_answered_in_own_words(asked: Asked) -> None:
    asked.questions("Which colour?", allow_text=True)
    asked.goes_there()
    asked.keys("ia dark green<CR>")

    asked.until_gone()
    assert asked.answers == [{"text": "a dark green"}]


def test_words_that_were_not_finished_leave_the_question_open(asked: Asked) -> None:
    asked.questions("Which colour?", {"title": "Red"}, allow_text=True)
    asked.goes_there()
    asked.keys("ia dark<C-c>")
    asked.until_it_counts()
    asked.keys("i<CR>")
    asked.until_it_counts()
    asked.keys("x")

    asked.until_gone()
    assert asked.answers == [None]


def test_enter_takes_the_choice_that_was_gone_to(asked: Asked) -> None:
    asked.questions("Which?", *({"title": f"\x1b[3{number}m{number}\x07" * 40} for number in range(30)))
    asked.goes_there()
    asked.keys("j" * 11 + "<CR>")

    asked.until_gone()
    assert asked.answers == [{"choice": "\x1b[311m11\x07" * 40}]


def test_a_question_without_anything_to_choose_can_be_declined(asked: Asked) -> None:
    asked.questions("")
    asked.goes_there()
    asked.keys("<CR>")

    asked.until_gone()
    assert asked.answers == [None]
