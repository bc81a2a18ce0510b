"""A long call is shown while the model writes it: its path in the title, the end of its text below the chat."""

from __future__ import annotations

from tests.clients.neovim.chats import chat, n_ends, open_chat, send
from tests.clients.neovim.conftest import Start
from tests.model_server import Call, Step


def test_the_chat_shows_a_file_while_it_is_written(start: Start) -> None:
    content = "".join(f"line {n}\n" for n in range(200))
    call = Call(name="create_file", arguments={"path": "long.txt", "content": content})
    editor = start([Step(calls=(call,), chunk=40, pause_after=30), Step(text="Done.")])
    open_chat(editor)

    send(editor, "write it")
    editor.until(
        lambda: (
            any(line.startswith("… create_file long.txt") for line in chat(editor))
            and any(line.startswith("│ line 1") for line in chat(editor))
        ),
        what="the draft",
    )
    editor.model.resume()
    editor.until("return require('pygent.sessions').current().asks[1] ~= nil", what="the permission")
    editor.lua("require('pygent.sessions').current().asks[1].answer({ optionId = 'allow_once' })")
    editor.until(lambda: n_ends(editor) == 1)

    assert [line for line in chat(editor) if "long.txt" in line and line.startswith(("…", "✓"))] == [
        "✓ Create long.txt"
    ]
