"""Live settings: files and editor settings change while the daemon runs, and a workspace may become trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.config.admin import NO_ADMIN, AdminSettings
from pygent_ls.config.admin_file import AdminFile
from pygent_ls.config.layer import Layer, SettingProblem
from pygent_ls.config.layers import Loaded, load
from pygent_ls.config.sources import (
    LOCAL_FILE,
    CommandLine,
    command_line_layer,
    editor_layer,
    environment_layer,
    mcp_layers,
    user_layer,
    workspace_layer,
)
from pygent_ls.config.trust import TOOLS, TrustRequest, TrustStore, digest_of, tool_wishes, wishes_of

NOT_WRONG = frozenset({"needs_trust"})
"""Problems that are not errors: settings that await the user's trust."""


FOLDERS = ("skills", "commands", "tools")
"""Folders of the user and of a workspace that the administrator can switch off."""

OF_WORKSPACE = (".pygent", ".claude", ".agents")
"""Folders of a workspace that may contain them."""


class Taken(Struct, frozen=True, kw_only=True):
    """Settings at one moment."""

    loaded: Loaded
    layers: tuple[Layer, ...]
    """Layers from which the settings were made, as read then, so that the user is asked about exactly what applies."""
    folder: Path | None
    """Workspace folder whose own file is among the layers."""
    wishes: tuple[TrustRequest, ...]
    """Trust requests of the folder's files, listed whether it is trusted or not."""
    trusted: bool | None
    """User's answer to these requests; None if the user has not answered."""
    system_prompt: str | None = None
    """Command line's system prompt, as in `CommandLine`."""
    refused: tuple[SettingProblem, ...] = ()
    """What the administrator's settings refuse besides values of layers."""

    @property
    def digest(self) -> str:
        """Return the digest that an answer is bound to; empty if no trust is requested."""
        return digest_of(self.wishes)

    @property
    def trusted_tools(self) -> Mapping[Path, str]:
        """Return the workspace's trusted files with tools, each with the SHA-256 of its bytes."""
        if self.folder is None or not self.trusted:
            return {}
        return {self.folder / each.source: str(each.value) for each in self.wishes if each.key == TOOLS}

    def answered(self, *, trusted: bool) -> Taken:
        """Return the same settings with the user's answer applied."""
        layers = tuple(replace(each, trusted=True) if _is_workspaces(each) else each for each in self.layers)
        loaded = load(layers if trusted else self.layers, self.loaded.admin)
        loaded = replace(loaded, problems=(*loaded.problems, *self.refused))
        return replace(self, loaded=loaded, trusted=trusted)


def _is_workspaces(layer: Layer) -> bool:
    return layer.origin_of_rules == "workspace"


class LiveSettings:
    """Settings that are read again from their layers whenever they are taken."""

    def __init__(
        self,
        store: TrustStore,
        user_file: Path,
        *,
        environment: Mapping[str, str],
        editor_options: object,
        command_line: CommandLine,
        admin_file: AdminFile | None = None,
    ) -> None:
        """`admin_file` is the administrator's file; None reads that of the machine, and tests have their own."""
        self._admin_file = admin_file or AdminFile()
        self._admin: AdminSettings = NO_ADMIN
        self._store = store
        self._user_file = user_file
        self._environment = environment_layer(environment)
        self._editor_options = editor_layer(editor_options, "initializationOptions")
        self._editor_section = editor_layer(None, "workspace/configuration")
        self._command_line = command_line_layer(command_line.values, command_line.added)
        self._sources = command_line.sources
        self._system_prompt = command_line.system_prompt
        self._readable: dict[tuple[str, Path | None], Layer] = {}
        self._told: set[str] = set()
        self._may_trust = True

    def set_editor_section(self, given: object) -> None:
        """Replace the settings from the editor's configuration."""
        self._editor_section = editor_layer(given, "workspace/configuration")

    def distrust(self) -> None:
        """Trust no workspace file from now on, regardless of the user's answers."""
        self._may_trust = False

    def take(self, folder: Path | None, place: Path | None = None) -> Taken:
        """Return the settings for a workspace folder, whose file is trusted if the user said so. `place` is the folder
        that they will be used in, by default the same. Blocking; never raises.
        """
        self._admin = admin = self._admin_file.read(self._admin)
        layers = [self._last_readable(user_layer(self._user_file))] if "user" in self._sources else []
        if folder is not None and "project" in self._sources:
            layers += [self._last_readable(each, place) for each in mcp_layers(folder, place)]
            layers.append(self._last_readable(workspace_layer(folder)))
        if folder is not None and "local" in self._sources:
            layers.append(self._last_readable(workspace_layer(folder, LOCAL_FILE)))
        layers += [self._environment, self._editor_options, self._editor_section, self._command_line]
        loaded = load(layers, admin)
        refused = self._unused_folders(admin, folder)
        system_prompt = self._system_prompt
        if system_prompt is not None and admin.locked & {"system_prompt", "system_prompt_file"}:
            system_prompt = None
            option, why = "--system-prompt", admin.locked_by
            refused.append(SettingProblem(layer="command line", key=option, value="", problem=why, kind="locked"))
        loaded = replace(loaded, problems=(*loaded.problems, *refused))
        has_tools = "project" in self._sources and not admin.is_exclusive("tools")
        tools = tool_wishes(folder) if folder is not None and has_tools else ()
        wishes = (*wishes_of(loaded.problems), *tools)
        taken = Taken(
            loaded=loaded,
            layers=tuple(layers),
            folder=folder,
            wishes=wishes,
            trusted=None,
            system_prompt=system_prompt,
            refused=tuple(refused),
        )
        if not self._may_trust:
            return taken.answered(trusted=False)
        answer = self._store.answer(folder, taken.digest) if folder is not None and wishes else None
        return taken if answer is None else taken.answered(trusted=answer)

    def news(self, taken: Taken) -> list[str]:
        """Return the problems with the settings not reported before, one line each."""
        return self.untold(each.text for each in taken.loaded.problems if each.kind not in NOT_WRONG)

    def untold(self, problems: Iterable[str]) -> list[str]:
        """Return the problems not reported before, each once, and mark them as reported."""
        new = [text for text in dict.fromkeys(problems) if text not in self._told]
        self._told.update(new)
        return new

    def _unused_folders(self, admin: AdminSettings, folder: Path | None) -> list[SettingProblem]:
        """Return a problem for each folder that exists and is not used because of the administrator's settings."""
        found: list[SettingProblem] = []
        for name in FOLDERS if admin.layer is not None else ():
            own = [folder / each / name for each in OF_WORKSPACE] if folder is not None else []
            for each in (self._user_file.parent / name, *own):
                if admin.is_exclusive(name) and each.is_dir():
                    why = f"not used, {admin.locked_by}"
                    found.append(SettingProblem(layer=str(each), key="", value="", problem=why, kind="locked"))
        return found

    def _last_readable(self, layer: Layer, place: Path | None = None) -> Layer:
        """Return a layer as last read if its file cannot be read now, for example while it is being written."""
        if any(each.kind == "unreadable" for each in layer.problems):
            last = self._readable.get((layer.name, place), layer)
            return replace(last, problems=layer.problems)
        self._readable[layer.name, place] = layer
        return layer
