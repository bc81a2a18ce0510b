from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty workspace folder."""
    made = (tmp_path / "project").resolve()
    made.mkdir()
    return made
