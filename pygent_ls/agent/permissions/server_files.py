"""Files by which a language server runs code of the workspace, outside of the sandbox.

While the daemon starts language servers, a permission mode alone does not allow an edit of one. The sandbox does not
protect them: build tools write them, and a program that runs there runs their code anyway.
"""

from __future__ import annotations

import re

_FILES = frozenset(
    {"build.rs", "cargo.toml", "rust-toolchain", "rust-toolchain.toml", "rust-project.json"}
    | {"package.json", ".clangd", "compile_commands.json", ".ccls", ".luarc.json", ".luarc.jsonc"}
    | {"setup.cfg", "tox.ini", "pyproject.toml", ".flake8", "pylintrc", ".pylintrc", "mypy.ini", ".mypy.ini"}
    | {"gemfile", ".rubocop.yml", ".solargraph.yml", "mix.exs", ".formatter.exs", "package.swift", "build.zig"}
    | {"build.sbt", "build.sc", "setup.hs", "hie.yaml", "cabal.project", "dune", "dune-project", "flake.nix"}
    | {"gradlew", "gradle-wrapper.properties", "init.gradle", "pom.xml", "directory.build.props"}
    | {"directory.build.targets", "omnisharp.json", "analysis_options.yaml"}
)

_ENDINGS = (".gradle", ".gradle.kts", ".csproj", ".fsproj", ".vbproj", ".targets")

_PATTERN = re.compile(
    r"(eslint|prettier|stylelint|tailwind|postcss|svelte|astro|vite|babel)\.config\.\w+"
    r"|\.(eslint|prettier|stylelint|babel)rc(\.\w+)?"
    r"|(ts|js)config(\.[\w-]+)*\.json"
)
"""Configurations that are programs, or that name plug-ins."""


def runs_in_a_server(path: str) -> bool:
    """Whether a language server that reads this path (with `/`) may run what it says: build scripts, configurations
    that are programs, and those that name plug-ins, compilers or interpreters. Case is ignored."""
    *folders, name = path.casefold().split("/")
    if ".cargo" in folders:
        return True
    return name in _FILES or name.endswith(_ENDINGS) or _PATTERN.fullmatch(name) is not None
