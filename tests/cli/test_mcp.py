"""`pygent-ls mcp` changes the user's settings file and tries servers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.command_line import clean_environment, run

TIME = str(Path(sys.executable).with_name("mcp-server-time"))


class Home:
    """A home of its own, in which the command runs."""

    def __init__(self, base: Path) -> None:
        self.environment = clean_environment(base / "home")
        self.folder = base / "project"
        self.folder.mkdir()
        self.file = base / "home" / "config" / "pygent-ls" / "config.toml"

    def mcp(self, *arguments: str) -> tuple[str, str, int]:
        """Output, errors and exit code."""
        done = run("mcp", *arguments, environment=self.environment, cwd=self.folder)
        return done.stdout, done.stderr, done.returncode


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Without servers."""
    return Home(tmp_path)


def test_a_server_is_added_listed_tried_and_removed(home: Home) -> None:
    home.file.parent.mkdir(parents=True)
    home.file.write_text("# mine\n[edits]\nreview = 'ask'\n")

    added = home.mcp("add", "time", "--env", "A=b=c", "--", TIME, "--local-timezone", "UTC")
    far = home.mcp("add", "--header", "Authorization=Bearer ${T}", "docs", "--url", "https://${HOST}/mcp")
    listed = home.mcp("list")
    tried = home.mcp("test", "time")
    not_connected = home.mcp("test", "docs")

    assert added == (f"Saved in {home.file}. To try it: pygent-ls mcp test time\n", "", 0)
    assert far[2] == 0
    assert listed[0] == f"time: {TIME} --local-timezone UTC\ndocs: https://${{HOST}}/mcp\n"
    assert tried[0].splitlines()[0] == "time is connected, with 2 tools:"
    assert "  mcp__time__convert_time  (" in tried[0]
    assert not_connected[1:] == (
        "docs is not connected: The environment variable HOST is not set. Set it, or write ${HOST:-DEFAULT}.\n",
        1,
    )
    assert home.file.read_text() == (
        "# mine\n[edits]\nreview = 'ask'\n\n"
        f'[mcp_servers.time]\ncommand = "{TIME}"\nargs = ["--local-timezone", "UTC"]\nenv = {{A = "b=c"}}\n\n'
        '[mcp_servers.docs]\nurl = "https://${HOST}/mcp"\nheaders = {Authorization = "Bearer ${T}"}\n'
    )
    assert home.mcp("remove", "time")[0] == "Removed time.\n"
    assert home.mcp("remove", "docs")[0] == "Removed docs.\n"
    assert home.file.read_text().strip() == "# mine\n[edits]\nreview = 'ask'"
    assert home.mcp("list")[0].startswith("No MCP servers are configured.")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("add", "bad"), "either command or url must be set"),
        (("add", "a b", "--", "serve"), "'a b' is not a valid name: use letters, digits, - and _"),
        (("add", "a", "--url", "ftp://x"), "expected an address that starts with http:// or https://"),
        (("add", "a", "--env", "A", "--", "serve"), "--env: 'A' is not NAME=VALUE"),
        (("remove", "none"), "config.toml has no MCP server none."),
        (("test", "none"), "There is no MCP server none. The servers are: none."),
        ((), "the following arguments are required: ACTION"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(arguments: tuple[str, ...], problem: str, home: Home) -> None:
    _, said, code = home.mcp(*arguments)

    assert problem in said
    assert code in (1, 2)
    assert not home.file.exists()


def test_a_file_that_is_not_toml_stays_as_it_is(home: Home) -> None:
    home.file.parent.mkdir(parents=True)
    home.file.write_text("model = \n")

    _, said, code = home.mcp("add", "a", "--", "serve")

    assert (code, home.file.read_text()) == (1, "model = \n")
    assert "could not be changed: it is not valid TOML" in said
    assert "Write [mcp_servers.a] yourself." in said
