"""`docs/configuration.md`, made from the settings' definitions."""

from __future__ import annotations

import json

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pygent_ls.config import FIELDS, NAMES, expected
from pygent_ls.config_entries import TABLES, Hook
from pygent_ls.config_sources import as_variable, camel_case

_HEAD = """\
# Settings

<!-- Generated from pygent_ls/config.py by `make docs`; a test fails when the two differ. -->

Nothing needs to be set. `pygent-ls doctor` shows each setting's value and the layer that it came from, and says what
is wrong with those that do not count.

## Where they are set

Each layer overrides those above it:

1. the defaults below
2. your file: `config.toml` in the `pygent-ls` folder of your configuration folder; on Linux
   `$XDG_CONFIG_HOME/pygent-ls/config.toml`, else `~/.config/pygent-ls/config.toml`
3. the workspace's file: `.pygent/config.toml` in the (first) workspace folder. It came with the code, so at once it
   may only tighten: lower `max_iterations`, `max_tokens`, `max_budget_usd` and `max_turn_seconds`, set
   `mode = "plan"`, `sandbox = "require"` or `redact_secrets = true`, or add to `permissions.ask`, `permissions.deny`
   and `disallowed_tools`. Anything else in it counts once you trust it; see below.
4. `.pygent/config.local.toml` in the same folder: your own settings for this workspace, which you keep out of its
   repository. A folder could bring one, so the same holds for it.
5. the environment: `PYGENT_` and the name in capitals. An empty variable counts as not set; a table is written as a
   JSON object.
6. the editor: `initializationOptions.pygent`, then the section `pygent` of its configuration
   (`workspace/configuration`, `workspace/didChangeConfiguration`); names in camelCase
7. the command line
8. the session's own

What there may be many of adds up: rules, hooks, `providers`, agents, `cli_models`, `models`, `aliases` and
`disallowed_tools` of all layers count together, and of two with one name the stronger layer's stands, whole.

`api_base`, `api_key_env` and `extra_headers` are of the provider of `model`. If a layer sets them beside a `model`,
they stay with that model's provider when a stronger layer sets another `model`. Other providers have tables of their
own, and so have servers of your own that speak chat completions:

```toml
model = "anthropic/claude-sonnet-5-5"
fallback_models = ["acme/their-model"]

[providers.acme]
api_base = "https://llm.acme.example/v1"
api_key_env = "ACME_KEY"
```

A value that is wrong does not count, and nor does a name that is no setting. Nothing else is lost by either: the rest
of the layer does count, and the daemon starts. Files are read again when a turn begins, and a change of the editor's
configuration counts from the next turn on; a running turn keeps the values that it began with. Only `cache_entries`,
`snapshot_days` and `stream_flush_ms` stay as they were when the daemon (or the session) began, and `sandbox` and
those that begin with `sandbox_` count from the next command on. A file that cannot be read just then says what it said
before.

`PYGENT_LOG` is no setting but tells how much is logged to standard error: `error`, `warning` (the default), `info` or
`debug`. Only `debug` shows prompts and the texts of files; keys are never shown.

The same setting in each place:

```toml
# config.toml
max_iterations = 20
```

```sh
PYGENT_MAX_ITERATIONS=20 pygent-ls
```

```json
{"initializationOptions": {"pygent": {"maxIterations": 20}}}
```

Rules on what the agent may do:

```toml
[permissions]
allow = ["shell(git status:*)", "edit_file(src/**)"]
ask = ["shell(docker:*)"]
deny = ["read_file(**/.env)", { rule = "shell(rm:*)", match = ["sudo rm x"], not_match = ["echo rm"] }]
```

## Trust in a workspace

What a workspace's own file would do beyond tightening is asked about when the first turn begins there: a list of
what it would do, in plain words, with `Do not trust` and `Trust this folder's settings`. The answer is for that folder
and exactly that list, and is kept outside the workspace, in the state folder; when the list changes, in whatever value,
you are asked again. Once trusted, the file counts at once, also for sessions that are there already. An answer that
cannot be understood, or none, is no trust; then the next start of the daemon asks again.

`pygent-ls run` asks on the terminal; without one, and with `--yes`, nothing is trusted, and a line says what does not
count. For editors that cannot ask, and to look first or to change your mind:

```sh
pygent-ls trust --show [FOLDER]     # what the file would do, and what you said to it
pygent-ls trust [FOLDER]            # trust it as it is now
pygent-ls trust --forget [FOLDER]   # forget every answer about the folder
```

Even when trusted, a workspace cannot set `allow_bypass`, nor the mode `bypass` without it. The agent cannot answer for
you, and its edits of `.pygent` are always asked for, whatever the mode and the rules.

## All of them
"""


def configuration_page() -> str:
    """The whole of `docs/configuration.md`."""
    return "\n".join([_HEAD, *(_section(name) for name in NAMES)])


def _section(name: str) -> str:
    info = FIELDS[name]
    default: object = info.get_default(call_default_factory=True, validated_data={})
    table = Hook if name == "hooks" else TABLES.get(name)
    return f"""\
### `{name}`

{info.description}

- takes {expected(name)}
- default: `{json.dumps(default)}`
- environment: `{as_variable(name)}`; editor: `{camel_case(name)}`
{_entries(table) if table else ""}"""


def _entries(table: type[BaseModel]) -> str:
    lines = [f"  - `{name}`: {info.description}{_default(info)}" for name, info in table.model_fields.items()]
    return "\n".join(["- each has:", *lines, ""])


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return " It must be given."
    default: object = info.get_default(call_default_factory=True, validated_data={})
    return f" Default: `{json.dumps(default)}`." if default not in (None, "", (), {}) else ""
