"""What all tests share."""

import asyncio
import gc
import os
import sys
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# Images of containers often forbid bytecode: each worker then parses all tests in each run, 15 s of a core.
sys.dont_write_bytecode = False

# `ci`: the same few examples in every run, and a slow machine fails none of them. `nightly` (`make test-nightly`): many
# new ones. A test that needs another number derives it from the profile's (`tests/shell/test_against_bash.py`).
settings.register_profile(
    "ci",
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    print_blob=True,
)
settings.register_profile("nightly", settings.get_profile("ci"), max_examples=500, derandomize=False)
settings.load_profile("ci")


@pytest.fixture
def only_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pytest of a sample project loads none of the plugins that are installed for us, which would take a second."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: half as many again as there are cores, since tests wait for processes as well as they compute."""
    n_cores = os.cpu_count() or 1
    return n_cores + n_cores // 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Most of what loads litellm, which takes seconds, stands together and first: one worker begins with it, and the
    others take from its end."""
    items.sort(key=lambda item: "llm" not in item.path.parts and item.path.name != "test_doctor.py")


def pytest_unconfigure() -> None:
    """litellm closes its cached clients when the process ends, but not the one with which it streams from Gemini."""
    client = vars(sys.modules.get("litellm", object)).get("module_level_aclient")
    if client is not None:
        asyncio.run(client.close())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: to look through it again and again takes almost as long as to collect it, and
    each collection of garbage in a test would look through all of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
