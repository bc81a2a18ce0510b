"""The settings as they are now: files and the editor change while the daemon runs, and a workspace may be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pygent_ls.config_layers import Layer, Loaded, load
from pygent_ls.config_sources import (
    LOCAL_FILE,
    CommandLine,
    command_line_layer,
    editor_layer,
    environment_layer,
    user_layer,
    workspace_layer,
)
from pygent_ls.config_trust import TrustStore, Wish, digest_of, wishes_of

NOT_WRONG = frozenset({"not_yet", "needs_trust"})
"""Problems that are no mistake: what this version does not use, and what waits for the user's trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The settings at one moment."""

    loaded: Loaded
    layers: tuple[Layer, ...]
    """What they were made from, as it was read then: what the user is asked about is what counts."""
    folder: Path | None
    """Whose own file is among them."""
    wishes: tuple[Wish, ...]
    """What its file would do if it were trusted; as many as there are, whether it is trusted or not."""
    trusted: bool | None
    """What the user said to these wishes; None where nothing was said."""
    system_prompt: str | None = None
    """See `CommandLine`."""

    @property
    def digest(self) -> str:
        """What an answer is bound to; empty where there is nothing to ask."""
        return digest_of(self.wishes)

    def answered(self, *, trusted: bool) -> Taken:
        """The same moment with the user's answer."""
        layers = tuple(replace(each, trusted=True) if _is_workspaces(each) else each for each in self.layers)
        return replace(self, loaded=load(layers if trusted else self.layers), trusted=trusted)


def _is_workspaces(layer: Layer) -> bool:
    return layer.origin_of_rules == "workspace"


class LiveSettings:
    """Reads the layers anew whenever settings are taken."""

    def __init__(
        self,
        store: TrustStore,
        user_file: Path,
        *,
        environment: Mapping[str, str],
        editor_options: object,
        command_line: CommandLine,
    ) -> None:
        self._store = store
        self._user_file = user_file
        self._environment = environment_layer(environment)
        self._editor_options = editor_layer(editor_options, "initializationOptions")
        self._editor_section = editor_layer(None, "workspace/configuration")
        self._command_line = command_line_layer(command_line.values, command_line.added)
        self._sources = command_line.sources
        self._system_prompt = command_line.system_prompt
        self._readable: dict[str, Layer] = {}
        self._told: set[str] = set()
        self._may_trust = True

    def set_editor_section(self, given: object) -> None:
        """Take what the editor's configuration says by now, in place of what it said before."""
        self._editor_section = editor_layer(given, "workspace/configuration")

    def distrust(self) -> None:
        """Trust no workspace's file from now on, whatever the user has said of it."""
        self._may_trust = False

    def take(self, folder: Path | None) -> Taken:
        """The settings in this workspace folder, its file trusted where the user said so. Blocking; never raises."""
        layers = [self._last_readable(user_layer(self._user_file))] if "user" in self._sources else []
        if folder is not None and "project" in self._sources:
            layers.append(self._last_readable(workspace_layer(folder)))
        if folder is not None and "local" in self._sources:
            layers.append(self._last_readable(workspace_layer(folder, LOCAL_FILE)))
        layers += [self._environment, self._editor_options, self._editor_section, self._command_line]
        loaded = load(layers)
        wishes = wishes_of(loaded.problems)
        taken = Taken(
            loaded=loaded,
            layers=tuple(layers),
            folder=folder,
            wishes=wishes,
            trusted=None,
            system_prompt=self._system_prompt,
        )
        if not self._may_trust:
            return taken.answered(trusted=False)
        answer = self._store.answer(folder, taken.digest) if folder is not None and wishes else None
        return taken if answer is None else taken.answered(trusted=answer)

    def news(self, taken: Taken) -> list[str]:
        """What is wrong with the settings and was not told yet, a line each."""
        return self.untold(each.text for each in taken.loaded.problems if each.kind not in NOT_WRONG)

    def untold(self, problems: Iterable[str]) -> list[str]:
        """Those that were not told yet, each once; they count as told from now on."""
        new = [text for text in dict.fromkeys(problems) if text not in self._told]
        self._told.update(new)
        return new

    def _last_readable(self, layer: Layer) -> Layer:
        """A file that cannot be read now, as while it is being written, says what it said before."""
        if any(each.kind == "unreadable" for each in layer.problems):
            last = self._readable.get(layer.name, layer)
            return replace(last, problems=layer.problems)
        self._readable[layer.name] = layer
        return layer
