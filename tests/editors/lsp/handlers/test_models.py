"""`pygent/models/list` over the wire."""

from __future__ import annotations

from pathlib import Path

from tests.editors.lsp.editor import Setup, connected


async def test_models_are_listed_with_what_they_lack(folder: Path) -> None:
    async with connected(folder, Setup(model="offline/rules")) as editor:
        assert await editor.request("pygent/models/list") == {
            "models": [
                {"name": "offline/rules", "available": True},
                {"name": "other", "available": False, "reason": "no key"},
            ]
        }


async def test_the_status_says_what_a_session_begins_with_and_it_begins_so(folder: Path) -> None:
    async with connected(folder, Setup(mode="plan")) as editor:
        status = await editor.request("pygent/status")
        session = await editor.request("pygent/session/new", {})

        assert status["defaults"] == {name: session[name] for name in ("model", "agent", "mode")}
        assert status["modes"] == ["default", "plan"]
