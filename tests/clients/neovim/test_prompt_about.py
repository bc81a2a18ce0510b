"""What a prompt is about: lines, a selection, a motion, diagnostics; as the model reads it."""

from __future__ import annotations

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import PROMPT, bar, last_prompt, open_prompt, told, type_keys
from tests.model_server import Step

SOURCE = "one = 1\nzwei = 'größer 😀 als' + rest\nthree = 3\nfour = 4\n"

OK = [Step(text="ok")] * 6


def asked(editor: Editor) -> str:
    """The next prompt that was not looked at yet, once its turn is over; the model may have got it before."""
    n_asked = editor.lua("vim.g.n_asked = (vim.g.n_asked or 0) + 1; return vim.g.n_asked")
    editor.until(lambda: len(editor.model.requests) >= n_asked, what="a request of the model")
    editor.until_over(n_asked)
    return last_prompt(editor)


def with_source(start: Start) -> Editor:
    editor = start(OK)
    (editor.folder / "code.py").write_text(SOURCE, encoding="utf-8")
    editor.edit("code.py")
    return editor


def attached(editor: Editor) -> dict[str, object]:
    """The last block that the prompt has, with positions in bytes."""
    return editor.lua(
        "local a = require('pygent.prompt.drafts').current().attachments; "
        "local b = a[#a].block('utf-8'); b.uri = vim.fs.basename(b.uri or ''); return b"
    )


def test_a_range_is_what_a_prompt_is_about(start: Start) -> None:
    editor = with_source(start)

    editor.command("2,3Pygent ask why?")
    prompt = asked(editor)

    assert "\nwhy?" in prompt
    assert "zwei = 'größer 😀 als' + rest\nthree = 3" in prompt
    assert "one = 1" not in prompt
    assert "four = 4" not in prompt
    assert "code.py" in prompt


def test_a_visual_selection_is_exact_to_the_character(start: Start) -> None:
    editor = with_source(start)

    type_keys(editor, "2G0f'vf'<Esc>")
    editor.command("'<,'>Pygent ask what is this?")
    prompt = asked(editor)

    assert "'größer 😀 als'" in prompt
    assert "zwei =" not in prompt
    assert "+ rest" not in prompt


def test_the_operator_takes_a_motion_and_is_repeated(start: Start) -> None:
    editor = with_source(start)
    editor.command("nmap gp <Plug>(pygent-ask)")
    editor.command("xmap gp <Plug>(pygent-ask)")

    editor.keys("2G0gpiw")
    editor.until(f"return {PROMPT}")
    assert attached(editor) == {
        "type": "selection",
        "uri": "code.py",
        "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 4}},
        "text": "zwei",
    }
    assert "about code.py:2" in bar(editor)

    editor.keys("<Esc>q4G0.")
    editor.until(f"return {PROMPT} and #require('pygent.prompt.drafts').current().attachments == 2")
    assert attached(editor)["text"] == "four"
    type_keys(editor, "<Esc><BS>q")
    editor.keys("3GgpG")
    editor.until(f"return {PROMPT} and #require('pygent.prompt.drafts').current().attachments == 2")
    assert attached(editor)["text"] == "three = 3\nfour = 4"
    type_keys(editor, "<Esc><BS>q")
    editor.keys("gg0<C-v>jlgp")
    editor.until(f"return {PROMPT} and #require('pygent.prompt.drafts').current().attachments == 2")
    assert attached(editor)["text"] == "on\nzw"
    type_keys(editor, "<Esc><BS>q")
    editor.keys("2G0f'vf'gp")
    editor.until(f"return {PROMPT} and #require('pygent.prompt.drafts').current().attachments == 2")
    assert attached(editor)["text"] == "'größer 😀 als'"
    editor.keys("tell me<C-s>")

    prompt = asked(editor)
    assert "zwei" in prompt
    assert "'größer 😀 als'" in prompt
    assert "tell me" in prompt
    assert "about" not in bar(editor)


