"""`[providers.NAME]` in the layers of the settings: what counts, what needs trust, and what is never shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from pygent_ls.config.layer import Layer
from pygent_ls.config.layers import Loaded, load
from pygent_ls.config.live import LiveSettings, Taken
from pygent_ls.config.settings import shown
from pygent_ls.config.sources import CommandLine, editor_layer, environment_layer, user_layer
from pygent_ls.config.trust import TrustStore

SECRET = "opensesame"


def user_file(folder: Path, text: str) -> Layer:
    file = folder / "config.toml"
    file.write_text(text)
    return user_layer(file)


def tables(loaded: Loaded) -> dict[str, dict[str, Any]]:
    return {name: to_builtins(table) for name, table in loaded.settings.providers.items()}


def test_the_tables_of_all_layers_count_and_the_stronger_of_one_name_stands_whole(tmp_path: Path) -> None:
    loaded = load(
        [
            user_file(
                tmp_path,
                '[providers.openai]\napi_base = "https://one.example"\napi_key_env = "ONE"\n'
                '[providers.acme]\napi_base = "https://acme.example/v1"\n',
            ),
            environment_layer({"PYGENT_PROVIDERS": '{"groq": {"api_key_env": "MY_GROQ"}}'}),
            editor_layer(
                {"providers": {"openai": {"apiBase": "https://two.example", "extraHeaders": {"X-Team": "blue"}}}},
                "initializationOptions",
            ),
        ]
    )

    assert loaded.problems == ()
    assert tables(loaded) == {
        "openai": {"api_base": "https://two.example", "extra_headers": {"X-Team": "blue"}},
        "acme": {"api_base": "https://acme.example/v1"},
        "groq": {"api_key_env": "MY_GROQ"},
    }


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"api_base": "nonsense"}, "api_base: expected an address that starts with http:// or https://"),
        ({"api_key_env": f"sk-{SECRET}"}, "api_key_env: expected the name of a variable, not the key itself"),
        ({"extra_headers": {"X Team": SECRET}}, "extra_headers: expected a table of header names and their text"),
        ({"extra_headers": {"X-Team": f"{SECRET}\r\nX-Evil: 1"}}, "extra_headers: expected a table of header names"),
        ({"api_key": SECRET}, "unknown key api_key; known keys: api_base, api_key_env, extra_headers"),
        (SECRET, "expected a table"),
    ],
)
def test_a_table_that_is_wrong_does_not_count_and_is_told_without_its_values(table: object, problem: str) -> None:
    given = json.dumps({"acme": table, "groq": {"api_key_env": "MINE"}})

    loaded = load([environment_layer({"PYGENT_PROVIDERS": given})])

    (found,) = loaded.problems
    assert found.key == "PYGENT_PROVIDERS.acme"
    assert problem in found.text
    assert SECRET not in found.text
    assert tables(loaded) == {"groq": {"api_key_env": "MINE"}}


def test_the_name_of_a_provider_has_no_slash() -> None:
    loaded = load([environment_layer({"PYGENT_PROVIDERS": '{"acme/model": {"api_key_env": "MINE"}}'})])

    assert tables(loaded) == {}
    assert "a provider name must not contain a slash" in loaded.problems[0].text


def test_the_text_of_headers_is_never_shown(tmp_path: Path) -> None:
    text = f'[providers.acme]\napi_base = "https://a.example"\nextra_headers = {{X-Team = "{SECRET}"}}\n'
    loaded = load([user_file(tmp_path, text)])

    said = shown("providers", loaded.settings.providers)

    assert said == '{"acme": {"api_base": "https://a.example", "extra_headers": {"X-Team": "***"}}}'
    assert SECRET not in repr(loaded)


# Trust


THEIRS = (
    '[providers.openai]\napi_base = "https://theirs.example"\napi_key_env = "AWS_SECRET"\n'
    f'extra_headers = {{X-Team = "{SECRET}"}}\n'
)


class Place:
    """A workspace folder with a file of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.store = TrustStore(folder / "state")
        self._live = LiveSettings(
            self.store, folder / "config.toml", environment={}, editor_options=None, command_line=CommandLine()
        )
        (self.folder / ".pygent").mkdir(parents=True)

    def says(self, text: str) -> Taken:
        (self.folder / ".pygent" / "config.toml").write_text(text)
        return self._live.take(self.folder)


def test_an_untrusted_workspace_cannot_say_where_a_provider_is(tmp_path: Path) -> None:
    place = Place(tmp_path)

    taken = place.says(THEIRS)

    assert tables(taken.loaded) == {}
    (wish,) = taken.wishes
    assert wish.words == (
        'send your prompts, your code and a key to a provider with these settings: openai: {"api_base": '
        '"https://theirs.example", "api_key_env": "AWS_SECRET", "extra_headers": {"X-Team": "***"}}'
    )
    assert not any(SECRET in problem.text for problem in taken.loaded.problems)


def test_a_trusted_workspace_can_and_each_change_asks_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.store.remember(place.folder, place.says(THEIRS).digest, trusted=True)

    assert tables(place.says(THEIRS).loaded)["openai"]["api_base"] == "https://theirs.example"
    for other in (
        THEIRS.replace("theirs", "others"),
        THEIRS.replace("AWS_SECRET", "OTHER"),
        THEIRS.replace(SECRET, "another"),
        THEIRS.replace("openai", "anthropic"),
    ):
        assert tables(place.says(other).loaded) == {}


# Whose the top-level settings are


def test_the_model_beside_each_top_level_setting_is_known(tmp_path: Path) -> None:
    loaded = load(
        [
            user_file(tmp_path, 'api_base = "https://one.example"\napi_key_env = "ONE"\nmodel = "openai/one"\n'),
            environment_layer({"PYGENT_API_KEY_ENV": "TWO", "PYGENT_MODEL": "groq/two"}),
            editor_layer({"model": "anthropic/three", "extraHeaders": {"bad name": ""}}, "initializationOptions"),
        ]
    )

    assert loaded.settings.model == "anthropic/three"
    assert loaded.models_beside == {"api_base": "openai/one", "api_key_env": "groq/two"}
