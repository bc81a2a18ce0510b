"""Writes the golden journals anew, by a real daemon: `python -m tests.sessions.journal.make_golden VERSION`.

Done once for each version of the form; what was written stays for ever, and every later program reads it.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.context.attachments import (
    DiagnosticsPart,
    EditorPart,
    FilePart,
    ImagePart,
    NotePart,
    PromptPart,
    ReviewPart,
    SelectionPart,
    TerminalPart,
)
from pygent_ls.agent.messages import ImageBlock, RejectedFile
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.agent.ports.model import ThinkingChunk, ToolCallChunk
from pygent_ls.sessions.turns.request import TurnRequest
from tests.agent.abilities import read_file
from tests.e2e.raw import RawClient, raw_client
from tests.fakes import FOLDER, Call, Gate, bounded, say
from tests.sessions.journal.golden import GOLDEN, expectation, load
from tests.sessions.journal.kept import daemon
from tests.sessions.subscribers import Reader

FIRST = (
    {
        "thinking": "Both files first.",
        "text": "I read both.",
        "tool_calls": [
            {"name": "read_file", "input": {"path": "a.txt"}},
            {"name": "read_file", "input": {"path": "b.txt"}},
        ],
    },
    {"tool_calls": [{"name": "edit_file", "input": {"path": "a.txt", "old": "first", "new": "1st"}}]},
    {"text": "Changed, and “quoted” with ünïcode \u2028 and an emoji 😀."},
    {
        "tool_calls": [
            {"name": "plan", "input": {"entries": [{"content": "delegate", "status": "in_progress"}]}},
            {"name": "task", "input": {"description": "look at b", "prompt": "What is in b.txt?"}},
        ]
    },
    {"tool_calls": [{"name": "read_file", "input": {"path": "b.txt"}}]},
    {"text": "It holds the second file."},
    {"text": "The subagent has looked."},
    {"text": "This is said, ", "error": {"type": "auth", "message": "the key is wrong"}},
    {"text": "I wait.", "tool_calls": [{"name": "shell", "input": {"command": "echo one; exec sleep 61"}}]},
    {"text": "The user wanted a.txt changed; it was."},
    {"text": "After the summary."},
)
SECOND = (
    {"tool_calls": [{"name": "edit_file", "input": {"path": "b.txt", "old": "second", "new": "2nd"}}]},
    {"text": "Changed b.txt."},
    {"text": "A new beginning."},
)
CUT = (
    {
        "text": "I run it.",
        "tool_calls": [
            {"name": "read_file", "input": {"path": "a.txt"}},
            {"name": "shell", "input": {"command": "echo begun; exec sleep 60"}},
        ],
    },
)


class Driver:
    """An editor that answers what it is asked."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self._n = 0
        self._answered = set[Any]()

    def ask(self, method: str, **params: Any) -> Any:
        """A request and its result; prompts are answered with Allow once."""
        return self.finish(self.begin(method, **params))

    def begin(self, method: str, **params: Any) -> str:
        """A request that goes on."""
        self._n += 1
        self.client.begin(f"r{self._n}", method, params)
        return f"r{self._n}"

    def finish(self, request: str) -> Any:
        """The result of a request."""
        client, answered = self.client, self._answered
        while True:
            frame = client.until(
                lambda frame: (
                    frame.get("id") == request
                    if "method" not in frame
                    else frame["method"] == "window/showMessageRequest" and frame["id"] not in answered
                )
            )
            if "method" not in frame:
                assert "result" in frame, frame
                return frame["result"]
            answered.add(frame["id"])
            client.send({"jsonrpc": "2.0", "id": frame["id"], "result": {"title": "Allow once"}})

    def allow(self, words: str) -> None:
        """Wait for a prompt with these words, and allow it once."""
        prompt = self.client.until(
            lambda frame: frame.get("method") == "window/showMessageRequest" and words in frame["params"]["message"]
        )
        self.client.send({"jsonrpc": "2.0", "id": prompt["id"], "result": {"title": "Allow once"}})
        self._answered.add(prompt["id"])

    def until_event(self, token: str, kind: str) -> None:
        """Wait for an event of that kind."""
        self.client.until(
            lambda frame: (
                frame.get("method") == "$/progress"
                and frame["params"]["token"] == token
                and any(each["type"] == kind for each in frame["params"]["value"]["events"])
            )
        )


