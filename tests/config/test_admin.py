"""The administrator's settings: what they keep every other layer from changing, and when the file is refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pygent_ls.agent.admin_limits import is_allowed
from pygent_ls.config.admin import CEILINGS, NO_ADMIN, AdminSettings, AdminTable, exceeds
from pygent_ls.config.admin_file import AdminFile
from pygent_ls.config.layer import Layer
from pygent_ls.config.layers import Loaded, load
from pygent_ls.config.live import LiveSettings
from pygent_ls.config.settings import NAMES, Settings, value_of
from pygent_ls.config.sources import CommandLine, command_line_layer, editor_layer, environment_layer
from pygent_ls.config.trust import TrustStore


class Machine:
    """A machine with an administrator's file, a user's and a project."""

    def __init__(self, folder: Path) -> None:
        self.admin_file = folder / "etc" / "config.toml"
        self.admin_file.parent.mkdir(mode=0o755)
        self.user_file = folder / "user.toml"
        self.project = folder / "project"
        (self.project / ".pygent").mkdir(parents=True)
        self.store = TrustStore(folder / "state")
        self.live = self.new_live()

    def new_live(
        self,
        *,
        environment: Mapping[str, str] | None = None,
        editor: object = None,
        command_line: CommandLine | None = None,
    ) -> LiveSettings:
        return LiveSettings(
            self.store,
            self.user_file,
            environment=environment or {},
            editor_options=editor,
            command_line=command_line or CommandLine(),
            admin_file=AdminFile(path=self.admin_file, owner=os.getuid()),
        )

    def admin(self, text: str) -> None:
        self.admin_file.write_text(text)
        self.admin_file.chmod(0o644)

    def user(self, text: str) -> None:
        self.user_file.write_text(text)

    def trusted_project(self, text: str) -> None:
        """Give the project settings that the user trusts."""
        (self.project / ".pygent" / "config.toml").write_text(text)
        self.store.remember(self.project, self.live.take(self.project).digest, trusted=True)

    def loaded(self) -> Loaded:
        return self.live.take(self.project).loaded

    @property
    def problem(self) -> str:
        return self.loaded().admin.problem


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def texts(loaded: Loaded) -> list[str]:
    return [each.text for each in loaded.problems]


# What counts


def test_without_a_file_nothing_is_different(machine: Machine) -> None:
    machine.user('model = "a"')

    assert machine.loaded().admin is NO_ADMIN
    assert machine.loaded().settings == Settings(model="a")


def test_without_a_folder_nothing_is_different(machine: Machine) -> None:
    machine.admin_file.parent.rmdir()

    assert machine.loaded().admin is NO_ADMIN


def test_no_layer_changes_what_is_locked_and_each_is_told(machine: Machine) -> None:
    machine.admin('sandbox = "require"\nmodel = "acme/ours"\n[edits]\nreview = "ask"\n')
    machine.user('sandbox = "off"\nmodel = "u/u"\n[edits]\nreview = "off"')
    machine.trusted_project('sandbox = "off"\nmodel = "p/p"\n[edits]\nreview = "off"')
    machine.live = machine.new_live(
        environment={"PYGENT_SANDBOX": "off", "PYGENT_EDITS_REVIEW": "off"},
        editor={"sandbox": "off", "model": "e/e", "edits": {"review": "off"}},
        command_line=CommandLine(values={"sandbox": "off", "model": "c/c"}),
    )
    machine.live.set_editor_section({"sandbox": "off", "model": "d/d"})

    loaded = machine.loaded()

    assert (loaded.settings.sandbox, loaded.settings.model, loaded.settings.edits.review) == (
        "require",
        "acme/ours",
        "ask",
    )
    locked = [each for each in loaded.problems if each.kind == "locked"]
    assert [each for each in texts(loaded) if not each.endswith(f"locked by {machine.admin_file}")] == []
    assert len(locked) == 15
    assert f"command line: --model = c/c: locked by {machine.admin_file}" in texts(loaded)
    assert loaded.origins["sandbox"] == f"admin file {machine.admin_file}"


def test_what_may_be_overridden_is_a_default(machine: Machine) -> None:
    machine.admin('model = "acme/ours"\ntemperature = 0.5\n[admin]\noverridable = ["model", "temperature"]')
    machine.user('model = "u/u"')

    loaded = machine.loaded()

    assert (loaded.settings.model, loaded.settings.temperature) == ("u/u", 0.5)
    assert loaded.problems == ()


def test_a_limit_is_a_ceiling_and_no_limit_is_above_it(machine: Machine) -> None:
    machine.admin("max_iterations = 20\nmax_budget_usd = 1.5\nmax_tokens = 0\n[retry]\nmax_attempts = 3")
    machine.user("max_iterations = 5\nmax_budget_usd = 0\nmax_tokens = 7")
    machine.trusted_project("[retry]\nmax_attempts = 9")

    loaded = machine.loaded()

    assert (loaded.settings.max_iterations, loaded.settings.max_budget_usd) == (5, 1.5)
    assert (loaded.settings.max_tokens, loaded.settings.retry.max_attempts) == (7, 3)
    assert [each.problem for each in loaded.problems] == [
        f"limited to 1.5 by {machine.admin_file}",
        f"limited to 3 by {machine.admin_file}",
    ]


def test_a_ceiling_above_the_default_is_the_value_until_another_layer_lowers_it(machine: Machine) -> None:
    machine.admin("max_iterations = 200")

    assert machine.loaded().settings.max_iterations == 200


def test_an_entry_of_the_administrator_is_replaced_by_none(machine: Machine) -> None:
    machine.admin('[mcp_servers.docs]\ncommand = "ours"\n[agents.review]\nmode = "plan"\n[aliases]\nx = "/mode plan"')
    machine.user('[mcp_servers.docs]\ncommand = "theirs"\n[mcp_servers.mine]\ncommand = "mine"')
    machine.trusted_project('[agents.review]\nmode = "trust"\n[aliases]\nx = "/mode trust"\n')

    loaded = machine.loaded()

    assert {name: each.command for name, each in loaded.settings.mcp_servers.items()} == {
        "docs": "ours",
        "mine": "mine",
    }
    assert loaded.settings.agents["review"].mode == "plan"
    assert loaded.settings.aliases == {"x": "/mode plan"}
    assert [(each.key, each.problem) for each in loaded.problems] == [
        (key, f"locked by {machine.admin_file}") for key in ("mcp_servers.docs", "agents.review", "aliases.x")
    ]


def test_only_the_administrators_entries_of_what_is_exclusive_are_used(machine: Machine) -> None:
    machine.admin(
        '[admin]\nexclusive = ["mcp_servers", "hooks"]\n[mcp_servers.docs]\ncommand = "ours"\n'
        '[[hooks]]\nevent = "stop"\ncommand = "./ours"'
    )
    machine.user('[mcp_servers.mine]\ncommand = "mine"\n[[hooks]]\nevent = "pre_tool_use"\ncommand = "echo allow"')
    machine.trusted_project('[mcp_servers.theirs]\nurl = "https://theirs.example/"')
    (machine.project / ".mcp.json").write_text('{"mcpServers": {"more": {"command": "more"}}}')
    machine.live = machine.new_live(editor={"mcpServers": {"editors": {"command": "e"}}})

    loaded = machine.loaded()

    assert set(loaded.settings.mcp_servers) == {"docs"}
    assert [each.command for each in loaded.settings.hooks] == ["./ours"]
    assert {each.problem for each in loaded.problems} == {f"only entries of {machine.admin_file} are used"}
    assert len(loaded.problems) == 5


def test_what_is_refused_is_not_asked_about_when_a_folder_is_trusted(machine: Machine) -> None:
    machine.admin('sandbox = "require"\n[admin]\nexclusive = ["mcp_servers"]')
    (machine.project / ".pygent" / "config.toml").write_text('sandbox = "off"\n[mcp_servers.x]\ncommand = "x"')

    assert machine.live.take(machine.project).wishes == ()


def test_tools_that_are_not_used_are_not_asked_about(machine: Machine) -> None:
    (machine.project / ".pygent" / "tools").mkdir()
    (machine.project / ".pygent" / "tools" / "mine.py").write_text("pass")
    assert len(machine.live.take(machine.project).wishes) == 1

    machine.admin('[admin]\nexclusive = ["tools"]')

    assert machine.live.take(machine.project).wishes == ()


def test_rules_of_all_layers_are_combined_and_the_administrators_are_marked(machine: Machine) -> None:
    machine.admin('[permissions]\ndeny = ["web_fetch"]\n')
    machine.user('[permissions]\nallow = ["web_fetch"]\n')

    assert [(each.decision, each.origin) for each in machine.loaded().settings.permissions] == [
        ("deny", "admin"),
        ("allow", "user"),
    ]


def test_only_the_listed_modes_are_settings(machine: Machine) -> None:
    machine.admin('[admin]\nmodes = ["accept_edits"]')
    machine.user('mode = "trust"')

    loaded = machine.loaded()

    assert loaded.settings.mode == "accept_edits"
    assert texts(loaded) == [
        f"user file {machine.user_file}: mode = trust: not among the modes that {machine.admin_file} allows"
    ]
    machine.user('mode = "plan"')
    assert machine.loaded().settings.mode == "plan"


@pytest.mark.parametrize(
    ("admins", "users", "may"),
    [
        ("allow_bypass = false", "allow_bypass = true", False),
        ("allow_bypass = true", "", True),
        ('allow_bypass = true\n[admin]\noverridable = ["allow_bypass"]', "allow_bypass = false", False),
        ('allow_bypass = false\n[admin]\noverridable = ["allow_bypass"]', "allow_bypass = true", True),
        ("", "allow_bypass = true", True),
    ],
)
def test_bypass_is_for_the_administrator_to_allow(machine: Machine, admins: str, users: str, *, may: bool) -> None:
    machine.admin(admins)
    machine.user(f'mode = "bypass"\n{users}')

    settings = machine.loaded().settings

    assert settings.allow_bypass is may
    assert (settings.mode == "bypass") is may


def test_text_of_the_command_line_is_not_added_to_a_locked_prompt(machine: Machine) -> None:
    machine.admin('system_prompt = "Ours."')
    command_line = CommandLine(added={"system_prompt": "More."}, system_prompt="Theirs.")
    machine.live = machine.new_live(command_line=command_line)

    taken = machine.live.take(machine.project)

    assert (taken.loaded.settings.system_prompt, taken.system_prompt) == ("Ours.", None)
    assert [each.key for each in taken.loaded.problems] == ["--system-prompt", "--system-prompt"]


def test_no_other_file_has_a_table_admin(machine: Machine) -> None:
    machine.user('[admin]\nmodels = ["a"]')

    assert [each.key for each in machine.loaded().problems] == ["admin"]
    assert machine.loaded().admin is NO_ADMIN


def test_it_is_read_again_with_the_other_settings(machine: Machine) -> None:
    machine.user("max_iterations = 30")
    assert machine.loaded().settings.max_iterations == 30

    machine.admin("max_iterations = 3")
    assert machine.loaded().settings.max_iterations == 3

    machine.admin_file.unlink()
    assert machine.loaded().settings.max_iterations == 30


# For any layers


def _raw(name: str) -> st.SearchStrategy[object]:
    """Values for a setting, of which some are invalid."""
    default = value_of(Settings(), name)
    match default:
        case bool():
            return st.booleans()
        case int() | float():
            return st.integers(0, 10**6) | st.floats(0, 10**6) | st.just("x")
        case str():
            return st.sampled_from(["", "a", "plan", "trust", "default", "off", "require", "ask", "bypass"])
        case _:
            return st.sampled_from([["a"], ["b", "c"], {"X": "y"}, 5])


PLAIN = [name for name in NAMES if isinstance(value_of(Settings(), name), (str, int, float))]
given_values = st.dictionaries(st.sampled_from(PLAIN), st.none(), min_size=1, max_size=8).flatmap(
    lambda names: st.fixed_dictionaries({name: _raw(name) for name in names})
)


def _others(values: Mapping[str, Any], kind: int, *, trusted: bool) -> Layer:
    match kind:
        case 0:
            return Layer(name="user file x", values=values)
        case 1:
            return Layer(name="workspace file x", values=values, trusted=trusted, origin_of_rules="workspace")
        case 2:
            layer = environment_layer({})
        case 3:
            layer = editor_layer(None, "workspace/configuration")
        case _:
            layer = command_line_layer({})
    return Layer(
        name=layer.name, values=values, spell=layer.spell, is_text=layer.is_text, origin_of_rules=layer.origin_of_rules
    )


layers = st.lists(st.builds(_others, given_values, st.integers(0, 4), trusted=st.booleans()), max_size=6)


@given(given_values, layers, st.lists(st.sampled_from(PLAIN), max_size=3), st.none() | st.just(("default", "trust")))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_whatever_others_say_nothing_locked_changes_and_no_ceiling_is_exceeded(
    values: Mapping[str, object], others: list[Layer], overridable: list[str], modes: Any
) -> None:
    admin = AdminSettings(
        file="/etc/x",
        layer=Layer(name="admin file /etc/x", values=values, origin_of_rules="admin"),
        table=AdminTable(overridable=tuple(overridable), modes=modes),
    )
    alone, found = load((), admin), load(others, admin)
    valid = {key for key in values if alone.origins[key] != "default"}

    for key in admin.locked & valid:
        assert value_of(found.settings, key) == value_of(alone.settings, key)
        assert found.origins[key] == "admin file /etc/x"
    for key in admin.ceilings & valid:
        ceiling, value = value_of(alone.settings, key), value_of(found.settings, key)
        assert isinstance(ceiling, (int, float))
        assert isinstance(value, (int, float))
        assert not exceeds(key, value, ceiling)
    if "mode" not in valid:
        assert is_allowed(found.settings.mode, modes)
    for key in set(NAMES) - set(values) - {"mode", "allow_bypass"}:
        assert value_of(found.settings, key) == value_of(load(others).settings, key)


def test_every_ceiling_is_a_number() -> None:
    assert {key for key in CEILINGS if not isinstance(value_of(Settings(), key), (int, float))} == set()


# A file that is refused


def _another_user() -> int:
    return os.getuid() + 4_321


def test_a_file_that_is_not_roots_is_refused(machine: Machine) -> None:
    machine.admin("max_iterations = 3")
    if os.getuid() == 0:
        os.chown(machine.admin_file, _another_user(), -1)
        owner = 0
    else:
        owner = _another_user()

    found = AdminFile(path=machine.admin_file, owner=owner).read()

    assert "is owned by user" in found.problem
    assert str(machine.admin_file) in found.problem
    assert found.layer is None


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_can_write_is_refused(machine: Machine, mode: int) -> None:
    machine.admin("max_iterations = 3")
    machine.admin_file.chmod(mode)

    assert "is writable by others than its owner (chmod go-w)" in machine.problem


def test_a_file_in_a_folder_that_others_can_write_is_refused(machine: Machine) -> None:
    machine.admin("max_iterations = 3")
    machine.admin_file.parent.chmod(0o775)

    assert f"{machine.admin_file.parent} is writable by others" in machine.problem


def test_a_link_through_a_folder_that_others_can_write_is_refused(machine: Machine, tmp_path: Path) -> None:
    loose = tmp_path / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    (loose / "real.toml").write_text("max_iterations = 3")
    (loose / "real.toml").chmod(0o644)
    machine.admin_file.symlink_to(loose / "real.toml")

    assert f"{loose} is writable by others" in machine.problem


def test_a_folder_in_place_of_the_file_is_refused(machine: Machine) -> None:
    machine.admin_file.mkdir()

    assert "not a file" in machine.problem


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("max_iterations =", "not valid TOML"),
        ('sandbx = "require"', "sandbx = require: no such setting; did you mean sandbox?"),
        ('sandbox = "reqire"', "sandbox = reqire: expected one of auto, require, off"),
        ("max_iterations = -1", "max_iterations = -1: expected a whole number, 0 or more"),
        ("admin = 3", "admin: expected a table"),
        ("[admin]\nmodel = 3", "admin: unknown key model"),
        ('[admin]\nmodes = ["yolo"]', "admin: modes: expected a list of default,"),
        ("[admin]\nmodes = []", "admin: modes: expected a list of default,"),
        ('[admin]\noverridable = ["sandbx"]', "there is no setting sandbx"),
        ('[admin]\noverridable = ["permissions"]', "permissions of all layers are combined"),
        ('[admin]\nexclusive = ["hook"]', "admin: exclusive: expected a list of agents,"),
        ('mode = "trust"\n[admin]\nmodes = ["default"]', "mode = trust is not in admin.modes"),
        ('mode = "bypass"', "mode = bypass requires allow_bypass = true"),
        ('[permissions]\ndeny = ["shell("]', "not a valid rule"),
        ('[mcp_servers.x]\nurl = "https://x.example/"\ncomand = "x"', "unknown key comand"),
    ],
)
def test_a_mistake_in_the_file_is_told_and_what_is_right_still_applies(machine: Machine, text: str, why: str) -> None:
    machine.admin(text)

    assert why in machine.problem
    assert machine.problem.startswith(f"The administrator's settings {machine.admin_file} are not usable: ")
    assert machine.problem in texts(machine.loaded())


def test_a_file_that_becomes_unusable_keeps_what_it_said(machine: Machine) -> None:
    machine.admin("max_iterations = 3")
    assert machine.problem == ""
    machine.admin("max_iterations =")

    assert machine.problem != ""
    assert machine.loaded().settings.max_iterations == 3
