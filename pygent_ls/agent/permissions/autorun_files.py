"""Files that make a program run something later by itself.

A permission mode alone never allows an edit of one, and the sandbox protects the same names.
"""

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
"""Names that an editor, an agent, a shell or a hook manager reads by itself in a folder that it opens. In the sandbox,
missing ones cannot be created in a workspace folder."""

VERSION_CONTROL = {
    ".hg": ("hgrc", "hgrc-not-shared"),
    ".sl": ("config",),
    ".jj": ("repo/config.toml", "workspace-config.toml"),
    "_darcs": ("prefs/defaults",),
}
"""Repository folders of version control systems other than git, and the files in them that name programs to run."""

_FOLDERS = frozenset({*OPENED, *VERSION_CONTROL, ".git", ".githooks", ".lefthook", ".ssh", ".gnupg"})
"""Names of folders and files that act later, wherever they are, with everything in them."""

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
"""Endings of files that act later, wherever they are; like the names in `_FILES`, in lowercase. Most belong to the
workspace's code, which a program started there runs anyway; in the sandbox, existing ones are read-only."""


def acts_later(path: str) -> bool:
    """Whether writing this path (with `/`) makes something run later by itself: at the next start of a shell, an editor
    or an agent, or with the next git command. Files that take effect only after a push (CI settings) and text for a
    model do not count. Case is ignored, because some file systems ignore it."""
    parts = path.casefold().split("/")
    if not _FOLDERS.isdisjoint(parts):
        return True
    if any(pair in pairwise(parts) for pair in _PAIRS):
        return True
    return is_acting_file(parts[-1])


def is_acting_file(name: str) -> bool:
    """Whether a file with this lowercase name acts later, wherever it is."""
    return name in _FILES or name.endswith(_ENDINGS)