def main(version: str) -> None:
    """Make them."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / "project"
        folder.mkdir()
        for name, script in (("first", FIRST), ("second", SECOND), ("cut", CUT)):
            (folder.parent / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in script))
        (folder / "a.txt").write_text("the first file\n")
        (folder / "b.txt").write_text("the second file\n")
        with raw_client(folder) as client:
            client.initialize(folder)
            ids = _tell_the_story(Driver(client), folder.parent)
            client.process.send_signal(signal.SIGKILL)
            client.wait()
        journals = next((folder.parent / "home").rglob("sessions"))
        for name, session_id in ids.items():
            data = (journals / f"{session_id}.jsonl").read_bytes()
            _keep(f"v{version}-{name}", data.replace(str(folder.parent).encode(), b"/home/user"))
        _keep(f"v{version}-sealed", asyncio.run(_sealed_thoughts(Path(temporary) / "sealed")))
        _keep(f"v{version}-queued", asyncio.run(_prompts_that_wait(Path(temporary) / "queued")))
        _keep(f"v{version}-provider-data", asyncio.run(_provider_data(Path(temporary) / "provider-data")))
    _with_lines_from_the_future(version)


def _tell_the_story(driver: Driver, scripts: Path) -> dict[str, str]:
    first = driver.ask("pygent/session/new", model=f"scripted:{scripts / 'first.jsonl'}")["sessionId"]
    driver.ask("pygent/turn/start", sessionId=first, prompt="Change a.txt\nplease")
    driver.ask("pygent/turn/start", sessionId=first, prompt="And b.txt?")
    driver.ask("pygent/turn/start", sessionId=first, prompt="Go on")
    slow = driver.begin("pygent/turn/start", sessionId=first, prompt="Talk", partialResultToken="slow")
    driver.allow("sleep 61")
    driver.until_event("slow", "tool_progress")
    behind = driver.begin("pygent/turn/start", sessionId=first, prompt="Waiting", partialResultToken="behind")
    driver.until_event("behind", "turn_queued")
    queued = driver.ask("pygent/turn/queue", sessionId=first)["items"]
    driver.ask("pygent/turn/dequeue", sessionId=first, turnId=queued[0]["turnId"])
    driver.ask("pygent/turn/cancel", sessionId=first)
    driver.finish(slow)
    driver.finish(behind)
    driver.ask("pygent/session/compact", sessionId=first)
    driver.ask("pygent/session/rename", sessionId=first, name="The first one")
    driver.ask("pygent/session/configure", sessionId=first, mode="plan", maxThinkingTokens=1000)
    driver.ask("pygent/turn/start", sessionId=first, prompt="And now?")
    fork = driver.ask("pygent/session/fork", sessionId=first)["sessionId"]
    driver.ask("pygent/session/configure", sessionId=fork, mode="default", model=f"scripted:{scripts / 'second.jsonl'}")
    driver.ask("pygent/turn/start", sessionId=fork, prompt="Change b.txt", mode="accept_edits")
    driver.ask("pygent/turn/start", sessionId=fork, prompt="/undo")
    driver.ask("pygent/session/clear", sessionId=fork)
    driver.ask("pygent/turn/start", sessionId=fork, prompt="Anew")
    cut = driver.ask("pygent/session/new", model=f"scripted:{scripts / 'cut.jsonl'}", mode="trust")["sessionId"]
    running = driver.begin("pygent/turn/start", sessionId=cut, prompt="Run it", partialResultToken="cut")
    driver.allow("sleep 60")
    driver.until_event("cut", "tool_progress")
    driver.begin("pygent/turn/start", sessionId=cut, prompt="Behind it", partialResultToken="cut too")
    driver.until_event("cut too", "turn_queued")
    assert running
    return {"whole": first, "fork": fork, "cut": cut}


async def _sealed_thoughts(root: Path) -> bytes:
    """Thoughts with a provider's seal, which no scripted model has."""
    redacted = [
        ThinkingChunk(thinking="", redacted="cipher"),
        *say("", Call(name="read_file", arguments={"path": "a.txt"})),
    ]
    looking = say("", Call(name="read_file", arguments={"path": "b.txt"}), thinking="hm")
    async with daemon(root, [redacted, looking, say("Done.")], tools=[read_file]) as kept:
        session = kept.new()
        await kept.say(session, "think")
        return (root / f"{session.id}.jsonl").read_bytes()


