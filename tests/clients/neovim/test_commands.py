"""`:Pygent` and its subcommands: sessions, and how they work."""

from __future__ import annotations

from pathlib import Path

from tests.clients.neovim.chats import chat, open_chat
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.picking import Picker
from tests.clients.neovim.prompts import kill_daemon, prompt_text, told
from tests.model_server import Call, Step


def completed(editor: Editor, line: str) -> list[str]:
    """What the key for completion offers behind `:LINE`."""
    return editor.nvim.funcs.getcompletion(line, "cmdline")


def current_name(editor: Editor) -> str:
    return editor.lua("local s = require('pygent.sessions').current(); return s and s.info.name or ''")


def ask(editor: Editor, words: str) -> None:
    """A turn from its prompt to its end."""
    n_before = len(editor.model.answered_s)
    editor.command(f"Pygent ask {words}")
    editor.until(lambda: len(editor.model.answered_s) > n_before, what="an answer of the model")
    editor.until_over()


def test_subcommands_are_completed_and_an_unknown_one_names_those_that_there_are(start: Start) -> None:
    editor = start()

    assert completed(editor, "Pygent ref") == ["refactor"]
    assert completed(editor, "Pygent res") == ["resend", "restart", "resume"]
    assert completed(editor, "2Pygent! explai") == ["explain"]
    assert completed(editor, "Pygent retry ") == ["now", "give_up"]
    assert completed(editor, "Pygent export h") == ["html"]
    assert completed(editor, "Pygent log d") == ["debug"]
    assert completed(editor, "Pygent attach s") == ["selection"]
    assert completed(editor, "Pygent nonsense ") == []
    editor.command("Pygent frobnicate")
    told(editor, "unknown command `:Pygent frobnicate`; known are: accept, agent")
    assert editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 0, "nothing of it needs the daemon"


def test_every_subcommand_says_what_it_does(start: Start) -> None:
    editor = start()

    said = editor.lua(
        "local c, found = require('pygent.commands'), {}; for _, name in ipairs(c.names()) do "
        "local s = c.subcommand(name); found[name] = { s.summary, type(s.run) } end; return found"
    )

    assert len(said) > 25
    assert all(summary and kind == "function" for summary, kind in said.values()), said


def test_without_a_session_that_is_said_and_nothing_else_happens(start: Start) -> None:
    editor = start()

    for command in ("rename x", "delete", "fork", "export", "compact", "clear", "cost", "undo", "checkpoints", "queue"):
        editor.command("messages clear")
        editor.command(f"Pygent {command}")
        told(editor, "no session yet: `:Pygent ask` starts one")
    editor.command("Pygent stop")
    told(editor, "no turn runs in this session")
    editor.command("Pygent retry")
    editor.command("Pygent resume")
    told(editor, "this project has no sessions yet")


def test_sessions_are_named_listed_resumed_forked_and_deleted(start: Start) -> None:
    editor = start([Step(text="one"), Step(text="two")])
    picker = Picker(editor)
    ask(editor, "first words")
    editor.command("Pygent rename The first session")
    editor.until(lambda: current_name(editor) == "The first session")
    editor.command("Pygent new The second one")
    editor.until(lambda: current_name(editor) == "The second one")
    ask(editor, "second words")

    picker.will_choose("The first session")
    editor.command("Pygent sessions")
    (titles,) = picker.offered()
    assert [title.split(" · ")[0] for title in titles] == ["The second one", "The first session"]
    assert "just now" in titles[0]
    assert "openai/mock" in titles[0]
    editor.until(lambda: current_name(editor) == "The first session")

    assert editor.until(lambda: completed(editor, "Pygent resume The f")) == ["first session"]
    assert completed(editor, "Pygent resume l") == ["last"]
    editor.command("Pygent resume The second one")
    editor.until(lambda: current_name(editor) == "The second one")
    editor.command("Pygent resume nonsense")
    told(editor, "no session named nonsense; recent sessions: The second one, The first session")

    picker.will_choose("first")
    editor.command("Pygent search first words")
    editor.until(lambda: current_name(editor) == "The first session")
    editor.command("Pygent search nowheretobefound")
    told(editor, "no conversation contains nowheretobefound")

    before = editor.lua("return require('pygent.sessions').current().id")
    editor.command("Pygent fork")
    editor.until("return require('pygent.sessions').current().id ~= ...", before)

    picker.will_choose("The first", "Delete", "Delete it")
    editor.command("Pygent! sessions first")
    told(editor, " deleted")
    assert "Fork" in picker.offered(3)[1]
    editor.command("Pygent! delete The second one")
    told(editor, "The second one deleted")
    editor.command("Pygent sessions second words")
    told(editor, "no session contains second words")


