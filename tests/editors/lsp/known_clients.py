"""What editors without a plugin say of themselves in `initialize`, read in their sources: as much of it as the daemon
goes by, with some of what it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownClient:
    """One client."""

    read_in: str
    """The file of its source, and the day of its commit or the release."""
    name: str | None
    """Name that the client gives itself; None without one."""
    capabilities: Mapping[str, Any]
    encoding: str
    """Encoding of positions, as the daemon chooses it."""
    operations: Sequence[str] = ()
    """On files that the daemon may ask for in an edit."""
    only_first_action: bool = False
    """Choice in a prompt that is answered; any other choice is answered with null."""

    def has(self, *names: str) -> bool:
        """Whether it says that it has that, by the way to it in its capabilities."""
        value: Any = self.capabilities
        for name in names:
            value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
        return value is True


ACTION_KINDS = {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source", "source.organizeImports"]}}

KNOWN_CLIENTS: Mapping[str, KnownClient] = {
    "eglot": KnownClient(
        read_in="eglot.el, 2026-08-17",
        name="Eglot",
        encoding="utf-8",
        operations=("create", "rename", "delete"),
        capabilities={
            "workspace": {
                "applyEdit": True,
                "executeCommand": {"dynamicRegistration": False},
                "workspaceEdit": {
                    "documentChanges": True,
                    "resourceOperations": ["create", "delete", "rename"],
                    "failureHandling": "abort",
                },
                "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
                "configuration": True,
                "workspaceFolders": True,
            },
            "textDocument": {
                "codeAction": {"resolveSupport": {"properties": ["edit", "command"]}, "dataSupport": True},
                "$streamingDiagnostics": {"dynamicRegistration": False},
            },
            "window": {
                "showDocument": {"support": True},
                "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
                "workDoneProgress": True,
            },
            "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
            "experimental": {},
        },
    ),
    "eglot 1.9, as Debian 12 has it": KnownClient(
        read_in="eglot.el 1.9",
        name=None,
        encoding="utf-16",
        capabilities={
            "workspace": {
                "applyEdit": True,
                "executeCommand": {"dynamicRegistration": False},
                "workspaceEdit": {"documentChanges": True},
                "didChangeWatchedFiles": {"dynamicRegistration": True},
                "configuration": True,
                "workspaceFolders": True,
            },
            "experimental": {},
        },
    ),
    "lsp-mode": KnownClient(
        read_in="lsp-mode.el, 2026-07-01",
        name="emacs",
        encoding="utf-8",
        operations=("rename", "delete"),
        capabilities={
            "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
            "workspace": {
                "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
                "applyEdit": True,
                "executeCommand": {"dynamicRegistration": False},
                "didChangeWatchedFiles": {"dynamicRegistration": True},
                "workspaceFolders": True,
                "configuration": True,
                "codeLens": {"refreshSupport": True},
                "fileOperations": {"didRename": True, "willRename": True},
            },
            "textDocument": {
                "codeAction": {"dynamicRegistration": True, "codeActionLiteralSupport": ACTION_KINDS},
                "inlineCompletion": None,
            },
            "window": {"workDoneProgress": True, "showDocument": {"support": True}},
        },
    ),
    "yegappan/lsp": KnownClient(
        read_in="autoload/lsp/capabilities.vim, 2026-08-17",
        name="Vim",
        encoding="utf-8",
        capabilities={
            "general": {"positionEncodings": ["utf-32", "utf-16", "utf-8"]},
            "textDocument": {"codeAction": {"dynamicRegistration": False, "disabledSupport": True}},
            "window": {"workDoneProgress": True},
            "workspace": {
                "workspaceFolders": True,
                "applyEdit": True,
                "workspaceEdit": {"resourceOperations": ["rename", "create", "delete"]},
                "configuration": True,
            },
            "offsetEncoding": ["utf-32", "utf-16", "utf-8"],
        },
    ),
    "yegappan/lsp in a Vim before 9.0.1629": KnownClient(
        read_in="autoload/lsp/capabilities.vim, 2026-08-17, and seen in Vim 9.0.1378",
        name="Vim",
        encoding="utf-32",
        capabilities={
            "general": {"positionEncodings": ["utf-32", "utf-16"]},
            "window": {"workDoneProgress": True},
            "workspace": {
                "workspaceFolders": True,
                "applyEdit": True,
                "workspaceEdit": {"resourceOperations": ["rename", "create", "delete"]},
                "configuration": True,
            },
            "offsetEncoding": ["utf-32", "utf-16"],
        },
    ),
    "vim-lsp": KnownClient(
        read_in="autoload/lsp.vim, 2026-04-18, and seen in Vim 9.0.1378",
        name="vim-lsp",
        encoding="utf-32",
        only_first_action=True,
        capabilities={
            "textDocument": {"codeAction": {"dynamicRegistration": False, "codeActionLiteralSupport": ACTION_KINDS}},
            "window": {"workDoneProgress": False},
            "workspace": {
                "applyEdit": True,
                "configuration": True,
                "symbol": {"dynamicRegistration": False},
                "workspaceFolders": False,
            },
        },
    ),
    "coc.nvim": KnownClient(
        read_in="src/language-client, 2026-08-22",
        name="coc.nvim",
        encoding="utf-16",
        operations=("create", "rename", "delete"),
        capabilities={
            "workspace": {
                "applyEdit": True,
                "workspaceEdit": {
                    "documentChanges": True,
                    "resourceOperations": ["create", "rename", "delete"],
                    "failureHandling": "undo",
                    "normalizesLineEndings": True,
                    "changeAnnotationSupport": {"groupsOnLabel": False},
                    "metadataSupport": True,
                    "snippetEditSupport": True,
                },
                "configuration": True,
                "didChangeConfiguration": {"dynamicRegistration": True},
                "workspaceFolders": True,
            },
            "window": {
                "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
                "showDocument": {"support": True},
                "workDoneProgress": True,
            },
            "general": {
                "staleRequestSupport": {"cancel": True, "retryOnContentModified": []},
                "regularExpressions": {"engine": "ECMAScript", "version": "ES2020"},
                "markdown": {"parser": "marked", "version": "10.0.0"},
                "positionEncodings": ["utf-16"],
            },
        },
    ),
    "Helix": KnownClient(
        read_in="helix-lsp/src/client.rs, 2026-07-23",
        name="helix",
        encoding="utf-8",
        operations=("create", "rename", "delete"),
        capabilities={
            "workspace": {
                "configuration": True,
                "didChangeConfiguration": {"dynamicRegistration": False},
                "workspaceFolders": True,
                "applyEdit": True,
                "executeCommand": {"dynamicRegistration": False},
                "workspaceEdit": {
                    "documentChanges": True,
                    "resourceOperations": ["create", "rename", "delete"],
                    "failureHandling": "abort",
                    "normalizesLineEndings": False,
                },
                "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
                "fileOperations": {"willCreate": True, "didCreate": True, "willRename": True, "didRename": True},
            },
            "window": {
                "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
                "workDoneProgress": True,
                "showDocument": {"support": True},
            },
            "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
        },
    ),
    "Kate": KnownClient(
        read_in="addons/lspclient/lspclientserver.cpp, 2026-08-21",
        name=None,
        encoding="utf-16",
        capabilities={
            "textDocument": {
                "codeAction": {
                    "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}}
                },
                "synchronization": {"didSave": True},
            },
            "window": {
                "workDoneProgress": True,
                "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
            },
            "workspace": {"configuration": True, "workspaceFolders": True},
        },
    ),
    "Sublime LSP": KnownClient(
        read_in="plugin/core/sessions.py, 2026-08-20",
        name="Sublime Text LSP",
        encoding="utf-16",
        operations=("create", "rename", "delete"),
        capabilities={
            "general": {
                "staleRequestSupport": {"cancel": True, "retryOnContentModified": []},
                "regularExpressions": {"engine": "ECMAScript"},
                "markdown": {"parser": "Python-Markdown", "version": "3.2.2"},
                "positionEncodings": ["utf-16"],
            },
            "textDocument": {
                "codeAction": {"resolveSupport": {"properties": ["edit"]}, "tagSupport": {"valueSet": [1]}},
                "codeLens": {"dynamicRegistration": True, "resolveSupport": {"properties": ["command"]}},
                "diagnostic": {"dynamicRegistration": True, "markupMessageSupport": True},
            },
            "workspace": {
                "applyEdit": True,
                "workspaceEdit": {
                    "documentChanges": True,
                    "resourceOperations": ["create", "rename", "delete"],
                    "failureHandling": "abort",
                    "normalizesLineEndings": True,
                    "changeAnnotationSupport": {"groupsOnLabel": False},
                },
                "didChangeConfiguration": {"dynamicRegistration": True},
                "executeCommand": {"dynamicRegistration": True},
                "workspaceFolders": True,
                "configuration": True,
                "codeLens": {"refreshSupport": True},
                "textDocumentContent": {"dynamicRegistration": True},
            },
            "window": {
                "workDoneProgress": True,
                "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
                "showDocument": {"support": True},
            },
        },
    ),
}
