"""What the options of `run` make of the settings: over them, beside them, and without some of their files."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from pygent_ls.agent.rules.rule import Rule
from pygent_ls.config.live import LiveSettings, Taken
from pygent_ls.config.sources import SETTING_SOURCES, CommandLine, SettingSource
from pygent_ls.config.trust import TrustStore


def taken(place: Path, command_line: CommandLine) -> Taken:
    """As the user and the workspace say, and these options."""
    (place / "w" / ".pygent").mkdir(parents=True)
    (place / "w" / ".pygent" / "config.toml").write_text('max_iterations = 7\ndisallowed_tools = ["web_fetch"]\n')
    (place / "config.toml").write_text(
        'system_prompt = "Be brief."\nadditional_dirs = ["/srv/a"]\nmax_tokens = 9\nmax_iterations = 40\n'
        '[permissions]\nallow = ["git_add"]\n'
    )
    live = LiveSettings(
        TrustStore(place / "state"),
        place / "config.toml",
        environment={"PYGENT_MAX_OUTPUT_TOKENS": "11"},
        editor_options=None,
        command_line=command_line,
    )
    return live.take(place / "w")


def test_what_is_added_stands_behind_what_the_files_say(tmp_path: Path) -> None:
    added = {"system_prompt": "Answer in French.", "additional_dirs": ("/srv/b", "/srv/a")}

    loaded = taken(tmp_path, CommandLine(added=added)).loaded

    assert loaded.problems == ()
    assert loaded.settings.system_prompt == "Be brief.\n\nAnswer in French."
    assert loaded.settings.additional_dirs == ("/srv/a", "/srv/b")


def test_what_is_added_to_nothing_stands_alone_and_comes_from_the_command_line(tmp_path: Path) -> None:
    added = {"system_prompt": "Answer in French.", "additional_dirs": ("/srv/b",)}

    loaded = taken(tmp_path, CommandLine(added=added, sources=frozenset())).loaded

    assert (loaded.settings.system_prompt, loaded.settings.additional_dirs) == ("Answer in French.", ("/srv/b",))
    assert loaded.origins["additional_dirs"] == "command line --additional-dirs"


def test_rules_and_limits_of_the_command_line_count_beside_and_over_the_files(tmp_path: Path) -> None:
    given = CommandLine(
        values={
            "permissions": {"allow": ["shell(make:*)"], "deny": ["read_file(**/.env)"]},
            "disallowed_tools": ["git_push"],
            "context.max_chars": 500,
            "context.max_words": None,
        }
    )

    loaded = taken(tmp_path, given).loaded

    assert loaded.problems == ()
    assert [(each.text, each.origin) for each in loaded.settings.permissions] == [
        ("git_add", "user"),
        ("shell(make:*)", "command_line"),
        ("read_file(**/.env)", "command_line"),
    ]
    assert loaded.settings.disallowed_tools == ("web_fetch", "git_push")
    assert (loaded.settings.context.max_chars, loaded.settings.context.max_words) == (500, 0)
    assert loaded.origins["context.max_chars"] == "command line --max-chars"


@pytest.mark.parametrize(
    ("sources", "read"),
    [
        (SETTING_SOURCES, ("Be brief.", 9, 7, ("web_fetch",))),
        (frozenset({"user"}), ("Be brief.", 9, 40, ())),
        (frozenset({"project"}), ("", 0, 7, ("web_fetch",))),
        (frozenset[SettingSource](), ("", 0, 50, ())),
    ],
)
def test_only_the_files_that_are_named_are_read(
    tmp_path: Path, sources: frozenset[SettingSource], read: tuple[object, ...]
) -> None:
    found = taken(tmp_path, CommandLine(sources=sources)).loaded.settings

    assert (found.system_prompt, found.max_tokens, found.max_iterations, found.disallowed_tools) == read
    assert found.max_output_tokens == 11, "the environment counts whatever is read"


def test_all_files_count_where_none_are_named() -> None:
    assert set(get_args(SettingSource)) == SETTING_SOURCES
    assert CommandLine().sources == SETTING_SOURCES


def test_what_cannot_be_added_to_is_a_mistake_of_ours(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="cannot be added"):
        taken(tmp_path, CommandLine(added={"max_tokens": "more"}))


def test_a_rule_of_the_command_line_is_the_users_own(tmp_path: Path) -> None:
    rules = taken(tmp_path, CommandLine(values={"permissions": {"allow": ["shell"]}})).loaded.settings.permissions

    assert rules[-1] == Rule(text="shell", decision="allow", origin="command_line")
