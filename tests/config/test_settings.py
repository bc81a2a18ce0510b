"""The settings: their layers, what does not count and why, and the page about them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.permissions import permissions
from pygent_ls.agent.ports import hooks, model
from pygent_ls.config.entries import AgentTable, CliModelTable, Effort, Hook, HookEvent, ModelTable
from pygent_ls.config.layer import Layer, SettingProblem
from pygent_ls.config.layers import load
from pygent_ls.config.reference_page import configuration_page
from pygent_ls.config.settings import NAMES, Mode, Settings, shown
from pygent_ls.config.sources import (
    MAX_FILE_BYTES,
    camel_case,
    command_line_layer,
    editor_layer,
    environment_layer,
    user_layer,
    workspace_layer,
)

KEY = "sk-ant-api03-0123456789abcdef"


def user_toml(folder: Path, text: str | bytes) -> Layer:
    file = folder / "config.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return user_layer(file)


def workspace_toml(folder: Path, text: str) -> Layer:
    (folder / ".pygent").mkdir(exist_ok=True)
    (folder / ".pygent" / "config.toml").write_text(text)
    return workspace_layer(folder)


def editor(given: object) -> Layer:
    return editor_layer(given, "initializationOptions")


def only_problem(*layers: Layer) -> SettingProblem:
    (problem,) = load(layers).problems
    return problem


# What counts


def test_nothing_needs_to_be_set(tmp_path: Path) -> None:
    loaded = load([user_layer(tmp_path / "absent.toml"), workspace_layer(tmp_path), environment_layer({})])

    assert loaded.settings == Settings()
    assert loaded.problems == ()
    assert set(loaded.origins) == set(NAMES)
    assert set(loaded.origins.values()) == {"default"}


def test_each_layer_overrides_those_before_it_and_every_value_knows_its_own(tmp_path: Path) -> None:
    layers = [
        user_toml(tmp_path, 'model = "a"\napi_key_env = "A"\nmax_iterations = 40\ntemperature = 0\ncache_entries = 1'),
        workspace_toml(tmp_path, "max_iterations = 30"),
        environment_layer({"PYGENT_TEMPERATURE": "0.5", "PYGENT_STREAM_FLUSH_MS": "5", "PYGENT_MODEL": "b"}),
        editor({"streamFlushMs": 6, "model": "c", "shellTimeoutS": 7}),
        editor_layer({"shellTimeoutS": 8, "model": "d"}, "workspace/configuration"),
        command_line_layer({"model": "e", "cache_entries": "9", "mode": None}),
    ]

    loaded = load(layers)

    assert loaded.problems == ()
    assert loaded.settings == Settings(
        model="e",
        api_key_env="A",
        max_iterations=30,
        temperature=0.5,
        stream_flush_ms=6,
        shell_timeout_s=8.0,
        cache_entries=9,
    )
    assert {key: origin for key, origin in loaded.origins.items() if origin != "default"} == {
        "model": "command line --model",
        "api_key_env": f"user file {tmp_path / 'config.toml'}",
        "max_iterations": f"workspace file {tmp_path / '.pygent' / 'config.toml'}",
        "temperature": "environment PYGENT_TEMPERATURE",
        "stream_flush_ms": "editor (initializationOptions)",
        "shell_timeout_s": "editor (workspace/configuration)",
        "cache_entries": "command line --cache-entries",
    }


def test_the_environment_is_text_and_becomes_what_the_setting_is() -> None:
    environment = {
        "PYGENT_MAX_ITERATIONS": "7",
        "PYGENT_TEMPERATURE": "0.25",
        "PYGENT_SYSTEM_PROMPT": "7",
        "PYGENT_EXTRA_HEADERS": '{"X-Team": "red"}',
        "PYGENT_MODEL": "",
        "PYGENT_LOG": "debug",
        "PATH": "/bin",
    }

    loaded = load([environment_layer(environment)])

    assert loaded.problems == ()
    assert loaded.settings == Settings(
        max_iterations=7, temperature=0.25, system_prompt="7", extra_headers={"X-Team": "red"}
    )


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    assert load([user_toml(tmp_path, b'\xef\xbb\xbfmodel = "m"\r\n')]).settings.model == "m"


def test_an_editor_may_write_whole_numbers_with_a_point_and_leave_keys_null() -> None:
    loaded = load([editor(None), editor({"maxIterations": 20.0, "model": None})])

    assert loaded.settings == Settings(max_iterations=20)
    assert loaded.problems == ()


@given(st.integers(0, 10**9), st.floats(0, 2), st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_text_from_the_environment_means_the_same_as_the_value_itself(whole: int, number: float, text: str) -> None:
    written = environment_layer(
        {"PYGENT_MAX_ITERATIONS": str(whole), "PYGENT_TEMPERATURE": repr(number), "PYGENT_MODEL": text}
    )
    typed = editor({"maxIterations": whole, "temperature": number, "model": text})

    assert load([written]).settings == load([typed]).settings
    assert load([written]).problems == ()


# What does not count


def test_a_bad_value_is_named_with_its_variable_and_what_is_expected_and_the_rest_counts() -> None:
    loaded = load([environment_layer({"PYGENT_MAX_ITERATIONS": "many", "PYGENT_MODEL": "m"})])

    assert loaded.settings == Settings(model="m")
    assert loaded.origins["max_iterations"] == "default"
    assert loaded.problems == (
        SettingProblem(
            layer="environment",
            key="PYGENT_MAX_ITERATIONS",
            value="many",
            problem="expected a whole number, 0 or more",
            kind="invalid",
        ),
    )
    assert loaded.problems[0].text == ("environment: PYGENT_MAX_ITERATIONS = many: expected a whole number, 0 or more")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"maxIterations": -1}, "expected a whole number, 0 or more"),
        ({"maxIterations": True}, "expected a whole number, 0 or more"),
        ({"maxIterations": "5"}, "expected a whole number, 0 or more"),
        ({"maxIterations": 2.5}, "expected a whole number, 0 or more"),
        ({"maxIterations": 10**4000}, "expected a whole number, 0 or more"),
        ({"temperature": float("nan")}, "expected a number from 0 to 2"),
        ({"shellTimeoutS": 0}, "expected a number above 0"),
        ({"shellTimeoutS": 10**400}, "expected a number above 0"),
        ({"streamFlushMs": 5000}, "expected a whole number from 0 to 1000"),
        ({"mode": "yolo"}, "expected one of default, accept_edits, plan, trust, bypass"),
        ({"model": 5}, "expected text"),
        ({"model": ["m"]}, "expected text"),
        ({"apiBase": "localhost:8080"}, "expected an address that starts with http:// or https://"),
        ({"apiBase": "http://[broken"}, "expected an address that starts with http:// or https://"),
        ({"apiKeyEnv": "MY KEY"}, "expected the name of a variable, not the key itself"),
        ({"extraHeaders": {"X": 5}}, "expected a table of header names and their text"),
        ({"extraHeaders": {"X": "a\r\nHost: evil"}}, "expected a table of header names and their text"),
        ({"extraHeaders": "X: y"}, "expected a table of header names and their text"),
    ],
)
def test_a_value_of_the_wrong_kind_does_not_count(given: Mapping[str, object], expected: str) -> None:
    loaded = load([editor(given)])

    assert loaded.settings == Settings()
    assert [problem.problem for problem in loaded.problems] == [expected]


def test_a_bad_value_in_a_stronger_layer_leaves_the_weaker_one_in_force(tmp_path: Path) -> None:
    loaded = load([user_toml(tmp_path, "max_iterations = 9"), environment_layer({"PYGENT_MAX_ITERATIONS": "-3"})])

    assert loaded.settings.max_iterations == 9
    assert loaded.origins["max_iterations"].startswith("user file")


def test_an_unknown_name_is_a_problem_that_suggests_the_nearest_one_in_the_layers_own_spelling(
    tmp_path: Path,
) -> None:
    unknown = [
        environment_layer({"PYGENT_TEMPRATURE": "1"}),
        editor({"maxIteration": 3, "max_output_tokens": 5, "zzz": 1}),
        user_toml(tmp_path, 'modell = "m"'),
    ]

    loaded = load(unknown)

    assert loaded.settings == Settings()
    assert {problem.kind for problem in loaded.problems} == {"unknown"}
    assert [problem.text for problem in loaded.problems] == [
        "environment: PYGENT_TEMPRATURE = 1: no such setting; did you mean PYGENT_TEMPERATURE?",
        "editor (initializationOptions): maxIteration = 3: no such setting; did you mean maxIterations?",
        "editor (initializationOptions): max_output_tokens = 5: no such setting; did you mean maxOutputTokens?",
        "editor (initializationOptions): zzz = 1: no such setting",
        f"user file {tmp_path / 'config.toml'}: modell = m: no such setting; did you mean model?",
    ]


def test_settings_that_are_not_an_object_are_one_problem() -> None:
    problem = only_problem(editor(["model"]))

    assert problem.text == 'editor (initializationOptions): ["model"]: expected an object'


# Files that cannot be read


def test_broken_toml_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    problem = only_problem(user_toml(tmp_path, 'model = "m"\nmax_iterations = = 3\n'))

    assert problem.layer == f"user file {tmp_path / 'config.toml'}"
    assert problem.kind == "unreadable"
    assert problem.problem.startswith("not valid TOML: ")
    assert "line 2" in problem.problem


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'model = "\xff"', "not UTF-8 text (at byte 9)"),
        (b"x = " + b"[" * 50_000, "not valid TOML: "),
        (b"x = " + b"1" * 5_000, "not valid TOML: "),
        (b"#" * (MAX_FILE_BYTES + 1), "cannot be read: larger than 1,000,000 bytes"),
    ],
    ids=["encoding", "depth", "digits", "size"],
)
def test_a_hostile_file_is_a_problem_and_no_more(tmp_path: Path, content: bytes, problem: str) -> None:
    loaded = load([user_toml(tmp_path, content), environment_layer({"PYGENT_MODEL": "m"})])

    assert loaded.settings == Settings(model="m")
    assert [each.problem.startswith(problem) for each in loaded.problems] == [True]


def test_a_number_too_long_to_be_written_out_is_a_problem_that_can_be_shown(tmp_path: Path) -> None:
    problem = only_problem(user_toml(tmp_path, "max_iterations = 0x" + "f" * 5000))

    assert problem.value == "(too long to show)"


def test_what_is_no_file_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert only_problem(user_layer(tmp_path / "pipe")).problem == "cannot be read: not a file"
    assert only_problem(user_layer(tmp_path)).problem == "cannot be read: not a file"


# A workspace's own file


def test_a_workspace_may_lower_the_iterations_and_ask_for_plan_mode(tmp_path: Path) -> None:
    loaded = load([workspace_toml(tmp_path, 'max_iterations = 5\nmode = "plan"')])

    assert loaded.settings == Settings(max_iterations=5, mode="plan")
    assert loaded.problems == ()


def test_any_limit_is_lower_than_none(tmp_path: Path) -> None:
    layers = [environment_layer({"PYGENT_MAX_ITERATIONS": "0"}), workspace_toml(tmp_path, "max_iterations = 500")]

    assert load(layers).settings.max_iterations == 500


@pytest.mark.parametrize(
    "line",
    [
        "max_iterations = 0",
        "max_iterations = 51",
        'mode = "trust"',
        'mode = "default"',
        'model = "openai/theirs"',
        'api_base = "https://example.org"',
        'api_key_env = "THEIRS"',
        'system_prompt = "Obey."',
        "shell_timeout_s = 1",
        'extra_headers = {X = "y"}',
        'fallback_models = ["openai/theirs"]',
        'additional_dirs = ["/"]',
        'system_prompt_file = "theirs.md"',
        'hooks = [{event = "stop", command = "./theirs.sh"}]',
        'agents.theirs = {mode = "trust"}',
        'cli_models.theirs = {command = ["./theirs.sh"]}',
        'models."openai/gpt-4o" = {input_usd_per_mtok = 0, output_usd_per_mtok = 0}',
        'aliases.fix = "/mode trust"',
        "retry.max_attempts = 100",
    ],
)
def test_whatever_else_a_workspace_says_needs_trust(tmp_path: Path, line: str) -> None:
    loaded = load([workspace_toml(tmp_path, line)])

    assert loaded.settings == Settings()
    assert [problem.kind for problem in loaded.problems] == ["needs_trust"]
    assert "needs trust" in loaded.problems[0].text


def test_a_workspace_cannot_take_back_the_users_plan_mode(tmp_path: Path) -> None:
    layers = [user_toml(tmp_path, 'mode = "plan"'), workspace_toml(tmp_path, 'mode = "default"')]

    assert load(layers).settings.mode == "plan"


# What is shown


@pytest.mark.parametrize(
    "layer",
    [
        editor({"extraHeaders": {"Authorization": "opensesame"}}),
        editor({"extraHeaders": ["opensesame"]}),
        editor({"apiKeyEnv": "open-sesame opensesame"}),
        editor({"apiKey": "opensesame"}),
        editor({"anthropic_token": "opensesame"}),
        environment_layer({"PYGENT_EXTRA_HEADERS": "Authorization: opensesame"}),
        environment_layer({"PYGENT_API_KEY": "opensesame"}),
    ],
)
def test_a_secret_is_shown_neither_as_a_value_nor_as_a_problem(layer: Layer) -> None:
    loaded = load([layer])

    values = [shown(key, value) for key, value in loaded.settings.fields().items()]
    assert "opensesame" not in repr([values, [problem.text for problem in loaded.problems], loaded.settings])
    assert "***" in "".join([*values, *(problem.text for problem in loaded.problems)])


def test_what_looks_like_a_key_is_masked_wherever_it_stands() -> None:
    loaded = load([editor({"model": KEY, "mode": KEY, "whatever": KEY, "apiBase": "https://me:hunter2@host/v1"})])

    text = "\n".join(
        [*(problem.text for problem in loaded.problems), *(shown(k, v) for k, v in loaded.settings.fields().items())]
    )
    assert KEY not in text
    assert "hunter2" not in text
    assert "https://***@host/v1" in text


def test_a_value_is_one_short_line_that_cannot_command_a_terminal() -> None:
    problem = only_problem(editor({"mode": "a\x1b[2J\n" + "b" * 500 + "\ud800"}))

    assert problem.value.startswith("a\N{REPLACEMENT CHARACTER}[2J b")
    assert len(problem.value) == 80
    assert problem.value.isprintable()


# Whatever comes in

ANYTHING: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
SPELLINGS = st.sampled_from([*NAMES, *map(camel_case, NAMES)]) | st.text(max_size=12)


@given(st.dictionaries(SPELLINGS, ANYTHING, max_size=5), st.sampled_from(NAMES))
def test_no_input_keeps_the_settings_from_loading(given: dict[str, Any], name: str) -> None:
    text = {f"PYGENT_{key.upper()}": value if isinstance(value, str) else repr(value) for key, value in given.items()}

    loaded = load([editor(given), environment_layer(text), user_layer_of({name: given.get(name)}), editor(None)])

    assert Settings(**loaded.settings.fields()) == loaded.settings
    assert all(problem.text.isprintable() for problem in loaded.problems)
    assert all(shown(key, value).isprintable() for key, value in loaded.settings.fields().items())


@given(st.integers(0, 100), st.integers(-5, 200))
def test_a_workspace_never_gets_more_iterations_than_the_user_gave(users: int, asked: int) -> None:
    own = user_layer_of({"max_iterations": users})
    workspaces = Layer(name="workspace", values={"max_iterations": asked}, trusted=False)

    effective = load([own, workspaces]).settings.max_iterations

    assert effective in {users, asked}
    assert users == 0 or 0 < effective <= users


# The page, and the core


def test_the_committed_page_is_what_the_settings_say() -> None:
    committed = Path(__file__).parents[2] / "docs" / "configuration.md"

    assert committed.read_text(encoding="utf-8") == configuration_page(), "run `make docs`"


def test_the_modes_are_the_cores() -> None:
    assert get_args(Mode) == get_args(permissions.Mode)
    assert get_args(HookEvent) == get_args(hooks.HookEvent)
    assert get_args(Effort) == get_args(model.Effort)


# Tables of settings


def test_a_setting_in_a_table_has_its_name_in_every_layer(tmp_path: Path) -> None:
    spelled = {
        "user file": user_toml(tmp_path, '[edits]\nreview = "ask"\n'),
        "environment PYGENT_EDITS_REVIEW": environment_layer({"PYGENT_EDITS_REVIEW": "ask"}),
        "editor (initializationOptions)": editor({"edits": {"review": "ask", "other": None}}),
        "command line --edits-review": command_line_layer({"edits.review": "ask"}),
    }

    for origin, layer in spelled.items():
        loaded = load([layer, editor({"edits": {}})])

        assert loaded.settings.edits.review == "ask"
        assert loaded.origins["edits.review"].startswith(origin)
        assert loaded.problems == ()


def test_what_is_wrong_in_a_table_is_named_with_it_and_the_rest_counts(tmp_path: Path) -> None:
    loaded = load(
        [
            user_toml(tmp_path, '[edits]\nreview = "always"\n'),
            editor({"edits": {"reviews": True}, "maxTokens": 5}),
            editor_layer({"edits": "ask"}, "workspace/configuration"),
        ]
    )

    assert loaded.settings == Settings(max_tokens=5)
    assert [each.text for each in loaded.problems] == [
        f"user file {tmp_path / 'config.toml'}: edits.review = always: expected one of off, ask",
        "editor (initializationOptions): edits.reviews = true: no such setting; did you mean edits.review?",
        "editor (workspace/configuration): edits = ask: expected a table",
    ]


def test_the_parts_of_a_name_are_each_in_camel_case() -> None:
    assert camel_case("context.sliding_messages") == "context.slidingMessages"


# The sandbox


@pytest.mark.parametrize(("value", "counts"), [("require", True), ("off", False)])
def test_a_workspace_may_require_the_sandbox_and_not_take_it_away(tmp_path: Path, value: str, counts: bool) -> None:
    (tmp_path / ".pygent").mkdir()
    (tmp_path / ".pygent" / "config.toml").write_text(f'sandbox = "{value}"\nsandbox_network = true\n')

    loaded = load([workspace_layer(tmp_path)])

    assert loaded.settings.sandbox == (value if counts else "auto")
    assert not loaded.settings.sandbox_network
    assert [each.kind for each in loaded.problems] == ["needs_trust"] * (1 if counts else 2)


@pytest.mark.parametrize(("value", "counts"), [("true", True), ("false", False)])
def test_a_workspace_may_have_secrets_masked_and_not_shown(tmp_path: Path, value: str, counts: bool) -> None:
    layers = [user_toml(tmp_path, "redact_secrets = false"), workspace_toml(tmp_path, f"redact_secrets = {value}")]

    loaded = load(layers)

    assert Settings().redact_secrets
    assert loaded.settings.redact_secrets is counts
    assert [each.kind for each in loaded.problems] == ([] if counts else ["needs_trust"])


def test_a_switch_can_be_set_in_the_environment_and_says_what_it_takes() -> None:
    assert load([environment_layer({"PYGENT_SANDBOX_NETWORK": "true"})]).settings.sandbox_network
    (problem,) = load([environment_layer({"PYGENT_SANDBOX_NETWORK": "perhaps"})]).problems
    assert "expected true or false" in problem.text


# Rules


def test_the_rules_of_all_layers_count_together_each_with_where_it_comes_from(tmp_path: Path) -> None:
    loaded = load(
        [
            user_toml(tmp_path, '[permissions]\nallow = ["shell(git status:*)"]\ndeny = ["read_file(**/.env)"]\n'),
            workspace_toml(tmp_path, '[permissions]\nask = ["shell(make:*)"]\n'),
            environment_layer({"PYGENT_PERMISSIONS": '{"deny": ["git_push"]}'}),
            editor({"permissions": {"allow": ["edit_file(src/**)"]}}),
        ]
    )

    assert [(rule.decision, rule.text, rule.origin) for rule in loaded.settings.permissions] == [
        ("allow", "shell(git status:*)", "user"),
        ("deny", "read_file(**/.env)", "user"),
        ("ask", "shell(make:*)", "workspace"),
        ("deny", "git_push", "environment"),
        ("allow", "edit_file(src/**)", "editor"),
    ]
    assert not loaded.problems
    assert shown("permissions", loaded.settings.permissions[:2]) == "allow shell(git status:*), deny read_file(**/.env)"


def test_a_workspace_may_ask_and_deny_and_what_it_allows_needs_trust(tmp_path: Path) -> None:
    text = '[permissions]\nallow = ["shell", "edit_file"]\nask = ["web_fetch"]\ndeny = ["shell(rm:*)"]\n'

    loaded = load([workspace_toml(tmp_path, text)])

    assert [rule.text for rule in loaded.settings.permissions] == ["web_fetch", "shell(rm:*)"]
    assert [(each.key, each.value, each.kind) for each in loaded.problems] == [
        ("permissions.allow", "shell", "needs_trust"),
        ("permissions.allow", "edit_file", "needs_trust"),
    ]


@pytest.mark.parametrize(
    ("given", "key", "problem"),
    [
        ("shell", "permissions", "expected a table with the lists"),
        ({"allow": "shell"}, "permissions.allow", "expected a list of rules"),
        ({"allowed": ["shell"]}, "permissions.allowed", "no such list"),
        ({"deny": ["shell("]}, "permissions.deny", "the closing bracket at the end is missing"),
        ({"deny": [7]}, "permissions.deny", "a rule must be a string, or a table"),
        (
            {"deny": [{"rule": "shell(rm:*)", "match": ["ls"]}]},
            "permissions.deny",
            "the rule shell(rm:*) does not match its example 'ls'",
        ),
    ],
)
def test_a_rule_that_is_none_is_named_and_the_others_count(given: object, key: str, problem: str) -> None:
    weaker = user_layer_of({"permissions": {"ask": ["web_fetch"]}})

    loaded = load([weaker, editor({"permissions": given})])

    assert [rule.text for rule in loaded.settings.permissions] == ["web_fetch"]
    (found,) = loaded.problems
    assert found.key == key
    assert problem in found.text


def user_layer_of(values: Mapping[str, object]) -> Layer:
    return Layer(name="user file", values=values)


# Settings with many entries


def test_entries_of_all_layers_count_together_and_of_one_name_the_stronger_layers(tmp_path: Path) -> None:
    users = """
        disallowed_tools = ["shell"]
        hooks = [{event = "stop", command = "first"}]
        aliases = {fix = "/agent review", t = "/test"}
        [agents.reader]
        description = "Reads"
        tools = ["read_file"]
        max_iterations = 3
        [agents.other]
        model = "openai/x"
        [cli_models.toy]
        command = ["toy", "--print"]
        [models."openai/my.model"]
        input_usd_per_mtok = 1
        output_usd_per_mtok = 5.0
    """
    editors = {
        "disallowedTools": ["git_push", "shell"],
        "hooks": [{"event": "pre_tool_use", "command": "second", "matcher": "edit_.*", "timeoutS": 5.0}],
        "aliases": {"fix": "/mode plan"},
        "agents": {"reader": {"contextMode": "fresh"}},
    }

    loaded = load([user_toml(tmp_path, users), editor(editors)])

    settings = loaded.settings
    assert loaded.problems == ()
    assert settings.disallowed_tools == ("shell", "git_push")
    assert settings.hooks == (
        Hook(event="stop", command="first"),
        Hook(event="pre_tool_use", command="second", matcher="edit_.*", timeout_s=5),
    )
    assert settings.aliases == {"fix": "/mode plan", "t": "/test"}
    assert settings.agents == {"reader": AgentTable(context_mode="fresh"), "other": AgentTable(model="openai/x")}
    assert settings.cli_models == {"toy": CliModelTable(command=("toy", "--print"))}
    assert settings.models == {"openai/my.model": ModelTable(input_usd_per_mtok=1, output_usd_per_mtok=5)}


@pytest.mark.parametrize(
    ("given", "key", "problem"),
    [
        ({"agents": []}, "agents", "expected a table"),
        ({"agents": {"a": 1}}, "agents.a", "expected a table"),
        ({"agents": {"a b": {}}}, "agents.a b", "invalid name"),
        ({"agents": {"a": {"mood": "good"}}}, "agents.a", "unknown key mood; known keys: description, model"),
        (
            {"agents": {"a": {"mode": "brave"}}},
            "agents.a",
            "mode: expected one of default, accept_edits, plan, trust, bypass",
        ),
        ({"hooks": {}}, "hooks", "expected a list of tables"),
        ({"hooks": [{"event": "stop"}]}, "hooks[1]", "command is missing"),
        ({"hooks": [{"event": "stop", "command": "x", "matcher": "("}]}, "hooks[1]", "not a regular expression"),
        ({"cliModels": {"a": {"command": []}}}, "cliModels.a", "command: expected a list of text that is not empty"),
        ({"models": {"a": {"inputUsdPerMtok": 1}}}, "models.a", "output_usd_per_mtok must be set together"),
        ({"aliases": {"a": 7}}, "aliases.a", "expected a command, as text"),
        ({"disallowedTools": [7]}, "disallowedTools", "expected a list of tools' names"),
    ],
)
def test_an_entry_that_is_none_is_named_and_the_others_count(given: dict[str, Any], key: str, problem: str) -> None:
    users: dict[str, object] = {"agents": {"mine": {}}, "aliases": {"mine": "/help"}}

    loaded = load([user_layer_of(users), editor(given)])

    assert (list(loaded.settings.agents), list(loaded.settings.aliases)) == (["mine"], ["mine"])
    (found,) = loaded.problems
    assert found.key == key
    assert problem in found.text


def test_lists_are_words_with_commas_and_tables_are_json_in_the_environment() -> None:
    variables = {
        "PYGENT_FALLBACK_MODELS": "openai/a, openai/b",
        "PYGENT_DISALLOWED_TOOLS": "shell,git_push",
        "PYGENT_AGENTS": '{"a": {"max_iterations": 2}}',
        "PYGENT_HOOKS": '[{"event": "stop", "command": "x"}]',
        "PYGENT_CONTEXT_MODE": "fresh",
    }

    loaded = load([environment_layer(variables)])

    assert loaded.problems == ()
    assert loaded.settings.fallback_models == ("openai/a", "openai/b")
    assert loaded.settings.disallowed_tools == ("shell", "git_push")
    assert loaded.settings.agents == {"a": AgentTable(max_iterations=2)}
    assert loaded.settings.hooks == (Hook(event="stop", command="x"),)
    assert loaded.settings.context.mode == "fresh"


def test_a_workspace_may_take_tools_away(tmp_path: Path) -> None:
    users, theirs = 'disallowed_tools = ["a"]', 'disallowed_tools = ["b"]'

    loaded = load([user_toml(tmp_path, users), workspace_toml(tmp_path, theirs)])

    assert (loaded.settings.disallowed_tools, loaded.problems) == (("a", "b"), ())


def test_bypass_takes_the_users_own_word_in_the_users_own_file(tmp_path: Path) -> None:
    own = user_toml(tmp_path, 'allow_bypass = true\nmode = "trust"\n')

    assert load([own, editor({"mode": "bypass"})]).settings.mode == "bypass"
    assert load([own, environment_layer({"PYGENT_MODE": "bypass"})]).settings.mode == "bypass"


@pytest.mark.parametrize(
    "layer",
    [
        editor({"mode": "bypass", "allowBypass": True}),
        environment_layer({"PYGENT_MODE": "bypass", "PYGENT_ALLOW_BYPASS": "true"}),
        command_line_layer({"mode": "bypass", "allow_bypass": "true"}),
        user_layer_of({"mode": "bypass"}),
        Layer(
            name="workspace",
            values={"mode": "bypass", "allow_bypass": True},
            origin_of_rules="workspace",
            trusted=False,
        ),
    ],
)
def test_bypass_from_anywhere_else_does_not_count(layer: Layer) -> None:
    loaded = load([user_layer_of({"mode": "accept_edits"}), layer])

    assert loaded.settings.mode == "accept_edits"
    assert not loaded.settings.allow_bypass
    assert {each.kind for each in loaded.problems} <= {"invalid", "needs_trust"}
    assert len(loaded.problems) == len(layer.values)
