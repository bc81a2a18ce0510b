"""Rules stored by "Always allow" and "Always reject" for a workspace: one JSON file in the state folder, outside the
workspace."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pygent_ls.agent.rules.rule import Rule, RuleDecision
from pygent_ls.workspace.files.writer import alone_in, write_atomically

VERSION = 2
"""Version of the file's format. Version 1 had no `deny`."""

Texts = dict[RuleDecision, list[str]]


class FileRuleStore:
    """A `RuleStore` in a file. Several daemons may share it, so it is read again for each change."""

    def __init__(self, state_folder: Path, workspace: Path) -> None:
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
        self._workspace = workspace
        self._path = state_folder / "rules" / f"{name}.json"

    def load(self) -> Sequence[Rule]:
        """Return the stored rules. A damaged file counts as empty, and is kept until the next rule is stored."""
        stored = self._stored()
        return [
            *(Rule(text=text, decision="allow", origin="always_allow") for text in stored["allow"]),
            *(Rule(text=text, decision="deny", origin="always_reject") for text in stored["deny"]),
        ]

    def add(self, rule: Rule) -> None:
        """Store an allow or deny rule."""
        with alone_in(self._path.parent):
            stored = self._stored()
            if rule.text not in stored[rule.decision]:
                stored[rule.decision].append(rule.text)
                self._save(stored)

    def remove(self, text: str) -> bool:
        """Remove a rule; return False if it is not stored."""
        with alone_in(self._path.parent):
            stored = self._stored()
            if not any(text in texts for texts in stored.values()):
                return False
            self._save({decision: [each for each in texts if each != text] for decision, texts in stored.items()})
            return True

    def _stored(self) -> Texts:
        try:
            stored: Any = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            stored = None
        given: Mapping[str, Any] = cast("Mapping[str, Any]", stored) if isinstance(stored, dict) else {}
        return {"allow": _texts(given.get("allow")), "ask": [], "deny": _texts(given.get("deny"))}

    def _save(self, stored: Texts) -> None:
        rules = {"allow": stored["allow"], "deny": stored["deny"]}
        content = {"version": VERSION, "workspace": str(self._workspace), **rules}
        write_atomically(self._path, json.dumps(content, indent=2).encode(), 0o600)


def _texts(given: object) -> list[str]:
    return [text for text in cast("list[Any]", given) if isinstance(text, str)] if isinstance(given, list) else []
