"""Keys of providers and the programs that the daemon starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.app.factories import named_key_variables
from pygent_ls.app.shared import Shared
from pygent_ls.config.settings import Settings
from pygent_ls.llm.providers.litellm_providers import NAMES, OF_PLATFORMS, has_requirements, key_names

OURS = "key-that-the-daemon-pays-with"


async def test_no_program_is_given_a_key_of_a_provider_that_litellm_alone_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    variables = {key_names(name)[0] for name in filter(has_requirements, NAMES)}
    for variable in variables:
        monkeypatch.setenv(variable, "of-a-platform" if variable in OF_PLATFORMS else OURS)
    settings = Settings(sandbox="off")
    shared = Shared()
    processes, _ = shared.processes(settings, lambda: (), named_key_variables(settings))
    done = await processes.run(ProcessSpec(argv=("env",), cwd=tmp_path, timeout_s=20))
    await shared.close()

    assert OURS in os.environ.values()
    assert "PATH=" in done.stdout
    assert OURS not in done.stdout
    assert "WANDB_API_KEY=of-a-platform" in done.stdout  # the user's own commands need it
