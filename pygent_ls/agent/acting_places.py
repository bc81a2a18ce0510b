"""Files that make a program act by itself later: an edit of one is never passed by a mode alone."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import pairwise

_FOLDERS = (
    *(".git", ".pygent", ".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".husky", ".githooks"),
    *(".cursor", ".claude", ".codex", ".gemini", ".opencode", ".continue", ".windsurf", ".roo", ".clinerules"),
    *(".helix", ".ssh", ".gnupg", ".direnv"),
)
"""Wherever they lie: all that is in them."""

_PAIRS = (
    *((".config", "autostart"), (".config", "systemd")),
    *((".aws", "config"), (".kube", "config"), (".docker", "config.json")),
)

_FILES = (
    *(".mcp.json", ".claude.json", "*.code-workspace", ".nvimrc", ".nvim.lua", ".exrc", ".vimrc", "*.pth"),
    *(".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".gitconfig", ".gitmodules"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile"),
    *(".zlogin", ".inputrc", ".ripgreprc", ".pre-commit-config.yaml", ".lefthook.yml", "lefthook.yml"),
    *("sitecustomize.py", "usercustomize.py"),
)
"""By their names, small letters, wherever they lie."""


def acts_later(path: str) -> bool:
    """Whether something runs by itself once this path, with `/`, is written: at the next start of a shell, an editor
    or an agent, with the next command of git. What takes a push first (the settings of a CI) is not meant, nor what is
    text for a model. File systems that do not tell cases apart are thought of."""
    parts = path.casefold().split("/")
    if any(part in _FOLDERS for part in parts):
        return True
    if any(pair in pairwise(parts) for pair in _PAIRS):
        return True
    return any(fnmatchcase(parts[-1], name) for name in _FILES)
