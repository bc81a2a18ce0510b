"""Recorded turns as a client of the language server gets them, and how they are played again.

Each is a daemon in a process of its own, spoken to on its standard streams, with a loopback model server behind it.
`python -m tests.e2e.event_transcripts` records them anew, for a person to look at the difference.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.e2e.raw import RawClient, raw_client
from tests.model_server import Call, ModelServer, Step

FOLDER = Path(__file__).parents[1] / "transcripts" / "events"

Line = dict[str, Any]

PIECE_CHARS = 8
"""Fields of a delta that a transcript leaves out: how the daemon merged deltas depends on milliseconds."""

DELTAS = ("text_delta", "thinking_delta", "tool_progress")

CAPABILITIES = {
    "experimental": {"pygent": {"permissionRequest": True, "questionRequest": True, "chatPanel": True}},
}

PERMISSION, QUESTION = "pygent/permission/request", "pygent/question/request"

WITHDRAWN = ("pygent/permission/cancelled", "pygent/question/cancelled")

FILES = {"app.py": "x = 1\n", "notes.md": "# Notes\n"}

WAITS = "echo one; until [ -e go ]; do sleep 0.02; done; echo two"


class Panel:
    """A client that notes what it sends, and where in the order of what came."""

    def __init__(self, client: RawClient, server: ModelServer, folder: Path) -> None:
        self.client = client
        self.server = server
        self.folder = folder
        self._sent: list[tuple[int, Line]] = []
        self._asked: set[str] = set()

    def begin(self, id: str, method: str, **params: object) -> None:
        """Send a request."""
        self._note({"request": {"id": id, "method": method, "params": params}})
        self._asked.add(id)
        self.client.begin(id, method, params)

    def turn(self, prompt: object = "go", *, id: str = "turn", **params: object) -> None:
        """Start a turn."""
        self.begin(id, "pygent/turn/start", prompt=prompt, partialResultToken="events", **params)

    def answer(self, id: str = "turn") -> Any:
        """The answer to a request."""
        return self.client.answer(id)

    def event(self, kind: str) -> Line:
        """Wait for the first event of that type."""
        self.client.until(lambda _: any(each["type"] == kind for each in self.events))
        return next(each for each in self.events if each["type"] == kind)

    def said(self, text: str) -> None:
        """Wait for all that the model says before it pauses."""
        self.client.until(
            lambda _: text == "".join(each["content"] for each in self.events if each["type"] == "text_delta")
        )

    @property
    def events(self) -> list[Line]:
        """All that came."""
        return [event for frame in self.client.frames for event in events_of(frame)]

    @property
    def session(self) -> str:
        """Id of the session of the first turn."""
        made = self.client.until(lambda frame: frame.get("method") == "pygent/session/changed")
        return str(made["params"]["sessionId"])

    def running(self) -> dict[str, str]:
        """The turn that runs."""
        return {"sessionId": self.session, "turnId": self.event("turn_started")["turnId"]}

    def reply(self, method: str, **result: object) -> None:
        """Answer the first question of that kind."""
        asked = self.client.until(lambda frame: frame.get("method") == method)
        self._note({"reply": {"method": method, "result": result}})
        self.client.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})

    def lines(self) -> Iterator[Line]:
        """All that was sent and came, in its order. The answer to a request that has no events follows the request: the
        events of turns are sent independently of it."""
        sent = list(self._sent)
        for place, frame in enumerate(self.client.frames):
            while sent and sent[0][0] <= place:
                yield from self._with_answer(sent.pop(0)[1])
            if frame.get("id") not in self._without_events:
                yield from self._lines_of(frame)
        for _, line in sent:
            yield from self._with_answer(line)

    @property
    def _without_events(self) -> set[str]:
        requests = [line["request"] for _, line in self._sent if "request" in line]
        return {each["id"] for each in requests if "partialResultToken" not in each["params"]}

    def _with_answer(self, line: Line) -> Iterator[Line]:
        yield line
        if (asked := line.get("request", {}).get("id")) in self._without_events:
            (answer,) = (frame for frame in self.client.frames if frame.get("id") == asked and "method" not in frame)
            yield from self._lines_of(answer)

    def _lines_of(self, frame: Line) -> Iterator[Line]:
        if events := events_of(frame):
            yield {"events": events}
        elif frame.get("method") in (PERMISSION, QUESTION, *WITHDRAWN):
            kind = "asked" if "id" in frame else "notification"
            yield {kind: {"method": frame["method"], "params": frame["params"]}}
        elif "method" not in frame and frame["id"] in self._asked:
            kind = "error" if "error" in frame else "result"
            yield {kind: frame[kind], "id": frame["id"]}

    def _note(self, line: Line) -> None:
        self._sent.append((len(self.client.frames), line))


def events_of(frame: Mapping[str, Any]) -> list[Line]:
    """What a frame tells on the token of a turn or of a view."""
    is_told = frame.get("method") == "$/progress" and frame["params"]["token"] == "events"
    return frame["params"]["value"]["events"] if is_told else []


def one_turn(panel: Panel) -> None:
    """Start it, and wait for its end."""
    panel.turn()
    panel.answer()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is recorded."""

    steps: tuple[Step, ...]
    act: Callable[[Panel], None] = one_turn
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`initializationOptions.pygent`."""
    own: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Capabilities beside the usual ones."""


