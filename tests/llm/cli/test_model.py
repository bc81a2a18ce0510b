"""Command-line programs as models: real ones, small."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from pygent_ls.agent.context.conversation_text import TextForm, conversation_text
from pygent_ls.agent.messages import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, user_message
from pygent_ls.agent.ports.model import FinishChunk, ModelFacts, ModelRequest, TextChunk, UsageChunk
from pygent_ls.agent.ports.processes import ProcessResult
from pygent_ls.errors import ModelError, ModelErrorType, SettingError
from pygent_ls.llm.cli.model import MAX_ARGUMENT_BYTES, CliEnvironment, CliModel
from pygent_ls.llm.cli.output import MAX_QUOTED_CHARS
from pygent_ls.llm.cli.programs import CALL_IN_BLOCKS, CONTINUE, PRESETS, CliProgram
from pygent_ls.llm.text_tools.model import tools_as_text
from pygent_ls.secrets.log_mask import redacted
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.agent.abilities import read_file
from tests.agent.turns import run_turn
from tests.fakes import FakeProcesses, bounded, make_rig
from tests.llm.model_contract import ANSWER_TEXT, READ_FILE, chunks_of, joined, request
from tests.workspace.programs import runs

ENDED = ProcessResult(exit_code=0, stdout="plum", stderr="", omitted_chars=0, timed_out=False, duration_s=0.1)

ECHO = "import sys; sys.stdout.write(sys.stdin.read())"


def model_of(
    script: str,
    folder: Path,
    *arguments: str,
    form: TextForm = "markdown",
    stream: bool = True,
    noise: str = "",
    environment: Mapping[str, str] | None = None,
    first_byte_timeout_s: float = 30.0,
    idle_timeout_s: float = 30.0,
) -> CliModel:
    """A Python script as a model."""
    program = CliProgram(command=(sys.executable, "-c", script, *arguments), form=form, stream=stream, noise=noise)
    around = CliEnvironment(
        processes=LocalProcesses(hidden_variables={"SECRET_KEY"}),
        folder=folder / "empty",
        environment=environment or {},
        masked=redacted,
        first_byte_timeout_s=first_byte_timeout_s,
        idle_timeout_s=idle_timeout_s,
        own={"toy": program},
    )
    return around.model("cli:toy")


async def failure_of(model: CliModel, asked: ModelRequest | None = None) -> tuple[ModelErrorType, str]:
    with pytest.raises(ModelError) as failed:
        await bounded(chunks_of(model, asked))
    assert failed.value.provider == "cli:toy"
    return failed.value.type, failed.value.message.replace(sys.executable, "python")


async def test_its_output_is_the_answer(tmp_path: Path) -> None:
    model = model_of(f"print({ANSWER_TEXT!r})", tmp_path)

    chunks = await bounded(chunks_of(model))

    answer = joined(chunks)
    assert (answer.text, answer.finish, answer.has_calls) == (ANSWER_TEXT, "stop", False)
    assert [type(chunk) for chunk in chunks[-2:]] == [UsageChunk, FinishChunk]
    assert (answer.usage.cost_usd, answer.usage.output_tokens) == (None, 14)
    assert answer.usage.context_tokens == answer.usage.input_tokens + 14
    assert (model.name, model.ready, model.facts) == (
        "cli:toy",
        True,
        ModelFacts(has_native_tools=False, takes_images=False),
    )


@pytest.mark.parametrize("form", ["plain", "markdown", "json", "xml"])
async def test_it_reads_the_conversation_in_its_form(tmp_path: Path, form: TextForm) -> None:
    history = (
        user_message("What does a.py say? é"),
        Message(
            role="assistant",
            content=(
                ThinkingBlock(thinking="hm"),
                TextBlock(text="I'll look."),
                ToolUseBlock(id="1", name="read_file", input={"path": "a.py"}),
            ),
        ),
        user_message((ToolResultBlock(tool_use_id="1", content="plum"),)),
    )
    seen = tmp_path / "seen"
    model = model_of("import sys; open(sys.argv[1], 'w').write(sys.stdin.read())", tmp_path, str(seen), form=form)

    await bounded(chunks_of(model, request(*history)))

    without_thoughts = (history[0], replace(history[1], content=history[1].blocks[1:]), history[2])
    system = f"You are a test.\n\n{tools_as_text([READ_FILE])}\n{CALL_IN_BLOCKS}\n\n{CONTINUE}"
    assert seen.read_text() == conversation_text(without_thoughts, form, system=system)


async def test_a_tool_call_in_its_text_is_a_call(tmp_path: Path) -> None:
    body = json.dumps({"name": "read_file", "input": {"path": "a.py"}})
    model = model_of(f"print('I will look.\\n\\n```tool\\n' + {body!r} + '\\n```')", tmp_path)

    answer = joined(await bounded(chunks_of(model)))

    assert (answer.text, answer.finish) == ("I will look.\n\n", "tool_calls")
    assert [(call.name, call.input) for call in answer.message("t", ()).tool_calls] == [("read_file", {"path": "a.py"})]


async def test_where_tools_are_not_offered_as_text_it_is_told_of_none(tmp_path: Path) -> None:
    around = replace(model_of(ECHO, tmp_path).around, text_tool_calls=False)
    answer = joined(await bounded(chunks_of(around.model("cli:toy"))))
    assert "read_file" not in answer.text
    assert not answer.has_calls


async def test_a_whole_turn_runs_on_a_program(tmp_path: Path) -> None:
    call = '```tool\\n{"name": "read_file", "input": {"path": "a.py"}}\\n```'
    script = f"import sys; t = sys.stdin.read(); print('It says plum.' if 'plum' in t else '{call}')"
    rig = make_rig(read_file, files={"a.py": "the word is plum"})
    result = await run_turn(rig, model_of(script, tmp_path))
    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "It says plum.", 2)


async def test_output_is_passed_on_as_it_comes(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    script = "import sys; print('Hello', end='', flush=True); open(sys.argv[1]).read(); print(' you')"
    stream = model_of(script, tmp_path, str(gate)).stream(request())

    assert await bounded(anext(stream)) == TextChunk(text="Hello")
    await asyncio.to_thread(gate.write_text, "go")
    rest = [chunk async for chunk in stream]

    assert rest[0] == TextChunk(text=" you")


@pytest.mark.parametrize(("stream", "noise"), [(False, ""), (True, r"LOG .*")])
async def test_where_it_does_not_stream_the_answer_comes_whole(tmp_path: Path, stream: bool, noise: str) -> None:
    log = "LOG 1\\n" if noise else ""
    script = f"import sys\nfor c in '{log}Hello {log[:0]}you': sys.stdout.write(c); sys.stdout.flush()"
    chunks = await bounded(chunks_of(model_of(script, tmp_path, stream=stream, noise=noise), request(tools=())))
    assert chunks[0] == TextChunk(text="Hello you")
    assert [type(chunk) for chunk in chunks[1:]] == [UsageChunk, FinishChunk]


async def test_what_it_says_to_people_is_no_part_of_the_answer(tmp_path: Path) -> None:
    model = model_of("import sys; print('loading…', file=sys.stderr); print('plum')", tmp_path)
    assert joined(await bounded(chunks_of(model))).text == "plum"


async def test_it_runs_in_an_empty_folder_with_the_providers_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "k-1")
    script = "import os; print(os.getcwd(), os.listdir(), os.environ.get('SECRET_KEY'))"
    without = joined(await bounded(chunks_of(model_of(script, tmp_path)))).text
    given = joined(await bounded(chunks_of(model_of(script, tmp_path, environment={"SECRET_KEY": "k-1"})))).text
    assert (without, given) == (f"{tmp_path / 'empty'} [] None", f"{tmp_path / 'empty'} [] k-1")


async def test_a_known_program_is_given_its_own_providers_keys_alone(tmp_path: Path) -> None:
    processes = FakeProcesses({"claude": lambda _: ENDED})
    keys = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}
    around = CliEnvironment(processes=processes, folder=tmp_path, environment=keys)
    await bounded(chunks_of(around.model("cli:claude")))
    (spec,) = processes.specs
    assert dict(spec.env) == {"NO_COLOR": "1", "TERM": "dumb", "ANTHROPIC_API_KEY": "a"}
    assert not spec.sandboxed


async def test_the_conversation_may_be_an_argument(tmp_path: Path) -> None:
    model = model_of(
        "import sys; print(sys.argv[1].splitlines()[-1], '|', sys.stdin.read())",
        tmp_path,
        "{conversation}",
        form="plain",
    )
    answer = joined(await bounded(chunks_of(model, request(user_message("a\0b")))))
    assert answer.text == "User: a\ufffdb |"

    error = await failure_of(model, request(user_message("x" * MAX_ARGUMENT_BYTES)))
    assert error[0] == "context_window"
    assert f"at most {MAX_ARGUMENT_BYTES}" in error[1]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Traceback: boom", "unknown"),
        ("Invalid API key · Please run /login", "auth"),
        ("Error: 429 Too Many Requests", "rate_limit"),
        ("could not connect to ollama server", "network"),
        ("Prompt is too long", "context_window"),
        ("API Error: 529 overloaded", "overloaded"),
    ],
)
async def test_a_program_that_fails_is_an_error_with_its_last_words(
    tmp_path: Path, said: str, kind: ModelErrorType
) -> None:
    model = model_of(f"import sys; print('half', flush=True); sys.exit({said!r})", tmp_path)
    assert await failure_of(model) == (kind, f"python failed (1); its output:\n{said}")


async def test_keys_in_its_last_words_are_masked(tmp_path: Path) -> None:
    key = "sk-" + "a1" * 20
    _, message = await failure_of(model_of(f"import sys; sys.exit('bad key {key}')", tmp_path))
    assert message == "python failed (1); its output:\nbad key ***"


async def test_half_a_key_is_not_shown_where_its_words_are_cut(tmp_path: Path) -> None:
    key = "sk-" + "a1" * 20
    script = f"import sys; sys.exit('bad key {key} ' + 'x' * {MAX_QUOTED_CHARS - 20})"
    _, message = await failure_of(model_of(script, tmp_path))
    assert "a1a1" not in message
    assert message.endswith("*** " + "x" * (MAX_QUOTED_CHARS - 20))


async def test_a_folder_that_cannot_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    kind, message = await failure_of(model_of(ECHO, tmp_path))
    assert (kind, "cannot be created (File exists)" in message) == ("invalid_request", True)


async def test_a_program_that_is_killed_says_by_what(tmp_path: Path) -> None:
    model = model_of("import os; os.kill(os.getpid(), 9)", tmp_path)
    assert await failure_of(model) == ("unknown", "python was terminated by signal 9.")


async def test_an_end_without_an_answer_but_with_complaints_is_an_error(tmp_path: Path) -> None:
    model = model_of("import sys; print('not logged in', file=sys.stderr)", tmp_path)
    assert await failure_of(model) == ("auth", "python did not answer; its output:\nnot logged in")


async def test_a_program_that_is_not_installed_is_an_error_before_it_is_run(tmp_path: Path) -> None:
    around = replace(model_of(ECHO, tmp_path).around, own={"toy": CliProgram(command=("no-such-program",))})
    model = around.model("cli:toy")
    error = await failure_of(model)
    assert error[0] == "invalid_request"
    assert "'no-such-program' is not installed" in error[1]
    with pytest.raises(ModelError):
        await model.prepare()


async def test_a_program_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    model = model_of("import time; time.sleep(100)", tmp_path, first_byte_timeout_s=0.05)
    assert await failure_of(model) == ("timeout", "python wrote nothing for 0.05 s.")


async def test_a_program_that_falls_silent_is_given_up(tmp_path: Path) -> None:
    model = model_of("import time; print('half', flush=True); time.sleep(100)", tmp_path, idle_timeout_s=0.05)
    assert await failure_of(model) == ("timeout", "python wrote nothing for 0.05 s.")


async def test_leaving_ends_the_whole_process_group(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)'])\n"
        "print(child.pid, flush=True); time.sleep(100)"
    )
    stream = model_of(script, tmp_path).stream(request())
    first = await bounded(anext(stream))
    assert isinstance(first, TextChunk)

    await bounded(stream.aclose())

    assert not runs(int(first.text))


async def test_a_cancel_ends_the_program_and_waits_for_its_end(tmp_path: Path) -> None:
    begun = asyncio.Event()
    pids: list[int] = []

    async def consume() -> None:
        stream = model_of("import os, time; print(os.getpid(), flush=True); time.sleep(100)", tmp_path).stream(
            request()
        )
        async for chunk in stream:
            if isinstance(chunk, TextChunk):
                pids.append(int(chunk.text))
                begun.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(consume())
        await bounded(begun.wait())
        task.cancel()

    assert task.cancelled()
    assert not runs(pids[0])


async def test_the_whole_answer_is_asked_for_without_tools(tmp_path: Path) -> None:
    completion = await bounded(model_of(ECHO, tmp_path).complete(request()))
    assert "read_file" not in completion.text
    assert "hi" in completion.text


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("cli:claude/opus", ("--strict-mcp-config", "--system-prompt", CONTINUE, "--model", "opus")),
        ("cli:claude", ("--strict-mcp-config", "--system-prompt", CONTINUE)),
        ("cli:gemini/pro", ("--output-format", "text", "--model", "pro")),
        ("cli:ollama/hf.co/a/b:q4", ("ollama", "run", "hf.co/a/b:q4", "--nowordwrap", "--hidethinking")),
        ("cli:coro", ("coro", "--max-steps", "1", "{conversation}")),
    ],
)
def test_the_presets_take_a_model_where_they_have_a_place_for_it(
    tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    model = CliEnvironment(processes=LocalProcesses(), folder=tmp_path).model(name)
    assert model.name == name
    assert model.command[-len(command) :] == command


def test_claude_is_given_no_tool_of_its_own() -> None:
    command = PRESETS["claude"].command
    assert command[command.index("--tools") + 1] == ""
    assert "--strict-mcp-config" in command


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cli:", "does not name a program. Known programs: toy, claude, gemini, ollama, coro"),
        ("cli:nobody", "[cli_models.NAME]"),
        ("cli:ollama", "also needs a model name: cli:ollama/MODEL"),
        ("cli:toy/big", "has no {model}"),
    ],
)
def test_a_name_that_can_be_no_model_says_what_would_be(tmp_path: Path, name: str, said: str) -> None:
    around = model_of(ECHO, tmp_path).around
    with pytest.raises(SettingError) as wrong:
        around.model(name)
    assert said in str(wrong.value)


def test_a_users_program_comes_before_a_preset_of_its_name(tmp_path: Path) -> None:
    around = replace(model_of(ECHO, tmp_path).around, own={"claude": CliProgram(command=("mine", "{model}"))})
    assert around.model("cli:claude/x").command == ("mine", "x")
