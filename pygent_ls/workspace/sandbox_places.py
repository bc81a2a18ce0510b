"""What the sandbox hides and protects, by name; docs/configuration.md and the README say it in general."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

SECRETS = (
    *(".ssh", ".gnupg", ".putty", ".pki", ".age", ".config/age", ".config/sops"),
    *(".aws", ".azure", ".kube", ".docker", ".config/containers", ".config/gcloud", ".config/doctl", ".config/rclone"),
    *(".terraform.d", ".terraformrc", ".pulumi", ".fly", ".config/netlify", ".config/stripe", ".config/heroku"),
    *(".local/share/com.vercel.cli", ".config/configstore", ".databrickscfg", ".s3cfg", ".boto", ".vault-token"),
    *(".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/glab-cli"),
    *(".config/hub", ".config/op", ".password-store", ".1password", ".config/Bitwarden CLI", ".config/keepassxc"),
    *(".bitwarden-ssh-agent.sock", ".local/share/keyrings", ".local/share/kwalletd"),
    *(".npmrc", ".yarnrc.yml", ".pypirc", ".config/pypoetry", ".config/uv/credentials", ".cargo/credentials"),
    *(".cargo/credentials.toml", ".gem/credentials", ".bundle/config", ".m2/settings.xml", ".composer/auth.json"),
    *(".gradle/gradle.properties", ".nuget/NuGet", ".cache/huggingface/token", ".huggingface", ".kaggle"),
    *(".pgpass", ".my.cnf", ".mylogin.cnf", ".config/msmtp", ".msmtprc", ".mutt", ".config/neomutt"),
    *(".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".cursor", ".codeium", ".continue", ".config/goose"),
    *(".config/opencode", ".local/share/opencode", ".config/anthropic", ".config/github-copilot", ".ollama"),
    *(".config/Code", ".config/VSCodium", ".config/Cursor", ".vscode-server/data", ".config/zed/settings.json"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".var/app", "snap/firefox", "snap/chromium"),
    *(".config/Signal", ".config/Slack", ".config/discord", ".config/Element", ".local/share/TelegramDesktop"),
    *(".bash_history", ".zsh_history", ".histfile", ".local/share/fish", ".python_history", ".psql_history"),
    *(".mysql_history", ".sqlite_history", ".node_repl_history", ".irb_history", ".rediscli_history", ".lesshst"),
)
"""What lies in a home that no build and no test needs to read, below the home: keys, passwords, sessions of browsers
and other agents, and the histories in which passwords end up."""

OF_ROOT = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-")
"""What root may read, who the daemon is in a container."""

CREDENTIALS = frozenset(
    {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET"}
    | {"GOOGLE_APPLICATION_CREDENTIALS", "DIGITALOCEAN_ACCESS_TOKEN", "CLOUDFLARE_API_TOKEN", "FLY_API_TOKEN"}
    | {"HEROKU_API_KEY", "NETLIFY_AUTH_TOKEN", "VERCEL_TOKEN", "VAULT_TOKEN", "OP_SERVICE_ACCOUNT_TOKEN", "BW_SESSION"}
    | {"GITHUB_TOKEN", "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN", "BITBUCKET_TOKEN"}
    | {"NPM_TOKEN", "NODE_AUTH_TOKEN", "YARN_NPM_AUTH_TOKEN", "PYPI_TOKEN", "TWINE_PASSWORD", "UV_PUBLISH_TOKEN"}
    | {"UV_PUBLISH_PASSWORD", "POETRY_PYPI_TOKEN_PYPI", "CARGO_REGISTRY_TOKEN", "GEM_HOST_API_KEY", "HEX_API_KEY"}
    | {"DOCKER_AUTH_CONFIG", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "KAGGLE_KEY", "SENTRY_AUTH_TOKEN"}
    | {"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"}
    | {"SLACK_BOT_TOKEN", "SLACK_TOKEN", "DISCORD_TOKEN", "TELEGRAM_BOT_TOKEN", "STRIPE_SECRET_KEY", "STRIPE_API_KEY"}
    | {"PGPASSWORD", "MYSQL_PWD", "REDISCLI_AUTH", "SSHPASS", "SUDO_ASKPASS", "SSH_ASKPASS", "GIT_ASKPASS"}
)
"""Variables that hold what the files above hold."""

AGENTS = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST")
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XAUTHORITY", "ICEAUTHORITY", "SESSION_MANAGER")
OF_SERVICES = frozenset({*AGENTS, *DISPLAYS, "TMUX", "STY", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "NVIM"})
"""Variables that lead to what acts for the user: keys that are unlocked, the desktop, the terminal, the editor."""

ACTING_CONFIGURATION = (
    *(".vscode", ".idea", ".zed", ".nvim.lua", ".nvimrc", ".exrc", ".mcp.json"),
    *(".cursor", ".claude", ".codex", ".gemini", ".opencode", ".continue", ".windsurf", ".roo", ".clinerules"),
)
"""Of editors and other agents, in a workspace's folder: what makes them run something by themselves."""


ACTING_IN_GIT = (
    *("config.worktree", "worktrees/*/config.worktree"),
    *("modules/*/config", "modules/*/hooks", "modules/*/*/config", "modules/*/*/hooks"),
    *("modules/*/modules/*/config", "modules/*/modules/*/hooks"),
)
"""In a repository's own folder, beside its settings and hooks: what names programs to run, of its work trees and of its
submodules."""

SERVICES = Path("/run")
"""An empty folder in the sandbox."""


def sockets(environment: Mapping[str, str]) -> Iterator[Path]:
    """The sockets of services that the environment tells of, where they are: some lie in the home."""
    for name in ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "VSCODE_IPC_HOOK_CLI"):
        for part in environment.get(name, "").split(","):
            text = part.removeprefix("unix:path=").removeprefix("unix://").partition(":")[0]
            path = Path(text).resolve() if text.startswith("/") else None
            if path is not None and path.exists() and not path.is_relative_to(SERVICES):
                yield path
