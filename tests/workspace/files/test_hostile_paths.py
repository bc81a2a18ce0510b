"""Path texts that got round other agents' checks, each with what must come of it (hostile_paths.toml)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.workspace.files.paths import Folders

CORPUS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("hostile_paths.toml").read_text("utf-8"))
KNOWN: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("known_path_bypasses.toml").read_text("utf-8"))[
    "bypass"
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace `ws` with links of every kind, and neighbours whose names begin like its own."""
    root = tmp_path_factory.mktemp("hostile").resolve()
    (root / "outside" / "deep").mkdir(parents=True)
    (root / "outside" / "secret").write_text("secret")
    for name in ("ws-evil", "wsx", "ws2"):
        (root / name).mkdir()
    ws = root / "ws"
    (ws / "a" / "b").mkdir(parents=True)
    (ws / "a" / "f").write_text("f")
    links = {
        "in": "a/b",
        "out": "../outside",
        "deep": "../outside/deep",
        "file": "../outside/secret",
        "here": ".",
        "up": "..",
    }
    links |= {"loop": "loop", "ring1": "ring2", "ring2": "ring1", "gone_out": "../outside/nowhere", "chain": "here/out"}
    for name, target in links.items():
        (ws / name).symlink_to(target)
    return root


def meant(text: str, root: Path) -> str:
    return text.replace("{ws}", str(root / "ws")).replace("{root}", str(root))


@pytest.mark.parametrize("text", CORPUS["outside"])
def test_a_path_that_leads_out_is_refused(root: Path, text: str) -> None:
    with pytest.raises(OutsideWorkspaceError):
        Folders.of([root / "ws"]).resolve(meant(text, root))


@pytest.mark.parametrize("text", CORPUS["impossible"])
def test_what_can_be_no_path_is_told_so(root: Path, text: str) -> None:
    with pytest.raises(ToolError):
        Folders.of([root / "ws"]).resolve(text)


@pytest.mark.parametrize("text", CORPUS["inside"])
def test_what_only_looks_like_a_way_out_is_a_name_in_the_workspace(root: Path, text: str) -> None:
    found = Folders.of([root / "ws"]).resolve(meant(text, root))
    assert found == root / "ws" / CORPUS["inside"][text]


@pytest.mark.parametrize("bypass", KNOWN, ids=lambda each: f"{each['origin']}: {each['attack']}")
def test_what_led_other_agents_out_does_not_lead_this_one(root: Path, bypass: dict[str, Any]) -> None:
    for text in bypass.get("outside", []):
        with pytest.raises(OutsideWorkspaceError):
            Folders.of([root / "ws"]).resolve(meant(text, root))
    for text in bypass.get("impossible", []):
        with pytest.raises(ToolError):
            Folders.of([root / "ws"]).resolve(text)


def test_the_corpus_is_as_large_as_promised() -> None:
    hostile = [*CORPUS["outside"], *CORPUS["impossible"]]
    assert len(set(hostile)) == len(hostile) >= 60