async def _provider_data(root: Path) -> bytes:
    """Thoughts and calls with data that their provider wants back, and an effort."""
    details = [{"type": "reasoning.encrypted", "data": "cipher", "index": 0}]
    signed = ToolCallChunk(
        index=0,
        id="call-1",
        name="read_file",
        arguments='{"path": "a.txt"}',
        provider_data={"extra_content": {"google": {"thought_signature": "seal"}}},
    )
    looking = [
        ThinkingChunk(thinking="hm"),
        ThinkingChunk(thinking="", provider_data={"reasoning_details": details}),
        signed,
        *say("", finish="tool_calls"),
    ]
    async with daemon(root, [looking, say("Done.")], tools=[read_file]) as kept:
        kept.model.facts = replace(kept.model.facts, family="openrouter/google")
        session = kept.new()
        session.choices.effort = "high"
        await kept.say(session, "think")
        return (root / f"{session.id}.jsonl").read_bytes()


async def _prompts_that_wait(root: Path) -> bytes:
    """Prompts with everything that may be attached, behind a turn that runs."""
    lines = LineRange(first=1, last=2)
    path = FOLDER / "a.txt"
    parts: tuple[PromptPart, ...] = (
        EditorPart(active=path, visible=(path,)),
        FilePart(path=path, lines=lines),
        FilePart(path=path, is_background=True),
        SelectionPart(path=path, lines=lines, text="the selected"),
        DiagnosticsPart(path=path, lines=("1:1 error: wrong",)),
        ImageBlock(mime_type="image/png", data="iVBORw0KGgo="),
        ImagePart(path=FOLDER / "a.png", mime_type="image/png"),
        NotePart(kind="folder", text="a.txt"),
        TerminalPart(command="make", output="no rule", exit_code=2),
        ReviewPart(text="+x = 1", files=(RejectedFile(uri="file:///w/a.txt", n_changes=1),)),
        "look at these",
    )
    plain = TurnRequest(parts=("and then this",), turn_id="plain", mode="plan", max_iterations=3, effort="low")
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    gate, reader = Gate(), Reader()
    async with daemon(root, [[gate, *say("first")], say("second"), say("third")]) as kept:
        session = kept.new()
        running = session.start_turn(TurnRequest(parts=("first",)), Reader())
        await gate.reached()
        session.start_turn(TurnRequest(parts=parts, turn_id="attached", output_schema=schema), reader)
        session.start_turn(plain, reader)
        await reader.until(2)
        data = (root / f"{session.id}.jsonl").read_bytes()
        gate.open()
        assert running.task is not None
        await bounded(running.task)
        return data


def _with_lines_from_the_future(version: str) -> None:
    lines = (GOLDEN / f"v{version}-sealed.jsonl").read_bytes().splitlines(keepends=True)
    later = b'{"v":99,"type":"message","index":0,"message":{"role":"user","words":"in another form"}}\n'
    unknown = b'{"v":%b,"type":"mood","is":"fine"}\n' % version.encode()
    _keep(f"v{version}-later", b"".join([*lines[:4], later, *lines[4:-1], unknown, lines[-1]]))


def _keep(name: str, data: bytes) -> None:
    data = re.sub(rb'"pid":\d+', b'"pid":4711', data).replace(socket.gethostname().encode(), b"host")
    path = GOLDEN / f"{name}.jsonl"
    path.write_bytes(data)
    text = json.dumps(expectation(load(path)), indent=1, ensure_ascii=False, sort_keys=True)
    path.with_suffix(".expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