def calling(name: str, **arguments: object) -> Step:
    """An answer that calls one tool."""
    return Step(calls=(Call(name=name, arguments=arguments),))


def allowing(panel: Panel) -> None:
    """The user allows what is asked."""
    panel.turn()
    panel.reply(PERMISSION, optionId="allow_once")
    panel.answer()


def rejecting(panel: Panel) -> None:
    """The user says no, and why."""
    panel.turn()
    panel.reply(PERMISSION, optionId="reject_once", feedback="Leave x alone.")
    panel.answer()


def watching_the_shell(panel: Panel) -> None:
    """A command runs for a while."""
    panel.turn()
    panel.reply(PERMISSION, optionId="allow_once")
    panel.event("tool_progress")
    (panel.folder / "go").touch()
    panel.answer()


def steering(panel: Panel) -> None:
    """The user says something meanwhile."""
    panel.turn()
    panel.reply(PERMISSION, optionId="allow_once")
    panel.event("tool_progress")
    panel.begin("steer", "pygent/turn/steer", **panel.running(), prompt="And be brief.")
    panel.answer("steer")
    (panel.folder / "go").touch()
    panel.answer()


def queueing(panel: Panel) -> None:
    """Two more prompts come, of which one is taken back."""
    panel.turn("first")
    panel.said("This is the firs")
    for number in ("second", "third"):
        panel.turn(number, id=number, sessionId=panel.session)
        panel.client.until(lambda _, number=number: number in [each.get("prompt") for each in panel.events])
    panel.begin("queue", "pygent/turn/queue", sessionId=panel.session)
    waiting = panel.answer("queue")["result"]["items"]
    panel.begin("dequeue", "pygent/turn/dequeue", sessionId=panel.session, turnId=waiting[-1]["turnId"])
    panel.answer("third")
    panel.server.resume()
    panel.answer()
    panel.answer("second")


def cancelling_text(panel: Panel) -> None:
    """In the midst of an answer."""
    panel.turn()
    panel.said("Counting: one, t")
    panel.begin("cancel", "pygent/turn/cancel", sessionId=panel.session)
    panel.answer()


def cancelling_a_tool(panel: Panel) -> None:
    """In the midst of a command."""
    panel.turn()
    panel.reply(PERMISSION, optionId="allow_once")
    panel.event("tool_progress")
    panel.begin("cancel", "pygent/turn/cancel", sessionId=panel.session)
    panel.answer()


def cancelling_a_prompt(panel: Panel) -> None:
    """While the user is asked."""
    panel.turn()
    panel.client.until(lambda frame: frame.get("method") == PERMISSION)
    panel.begin("cancel", "pygent/turn/cancel", sessionId=panel.session)
    panel.answer()


def going_on(panel: Panel) -> None:
    """The user lets the turn go on behind its limit."""
    panel.turn(maxIterations=1)
    panel.reply(QUESTION, choice="Continue")
    panel.answer()


def choosing(panel: Panel) -> None:
    """The model asks the user."""
    panel.turn()
    panel.reply(QUESTION, choice="Tabs")
    panel.answer()


def compacting(panel: Panel) -> None:
    """The conversation is summed up."""
    (panel.folder / "long.txt").write_text("a line of words\n" * 150)
    for number, said in enumerate(("Read it.", "And on.", "And on.")):
        panel.turn(said, id=f"prompt-{number}", **({"sessionId": panel.session} if number else {}))
        panel.answer(f"prompt-{number}")
    panel.turn("/compact", id="compact", sessionId=panel.session)
    panel.answer("compact")


PLAN = [
    {"content": "Read the code", "status": "in_progress", "priority": "high"},
    {"content": "Change it", "status": "pending", "priority": "medium"},
]

