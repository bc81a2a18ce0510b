"""A client that believes nothing: it checks all that the daemon says, byte by byte and message by message."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import IO, Any, cast

from tests.e2e.raw import clean_environment, framed
from tests.e2e.warm_command import start_warm

PROBE_S = 20.0
"""Longest time in which a probe is answered. The daemon answers in milliseconds; the machine may be busy."""

END_S = 40.0
"""Longest time in which everything ends that was cancelled."""

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32602, -32603

OWN = "own-"
"""Beginning of the tokens whose events are checked: the other ones may be used twice."""


class BrokenPromiseError(AssertionError):
    """The daemon did what it must never do."""


class CheckedClient:
    """A daemon process whose output is checked. `folder` is its workspace; its home lies beside it."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        home = folder.parent / "home"
        home.mkdir(exist_ok=True)
        self.folder = folder
        self.process = start_warm((), clean_environment(home, **environment), folder)
        self.pid = self.process.pid
        self.errors = ""
        self.open_requests: Counter[str] = Counter()
        self.methods: dict[str, str] = {}
        """Method of each request, by id, for messages about it."""
        self.answers: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.errors_without_id: list[dict[str, Any]] = []
        self.next_replies: list[Any] = []
        """What the next requests of the daemon are answered: whole responses without an id, or None for nothing."""
        self.asked: list[dict[str, Any]] = []
        """Requests of the daemon."""
        self.events: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """Events by partial result token."""
        self.broken = b""
        """Broken frames that were sent: a request may come whole out of them, and be answered at any time."""
        self.n_requests = 0
        self.seen: Counter[str] = Counter()
        """Events, and codes of errors, as often as they came: what the steps reach."""
        self._ended = False
        self._frames: SimpleQueue[dict[str, Any] | Exception | None] = SimpleQueue()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_errors)]
        for each in self._threads:
            each.start()

    # Sending

    def send_raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        stream = cast("IO[bytes]", self.process.stdin)
        stream.write(data)
        stream.flush()

    def tell(self, method: str, params: object) -> None:
        """Send a notification."""
        self.send_raw(framed({"jsonrpc": "2.0", "method": method, "params": params}))

    def begin(self, method: str, params: object, id: int | str | None = None) -> str:
        """Send a request; returns the key of its id."""
        self.n_requests += 1
        given = f"r{self.n_requests}" if id is None else id
        key = self.expect(given, method)
        self.send_raw(framed({"jsonrpc": "2.0", "id": given, "method": method, "params": params}))
        return key

    def expect(self, id: object, method: str) -> str:
        """Expect one more answer with that id; returns its key."""
        key = json.dumps(id)
        self.open_requests[key] += 1
        self.methods[key] = method
        return key

    def request(self, method: str, params: object) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        key = self.begin(method, params)
        self.pump(lambda: key in self.answers, END_S, method)
        return self.answers[key][0]

    def probe(self) -> None:
        """Check that it lives and answers in time; all that was said before is then checked."""
        key = self.begin("pygent/status", {})
        self.pump(lambda: key in self.answers, PROBE_S, "a probe")
        self.check("result" in self.answers.pop(key)[0], "a probe was answered with an error")
        self.check("Traceback" not in self.errors, self.errors)

    def send_broken(self, data: bytes, max_missing_bytes: int) -> None:
        """Send bytes that may be half a frame, and what fills it up."""
        self.broken += data
        self.send_raw(data + b"\n" * (max_missing_bytes + 2))

    def resynchronise(self) -> None:
        """After broken frames, wait until it answers again."""
        key = self.expect("resynchronise", "pygent/status")
        self.send_raw(framed({"id": "resynchronise", "method": "pygent/status"}))
        self.pump(lambda: key in self.answers, PROBE_S, "the request after broken frames")
        self.answers.pop(key)

    # Receiving

    def pump(self, until: Callable[[], bool], limit_s: float, what: str) -> None:
        """Take what comes until something is true. Raises `BrokenPromiseError` after the time limit."""
        ends_s = monotonic() + limit_s
        while not until():
            try:
                frame = self._frames.get(timeout=max(0.0, ends_s - monotonic()))
            except Empty:
                waiting = [self.methods[key] for key in self.open_requests]
                raise BrokenPromiseError(
                    f"{what}: nothing came for {limit_s} s; open: {waiting}; {self.errors}"
                ) from None
            if frame is None:
                raise BrokenPromiseError(f"{what}: the daemon ended; {self.errors}")
            if isinstance(frame, Exception):
                raise BrokenPromiseError(f"{what}: {frame}") from frame
            self._take(frame)

    def take_what_is_there(self) -> None:
        """Take what has come, without waiting."""
        while not self._frames.empty():
            n_left = self._frames.qsize()
            self.pump(lambda n_left=n_left: self._frames.qsize() < n_left, PROBE_S, "output")

    def check(self, is_kept: bool, why: str) -> None:
        """Raises `BrokenPromiseError` unless a promise is kept."""
        if not is_kept:
            raise BrokenPromiseError(why)

    def _take(self, frame: dict[str, Any]) -> None:
        self.check(frame.get("jsonrpc") == "2.0", f"a message without a version: {frame}")
        if "method" not in frame:
            self._take_answer(frame)
        elif "id" in frame:
            self._take_question(frame)
        elif frame["method"] == "$/progress":
            self._take_progress(frame["params"])

    def _take_answer(self, frame: dict[str, Any]) -> None:
        self.check(frame.keys() - {"jsonrpc"} in ({"id", "result"}, {"id", "error"}), f"an odd answer: {frame}")
        key = json.dumps(frame["id"])
        error = frame.get("error")
        if error is not None:
            said = f"{self.methods.get(key)}: {error}; {self.errors[-3_000:]}"
            self.check(error["code"] != INTERNAL_ERROR and isinstance(error["message"], str), said)
        self.seen[str(error["code"]) if error else "result"] += 1
        if frame["id"] is None:
            self.check(error is not None, f"a result for nothing: {frame}")
            self.errors_without_id.append(cast("dict[str, Any]", error))
            return
        if not self.open_requests[key]:
            self.check(str(frame["id"]).encode() in self.broken, f"an answer to nothing, or a second one: {frame}")
            return
        self.open_requests[key] -= 1
        self.open_requests += Counter()  # forgets those that are answered
        self.answers[key].append(frame)

    def _take_question(self, frame: dict[str, Any]) -> None:
        self.check(all(each["id"] != frame["id"] for each in self.asked), f"a request with a used id: {frame}")
        self.asked.append(frame)
        reply = self.next_replies.pop(0) if self.next_replies else _usual_reply(frame)
        if reply is not None:
            with suppress(BrokenPipeError):
                self.send_raw(framed({"jsonrpc": "2.0", **reply, "id": frame["id"]}))

    def _take_progress(self, params: Mapping[str, Any]) -> None:
        token, value = params["token"], params["value"]
        if not (isinstance(token, str) and token.startswith(OWN) and "events" in value):
            return
        known = self.events[token]
        for event in cast("list[dict[str, Any]]", value["events"]):
            last = known[-1]["seq"] if known else 0
            self.check(event["seq"] > last, f"{token}: seq {event['seq']} after {last}")
            known.append(event)
            self.seen[event["type"]] += 1

    # What must be true of a turn

    def check_turn(self, token: str, key: str) -> None:
        """Check the events of a turn whose request was answered."""
        events, answer = self.events[token], self.answers[key][0]
        names = [event["type"] for event in events]
        error: dict[str, Any] = answer.get("error", {})
        result: dict[str, Any] = answer.get("result") or error.get("data") or {}
        if "stopReason" not in result:
            self.check("turn_started" not in names, f"a turn that began has no result: {answer}, {names}")
            return
        own = [name for name in names if name != "turn_queued"]
        if own:
            self.check(own[0] == "turn_started" and names.index("turn_started") == len(names) - len(own), f"{names}")
            self.check(own[-1] == "finished", f"{names}")
        self.check(names.count("turn_started") == names.count("finished") == (1 if own else 0), f"{names}")
        calls, results = (
            Counter(event["toolId"] for event in events if event["type"] == kind)
            for kind in ("tool_call", "tool_result")
        )
        self.check(calls == results and set(calls.values()) <= {1}, f"calls {calls}, results {results}")

    # The process

    def held(self) -> Counter[str]:
        """Open descriptors by kind or file, and children; sessions that are open keep their files open."""
        found: Counter[str] = Counter()
        for each in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(OSError):  # it was closed
                target = str(each.readlink())
                if "/pygent-ls/" not in target:
                    found[target.split(":", maxsplit=1)[0]] += 1
        found["child"] = len(Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split())
        return found

    def wait_until_it_holds(self, before: Counter[str]) -> None:
        """Wait until no descriptor and no child is left that was not there before. Raises `BrokenPromiseError`."""
        ends_s = monotonic() + END_S
        while more := self.held() - before:
            self.check(monotonic() < ends_s, f"it still holds {more}")
            self.probe()

    def end(self) -> int:
        """Shut down as an editor does; returns the exit code."""
        self.request("shutdown", None)
        for method in ("pygent/status", "pygent/session/new"):
            error = self.request(method, {})["error"]
            self.check(error["code"] == INVALID_REQUEST, f"{method} after shutdown: {error}")
        self.check(not self.open_requests, f"not answered before the end: {self.open_requests}")
        self.tell("exit", None)
        code = self.process.wait(END_S)
        for each in self._threads:
            each.join(END_S)
        self.check("Traceback" not in self.errors, self.errors)
        return code

    def kill(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(END_S)
        for each in self._threads:
            each.join(END_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def _read(self) -> None:
        stream = cast("IO[bytes]", self.process.stdout)
        try:
            while header := stream.readline():
                name, _, length = header.partition(b": ")
                if name != b"Content-Length" or not length.strip().isdigit() or stream.readline() != b"\r\n":
                    raise ValueError(f"no header of a frame: {header[:200]!r}")
                body = stream.read(int(length))
                self._frames.put(_message(body))
            self._frames.put(None)
        except (ValueError, OSError) as error:
            self._frames.put(error)

    def _read_errors(self) -> None:
        for line in cast("IO[bytes]", self.process.stderr):
            self.errors += line.decode(errors="replace")


def _message(body: bytes) -> dict[str, Any]:
    message = json.loads(body.decode(), parse_constant=_no_constant)
    if not isinstance(message, dict):
        raise ValueError(f"not an object: {body[:200]!r}")
    return cast("dict[str, Any]", message)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _usual_reply(frame: Mapping[str, Any]) -> dict[str, Any]:
    match frame["method"]:
        case "window/showMessageRequest":
            actions: Sequence[Mapping[str, Any]] = frame["params"].get("actions") or ()
            return {"result": actions[len(actions) // 2] if actions else None}
        case "workspace/configuration":
            return {"result": [None] * len(frame["params"]["items"])}
        case "workspace/applyEdit":
            return {"result": {"applied": False}}
        case "window/showDocument":
            return {"result": {"success": False}}
        case _:
            return {"result": None}


def resident_bytes(pid: int) -> int:
    """Memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
