"""Shared by the tests of models."""

from __future__ import annotations

import pytest

from pygent_ls.llm.litellm.loader import LitellmLoader


@pytest.fixture(scope="session")
def loader() -> LitellmLoader:
    """litellm, which takes seconds to import: loaded once a worker, by the first test that needs it and waits.

    Not before, since its import silences warnings of its own, and the end of a test brings them back.
    """
    return LitellmLoader()
