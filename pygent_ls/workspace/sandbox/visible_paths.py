"""Names of the paths that the sandbox shows and hides, described in docs/configuration.md and docs/permissions.md."""

from __future__ import annotations

import contextlib
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
"""Keys, passwords, sessions of browsers and other agents, and histories that contain passwords, below the home. Hidden
wherever the home is visible: in a folder of `HOME_READ` or of the settings, or if the home is a workspace.
"""

HOME_READ = (
    *(".cargo", ".rustup", "go", ".pyenv", ".nvm", ".fnm", ".volta", ".asdf", ".mise", ".sdkman", ".jenv", ".rbenv"),
    *(".rvm", ".gem", ".bundle", ".nodenv", ".goenv", ".ghcup", ".cabal", ".stack", ".opam", ".elan", ".juliaup"),
    *(
        ".julia",
        ".deno",
        ".bun",
        ".dotnet",
        ".nuget/packages",
        ".m2",
        ".gradle",
        ".ivy2",
        ".sbt",
        ".konan",
        ".coursier",
    ),
    *(".mix", ".hex", ".pub-cache", ".composer", ".npm/_cacache", ".npm-global", ".yarn", ".pnpm-store", ".platformio"),
    *("miniconda3", "miniforge3", "mambaforge", "anaconda3", ".conda", "micromamba", ".rye", ".pixi", ".swiftly"),
    *(".local/bin", ".local/lib", ".local/include", ".local/pipx", ".linuxbrew", "Android/Sdk", ".android/avd"),
    *(
        ".local/share/uv",
        ".local/share/pipx",
        ".local/share/pnpm",
        ".local/share/virtualenv",
        ".local/share/virtualenvs",
    ),
    *(".local/share/mise", ".local/share/rtx", ".local/share/fnm", ".local/share/hatch", ".local/share/pdm"),
    *(".local/share/coursier", ".local/share/swiftly", ".local/share/fonts", ".fonts", ".nix-profile", ".terminfo"),
    *(".local/state/nix/profiles", ".gitconfig", ".config/git", ".config/pip", ".pip", ".config/go", ".config/nextest"),
    *(".config/fontconfig", ".config/matplotlib", ".editorconfig", ".bazelrc", ".clang-format", ".rustfmt.toml"),
    *(".cache/uv", ".cache/pip", ".cache/go-build", ".cache/pre-commit", ".cache/yarn", ".cache/pnpm", ".cache/deno"),
    *(".cache/pypoetry", ".cache/hatch", ".cache/pdm", ".cache/node", ".cache/node-gyp", ".cache/typescript"),
    *(".cache/ms-playwright", ".cache/puppeteer", ".cache/Cypress", ".cache/electron", ".cache/electron-builder"),
    *(".cache/selenium", ".cache/bazel", ".cache/bazelisk", ".cache/ccache", ".cache/sccache", ".ccache", ".cache/zig"),
    *(".cache/coursier", ".cache/huggingface", ".cache/torch", ".cache/fontconfig", ".cache/nix", ".cache/black"),
)
"""Read-only visible paths of a home: tools, their downloads, and settings that builds and git need."""

HOMES = (Path("/home"), Path("/root"))
"""Folders with homes; only the paths in the lists and the settings are visible in them."""

SHARED_TOOLS = (Path("/home/linuxbrew/.linuxbrew"),)
"""Tools of all users that are located among the homes."""

VAR_READ = (
    *("lib/dpkg", "lib/apt", "lib/rpm", "lib/pacman", "lib/apk", "lib/portage", "lib/alternatives", "lib/gems"),
    *("lib/ca-certificates", "lib/ca-certificates-java", "lib/texmf", "lib/tex-common", "lib/xkb", "lib/ghc"),
    *("lib/python", "lib/dictionaries-common", "lib/aspell", "lib/sgml-base", "lib/xml-core", "lib/emacsen-common"),
    *(
        "lib/mecab",
        "lib/vim",
        "lib/locales",
        "lib/swiftly",
        "db/pkg",
        "cache/fontconfig",
        "cache/man",
        "cache/ldconfig",
    ),
    *("lib/pki", "lib/java", "lib/jenkins/tools"),
)
"""Read-only visible paths of /var: files that packages keep there for programs. The rest belongs to services."""

SERVICE_FOLDERS = (Path("/nix/var/nix/daemon-socket"), Path("/mnt/wslg"))
"""Folders of sockets elsewhere."""

TOOL_VARIABLES = (
    *("JAVA_HOME", "GOPATH", "GOROOT", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "FNM_DIR", "VOLTA_HOME"),
    *(
        "PYENV_ROOT",
        "RBENV_ROOT",
        "ASDF_DIR",
        "ASDF_DATA_DIR",
        "MISE_DATA_DIR",
        "SDKMAN_DIR",
        "PNPM_HOME",
        "BUN_INSTALL",
    ),
    *(
        "DENO_INSTALL",
        "DENO_DIR",
        "ANDROID_HOME",
        "ANDROID_SDK_ROOT",
        "CONDA_PREFIX",
        "MAMBA_ROOT_PREFIX",
        "VIRTUAL_ENV",
    ),
    *("MAVEN_HOME", "GRADLE_HOME", "DOTNET_ROOT", "GEM_HOME", "OPAMROOT", "FLUTTER_ROOT", "JULIA_DEPOT_PATH"),
    *("HOMEBREW_PREFIX", "PLAYWRIGHT_BROWSERS_PATH", "NIX_PROFILES"),
)
"""Variables with which the user names the location of tools; their values in a home are visible."""

OF_ROOT = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-")
"""Files readable by root, which the daemon is in a container."""

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
"""Variables with the same contents as the files above."""

AGENTS = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST")
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XAUTHORITY", "ICEAUTHORITY", "SESSION_MANAGER")
OF_SERVICES = frozenset({*AGENTS, *DISPLAYS, "TMUX", "STY", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "NVIM"})
"""Variables that lead to programs that act for the user: key agents, the desktop, the terminal, the editor."""


def sockets(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the sockets on which processes of this machine listen, and those in the environment. The latter may belong
    to another network namespace, whose sockets no list contains.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/unix").read_text("utf-8", "surrogateescape").splitlines()[1:]:
            columns = line.split(None, 7)
            if len(columns) > 7 and columns[7].startswith("/"):
                yield Path(columns[7])
    for name in ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "VSCODE_IPC_HOOK_CLI"):
        for part in environment.get(name, "").split(","):
            text = part.removeprefix("unix:path=").removeprefix("unix://").partition(":")[0]
            if text.startswith("/"):
                yield Path(text)