SCENES: Mapping[str, Scene] = {
    "answer_with_thinking": Scene(
        steps=(Step(thinking="A greeting, and a bit of code.", text="Hello, **you**.\n\n```python\nprint(1)\n```\n"),)
    ),
    "parallel_reads": Scene(
        steps=(
            Step(
                text="I look at both.",
                calls=tuple(Call(name="read_file", arguments={"path": path}) for path in FILES),
            ),
            Step(text="One sets x, the other has a title."),
        )
    ),
    "edit_allowed": Scene(
        steps=(calling("edit_file", path="app.py", old="x = 1", new="x = 2"), Step(text="It is 2 now.")), act=allowing
    ),
    "edit_rejected_with_feedback": Scene(
        steps=(calling("edit_file", path="app.py", old="x = 1", new="x = 2"), Step(text="Then I leave it.")),
        act=rejecting,
    ),
    "denied_by_a_rule": Scene(
        steps=(calling("shell", command="rm notes.md"), Step(text="I may not.")),
        options={"permissions": {"deny": ["shell(rm:*)"]}},
    ),
    "shell_with_live_output": Scene(
        steps=(calling("shell", command=WAITS), Step(text="It said two things.")), act=watching_the_shell
    ),
    "plan_updates": Scene(
        steps=(
            calling("plan", entries=PLAN),
            calling("plan", entries=[{**PLAN[0], "status": "completed"}, {**PLAN[1], "status": "in_progress"}]),
            Step(text="I go on."),
        )
    ),
    "subagent": Scene(
        steps=(
            calling("task", description="look around", prompt="Read app.py"),
            Step(text="I look.", calls=(Call(name="read_file", arguments={"path": "app.py"}),)),
            Step(text="It sets x."),
            Step(text="The subagent says that it sets x."),
        )
    ),
    "retry_with_withdrawn_text": Scene(
        steps=(Step(text="This will be cut off.", drop_after=3), Step(text="This is whole.")),
        options={"retry": {"initial_delay_s": 0.1}},
    ),
    "model_fails": Scene(steps=(Step(status=401, error="Incorrect API key provided"),)),
    "limit_and_question": Scene(steps=(calling("read_file", path="app.py"), Step(text="It sets x.")), act=going_on),
    "question_of_the_model": Scene(
        steps=(
            calling(
                "ask_user",
                question="Tabs or spaces?",
                choices=[{"title": "Tabs"}, {"title": "Spaces", "description": "Four of them"}],
            ),
            Step(text="Tabs it is."),
        ),
        act=choosing,
    ),
    "steered": Scene(steps=(calling("shell", command=WAITS), Step(text="Briefly: done.")), act=steering),
    "queued_and_dequeued": Scene(
        steps=(Step(text="This is the first answer.", pause_after=3), Step(text="The second.")), act=queueing
    ),
    "cancelled_in_text": Scene(
        steps=(Step(text="Counting: one, two, three, four", pause_after=3),), act=cancelling_text
    ),
    "cancelled_in_a_tool": Scene(steps=(calling("shell", command=WAITS),), act=cancelling_a_tool),
    "cancelled_at_a_prompt": Scene(
        steps=(calling("edit_file", path="app.py", old="x = 1", new="x = 2"),), act=cancelling_a_prompt
    ),
    "compacted": Scene(
        steps=(
            calling("read_file", path="long.txt"),
            *(Step(text=text) for text in ("It is long.", "On.", "And on.", "The user had a long file read.")),
        ),
        act=compacting,
    ),
    "hook": Scene(steps=(Step(text="Done."),), options={"hooks": [{"event": "stop", "command": "echo checked >&2"}]}),
    "notice_of_restricted_mode": Scene(
        steps=(calling("shell", command="ls"), Step(text="I can only read here.")), own={"restricted": True}
    ),
    "refusal": Scene(steps=(Step(text="I cannot help with that.", finish="content_filter"),)),
    "max_output_tokens": Scene(steps=tuple(Step(text=f"Part {number}. ", finish="length") for number in range(1, 9))),
}
"""`interrupted` is recorded by itself: it takes two daemons."""


def recorded(name: str, folder: Path) -> str:
    """A transcript as it is now."""
    for path, text in FILES.items():
        (folder / path).write_text(text)
    lines = interrupted(folder) if name == "interrupted" else played(SCENES[name], folder)
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in normalised(lines, folder))


NAMES = (*SCENES, "interrupted")


def played(scene: Scene, folder: Path) -> list[Line]:
    """What was sent and came."""
    with ModelServer(scene.steps) as server, begun(server, folder, scene.own, scene.options) as panel:
        scene.act(panel)
        return list(panel.lines())


