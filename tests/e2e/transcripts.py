"""Recorded runs of `pygent-ls run --output-format stream-json`, and how they are played again.

Each is the command in a process of its own with a loopback model server behind it, and perhaps a program that writes
its standard input. `python -m tests.e2e.transcripts` records them anew, for a person to look at the difference.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.command_line import WAIT_S, clean_environment, start
from tests.e2e.warm_command import WarmProcess
from tests.model_server import Call, ModelServer, Step

FOLDER = Path(__file__).parents[1] / "transcripts" / "stream_json"

Line = dict[str, Any]

Respond = Callable[[Line], Sequence[Mapping[str, Any]]]
"""What the program writes when it has read a line."""

STREAMS = ("--output-format", "stream-json")
BOTH_WAYS = (*STREAMS, "--input-format", "stream-json", "--permission-prompt-tool", "stdio")

EDIT = {"path": "app.py", "old": "x = 1", "new": "x = 2"}
EDIT_AGAIN = {"path": "app.py", "old": "x = 3", "new": "x = 4"}
NUMBER = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
READ = Call(name="read_file", arguments={"path": "app.py"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A run that is recorded."""

    steps: tuple[Step, ...]
    arguments: tuple[str, ...] = (*STREAMS, "go")
    prompts: tuple[Mapping[str, Any], ...] = ()
    """What the program writes at first."""
    respond: Respond = lambda _: ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


def prompt(text: str) -> Line:
    """A line that asks for a turn."""
    return {"type": "user", "message": {"role": "user", "content": text}}


