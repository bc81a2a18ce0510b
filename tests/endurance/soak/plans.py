"""What the scripted provider answers in a random turn: calls of every family of tools, most of them sound."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.llm.test_long_conversations import check_chat_completions, check_messages_api
from tests.model_server import Call, Received, Step

FILES = ("a.txt", "b.txt", "sub/c.py", "sub/d.md", "new.txt", "out/e.log")

USER_LINE = re.compile(r"user-\d+")

ENDS = ("", "ü", "🦊", "\t", "x" * 300)

_KEY = re.compile(r"\[key (\d+)\]")


@dataclass(slots=True)
class Planner:
    """Makes the answers of one turn. It follows what its own edits do to the text that it saw at the beginning."""

    chance: random.Random
    seen: dict[str, str]
    """Text by name: what the user sees."""
    number: Callable[[], int]
    """A number that was never given before."""
    background: Sequence[str] = ()
    """Ids of background commands."""
    only_edits: bool = False
    named: set[str] = field(default_factory=set[str])
    """Lines of the user that an edit names, or that stand in a file that a call deletes, moves or overwrites: they may
    go."""
    replaced: set[str] = field(default_factory=set[str])
    """Files that a call deletes, moves or overwrites as a whole."""
    subturns: dict[int, list[Step]] = field(default_factory=dict[int, list[Step]])

    def answers(self, depth: int = 0) -> list[Step]:
        """The answers of a turn, each with some calls; the last has text alone."""
        chance = self.chance
        steps = [self._answer(depth) for _ in range(chance.choice([0, 1, 1, 2, 3]))]
        last = Step(text="All is done. " * chance.choice([1, 1, 1, 100]), chunk=chance.choice([3, 8, 50]))
        if not self.only_edits:
            for place in range(len(steps), -1, -1):
                if chance.random() < 0.06:
                    steps.insert(place, self._failure())
        return [*steps, last]

    def _answer(self, depth: int) -> Step:
        chance = self.chance
        calls = tuple(self._call(depth) for _ in range(chance.choice([1, 1, 1, 2, 3, 5])))
        return Step(
            thinking=chance.choice(["", "", "I think about it. "]),
            text=chance.choice(["", "I look at it. ", "Words. " * 40]),
            calls=calls,
            chunk=chance.choice([4, 20, 200]),
        )

    def _failure(self) -> Step:
        chance = self.chance
        return chance.choice(
            [
                Step(status=500, error="a server's error"),
                Step(status=429, error="slow down", headers={"retry-after": "0"}),
                Step(status=529, error="overloaded", error_type="overloaded_error"),
                Step(text="A text that breaks off. " * 5, drop_after=chance.randint(1, 6)),
                Step(calls=(Call(name="read_file", arguments={"path": "a.txt"}),), drop_after=chance.randint(1, 4)),
                Step(raw=("text/html", "<html>gateway</html>"), status=502),
            ]
        )

    def _call(self, depth: int) -> Call:
        edits = (
            self._delete,
            self._edit,
            self._edit,
            self._multi_edit,
            self._patch,
            self._create,
            self._copy,
            self._move,
        )
        others = (self._read, self._read, self._search, self._git, self._shell, self._shell, self._misc, self._broken)
        made = self.chance.choice(edits if self.only_edits else (*edits, *others, *others))()
        if not self.only_edits and depth == 0 and self.chance.random() < 0.08:
            return self._task()
        return made

    # Files

    def _name(self) -> str:
        return self.chance.choice([each for each in FILES if each in self.seen] or ["a.txt"])

    def _lines(self, name: str) -> list[str]:
        return self.seen.get(name, "").splitlines(keepends=True)

    def _new_line(self) -> str:
        return f"agent-{self.number()} {self.chance.choice(ENDS)}\n"

    def _gone(self, old: str, new: str = "") -> None:
        self.named |= set(USER_LINE.findall(old)) - set(USER_LINE.findall(new))

    def _replacement(self, name: str) -> tuple[str, str] | None:
        lines = self._lines(name)
        if not lines:
            return None
        first = self.chance.randrange(len(lines))
        old = "".join(lines[first : first + self.chance.choice([1, 1, 2, 3])])
        new = self.chance.choice([old + self._new_line(), self._new_line() + old, self._new_line(), ""])
        self._gone(old, new)
        self.seen[name] = self.seen[name].replace(old, new, 1)
        return old, new

    def _edit(self) -> Call:
        name = self._name()
        pair = self._replacement(name) or ("no such text", "new")
        return Call(name="edit_file", arguments={"path": name, "old": pair[0], "new": pair[1]})

    def _multi_edit(self) -> Call:
        name = self._name()
        pairs = [pair for _ in range(self.chance.randint(1, 3)) if (pair := self._replacement(name))]
        edits = [{"old": old, "new": new} for old, new in pairs] or [{"old": "no such text", "new": ""}]
        return Call(name="multi_edit", arguments={"path": name, "edits": edits})

    def _patch(self) -> Call:
        name = self._name()
        before = self._lines(name)
        if not before:
            return self._create()
        place = self.chance.randrange(len(before))
        line = self._new_line()
        self.seen[name] = "".join([*before[:place], line, *before[place:]])
        old = before[place].rstrip("\n")
        patch = f"--- a/{name}\n+++ b/{name}\n@@ -{place + 1},1 +{place + 1},2 @@\n+{line} {old}\n"
        return Call(name="apply_patch", arguments={"patch": patch})

    def _create(self) -> Call:
        name = self.chance.choice(FILES)
        self.replaced.add(name)
        if name in self.seen:
            self._gone(self.seen[name])
        self.seen[name] = "".join(self._new_line() for _ in range(self.chance.randint(1, 4)))
        return Call(name="create_file", arguments={"path": name, "content": self.seen[name], "overwrite": True})

    def _copy(self) -> Call:
        source, destination = self._name(), self.chance.choice(FILES)
        if destination not in self.seen and source in self.seen:
            self.seen[destination] = self.seen[source]
        return Call(name="copy_file", arguments={"source": source, "destination": destination})

    def _move(self) -> Call:
        source, destination = self._name(), self.chance.choice(FILES)
        self.replaced.add(source)
        self._gone(self.seen.get(source, ""))
        if destination not in self.seen and source in self.seen:
            self.seen[destination] = self.seen.pop(source)
        return Call(name="move_file", arguments={"source": source, "destination": destination})

    def _delete(self) -> Call:
        name = self._name()
        if self.chance.random() < 0.6:
            return self._edit()
        self.replaced.add(name)
        self._gone(self.seen.pop(name, ""))
        return Call(name="delete_file", arguments={"path": name})

    # Everything else

    def _read(self) -> Call:
        more = self.chance.choice([{}, {}, {"start_line": 2}, {"start_line": 2, "end_line": 3}])
        return self.chance.choice(
            [
                Call(name="read_file", arguments={"path": self._name(), **more}),
                Call(name="read_file", arguments={"path": "nothing.txt"}),
                Call(name="list_files", arguments={}),
                Call(name="diagnostics", arguments={}),
            ]
        )

    def _search(self) -> Call:
        return self.chance.choice(
            [
                Call(name="find_files", arguments={"pattern": "**/*.py"}),
                Call(name="grep_search", arguments={"pattern": "user-\\d+"}),
                Call(name="grep_search", arguments={"pattern": "(", "path": "sub"}),
                Call(name="find_definition", arguments={"symbol": "function"}),
                Call(name="repo_map", arguments={}),
            ]
        )

    def _git(self) -> Call:
        return self.chance.choice(
            [
                Call(name="git_status", arguments={}),
                Call(name="git_diff", arguments={}),
                Call(name="git_log", arguments={}),
                Call(name="git_add", arguments={"paths": [self._name()]}),
                Call(name="git_commit", arguments={"message": "a commit", "all": True}),
            ]
        )

    def _shell(self) -> Call:
        name = self._name()
        commands: list[dict[str, Any]] = [
            {"command": "echo words; exit 3"},
            {"command": "seq 1 20000"},
            {"command": "sleep 0.2; echo slept"},
            {"command": f"echo agent-{self.number()} >> {name}"},
            {"command": "yes | head -c 300000; sleep 0.1"},
            {"command": "sleep 60 & sleep 60 & echo started"},
            {"command": "echo in the background; sleep 60", "background": True},
            {"command": "echo 'out of time'; sleep 60", "timeout_s": 1},
        ]
        return Call(name="shell", arguments=self.chance.choice(commands))

    def _misc(self) -> Call:
        chance = self.chance
        shell_id = chance.choice([*self.background, "none"])
        entries = [{"content": "first", "status": "completed"}, {"content": "then", "status": "pending"}]
        return chance.choice(
            [
                Call(name="plan", arguments={"entries": entries}),
                Call(name="ask_user", arguments={"question": "Which one?", "choices": ["this", "that"]}),
                Call(name="shell_output", arguments={"shell_id": shell_id}),
                Call(name="shell_kill", arguments={"shell_id": shell_id}),
                Call(name="shell_input", arguments={"shell_id": shell_id, "text": "words\n"}),
                Call(name="web_fetch", arguments={"url": "http://127.0.0.1:9/"}),
                Call(name="list_templates", arguments={}),
            ]
        )

    def _broken(self) -> Call:
        return self.chance.choice(
            [
                Call(name="nonsense", arguments={}),
                Call(name="read_file", arguments='{"path": "a.t'),
                Call(name="edit_file", arguments={"path": "../outside.txt", "old": "", "new": "x"}),
                Call(name="read_file", arguments={"path": "a.txt"}, id="the-same"),
                Call(name="read_file", arguments={"path": 5}, id=""),
                Call(name="read_file", arguments="[]"),
            ]
        )

    def _task(self) -> Call:
        key = self.number()
        self.subturns[key] = self.answers(depth=1)
        return Call(name="task", arguments={"description": "look", "prompt": f"Look at it. {key_text(key)}"})


class Provider:
    """Answers requests by the key in their last prompt, from any thread; checks each history as strict servers do."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.n_requests = 0
        self._lock = threading.Lock()
        self._steps: dict[int, list[Step]] = {}

    def play(self, plans: Mapping[int, Sequence[Step]]) -> None:
        """Add the answers of more keys."""
        with self._lock:
            self._steps.update({key: list(steps) for key, steps in plans.items()})

    def forget(self) -> None:
        """Drop all that was not asked for."""
        with self._lock:
            self._steps.clear()

    def answer(self, request: Received, _: int) -> Step:
        """The next answer for a request."""
        self.n_requests += 1
        is_anthropic = request.path.endswith("/messages")
        if request.body.get("tools"):
            self._check(request, is_anthropic=is_anthropic)
        key = _key_of(request.messages)
        with self._lock:
            steps = self._steps.get(key or -1)
            if request.body.get("tools") and steps:
                return steps.pop(0)
        return Step(text="A short answer.")

    def _check(self, request: Received, *, is_anthropic: bool) -> None:
        try:
            (check_messages_api if is_anthropic else check_chat_completions)(request.messages)
        except (AssertionError, ValueError, KeyError) as error:
            self.failures.append(
                f"a history that a provider refuses ({error!r}): {json.dumps(request.messages)[-4000:]}"
            )


def key_text(key: int) -> str:
    """The part of a prompt that names its answers."""
    return f"[key {key}]"


def _key_of(messages: Sequence[Mapping[str, Any]]) -> int | None:
    for message in reversed(messages):
        if message["role"] != "user":
            continue
        content = message.get("content") or ""
        texts = [content] if isinstance(content, str) else [each.get("text") or "" for each in content]
        keys = [key for text in texts for key in _KEY.findall(text)]
        if keys:
            return int(keys[-1])
    return None
