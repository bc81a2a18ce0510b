"""Generator of `docs/configuration.md` from the settings' definitions."""

from __future__ import annotations

import json
from textwrap import wrap

from pygent_ls.config.admin import CEILINGS, AdminTable
from pygent_ls.config.entries import TABLES, Hook
from pygent_ls.config.settings import NAMES, field_of
from pygent_ls.config.sources import as_variable, camel_case
from pygent_ls.config.table import Field, Table, fields_of

_HEAD = """\
# Settings

<!-- Generated from pygent_ls/config/settings.py by `make docs`; a test fails when the two differ. -->

All settings are optional. `pygent-ls doctor` shows the value of each setting, the layer that it comes from, and why a
setting is ignored.

## Where to set them

Each layer overrides those above it:

1. the defaults below
2. your file: `config.toml` in the `pygent-ls` folder of your configuration folder; on Linux
   `$XDG_CONFIG_HOME/pygent-ls/config.toml`, else `~/.config/pygent-ls/config.toml`
3. the workspace's file: `.pygent/config.toml` in the (first) workspace folder. Until you trust it, it can only
   tighten: lower `max_iterations`, `max_tokens`, `max_budget_usd` and `max_turn_seconds`, set `mode = "plan"`,
   `sandbox = "require"` or `redact_secrets = true`, or add to `permissions.ask`, `permissions.deny` and
   `disallowed_tools`. Its other settings take effect once you trust it; see below.
4. `.pygent/config.local.toml` in the same folder: your own settings for this workspace, which you keep out of its
   repository. It needs the same trust, because it could also come with a folder.
5. the environment: `PYGENT_` and the setting's name in capitals. An empty variable is ignored; write a table as a JSON
   object.
6. the editor: `initializationOptions.pygent`, then the section `pygent` of its configuration
   (`workspace/configuration`, `workspace/didChangeConfiguration`); names in camelCase
7. the command line
8. the session's own

Above all of them is the file of the machine's administrator, `/etc/pygent-ls/config.toml`, which can lock settings; see
[below](#settings-of-an-administrator).

Rules, hooks, `providers`, agents, `cli_models`, `acp_agents`, `models`, `mcp_servers`, `aliases` and `disallowed_tools`
of all layers are combined. If two layers define an entry with the same name, the whole entry of the stronger layer is
used.

`api_base`, `api_key_env` and `extra_headers` belong to the provider of `model`. If a layer sets them together with a
`model`, they stay with that model's provider even if a stronger layer sets another `model`. Other providers, and your
own servers with a chat completions API, have their own tables:

```toml
model = "anthropic/claude-sonnet-5-5"
fallback_models = ["acme/their-model"]

[providers.acme]
api_base = "https://llm.acme.example/v1"
api_key_env = "ACME_KEY"
```

Invalid values and unknown names are ignored; the rest of the layer still applies, and the daemon starts. Files are read
again when a turn starts, and a change of the editor's configuration applies from the next turn; a running turn keeps
its values. `cache_entries`, `snapshot_days` and `stream_flush_ms` keep the values they had when the daemon (or the
session) started. `sandbox` and the settings that start with `sandbox_` apply from the next command. If a file cannot be
read, its previous values are kept.

`PYGENT_LOG` is not a setting; it sets the log level of standard error: `error`, `warning` (the default), `info` or
`debug`. Only `debug` logs prompts and file contents; keys are never logged.

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

Permission rules:

```toml
[permissions]
allow = ["shell(git status:*)", "edit_file(src/**)"]
ask = ["shell(docker:*)"]
deny = ["read_file(**/.env)", { rule = "shell(rm:*)", match = ["sudo rm x"], not_match = ["echo rm"] }]
```

## Trust in a workspace

If a workspace's file does more than tighten, you are asked when the first turn starts there: a list shows what the file
would do, with the choices `Do not trust` and `Trust this folder's settings`. The answer applies to that folder and to
exactly that list, and is stored outside the workspace, in the state folder; if any value in the list changes, you are
asked again. A trusted file takes effect immediately, also in existing sessions. Without a valid answer the file is not
trusted, and the next start of the daemon asks again.

`pygent-ls run` asks on the terminal. Without a terminal, or with `--yes`, the file is not trusted, and a message lists
the ignored settings. For editors that cannot ask, and to review or change an answer:

```sh
pygent-ls trust --show [FOLDER]     # show what the file would do, and your answer
pygent-ls trust [FOLDER]            # trust the file in its current state
pygent-ls trust --forget [FOLDER]   # remove all answers about the folder
```

Even a trusted workspace cannot set `allow_bypass`, or the mode `bypass` without it. The agent cannot answer for you,
and its edits in `.pygent` always ask, regardless of mode and rules.

## Settings of an administrator

On Linux and macOS, the administrator of a machine can set and lock settings for all users in
`/etc/pygent-ls/config.toml`. The path cannot be changed. Without the file nothing is restricted.

```toml
sandbox = "require"                  # locked: nobody else can set it
max_budget_usd = 5.0                 # a ceiling: others can only set less
model = "anthropic/claude-sonnet-5-5"
api_base = ""                        # locked: no agent has an address of its own either

[permissions]
deny = ["read_file(**/*.pem)"]       # stronger than every rule, mode, hook and answer of users and projects
ask = ["git_push"]

[providers.anthropic]                # an entry that nobody can replace
api_base = "https://llm-gateway.example.com"

[admin]
overridable = ["model"]              # only a default
models = ["anthropic/*"]
modes = ["default", "accept_edits"]
exclusive = ["hooks", "mcp_servers", "providers", "models"]
```

- **Values are locked.** A setting of this file has its value whatever other layers, editors, sessions, turns and agents
  say. A refused value is reported as `locked by /etc/pygent-ls/config.toml`; requests of clients get an error with
  `data.kind = "locked_by_admin"`. A locked `model`, `agent`, `mode`, `effort` or `context.mode` is the only one that
  sessions can use (and the mode `plan`); agents also keep to a locked `api_base` and `temperature`, except for those
  that this file defines.
- **Limits are ceilings.** Others can set a lower value; a higher one, and 0 if that means no limit, is cut. A turn that
  reaches such a limit ends without a question. These are the limits:
  CEILINGS.
- **Rules are combined.** Rules that deny or ask hold against all other rules, `Always allow`, modes, hooks and agents.
  `--yes` does not answer what such a rule asks: the call is rejected. A program that answers prompts in place of a user
  (with `--permission-prompt-tool`, or as a client) counts as the user.
- **Entries are locked by name.** Nobody replaces an entry of a table, such as `[mcp_servers.docs]`, but others can add
  entries, unless the table is in `exclusive`.
- **Changes apply with the next turn**, like those of other files. A running turn keeps its values.

The fields of `[admin]`, which no other file can have:

FIELDS

**The file must be right.** No turn starts, no hook runs and no server of a user starts while the file cannot be read,
has a mistake (also a name that does not exist), is not owned by root, or can be written by its group or by others. The
same is required of the folders above it. The error says what is wrong. `pygent-ls doctor` shows the same, and names the
file as the origin of the values that it sets.

Consider together:

- `models` restricts names, not addresses. Users can point a provider to another server unless `providers` is in
  `exclusive` and `api_base` is set. An address in `[providers.NAME]` of this file takes precedence over environment
  variables such as `ANTHROPIC_BASE_URL`. `cli:NAME`, `acp:NAME` and `scripted:FILE` are models, too; users define
  programs of these names unless `cli_models` and `acp_agents` are in `exclusive`.
- `max_budget_usd` is computed from prices, which users can change in `[models]` unless `models` is in `exclusive`. A
  model without a known price is then not called.
- A hook of a user can change the input of a call after a hook of this file has read it, unless `hooks` is in
  `exclusive`. Enforce with rules rather than with hooks: a hook that fails has no effect.
- `shell_timeout_s` limits the default; a call can set its own timeout, up to an hour.

[teams.md](teams.md#settings-for-all-users) has a file for a team that shares a gateway.

The file protects users from mistakes, and from projects, editors, extensions and models that ask for more. It does not
hold against a user who runs another program, or a changed copy of pygent-ls: for that, restrict the network and the
machine.

## All settings
"""


def configuration_page() -> str:
    """Return the text of `docs/configuration.md`."""
    limits = ", ".join(f"`{name}`" for name in CEILINGS)
    head = _HEAD.replace("CEILINGS", "\n  ".join(wrap(limits, 118, break_on_hyphens=False)))
    fields = [f"- `{name}`: {info.description}" for name, info in fields_of(AdminTable).items()]
    return "\n".join([head.replace("FIELDS", "\n".join(fields)), *(_section(name) for name in NAMES)])


def _section(name: str) -> str:
    info = field_of(name)
    table = Hook if name == "hooks" else TABLES.get(name)
    return f"""\
### `{name}`

{info.description}

- value: {info.expected}
- default: `{json.dumps(info.default)}`
- environment: `{as_variable(name)}`; editor: `{camel_case(name)}`
{_entries(table) if table else ""}"""


def _entries(table: type[Table]) -> str:
    lines = [f"  - `{name}`: {info.description}{_default(info)}" for name, info in fields_of(table).items()]
    return "\n".join(["- fields:", *lines, ""])


def _default(info: Field) -> str:
    if info.is_required:
        return " Required."
    return f" Default: `{json.dumps(info.default)}`." if info.default not in (None, "", (), {}) else ""