def interrupted(folder: Path) -> list[Line]:
    """A daemon is killed in the midst of a turn; another one tells what there was of it."""
    with ModelServer((Step(text="Running it.", calls=calling("shell", command=WAITS).calls),)) as server:
        with begun(server, folder) as panel:
            panel.turn()
            panel.reply(PERMISSION, optionId="allow_once")
            panel.event("tool_progress")
            session = panel.session
            before = list(panel.lines())
        (folder / "go").touch()
        with begun(server, folder) as panel:
            panel.begin("view", "pygent/session/attach", sessionId=session, sinceSeq=0, partialResultToken="events")
            panel.event("finished")
            return [*before, *panel.lines()]


@contextmanager
def begun(
    server: ModelServer,
    folder: Path,
    own: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Generator[Panel]:
    """A panel on a daemon that has begun."""
    environment = {**server.env(), "PYGENT_MODEL": "openai/mock"}
    pygent = {**CAPABILITIES["experimental"]["pygent"], **(own or {})}
    with raw_client(folder, environment=environment) as client:
        client.initialize(
            folder,
            capabilities={"experimental": {"pygent": pygent}},
            initializationOptions={"pygent": dict(options or {})},
        )
        yield Panel(client, server, folder)


# What is not the same twice

DURATION = re.compile(
    r'(?P<cut_off>"content": "(?:Cancelled|Interrupted): [^"]*"[^{}]*"durationMs": \d+)|"durationMs": \d+'
)
"""The duration of a call that was cut off is always 0, which tells it from a failed one."""


def normalised(lines: Sequence[Line], folder: Path) -> Iterator[Line]:
    """The lines with placeholders, one event a line, and deltas of one size."""
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    text = text.replace(folder.as_uri(), "file:///workspace").replace(str(folder), "/workspace")
    text = _named(r"\bturn-[0-9a-f]{12}\b", "turn", text)
    text = _named(r"\b[0-9a-f]{32}\b", "session", text)
    text = re.sub(r'"timestamp": "[^"]+"', '"timestamp": "2026-01-01T00:00:00.000000Z"', text)
    text = DURATION.sub(lambda found: found["cut_off"] or '"durationMs": 5', text)
    text = re.sub(r'"retryInSeconds": [\d.]+', '"retryInSeconds": 0.1', text)
    text = re.sub(
        r'"contextTokens": \d{4,}', '"contextTokens": 5000', text
    )  # an estimate, with the folder's name in it
    text = re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:1", text)
    return _numbered(_one_event_a_line(json.loads(line) for line in text.splitlines()))


def _named(pattern: str, name: str, text: str) -> str:
    found = dict.fromkeys(re.findall(pattern, text))
    names = {each: f"{name}-{number}" for number, each in enumerate(found, start=1)}
    return re.sub(pattern, lambda match: names[match[0]], text)


def _one_event_a_line(lines: Iterable[Line]) -> Iterator[Line]:
    for is_told, run in groupby(lines, lambda line: "events" in line):
        if not is_told:
            yield from run
            continue
        events = [event for line in run for event in line["events"]]
        for _, group in groupby(events, _what_it_continues):
            for event in _settled(list(group)):
                yield {"events": [event]}


def _what_it_continues(event: Line) -> tuple[Any, ...]:
    """Deltas of one item stand together; so do the results of calls that ran side by side."""
    kind = event["type"]
    if kind in DELTAS:
        return (event["turnId"], kind, event.get("itemId"), event.get("toolId"))
    return (event["turnId"], kind if kind == "tool_result" else event["seq"])


def _settled(group: list[Line]) -> Iterator[Line]:
    first = group[0]
    if first["type"] not in DELTAS:
        yield from sorted(group, key=lambda event: event.get("toolId", ""))
        return
    content = "".join(event["content"] for event in group)
    pieces = content.splitlines(keepends=True) if first["type"] == "tool_progress" else _pieces(content)
    for piece in pieces:
        yield {**first, "content": piece}


def _pieces(content: str) -> list[str]:
    return [content[at : at + PIECE_CHARS] for at in range(0, len(content), PIECE_CHARS)]


def _numbered(lines: Iterable[Line]) -> Iterator[Line]:
    """Renumber the lines one by one; a view that is attached later begins from 1."""
    seq = 0
    for line in lines:
        if line.get("request", {}).get("method") == "pygent/session/attach":
            seq = 0
        for event in line.get("events", ()):
            seq += 1
            event["seq"] = seq
        yield line


def main() -> None:
    """Record those that are named, or all."""
    for name in sys.argv[1:] or NAMES:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve() / "project"
            folder.mkdir()
            (FOLDER / f"{name}.jsonl").write_text(recorded(name, folder), encoding="utf-8")


if __name__ == "__main__":
    main()
