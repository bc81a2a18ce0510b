"""The entry for the registry of the Agent Client Protocol, which editors install agents from.

The rules are those of github.com/agentclientprotocol/registry (`agent.schema.json`).
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from pygent_ls import __version__

ROOT = Path(__file__).parents[3]


def test_the_entry_names_the_package_and_the_version_that_it_is_part_of() -> None:
    entry = json.loads((ROOT / "clients/acp/agent.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"])
    assert entry["version"] == __version__
    assert entry["license"] == project["license"]
    assert entry["distribution"] == {"uvx": {"package": f"{project['name']}=={__version__}", "args": ["acp"]}}
    assert set(entry) <= {
        "id",
        "name",
        "version",
        "description",
        "repository",
        "website",
        "authors",
        "license",
        "license_url",
        "icon",
        "distribution",
    }
