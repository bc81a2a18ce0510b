from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.tool_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Tools on an empty workspace folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Bench(folder)
