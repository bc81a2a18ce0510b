"""Pictures that `read_file` shows to the model."""

from __future__ import annotations

from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import FileTooLargeError, ToolError


async def show_picture(context: ToolContext, path: str, mime_type: str) -> str:
    """Add the picture to what the model sees after the result, and return a line that describes it, which is all that a
    model without vision reads. Raises `ToolError` as `Workspace.read_binary` and `Pictures.fitted` do."""
    context.cacheable = False  # a cached result is text alone
    resolved = context.workspace.resolve(path)
    name = context.workspace.shown(resolved)
    if context.pictures is None:
        raise ToolError(f"{name} is an image, and images cannot be shown here.")
    try:
        data = await context.workspace.read_binary(resolved)
    except FileTooLargeError:
        raise ToolError(
            f"{name} is an image of more than 10 MB, which cannot be shown. Make a smaller copy of it, for example "
            "with shell and ImageMagick, and read that."
        ) from None
    picture = await context.pictures.fitted(data, name)
    context.images.append(picture.image)
    size = f"{len(data):,} bytes" if len(data) < 1_000_000 else f"{len(data) / 1e6:,.1f} MB"
    kind = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}[mime_type]
    said = f"{name} is an image: {kind}, {picture.width}×{picture.height} pixels, {size}."
    if picture.n_frames > 1:
        said += f" It is an animation of {picture.n_frames} frames; the first one is shown."
    if (picture.shown_width, picture.shown_height) != (picture.width, picture.height):
        said += f" It is shown at {picture.shown_width}×{picture.shown_height} pixels."
    return said
