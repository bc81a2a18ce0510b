"""A strict server on loopback: real HTTP, the rules of one provider, and a script of answers."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

from tests.model_server import ModelServer, Received, Step
from tests.providers.official_types import problems
from tests.providers.servers.answers import Answer, Answers, Memory
from tests.providers.servers.rules import Broken, Endpoint, Family, Refusal, first_broken

DONE = Answer(text="That is all.")
"""What is answered beyond the end of a script."""

OVERLOADED = Broken(message="Overloaded", type="overloaded_error", status=529)

FAILED_CALL = Broken(
    message="Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
    code="tool_use_failed",
)
"""Groq's word for a call that the model made wrongly: no fault of the request."""


class StrictServer:
    """Use it with `with` or `async with`. Afterwards `check` tells whether every request was fit to be sent."""

    def __init__(self, family: Family, answers: Answers = (), memory: Memory | None = None) -> None:
        self.family = family
        self.memory = memory or Memory(family.name)
        self.refusals: list[Refusal] = []
        """Requests that the provider refuses."""
        self.strangers: list[str] = []
        """What the official types of the provider's SDK do not know in the requests."""
        self.losses: list[str] = []
        """Opaque data that did not come back, or came back changed."""
        self.http = ModelServer(self._step)
        self._answers = answers
        self._lock = threading.Lock()

    @property
    def root(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.http.port}"

    def check(self) -> None:
        """Raise AssertionError for a request that breaks a rule about histories, or that loses opaque data."""
        refused = [each for each in self.refusals if each.broken.about == "history"]
        assert not refused, f"{self.family.name} refuses {refused[0]}\n{json.dumps(refused[0].body, indent=1)}"
        learned = [(each.rule, each.body.get("model")) for each in self.refusals]
        assert len(learned) == len(set(learned)), f"{self.family.name} refuses a parameter twice: {learned}"
        assert not self.strangers, f"{self.family.name}: {self.strangers[0]}"
        assert not self.losses, f"{self.family.name}: {self.losses[0]}"

    def __enter__(self) -> StrictServer:
        self.http.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.http.stop()

    async def __aenter__(self) -> StrictServer:
        await self.http.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.http.__aexit__()

    def _endpoint(self, path: str) -> Endpoint | None:
        return next((each for each in self.family.endpoints if each.path in path), None)

    def _step(self, request: Received, _: int) -> Step:
        endpoint = self._endpoint(request.path)
        if endpoint is None:
            return Step(status=404, error=f"Invalid URL (POST {request.path})")
        with self._lock:
            return self._answer(endpoint, request)

    def _answer(self, endpoint: Endpoint, request: Received) -> Step:
        body = request.body
        if endpoint.types == "gemini":  # has its model in the path
            body = body | {"model": request.path.partition("/models/")[2].partition(":")[0]}
        self.strangers += problems(self.family.name, endpoint.types, request.body)
        found = first_broken(endpoint.rules, body, self.memory)
        if found is not None:
            rule, broken = found
            self.refusals.append(Refusal(rule=rule, broken=broken, body=body))
            return refusal(endpoint, broken)
        self.losses += endpoint.losses(body, self.memory)
        number = len(self.memory.given)
        if callable(self._answers):
            answer = self._answers(body, number)
        else:
            answer = self._answers[number] if number < len(self._answers) else DONE
        if answer.status != 200:
            return refusal(endpoint, FAILED_CALL if answer.status == 400 else OVERLOADED)
        if not endpoint.thinks(body):
            answer = replace(answer, thoughts=(), redacted=False)
        given = self.memory.keep(answer, str(body.get("model")))
        return Step(events=tuple(endpoint.events(body, given)), stall_after=answer.stall_after)


def refusal(endpoint: Endpoint, broken: Broken) -> Step:
    """The HTTP answer of a refusal."""
    return Step(status=broken.status, raw=("application/json", json.dumps(endpoint.refuse(broken))))
