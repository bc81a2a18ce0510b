"""`:Pygent voice`: spoken prompts are sent, and what is heard stands above the prompt."""

from __future__ import annotations

from pathlib import Path

from tests.clients.neovim.chats import chat, open_chat
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.prompts import bar, open_prompt, prompt_text, told
from tests.clients.speech import speech_settings, spoken
from tests.model_server import Step

NOTIFY = """
local method, params = ...
local client = vim.lsp.get_clients({ name = "pygent" })[1]
client.handlers[method](nil, params, { client_id = client.id, method = method })
"""


def test_a_spoken_prompt_is_sent_and_answered(start: Start, home: Path, tmp_path: Path) -> None:
    settings = home / "config" / "pygent-ls"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(speech_settings(spoken("run the tests", tmp_path)))
    editor = start([Step(text="They pass.")])
    open_chat(editor, enter=False)

    editor.command("Pygent voice")
    told(editor, "speech listens to the microphone")
    editor.until(lambda: "They pass." in chat(editor), what="the answer")
    assert "run the tests" in chat(editor)
    editor.command("Pygent voice status")
    told(editor, "speech listens to the microphone, for the session")
    assert "listening" in editor.lua("return require('pygent.statusline').text()")
    editor.command("Pygent voice")
    told(editor, "voice input is off")
    assert "listening" not in editor.lua("return require('pygent.statusline').text()")


def test_without_a_speech_server_that_is_said(start: Start) -> None:
    editor = start([])

    editor.command("Pygent voice start loopback")
    told(editor, "No speech server is connected")
    editor.command("Pygent voice louder")
    told(editor, "usage: :Pygent voice")


def test_what_is_heard_stands_above_the_prompt_and_what_was_not_sent_within(start: Start) -> None:
    editor = start([Step(text="Hello.")])
    editor.command("Pygent ask hi")
    editor.until("return require('pygent.sessions').current() ~= nil", what="a session")
    session = editor.lua("return require('pygent.sessions').current().id")
    editor.until_over()
    open_prompt(editor, "please")
    status = {"state": "listening", "sessionId": session, "source": "microphone", "server": "speech", "text": ""}

    def notify(method: str, **params: object) -> None:
        editor.lua(NOTIFY, f"pygent/voice/{method}", params)

    assert "●" not in bar(editor)
    notify("changed", **status)
    assert "● listening · <C-s> send" in bar(editor)
    notify("update", sessionId=session, text="run the", final=False)
    assert "● run the" in bar(editor)
    notify("update", sessionId=session, text="run the tests", final=True)
    assert "● listening" in bar(editor)
    notify("changed", **{**status, "state": "off", "text": "and then"})
    assert "●" not in bar(editor)
    assert prompt_text(editor) == "and then\n\nplease"
