"""Which model a name stands for. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.agent.model import Model
from pygent_ls.errors import SettingError
from pygent_ls.llm import offline_model, scripted_model
from pygent_ls.llm.litellm_model import LitellmLoader, LitellmModel
from pygent_ls.llm.litellm_target import Endpoint
from pygent_ls.llm.offline_model import OfflineModel
from pygent_ls.llm.scripted_model import ScriptedModel


def make_model(name: str, endpoint: Endpoint, loader: LitellmLoader) -> Model:
    """The model of that name: `scripted:FILE`, `offline/rules`, or any litellm string. Loads nothing yet.

    A `scripted:` model keeps its place in the file: make it once a session. Raises `SettingError` for a name that
    can be none.
    """
    name = name.strip()
    if not name:
        raise SettingError("The setting `model` is empty: give a model, or leave it out to have one chosen.")
    if name == offline_model.NAME:
        return OfflineModel()
    if name.startswith(scripted_model.PREFIX):
        file = name.removeprefix(scripted_model.PREFIX)
        if not file:
            raise SettingError(f"The model {name!r} names no file: write scripted:FILE.")
        return ScriptedModel(Path(file))
    return LitellmModel(name, endpoint, loader)
