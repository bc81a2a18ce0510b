"""`ModelServer` in a process of its own, for tests that are not written in Python (clients/vscode/test).

    python -m tests.model_server_process

Its standard output begins with `{"port": …, "env": {…}}`, the environment in which `openai/ANY` is this server. Then
each line of its standard input is a request and gets one line in return, in the order in which they are done, by `id`:

    {"id": 1, "method": "script", "params": {"steps": [{"text": "Hello", "chunk": 4}]}}
    {"id": 1, "result": null}

- `script {steps}`: what is asked from now on is answered with these; the records begin anew, and no
  earlier `resume` counts. A step is a `Step`.
- `requests {}`: the bodies of what was asked since then.
- `wait {requests | answers | disconnects, timeout_s}`: answered when there were as many since then.
- `resume {}`: let one answer go on that pauses (`pause_after`).

What cannot be done has an `error` in place of the `result`. The process ends with its standard input.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.model_server import WAIT_S, Call, ModelServer, Received, Step


class Story:
    """The script that is played now, and where the server's records stood when it began."""

    def __init__(self) -> None:
        self.server = ModelServer(self._step)
        self._steps: Sequence[Step] = ()
        self._began = {"requests": 0, "answers": 0, "disconnects": 0}

    def answer(self, method: str, params: Mapping[str, Any]) -> object:
        """Do what a line asks. Raises ValueError, TypeError, KeyError (nonsense) or TimeoutError."""
        match method:
            case "script":
                self._steps = [_step(step) for step in params["steps"]]
                self._began = self._counts()
                self.server.forget_resumes()
                return None
            case "requests":
                return [request.body for request in self.server.requests[self._began["requests"] :]]
            case "wait":
                self._wait(params)
                return None
            case "resume":
                self.server.resume()
                return None
            case _:
                raise ValueError(f"there is no method {method!r}: script, requests, wait, resume")

    def _counts(self) -> dict[str, int]:
        server = self.server
        return {
            "requests": len(server.requests),
            "answers": len(server.answered_s),
            "disconnects": server.disconnects,
        }

    def _wait(self, params: Mapping[str, Any]) -> None:
        wanted = {name: params[name] + began for name, began in self._began.items() if name in params}
        if not wanted:
            raise ValueError("wait for what? requests, answers or disconnects")
        self.server.wait_for(
            lambda: all(self._counts()[name] >= count for name, count in wanted.items()),
            params.get("timeout_s", WAIT_S),
        )

    def _step(self, _request: Received, number: int) -> Step:
        index = number - self._began["requests"]
        if index < len(self._steps):
            return self._steps[index]
        return Step(status=400, error=f"the test's script has {len(self._steps)} steps, this is request {index + 1}")


def _step(fields: Mapping[str, Any]) -> Step:
    values: dict[str, Any] = {**fields, "calls": tuple(Call(**call) for call in fields.get("calls", ()))}
    for name in ("deltas", "usage", "raw"):  # what JSON has no other way to write than a list
        if values.get(name) is not None:
            values[name] = tuple(values[name])
    return Step(**values)


def main() -> None:
    """Serve until standard input ends."""
    story = Story()

    def tell(content: Mapping[str, object]) -> None:
        sys.stdout.write(json.dumps(content) + "\n")  # one write a line, so that threads do not mix theirs
        sys.stdout.flush()

    def do(line: str) -> None:
        asked = json.loads(line)
        try:
            tell({"id": asked["id"], "result": story.answer(asked["method"], asked.get("params", {}))})
        except (ValueError, TypeError, KeyError, TimeoutError) as error:
            tell({"id": asked["id"], "error": f"{type(error).__name__}: {error}"})

    with story.server as server, ThreadPoolExecutor() as pool:
        tell({"port": server.port, "env": server.env()})
        for line in sys.stdin:
            pool.submit(do, line)


if __name__ == "__main__":
    main()
