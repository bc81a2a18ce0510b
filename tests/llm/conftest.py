"""Shared by the tests of models."""

from __future__ import annotations

import pytest

from pygent_ls.llm.litellm_model import LitellmLoader


@pytest.fixture(scope="session")
def loader() -> LitellmLoader:
    """litellm, which takes seconds to import: loaded once a worker, and whoever needs it waits."""
    shared = LitellmLoader()
    shared.start()
    return shared
