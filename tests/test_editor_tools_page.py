"""The examples of docs/editor-tools.md are those that tests of the clients run."""

from __future__ import annotations

import re
from pathlib import Path

from tests.clients.neovim import test_tools

ROOT = Path(__file__).parents[1]

PAGE = (ROOT / "docs/editor-tools.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The examples in that language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


def squeezed(text: str) -> str:
    """The text without the white space at the beginnings of lines."""
    return re.sub(r"\n\s*", "\n", text).strip()


def test_the_examples_in_lua_are_run_in_neovim() -> None:
    assert blocks("lua") == [test_tools.REGISTER.lstrip("\n"), test_tools.HOOK.lstrip("\n")]


def test_the_example_for_vs_code_is_run_in_its_extension_host() -> None:
    (example,) = blocks("ts")
    run = (ROOT / "clients/vscode/test/host/inside/editor_tools.ts").read_text(encoding="utf-8")

    assert squeezed(example) in squeezed(run)
