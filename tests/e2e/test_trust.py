"""Trust with real programs: an answer outlasts them, another content is asked about again, a person gives it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from lsprotocol.types import (
    ClientCapabilities,
    ShowMessageRequestClientCapabilities,
    ShowMessageRequestParams,
    WindowClientCapabilities,
)

from tests.e2e.command_line import clean_environment, on_terminal, run, script, tool
from tests.e2e.lsp_client import editor_client

LOOSE = '[permissions]\nallow = ["create_file(**)"]\n'
TRUST = "Trust this folder's settings"


def yes(prompt: ShowMessageRequestParams) -> str | None:
    titles = [action.title for action in prompt.actions or ()]
    return TRUST if TRUST in titles else "Reject"


def made(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob("made-*"))


async def test_trust_outlasts_the_daemon_and_another_content_is_asked_about_again(folder: Path) -> None:
    lines: list[object] = []
    for number in range(3):
        call = {"name": "create_file", "input": {"path": f"made-{number}", "content": "x"}}
        lines += [{"tool_calls": [call]}, {"text": "done"}]
    script = folder.parent / "script.jsonl"
    script.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    environment = {"PYGENT_MODEL": f"scripted:{script}"}
    (folder / ".pygent").mkdir()
    own = folder / ".pygent" / "config.toml"
    own.write_text(LOOSE)

    async with editor_client(folder, environment) as editor:
        editor.choose = yes
        both = [editor.begin_turn("go"), editor.begin_turn("go")]
        async with asyncio.timeout(20):
            await asyncio.gather(*both)
        assert [TRUST in [action.title for action in prompt.actions or ()] for prompt in editor.prompts] == [True]
        assert made(folder) == ["made-0"]

    async with editor_client(folder, environment) as editor:
        editor.choose = lambda _: None
        (folder / "made-0").unlink()
        await editor.turn("go")
        assert (editor.prompts, made(folder)) == ([], ["made-0"])

        own.write_text('mode = "trust"\n' + LOOSE)
        await editor.turn("go")
        (asked,) = [prompt for prompt in editor.prompts if "work in the mode trust" in prompt.message]
        assert [action.title for action in asked.actions or ()] == ["Do not trust", TRUST]
        notices = [event["content"] for event in editor.events() if event["type"] == "notice"]
        assert len([each for each in notices if "pygent-ls trust" in each]) == 1


def model(folder: Path) -> str:
    return script(folder, tool("create_file", path="made-0", content="x"), {"text": "done"})


def test_without_a_terminal_nothing_is_trusted_until_the_command_says_so(folder: Path) -> None:
    environment = clean_environment(folder.parent)
    (folder / ".pygent").mkdir()
    (folder / ".pygent" / "config.toml").write_text(LOOSE + 'deny = ["delete_file"]\n')
    options = ("run", "go", "--cwd", str(folder), "--model")

    done = run(*options, model(folder.parent), environment=environment)
    assert made(folder) == []
    assert [line for line in done.stderr.splitlines() if "pygent-ls trust" in line] == [
        ".pygent/config.toml of this folder is not trusted, so these settings are ignored: permissions.allow. To "
        "trust it, run `pygent-ls trust` in the folder."
    ]

    assert "You have not been asked yet" in run("trust", str(folder), "--show", environment=environment).stdout
    assert "allow without asking you: create_file(**)" in run("trust", environment=environment, cwd=folder).stdout
    done = run(*options, model(folder.parent), environment=environment)
    assert ("not trusted" in done.stderr, made(folder)) == (False, ["made-0"])
    assert run("trust", "--forget", environment=environment, cwd=folder).stdout.startswith("Removed the answers")
    assert run("trust", "nowhere", environment=environment).returncode == 2


def test_yes_is_an_answer_to_permission_prompts_and_trusts_nothing(folder: Path) -> None:
    environment = clean_environment(folder.parent)
    (folder / ".pygent").mkdir()
    (folder / ".pygent" / "config.toml").write_text('system_prompt = "Obey."\n')

    with on_terminal(
        "run", "go", "--cwd", str(folder), "--yes", "--model", model(folder.parent), environment=environment
    ) as terminal:
        assert terminal.ends() == 0

    assert "are ignored: system_prompt" in terminal.seen
    assert "Trust them" not in terminal.seen
    assert made(folder) == ["made-0"]


def test_on_a_terminal_the_person_is_asked_and_the_answer_is_kept(folder: Path) -> None:
    environment = clean_environment(folder.parent)
    (folder / ".pygent").mkdir()
    hook = f"true {'x' * 3_000}; true the end"
    (folder / ".pygent" / "config.toml").write_text(f'{LOOSE}[[hooks]]\nevent = "session_start"\ncommand = "{hook}"\n')

    with on_terminal(
        "run", "go", "--cwd", str(folder), "--model", model(folder.parent), environment=environment
    ) as terminal:
        terminal.sees("Trust them (yes or no)? ")
        terminal.types("perhaps\n")
        terminal.sees("Trust them (yes or no)? ", times=2)
        terminal.types("yes\n")
        assert terminal.ends() == 0

    assert "- allow without asking you: create_file(**)" in terminal.seen
    assert hook in terminal.seen
    assert made(folder) == ["made-0"]
    shown = run("trust", "--show", environment=environment, cwd=folder).stdout
    assert "It is trusted." in shown
    assert hook in shown


async def test_a_hook_that_is_too_long_for_a_dialog_is_not_asked_about_by_a_client_that_shows_no_document(
    folder: Path,
) -> None:
    hook = f"true {'x' * 5_000}; touch made-by-the-hook"
    (folder / ".pygent").mkdir()
    (folder / ".pygent" / "config.toml").write_text(f'[[hooks]]\nevent = "session_start"\ncommand = "{hook}"\n')
    window = WindowClientCapabilities(show_message=ShowMessageRequestClientCapabilities())
    capabilities = ClientCapabilities(window=window)
    call = {"name": "create_file", "input": {"path": "made-by-the-model", "content": "x"}}
    script = folder.parent / "script.jsonl"
    script.write_text(f"{json.dumps({'tool_calls': [call]})}\n" + '{"text": "done"}\n')

    async with editor_client(folder, {"PYGENT_MODEL": f"scripted:{script}"}, capabilities=capabilities) as editor:
        editor.choose = lambda prompt: next(iter(prompt.actions or ())).title
        async with asyncio.timeout(40):
            await editor.turn("go")
        said = list(editor.messages)

    assert [each for each in editor.prompts if TRUST in [action.title for action in each.actions or ()]] == []
    assert len([each for each in said if "Run `pygent-ls trust --show` in the folder to review them" in each]) == 1
    assert "made-by-the-hook" not in made(folder)
