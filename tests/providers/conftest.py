"""Shared by the tests with strict servers."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty workspace folder; the daemon's home will lie beside it."""
    made = (tmp_path / "project").resolve()
    made.mkdir()
    return made