def request(request_id: str, subtype: str, **given: Any) -> Line:
    """A control request."""
    return {"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **given}}


def deciding(*decisions: Mapping[str, Any]) -> Respond:
    """A program that answers its questions so, one after the other."""
    left = list(decisions)

    def respond(line: Line) -> Sequence[Line]:
        if line["type"] != "control_request":
            return ()
        response = {"subtype": "success", "request_id": line["request_id"], "response": left.pop(0)}
        return ({"type": "control_response", "response": response},)

    return respond


def interrupting(line: Line) -> Sequence[Line]:
    """A program that interrupts a call of a tool at its output: it has begun by then, and has not ended."""
    return (request("r1", "interrupt"),) if line["type"] == "tool_progress" and line["content"] else ()


SCENES: Mapping[str, Scene] = {
    "answer_with_a_tool": Scene(
        steps=(
            Step(text="Reading.", thinking="I should look.", calls=(READ, READ)),
            Step(text="It sets x.", cached_tokens=60),
        )
    ),
    "partial_messages": Scene(
        steps=(
            Step(text="Let me run it.", calls=(Call(name="shell", arguments={"command": "echo out"}),)),
            Step(text="Done."),
        ),
        arguments=(*STREAMS, "--include-partial-messages", "--allowed-tools", "shell(echo:*)", "go"),
    ),
    "refused_without_a_terminal": Scene(
        steps=(Step(calls=(Call(name="edit_file", arguments=EDIT),)), Step(text="I may not."))
    ),
    "limit_of_model_calls": Scene(
        steps=(Step(text="Reading.", calls=(READ,)),), arguments=(*STREAMS, "--max-turns", "1", "go")
    ),
    "model_fails": Scene(steps=(Step(status=401, error="Incorrect API key provided"),)),
    "structured_result": Scene(
        steps=(Step(calls=(Call(name="structured_output", arguments={"n": 7}),)),),
        arguments=(*STREAMS, "--json-schema", NUMBER, "how many?"),
    ),
    "slash_command": Scene(steps=(), arguments=(*STREAMS, "/mode plan")),
    "subagent": Scene(
        steps=(
            Step(calls=(Call(name="task", arguments={"description": "look", "prompt": "Read app.py"}),)),
            Step(text="I look.", calls=(READ,)),
            Step(text="It sets x."),
            Step(text="The subagent says that it sets x."),
        )
    ),
    "two_turns_and_requests": Scene(
        steps=(Step(text="First."), Step(text="Second.")),
        arguments=BOTH_WAYS,
        prompts=(
            request("r1", "set_permission_mode", mode="acceptEdits"),
            request("r2", "set_max_thinking_tokens", max_thinking_tokens=0),
            request("r3", "no_such_request"),
            prompt("one"),
            {"type": "nonsense"},
            prompt("two"),
        ),
    ),
    "permission_over_stdio": Scene(
        steps=(
            Step(text="I edit it.", calls=(Call(name="edit_file", arguments=EDIT),)),
            Step(calls=(Call(name="edit_file", arguments=EDIT_AGAIN),)),
            Step(text="It is 3 now."),
        ),
        arguments=BOTH_WAYS,
        prompts=(prompt("edit it"),),
        respond=deciding(
            {"behavior": "allow", "updatedInput": {**EDIT, "new": "x = 3"}},
            {"behavior": "deny", "message": "not again"},
        ),
    ),
    "interrupted": Scene(
        steps=(
            Step(text="I wait.", calls=(Call(name="shell", arguments={"command": "echo begun; sleep 300"}),)),
            Step(text="Yes?"),
        ),
        arguments=(
            *(*STREAMS, "--input-format", "stream-json", "--include-partial-messages"),
            *("--allowed-tools", "shell(sleep:*)", "--allowed-tools", "shell(echo:*)"),
        ),
        prompts=(prompt("wait"), prompt("are you there?")),
        respond=interrupting,
    ),
}


def play(scene: Scene, place: Path) -> tuple[list[Line], int]:
    """Run it in this folder, which is empty; its lines as they are recorded, and the exit code."""
    (place / "w").mkdir()
    (place / "w" / "app.py").write_text("x = 1\n", encoding="utf-8")
    (place / "home").mkdir()
    with ModelServer(scene.steps) as server:
        environment = clean_environment(place / "home", PYGENT_MODEL="openai/mock", **server.env(), **scene.environment)
        with start("run", *scene.arguments, "--cwd", str(place / "w"), environment=environment) as process:
            lines = list(_exchanged(process, scene))
            code = process.wait(WAIT_S)
    return list(_normal(lines, place)), code


def _exchanged(process: subprocess.Popen[bytes] | WarmProcess, scene: Scene) -> Iterator[Line]:
    assert process.stdin
    assert process.stdout
    if scene.prompts:
        _write(process, *scene.prompts)
    n_turns = sum(line["type"] == "user" for line in scene.prompts)
    if not n_turns:
        process.stdin.close()
    for text in process.stdout:
        line = json.loads(text)
        yield line
        if answers := scene.respond(line):
            _write(process, *answers)
        n_turns -= line["type"] == "result"
        if n_turns == 0 and not process.stdin.closed:
            process.stdin.close()


def _write(process: subprocess.Popen[bytes] | WarmProcess, *lines: Mapping[str, Any]) -> None:
    """In one piece: what is read together is taken in one go, so the order of what is said to it is always the same."""
    assert process.stdin
    process.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    process.stdin.flush()


def recorded(name: str) -> list[Line]:
    """The lines of a record."""
    text = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


# What differs from run to run


def _normal(lines: Sequence[Line], place: Path) -> Iterator[Line]:
    names: dict[str, str] = {}
    for line in _merged(lines):
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", line.pop("uuid"))
        assert re.fullmatch(r"[0-9a-f]{32}", line["session_id"])
        line["session_id"] = _named(names, line["session_id"], "session")
        for key in ("duration_ms", "duration_api_ms"):
            if key in line:
                assert line[key] >= 0
                line[key] = 0
        if "elapsed_time_seconds" in line:
            assert line["elapsed_time_seconds"] >= 0
            line["elapsed_time_seconds"] = 0
        for key in ("tools", "agents", "slash_commands"):
            if key in line:
                assert line[key], f"there are {key}"
                line[key] = ["…"]
        yield _with_names(line, names, place)


def _merged(lines: Sequence[Line]) -> Iterator[Line]:
    """Pieces that stand behind each other are one: how many there are is a matter of time."""
    last: Line | None = None
    for line in lines:
        delta, before = _delta(line), _delta(last)
        if last is not None and delta and before and delta.keys() == before.keys():
            key = next(each for each in delta if each != "type")
            before[key] += delta[key]
            continue
        if last is not None:
            yield last
        last = line
    if last is not None:
        yield last


def _delta(line: Line | None) -> Line | None:
    return line["event"].get("delta") if line and line.get("event", {}).get("type") == "content_block_delta" else None


def _with_names(value: Any, names: dict[str, str], place: Path) -> Any:
    if isinstance(value, dict):
        return {key: _with_names(each, names, place) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_with_names(each, names, place) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, str):
        return value
    value = re.sub(r"msg_[0-9a-f-]{36}", lambda found: _named(names, found[0], "message"), value)
    value = re.sub(
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", lambda found: _named(names, found[0], "request"), value
    )
    value = re.sub(r"turn-[0-9a-f]{12}", lambda found: _named(names, found[0], "turn"), value)
    return value.replace(str(place / "w"), "/w")


def _named(names: dict[str, str], found: str, kind: str) -> str:
    n_before = sum(each.startswith(kind) for each in names.values())
    return names.setdefault(found, f"{kind}-{n_before + 1}")


def main() -> None:
    """Record all."""
    for name, scene in SCENES.items():
        with tempfile.TemporaryDirectory() as folder:
            lines, code = play(scene, Path(folder).resolve())
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}: {len(lines)} lines, exit code {code}\n")


if __name__ == "__main__":
    main()