def test_a_conversation_is_exported_to_a_buffer_or_a_file_and_nothing_is_written_over(
    start: Start, tmp_path: Path
) -> None:
    editor = start([Step(text="An **answer**")])
    ask(editor, "a question")
    target = tmp_path / "talk.md"

    editor.command("Pygent export")
    editor.until("return vim.bo.filetype == 'markdown'")
    assert any("An **answer**" in line for line in editor.lines(0))
    editor.command(f"Pygent export plain {target}")
    told(editor, f"exported to {target}")
    assert "An **answer**" in target.read_text(encoding="utf-8")
    target.write_text("mine", encoding="utf-8")
    editor.command(f"Pygent export plain {target}")
    told(editor, "exists; `:Pygent! export` overwrites it")
    assert target.read_text(encoding="utf-8") == "mine"
    editor.command(f"Pygent! export json {target}")
    editor.until(lambda: target.read_text(encoding="utf-8").startswith("{"))
    editor.command("Pygent export pdf")
    told(editor, "unknown format pdf; known are: markdown, html")
    editor.command(f"Pygent export plain {tmp_path}/no/such/folder.md")
    told(editor, "export failed: ")


def test_model_agent_and_mode_are_chosen_completed_and_checked(start: Start) -> None:
    editor = start()
    picker = Picker(editor)
    editor.command("Pygent new")
    editor.until("return require('pygent.sessions').current() ~= nil")

    editor.command("Pygent mode plan")
    editor.until("return require('pygent.sessions').current().info.mode == 'plan'")
    picker.will_choose("accept_edits")
    editor.command("Pygent mode")
    assert "trust · ask for high risk only" in picker.offered()[0]
    editor.until("return require('pygent.sessions').current().info.mode == 'accept_edits'")
    editor.command("Pygent mode wild")
    told(editor, "unknown mode wild; known are: default, accept_edits, plan, trust")
    assert "plan" in editor.until(lambda: completed(editor, "Pygent mode p"))

    editor.command("Pygent model openai/other")
    editor.until("return require('pygent.sessions').current().info.model == 'openai/other'")
    models = editor.until(lambda: completed(editor, "Pygent model "), what="models to be known")
    assert models
    picker.will_choose(models[0])
    editor.command("Pygent model")
    assert any(" · " in title for title in picker.offered()[0]), "what a model lacks is said"
    editor.until("return require('pygent.sessions').current().info.model == ...", models[0])

    agents = editor.until(lambda: completed(editor, "Pygent agent "))
    editor.command(f"Pygent agent {agents[0]}")
    told(editor, f"agent: {agents[0]}")
    editor.command("Pygent agent nobody")
    told(editor, "unknown agent nobody")


def test_a_conversation_is_accounted_for_summed_up_and_forgotten(start: Start) -> None:
    editor = start([Step(text="one"), Step(text="two")])
    ask(editor, "first words")

    editor.command("Pygent cost")
    told(editor, "openai/mock: cost unknown, 100 tokens in, 20 out")
    editor.command("Pygent compact")
    told(editor, "There is nothing to compact")
    editor.command("Pygent clear")
    told(editor, "conversation cleared")
    ask(editor, "second words")

    assert "first words" not in str(editor.model.requests[-1].messages)


def test_a_prompt_that_is_held_since_the_daemon_ended_is_shown_and_sent_again(start: Start) -> None:
    editor = start([Step(text="endless", stall_after=2), Step(text="did it"), Step(text="did that")])
    open_chat(editor)
    editor.command("Pygent ask begin")
    editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")
    for words in ("do it", "do that"):
        editor.lua(f"require('pygent.sessions').current():send('{words}')")
    editor.until("return #require('pygent.sessions').current().conversation.queue == 2")
    editor.until(lambda: len(editor.model.requests) == 1)
    kill_daemon(editor)
    told(editor, "the daemon ended with code 137")
    assert "not started" not in editor.messages(), "the turn of the prompt ran"

    editor.command("Pygent resend")
    editor.until(lambda: len(editor.model.requests) == 2)
    editor.until("return #require('pygent.sessions').current().conversation.queue == 1")
    assert "do it" in str(editor.model.requests[-1].messages[-1])
    editor.until_over()
    editor.until(lambda: any("on hold since the daemon ended: do that" in line for line in chat(editor)))
    editor.command("Pygent! resend")
    editor.until(lambda: len(editor.model.requests) == 3)
    editor.until_over()
    editor.command("Pygent resend")
    told(editor, "no prompt is queued")


