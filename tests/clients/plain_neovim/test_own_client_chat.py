"""A conversation in a document of the user's, in Neovim without the plugin."""

from __future__ import annotations

from tests.clients.plain_neovim.conftest import Rig
from tests.clients.project import edit
from tests.model_server import Step

ANSWER = "One is **one**, and two is two.\n\nThree comes after them, as you know."

LENS = "local lens = vim.lsp.codelens.get(0)[1]; return lens and lens.command.command"


def sends(rig: Rig) -> None:
    """Run the lens of the last question, when it is there."""
    rig.until(lambda: rig.editor.lua(LENS) == "pygent.sendChat")
    rig.editor.lua("vim.api.nvim_win_set_cursor(0, { vim.lsp.codelens.get(0)[1].range.start.line + 1, 0 })")
    rig.editor.keys("grl")


def test_an_answer_streams_into_the_conversation_while_the_user_types_elsewhere_in_it(rig: Rig) -> None:
    rig.opens("counting.pygent.md", "# Counting\n\n## You\n\nWhat is one?\n")
    rig.editor.command("messages clear")
    rig.project.model.play(Step(text=ANSWER, pause_after=4), Step(text="Four."))

    sends(rig)
    rig.until(lambda: "## pygent\n\nOne is" in rig.text("counting"))
    rig.editor.keys("ggA, slowly")
    rig.until(lambda: rig.text("counting").startswith("# Counting, slowly\n"))
    rig.project.server.resume()
    rig.until(lambda: rig.text("counting").endswith("## You\n\n"))

    answered = f"# Counting, slowly\n\n## You\n\nWhat is one?\n\n## pygent\n\n{ANSWER}\n\n## You\n\n"
    assert rig.text("counting") == answered
    assert rig.editor.nvim.api.get_mode()["mode"] == "i"
    assert rig.editor.nvim.api.win_get_cursor(0) == [1, len("# Counting, slowly")]
    assert "Workspace edit" not in rig.editor.messages()  # said with each edit that has a label

    rig.editor.keys("<Esc>GAAnd four?<Esc>")
    sends(rig)
    rig.until(lambda: rig.text("counting").endswith("Four.\n\n## You\n\n"))

    assert rig.text("counting") == f"{answered[:-1]}And four?\n\n## pygent\n\nFour.\n\n## You\n\n"
    told = rig.project.model.requests[-1]
    assert told.texts("user")[-1].endswith("And four?")
    assert ANSWER in told.texts("assistant")[-1]


def test_a_file_is_edited_from_the_conversation(rig: Rig) -> None:
    edited = rig.opens("from_chat.py", "ONE = 1\n")
    rig.opens("editing.pygent.md", "## You\n\nMake it two.\n")
    rig.project.model.play(edit(edited, "ONE = 1", "ONE = 2"), Step(text="It is two."))

    sends(rig)
    rig.chooses(1)
    rig.until(lambda: rig.text("editing").endswith("\n\nIt is two.\n\n## You\n\n"))

    assert rig.text("from_chat") == "ONE = 2\n"
    assert "\n> tool: Edit from_chat.py\n" in rig.text("editing")


def test_a_chat_document_of_the_daemons_own_belongs_to_the_server_that_writes_it(rig: Rig) -> None:
    rig.opens("own.py", "ONE = 1\n")
    rig.project.model.play(Step(text=ANSWER, pause_after=4))

    rig.editor.command("Pygent openChat")
    rig.until(lambda: rig.editor.nvim.api.buf_get_name(0).endswith(".pygent.md"))
    rig.editor.keys("GAHello?<Esc>")
    sends(rig)
    rig.until(lambda: "One is" in rig.text(".pygent.md"))
    rig.project.server.resume()

    rig.until(lambda: rig.text(".pygent.md").endswith(f"{ANSWER}\n\n## You\n\n"))
    assert rig.editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 1
