"""Images in a conversation: accepted formats, and the replacement for models that accept none."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

from msgspec.structs import replace

from pygent_ls.agent.messages import Block, ImageBlock, Message, TextBlock
from pygent_ls.errors import ToolError

MAX_PICTURE_BYTES = 3_900_000
"""Maximum size of one image: Anthropic's limit, 5 MiB of base64, is the smallest of the large providers."""

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

KINDS = "PNG, JPEG, GIF or WebP"


def mime_type_of(data: bytes) -> str | None:
    """Return the image type by the leading bytes; None if models do not accept it."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)


def picture(data: bytes, name: str) -> ImageBlock:
    """Return the image, with the type of its bytes, whatever its name says. Raises `ToolError`."""
    mime_type = mime_type_of(data)
    if not data:
        raise ToolError(f"{name} is empty.")
    if mime_type is None:
        raise ToolError(f"{name} is not a {KINDS} image. Models accept no other format; convert it to one of these.")
    if len(data) > MAX_PICTURE_BYTES:
        raise ToolError(
            f"{name} is too large: {len(data) / 1e6:,.1f} MB, but models accept images of up to "
            f"{MAX_PICTURE_BYTES / 1e6:g} MB. Make it smaller, or crop it to the part that matters."
        )
    return ImageBlock(mime_type=mime_type, data=base64.b64encode(data).decode("ascii"))


def picture_from_base64(text: str, name: str) -> ImageBlock:
    """Return the image from base64; white space is ignored. Raises `ToolError`."""
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ToolError(f"{name} is not valid base64.") from None
    return picture(data, name)


# For models that take none

LEFT_OUT = "[An image was left out here because this model does not accept images. Say so if it matters.]"


def has_picture(messages: Iterable[Message]) -> bool:
    """Whether any of the messages contains an image."""
    return any(isinstance(block, ImageBlock) for message in messages for block in message.blocks)


def without_pictures(message: Message) -> Message:
    """Return the message with its images replaced by text; the same object if it has none."""
    if not has_picture((message,)):
        return message
    blocks: tuple[Block, ...] = tuple(
        TextBlock(text=LEFT_OUT) if isinstance(block, ImageBlock) else block for block in message.blocks
    )
    return replace(message, content=blocks)
