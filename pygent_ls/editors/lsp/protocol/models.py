"""`pygent/models/…` and `pygent/keys/set`: parameters, results and notifications."""

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from pygent_ls.editors.lsp.protocol.shapes import Params

KeyVariable = Annotated[str, Meta(pattern=r"^[A-Z][A-Z0-9_]{0,100}(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD)\Z")]


ProviderKey = Annotated[str, Meta(pattern=r"^[!-~]{1,4096}\Z")]
"""Characters that an HTTP header can contain."""


class KeysParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/keys/set`: provider keys that the editor stores, by the environment variables in which the
    providers' keys are looked up. A key is used from the next model call until the daemon ends, for its own provider
    only, and takes precedence over the daemon's environment. Null removes a key; variables that are not named are
    unchanged."""

    keys: dict[KeyVariable, ProviderKey | None]


class KeysOut(TypedDict):
    """The result of `pygent/keys/set`: the variables that now have a key from the editor."""

    variables: list[str]


class ModelOut(TypedDict):
    """A model that can be selected. If it is not `available`, `reason` says what is missing, as far as this is known.
    `keyVariable` is the environment variable of its provider's key; `lacksKey` is set if only this key is missing."""

    name: str
    available: bool
    reason: NotRequired[str]
    keyVariable: NotRequired[str]
    lacksKey: NotRequired[Literal[True]]


class ModelsOut(TypedDict):
    """The result of `pygent/models/list`."""

    models: list[ModelOut]


class ModelsChangedOut(TypedDict):
    """The notification `pygent/models/changed`, for clients with `chatPanel`: the default model or the available models
    have changed. Earlier results of `pygent/models/list` and `pygent/status` are out of date."""