def test_what_was_attached_can_be_taken_off_again(start: Start) -> None:
    editor = with_source(start)

    editor.command("1Pygent ask")
    editor.until(f"return {PROMPT}")
    editor.command("wincmd p")
    editor.command("Pygent attach buffer")
    assert "about code.py:1, code.py" in bar(editor)
    type_keys(editor, "<Esc><BS><BS>")

    assert "about" not in bar(editor)
    type_keys(editor, "<BS>")
    told(editor, "nothing is attached to the prompt")


def test_text_that_is_no_file_and_no_utf8_is_quoted(start: Start) -> None:
    editor = start(OK)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a log ```` line', 'odd \\255 byte' })")

    editor.command("%Pygent ask what failed?")
    prompt = asked(editor)

    assert "From an unnamed buffer:1-2:\n```\na log ```` line\nodd � byte\n```" in prompt
    assert "what failed?" in prompt


def test_diagnostics_are_attached_or_fixed(start: Start) -> None:
    editor = with_source(start)
    editor.command("Pygent fix")
    told(editor, "no diagnostics in code.py:1")
    editor.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('lint'), 0, {"
        "{ lnum = 1, col = 8, end_lnum = 1, end_col = 16, message = 'line too odd', severity = 2, source = 'lint', "
        "code = 'E1' }, { lnum = 3, col = 0, message = 'unused four' } })"
    )

    editor.command("Pygent fix")
    told(editor, "`:Pygent! fix` fixes those of the whole buffer")
    editor.command("2Pygent fix")
    prompt = asked(editor)
    assert "line 2: line too odd [lint E1]" in prompt
    assert "unused four" not in prompt

    editor.command("Pygent! fix")
    prompt = asked(editor)
    assert "line too odd" in prompt
    assert "unused four" in prompt

    editor.command("4Pygent attach diagnostics")
    assert "about 1 diagnostic in code.py:4" in bar(editor)
    editor.keys("what of it?<C-s>")
    assert "unused four" in asked(editor)


def test_code_is_explained_and_the_rest_of_what_the_daemon_can_do_with_code(start: Start) -> None:
    editor = with_source(start)
    expected = {"explain": "Explain what", "test": "Write tests", "doc": "Document this", "refactor": "Refactor this"}

    for command, words in expected.items():
        editor.command(f"3Pygent {command}")
        prompt = asked(editor)
        assert words in prompt
        assert "lines 3 to 3" in prompt
        assert "three = 3" in prompt
    editor.command("enew")
    editor.command("Pygent explain")
    told(editor, "this buffer has no file")


def test_the_prompt_opens_with_the_range_attached(start: Start) -> None:
    editor = with_source(start)
    editor.command("2,3Pygent ask")
    editor.until(f"return {PROMPT} and vim.fn.mode() == 'i'")

    assert "about code.py:2-3" in bar(editor)
    editor.command("stopinsert")
    editor.command("quit")
    open_prompt(editor)
    assert "about code.py:2-3" in bar(editor), "it stays with the draft"


def test_a_file_with_an_odd_name_is_named_as_it_is_and_does_nothing_to_the_screen(start: Start) -> None:
    editor = start(OK)
    name = "%#Error#50%{1+1}\x1b[31m\nnext.py"
    (editor.folder / name).write_text("odd = 1\n", encoding="utf-8")
    editor.lua("vim.cmd.edit(vim.fn.fnameescape(...))", name)

    editor.command("Pygent attach buffer")
    editor.until(f"return {PROMPT}")
    shown = editor.lua("return vim.api.nvim_eval_statusline(vim.wo.winbar, { use_winbar = true, maxwidth = 200 }).str")

    assert "about %#Error#50%{1+1}␛[31m next.py" in shown
    editor.keys("what is it?<C-s>")
    assert "odd = 1" in asked(editor)
