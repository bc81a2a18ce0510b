"""Files that make a program act by itself later: an edit of one is never passed by a mode alone, and the sandbox
protects them by the same names."""

from __future__ import annotations

from itertools import pairwise

OPENED = (
    *(
        ".pygent",
        ".vscode",
        ".idea",
        ".zed",
        ".fleet",
        ".devcontainer",
        ".devcontainer.json",
        ".helix",
        ".dir-locals.el",
    ),
    *(".dir-locals-2.el", ".nvim.lua", ".nvimrc", ".exrc", ".vim", ".vimrc", ".lvimrc", ".envrc", ".direnv", ".husky"),
    *(".mcp.json", ".cursor", ".claude", ".claude.json", ".codex", ".gemini", ".opencode", ".continue", ".windsurf"),
    *(".roo", ".clinerules", ".qwen", ".kiro", ".kilocode", ".trae", ".augment", ".factory", ".amazonq", ".junie"),
    *("opencode.json", "opencode.jsonc", "crush.json", ".crush.json", ".aider.conf.yml"),
)
"""What an editor, an agent, a shell or a manager of hooks takes up by itself in a folder that it is opened in. In the
sandbox those that are missing cannot be made in a workspace's folder."""

VERSION_CONTROL = {
    ".hg": ("hgrc", "hgrc-not-shared"),
    ".sl": ("config",),
    ".jj": ("repo/config.toml", "workspace-config.toml"),
    "_darcs": ("prefs/defaults",),
}
"""Repositories of others than git, and the files in them that name programs to run."""

_FOLDERS = frozenset({*OPENED, *VERSION_CONTROL, ".git", ".githooks", ".lefthook", ".ssh", ".gnupg"})
"""Wherever they lie: all that is in them."""

_PAIRS = (
    *((".config", "autostart"), (".config", "systemd")),
    *((".aws", "config"), (".kube", "config"), (".docker", "config.json")),
)

_FILES = frozenset(
    {"sitecustomize.py", "usercustomize.py"}
    | {".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".gitconfig", ".gitmodules"}
    | {".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile"}
    | {".zlogin", ".inputrc", ".ripgreprc", ".pre-commit-config.yaml", ".pre-commit-config.yml", "prek.toml"}
    | {".huskyrc", ".huskyrc.json", ".simple-git-hooks.json", ".overcommit.yml"}
    | {f"{dot}lefthook{local}.{kind}" for dot in ("", ".") for local in ("", "-local") for kind in ("yml", "yaml")}
    | {f"{dot}mise{local}.toml" for dot in ("", ".") for local in ("", ".local")}
    | {".rprofile", ".gdbinit", ".lldbinit", ".pdbrc", ".ghci", ".iex.exs", ".irbrc", ".pryrc", ".octaverc"}
    | {".neoconf.json", ".ycm_extra_conf.py", ".vimspector.json"}
)
_ENDINGS = (".code-workspace", ".pth")
"""By their names, small letters, wherever they lie. Most go with the code of the workspace, which a program that is
started there runs anyway; in the sandbox those that are there can be read only."""


def acts_later(path: str) -> bool:
    """Whether something runs by itself once this path, with `/`, is written: at the next start of a shell, an editor
    or an agent, with the next command of git. What takes a push first (the settings of a CI) is not meant, nor what is
    text for a model. File systems that do not tell cases apart are thought of."""
    parts = path.casefold().split("/")
    if not _FOLDERS.isdisjoint(parts):
        return True
    if any(pair in pairwise(parts) for pair in _PAIRS):
        return True
    return is_acting_file(parts[-1])


def is_acting_file(name: str) -> bool:
    """Whether a file of this name, in small letters, acts later wherever it lies."""
    return name in _FILES or name.endswith(_ENDINGS)
