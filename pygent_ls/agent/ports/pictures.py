"""Pictures port: files that models see instead of reading them."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from pygent_ls.agent.messages import ImageBlock


class Picture(Struct, frozen=True, kw_only=True):
    """Picture that is fit to be sent to a model."""

    image: ImageBlock
    width: int
    """Width of the file's picture, in pixels."""
    height: int
    shown_width: int
    """Width of the picture that is sent: smaller if the file's was too large."""
    shown_height: int
    n_frames: int = 1
    """Number of frames of an animation, of which the first is sent."""


class Pictures(Protocol):
    """Makes pictures fit for models."""

    async def fitted(self, data: bytes, name: str) -> Picture:
        """Return the picture, decoded once to be sure that a provider can decode it too, and scaled down if it is too
        large.

        Raises `ToolError`: damaged, too many pixels, or too much work.
        """
        ...