def test_what_waits_is_taken_out_of_the_queue_and_is_a_draft_again(start: Start) -> None:
    editor = start([Step(text="endless", stall_after=2)])
    picker = Picker(editor)
    editor.command("Pygent ask begin")
    editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")
    (editor.folder / "code.py").write_text("one = 1\n", encoding="utf-8")
    editor.edit("code.py")
    for words in ("alpha", "beta", "gamma"):
        editor.command(f"1Pygent ask {words}")
    editor.until("return #require('pygent.sessions').current().conversation.queue == 3")

    picker.will_choose("alpha")
    editor.command("Pygent queue")
    assert picker.offered() == [["alpha", "beta", "gamma"]]
    editor.until(lambda: prompt_text(editor) == "alpha")
    about = "return require('pygent.prompt.drafts').current().attachments[1].label"
    assert editor.lua(about) == "code.py:1", "it comes back with what it was about"
    editor.command("Pygent dequeue")
    editor.until(lambda: prompt_text(editor) == "gamma\n\nalpha")
    editor.command("Pygent! dequeue")
    editor.until("return #require('pygent.sessions').current().conversation.queue == 0")
    editor.until(lambda: "beta" in prompt_text(editor))
    editor.command("Pygent queue")
    told(editor, "no prompt is queued")
    editor.command("Pygent stop")
    editor.until_over()


def test_stop_with_a_bang_stops_what_runs_in_other_sessions_of_the_project(start: Start) -> None:
    editor = start([Step(text="endless", stall_after=2)] * 2)
    editor.command("Pygent ask one")
    editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")
    editor.command("Pygent new")
    editor.until("return not require('pygent.sessions').current():is_running()")

    editor.command("Pygent stop")
    told(editor, "no turn runs in this session; `:Pygent! stop` stops those of other sessions")
    editor.command("Pygent! stop")

    editor.until_over()


def test_a_call_of_the_model_that_failed_is_tried_again_at_once_or_given_up(start: Start) -> None:
    busy = Step(status=429, error="slow down", headers={"retry-after": "20"})
    editor = start([busy, Step(text="there"), busy])
    editor.command("Pygent ask one")
    waits = "local s = require('pygent.sessions').current(); local i = s and s.conversation.items; "
    waits += "return i and i[#i] and i[#i].type == 'failure'"
    editor.until(waits)

    editor.command("Pygent retry sometimes")
    told(editor, "unknown argument sometimes: use now or give_up")
    editor.command("Pygent retry")
    editor.until_over()
    assert len(editor.model.requests) == 2

    editor.command("Pygent ask two")
    editor.until(waits)
    editor.command("Pygent retry give_up")
    editor.until("return not require('pygent.sessions').current():is_running()")
    assert len(editor.model.requests) == 3


def test_a_rule_that_was_stored_is_forgotten_and_one_of_the_settings_stays(start: Start) -> None:
    step = Step(calls=(Call(name="shell", arguments={"command": "touch made"}),))
    editor = start([step, Step(text="done")])
    picker = Picker(editor)
    settings = {"permissions": {"allow": ["shell(ls:*)"]}}
    editor.lua("require('pygent').setup({ permission = { ui = 'select' }, settings = ... })", settings)
    picker.will_choose("Always allow")
    editor.command("Pygent ask make it")
    editor.until(lambda: len(editor.model.answered_s) == 2)
    editor.until_over()

    picker.will_choose("shell(ls:*)")
    editor.command("Pygent rules")
    assert [title.split(" · ")[0] for title in picker.offered()[0] if "touch" in title or "ls" in title]
    told(editor, "shell(ls:*) cannot be removed here")
    picker.will_choose("touch")
    editor.command("Pygent rules")
    told(editor, "(touch made) removed")
    picker.will_choose()
    editor.command("Pygent rules")

    assert not any("touch" in title for title in picker.offered()[0])


def test_the_log_is_opened_and_its_level_set_for_the_next_start(start: Start) -> None:
    editor = start()
    editor.command("Pygent log loud")
    told(editor, "unknown log level loud; known are: error, warning, info, debug")
    editor.command("Pygent log debug")
    told(editor, "`:Pygent restart` applies it")
    editor.command("Pygent restart")
    told(editor, "restarted")

    editor.until("local f = vim.uv.fs_stat(vim.lsp.log.get_filename()); return f and f.size > 100")
    editor.command("Pygent log")

    assert editor.lua("return vim.api.nvim_buf_get_name(0) == vim.lsp.log.get_filename() and vim.bo.readonly")
    assert any("pygent" in line for line in editor.lines(0))


def test_a_restart_goes_on_with_the_session(start: Start) -> None:
    editor = start([Step(text="one"), Step(text="two")])
    ask(editor, "first words")
    editor.command("Pygent restart")
    told(editor, "restarted")

    ask(editor, "second words")

    assert editor.model.requests[-1].texts("user")[0] == "first words"
