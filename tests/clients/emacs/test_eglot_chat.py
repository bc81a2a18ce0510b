"""A conversation in a document of the user's, in Emacs with eglot."""

from __future__ import annotations

from pathlib import Path

from tests.clients.emacs.conftest import Rig
from tests.clients.project import edit
from tests.model_server import Step

ANSWER = "One is **one**, and two is two.\n\nThree comes after them, as you know."


def sends(rig: Rig) -> None:
    """Choose to send the last question."""
    rig.emacs.runs("eglot-code-actions")
    rig.emacs.answers("Pick an action", "Send")


def chooses_plan(rig: Rig) -> None:
    """Set the mode before the first prompt."""
    rig.emacs.runs("pygent-mode")
    rig.emacs.answers("Choose an option", "plan")
    rig.emacs.says("Mode set to plan")


def test_an_answer_streams_into_the_conversation_while_the_user_types_elsewhere_in_it(rig: Rig) -> None:
    path = rig.opens("counting.pygent.md", "# Counting\n\n## You\n\nWhat is one?\n")
    rig.project.model.play(Step(text=ANSWER, pause_after=4), Step(text="Four."))

    sends(rig)
    rig.emacs.until('(string-search "## pygent" (buffer-string))')
    rig.emacs.until('(string-search "One is" (buffer-string))')
    rig.emacs.types("\x1b<\x05, slowly")  # M-<, C-e
    rig.emacs.until('(string-prefix-p "# Counting, slowly\\n" (buffer-string))')
    rig.project.server.resume()
    rig.emacs.until('(string-suffix-p "## You\\n\\n" (buffer-string))')

    answered = f"# Counting, slowly\n\n## You\n\nWhat is one?\n\n## pygent\n\n{ANSWER}\n\n## You\n\n"
    assert rig.emacs.text(path) == answered
    assert rig.emacs.eval("(line-number-at-pos)") == 1

    rig.emacs.types("\x1b>And four?")  # M->
    sends(rig)
    rig.emacs.until('(string-search "Four." (buffer-string))')
    rig.emacs.until('(string-suffix-p "## You\\n\\n" (buffer-string))')

    assert rig.emacs.text(path) == f"{answered}And four?\n\n## pygent\n\nFour.\n\n## You\n\n"
    told = rig.project.model.requests[-1]
    assert told.texts("user")[-1].endswith("And four?")
    assert ANSWER in told.texts("assistant")[-1]


def test_a_file_is_edited_from_the_conversation(rig: Rig) -> None:
    edited = rig.opens("from_chat.py", "ONE = 1\n")
    path = rig.opens("editing.pygent.md", "## You\n\nMake it two.\n")
    rig.project.model.play(edit(edited, "ONE = 1", "ONE = 2"), Step(text="It is two."))

    sends(rig)
    rig.emacs.answers("Choose an option", "Allow once")
    rig.emacs.until('(string-suffix-p "## You\\n\\n" (buffer-string))')

    assert rig.emacs.text(edited) == "ONE = 2\n"
    assert "\n> tool: Edit from_chat.py\n" in rig.emacs.text(path)
    assert rig.emacs.text(path).endswith("\n\nIt is two.\n\n## You\n\n")


def test_an_answer_ends_with_the_command_and_the_next_question_can_be_asked(rig: Rig) -> None:
    path = rig.opens("ending.pygent.md", "## You\n\nTell me all.\n")
    rig.project.model.play(Step(text="All of it is this: " + "long " * 50, stall_after=5))

    sends(rig)
    rig.emacs.until('(string-search "All of it" (buffer-string))')
    rig.emacs.runs("pygent-cancel")
    rig.emacs.until('(string-suffix-p "## You\\n\\n" (buffer-string))')

    assert "cancelled" in rig.emacs.text(path)


def test_the_conversation_of_the_project_is_where_the_answers_to_commands_are(rig: Rig) -> None:
    rig.opens("beside_it.py", "ONE = 1\n")
    rig.project.model.play(Step(text="Asked and answered."), Step(text="Hello, too."))
    rig.emacs.runs("pygent-ask")
    rig.emacs.answers("Ask pygent", "One?")
    rig.emacs.says("Asked and answered.")

    rig.emacs.runs("pygent-chat")
    rig.emacs.until("(and (eglot-managed-p) (eq major-mode 'pygent-chat-mode))")
    chat = Path(rig.emacs.eval("(buffer-file-name)"))
    shown = rig.emacs.text(chat)
    rig.emacs.types("\x1b>Hello?")
    sends(rig)
    rig.emacs.until('(string-suffix-p "Hello, too.\n\n## You\n\n" (buffer-string))')

    assert shown.endswith("## You\n\nOne?\n\n## pygent\n\nAsked and answered.\n\n## You\n\n")
    assert rig.emacs.text(chat) == f"{shown}Hello?\n\n## pygent\n\nHello, too.\n\n## You\n\n"
    assert [each.strip() for each in rig.project.model.requests[-1].texts("user")[-2:]] == ["One?", "Hello?"]
    assert rig.project.folder not in chat.parents


def test_a_plan_is_approved_by_a_code_action_of_its_conversation(rig: Rig) -> None:
    edited = rig.opens("planned.py", "ONE = 1\n")
    path = rig.opens("planning.pygent.md", "## You\n\nHow would you do it?\n")
    rig.project.model.play(Step(text="I would make it two."), edit(edited, "ONE = 1", "ONE = 2"), Step(text="Two."))
    chooses_plan(rig)
    sends(rig)
    rig.emacs.until('(string-suffix-p "two.\n\n## You\n\n" (buffer-string))')

    rig.emacs.runs("eglot-code-actions")
    rig.emacs.answers("Pick an action", "Implement: accept edits")
    rig.emacs.until('(string-suffix-p "Two.\n\n## You\n\n" (buffer-string))')

    assert rig.emacs.text(edited) == "ONE = 2\n"
    assert rig.emacs.text(path).count("## You\n\nI approve the plan. Implement it.\n") == 1


def test_the_plan_of_a_command_is_approved_by_a_command_and_each_edit_asked_for(rig: Rig) -> None:
    edited = rig.opens("asked_for.py", "ONE = 1\n")
    rig.project.model.play(Step(text="I would make it two."), edit(edited, "ONE = 1", "ONE = 2"), Step(text="Two."))
    chooses_plan(rig)
    rig.emacs.runs("pygent-ask")
    rig.emacs.answers("Ask pygent", "How would you do it?")
    rig.emacs.says("I would make it two.")

    rig.emacs.runs("pygent-implement")
    rig.emacs.answers("Implement in the mode", "default")
    question = rig.emacs.answers("Choose an option", "Allow once")
    rig.emacs.says("Two.")

    assert "edit_file: Edit asked_for.py" in question
    assert rig.emacs.text(edited) == "ONE = 2\n"
