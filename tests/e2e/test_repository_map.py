"""The map of the workspace through the real daemon: as a tool, and in the system prompt."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.raw import RawClient, raw_client
from tests.model_server import Call, ModelServer, Step

MAP = Call(name="repo_map", arguments={"max_tokens": 300})

SHAPE = "class Shape:\n    def area(self): return 1\n"

EXPECTED = "shape.py:\n1: class Shape:\n2: def area(self): return 1 (in Shape)"


@pytest.fixture
def project(folder: Path) -> Path:
    """A workspace with a class that two files use, one that git ignores, and one that a rule denies."""
    files = {
        "shape.py": SHAPE,
        "use.py": "from shape import Shape\nShape().area()\n",
        "again.py": "from shape import Shape\nShape()\n",
        "build/made.py": "class Made: pass\n",
        "private/key.py": "class Key: pass\n",
        ".gitignore": "build/\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@contextmanager
def asked_for_a_map(project: Path) -> Generator[tuple[RawClient, ModelServer]]:
    """A daemon whose model asks for the map once."""
    model = ModelServer([Step(calls=(MAP,)), Step(text="I see.")])
    with model, raw_client(project, environment=environment(model)) as client:
        yield client, model


def environment(model: ModelServer, **more: str) -> dict[str, str]:
    return {**model.env(), "PYGENT_MODEL": "openai/mock", **more}


def turn(client: RawClient, session: str, prompt: str = "look around") -> None:
    """A turn in this session."""
    answered = client.request(prompt, "pygent/turn/start", {"sessionId": session, "prompt": prompt})
    assert "error" not in answered


def opened(client: RawClient, folder: Path) -> str:
    client.initialize(folder)
    return client.request("new", "pygent/session/new")["result"]["sessionId"]


@pytest.mark.parametrize("sandbox", ["off", "require"])
def test_the_model_gets_the_map_as_the_user_may_see_it(project: Path, sandbox: str) -> None:
    denied = '{"deny": ["read_file(private/**)"]}'
    with ModelServer([Step(calls=(MAP,)), Step(text="I see.")]) as model:
        settings = environment(model, PYGENT_PERMISSIONS=denied, PYGENT_SANDBOX=sandbox)
        with raw_client(project, environment=settings) as client:
            session = opened(client, project)
            turn(client, session)
            asked = [each for each in client.frames if each.get("method") == "window/showMessageRequest"]

    (result,) = model.requests[1].texts("tool")
    assert EXPECTED in result
    assert "[1 file was left out: a permission rule prevents reading it.]" in result
    assert "Made" not in result
    assert "Key" not in result
    assert asked == []


def test_unsaved_text_counts(project: Path) -> None:
    with asked_for_a_map(project) as (client, model):
        session = opened(client, project)
        uri = (project / "shape.py").as_uri()
        text = "\n\nclass Figure:\n    pass\n"
        document = {"uri": uri, "languageId": "python", "version": 1, "text": SHAPE}
        client.tell("textDocument/didOpen", {"textDocument": document})
        change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]}
        client.tell("textDocument/didChange", change)
        turn(client, session)

    (result,) = model.requests[1].texts("tool")
    assert "shape.py:\n3: class Figure:" in result
    assert "class Shape" not in result


def test_a_secret_in_a_signature_is_not_shown(project: Path) -> None:
    key = "sk-ant-api03-" + "Zq9" * 30
    (project / "shape.py").write_text(f'class Shape: pass\ndef connect(key="{key}"): pass\n')
    with asked_for_a_map(project) as (client, model):
        turn(client, opened(client, project))

    (result,) = model.requests[1].texts("tool")
    assert 'def connect(key="{{SECRET_' in result
    assert key not in str(model.requests[1].body)
    kept = [each.read_bytes() for each in project.parent.rglob("symbols/*.tsv")]
    assert len(kept) == 1
    assert key.encode() not in kept[0]


def test_in_the_prompt_it_stays_the_same_until_the_next_session(project: Path) -> None:
    with ModelServer([Step(text="One."), Step(text="Two."), Step(text="Three.")]) as model:
        settings = environment(model, PYGENT_REPOSITORY_MAP_IN_PROMPT="true", PYGENT_REPOSITORY_MAP_TOKENS="200")
        with raw_client(project, environment=settings) as client:
            first = opened(client, project)
            turn(client, first, "one")
            (project / "shape.py").write_text(SHAPE.replace("Shape", "Figure"))
            turn(client, first, "two")
            second = client.request("other", "pygent/session/new")["result"]["sessionId"]
            turn(client, second, "three")

    systems = [request.texts("system")[0] for request in model.requests]
    assert "# Map of the workspace\n" in systems[0]
    assert EXPECTED in systems[0]
    assert systems[1] == systems[0]
    assert "class Figure:" in systems[2]
    assert "class Shape:" not in systems[2]


def test_in_the_prompt_it_is_about_what_the_user_names(project: Path) -> None:
    (project / "far.py").write_text("def compute_area(): pass\n")
    for n in range(30):
        (project / f"m{n}.py").write_text(f"class Module{n}: pass\n")
    with ModelServer([Step(text="One.")]) as model:
        settings = environment(model, PYGENT_REPOSITORY_MAP_IN_PROMPT="true", PYGENT_REPOSITORY_MAP_TOKENS="100")
        with raw_client(project, environment=settings) as client:
            turn(client, opened(client, project), "make compute_area faster")

    assert "far.py:\n1: def compute_area(): pass" in model.requests[0].texts("system")[0]


def test_the_user_sees_the_map_with_a_command(project: Path) -> None:
    with ModelServer([]) as model, raw_client(project, environment=environment(model)) as client:
        session = opened(client, project)
        turn(client, session, "/map")
        turn(client, session, "/map private/key.py")

    whole, focused = [str(frame) for frame in client.frames if "def area(self)" in str(frame)][:2]
    assert EXPECTED.replace("\n", "\\n") in whole
    assert focused.index("private/key.py:") < focused.index("shape.py:")
    assert model.requests == []


def test_it_is_not_in_the_prompt_unless_the_settings_say_so(project: Path) -> None:
    with ModelServer([Step(text="One.")]) as model, raw_client(project, environment=environment(model)) as client:
        turn(client, opened(client, project))

    assert "Map of the workspace" not in model.requests[0].texts("system")[0]
