"""What setup writes into the user's own settings file."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from pygent_ls.config.user_file import model_in, save_model
from pygent_ls.errors import SettingError

WRITTEN = """\
# My settings.
mode = "plan"   # careful
model = "openai/gpt-5" # was cheaper

[permissions]
allow = [
  "shell(git status:*)", # always
]

[models."openai/my-model"]
context_limit = 32_000
"""


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    file = tmp_path / "config" / "pygent-ls" / "config.toml"

    save_model(file, "anthropic/claude-sonnet-5-5")

    assert file.read_text() == 'model = "anthropic/claude-sonnet-5-5"\n'


def test_everything_else_in_the_file_stays_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(WRITTEN)
    file.chmod(0o640)

    save_model(file, "mistral/x")

    assert file.read_text() == WRITTEN.replace('"openai/gpt-5"', '"mistral/x"')
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_model_is_set_at_the_top_of_a_file_that_has_only_tables(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[context]\nmode = 'fresh'\n")

    save_model(file, "ollama_chat/qwen3:8b", api_base="http://127.0.0.1:1234")

    assert tomllib.loads(file.read_text()) == {
        "model": "ollama_chat/qwen3:8b",
        "api_base": "http://127.0.0.1:1234",
        "context": {"mode": "fresh"},
    }


def test_an_address_of_the_former_provider_does_not_become_that_of_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'model = "openai/one"\napi_base = "http://gateway" # ours\napi_key_env = "GATEWAY"\n\n'
        '[extra_headers]\nX-Team = "blue"\n\n[retry]\nmax_attempts = 2\n'
    )

    save_model(file, "anthropic/two", former_provider="openai")

    assert tomllib.loads(file.read_text()) == {
        "model": "anthropic/two",
        "retry": {"max_attempts": 2},
        "providers": {
            "openai": {"api_base": "http://gateway", "api_key_env": "GATEWAY", "extra_headers": {"X-Team": "blue"}}
        },
    }


def test_a_key_of_the_former_address_does_not_come_to_be_of_the_table_with_another_address(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'model = "openai/one"\napi_base = "http://gateway"\napi_key_env = "GATEWAY"\n'
        '[providers.openai]\napi_base = "http://elsewhere"\n'
    )

    save_model(file, "anthropic/two", former_provider="openai")

    assert tomllib.loads(file.read_text()) == {
        "model": "anthropic/two",
        "providers": {"openai": {"api_base": "http://elsewhere"}},
    }


@pytest.mark.parametrize("content", ["providers = 5\n", "[providers]\nopenai = 5\n"])
def test_a_table_of_providers_that_is_none_is_left_alone_and_said(tmp_path: Path, content: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(written := f'model = "openai/one"\napi_base = "http://gateway"\n{content}')

    with pytest.raises(SettingError, match=r"providers\.openai is not a table"):
        save_model(file, "anthropic/two", former_provider="openai")

    assert file.read_text() == written


def test_an_address_stays_while_the_provider_does(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('model = "openai/one"\napi_base = "http://gateway"\n')

    save_model(file, "openai/two", former_provider="openai")

    assert file.read_text() == 'model = "openai/two"\napi_base = "http://gateway"\n'


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    file.write_text("")
    link.symlink_to(file)

    save_model(link, "openai/two")

    assert link.is_symlink()
    assert file.read_text() == 'model = "openai/two"\n'


@pytest.mark.parametrize("content", [b"model = ", b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_left_alone_and_said(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)

    with pytest.raises(SettingError, match=r'could not be changed: .* Set model = "openai/two" yourself\.'):
        save_model(file, "openai/two")

    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "text", ["", "model = 7", "model =", "a = " + "[" * 50_000, 'model = "\\ud800"'], ids=lambda text: text[:30]
)
def test_a_file_that_cannot_be_read_names_no_model(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)

    assert model_in(file) == ""
