"""Pictures in the bytes of files, made as they are needed."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def picture_file(width: int, height: int, format: str = "PNG", frames: int = 1) -> bytes:
    """The bytes of a picture, or of an animation, that compresses badly."""
    file = io.BytesIO()
    first, *others = [Image.effect_noise((width, height), 50 + n).convert("RGB") for n in range(frames)]
    if others:
        first.save(file, format, save_all=True, append_images=others)
    else:
        first.save(file, format)
    return file.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of two megabytes whose black pixels take gigabytes; its height is a multiple of 100."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    rows = packed.compress(bytes((width * 3 + 1) * 100)) + packed.flush(
        zlib.Z_FULL_FLUSH
    )  # refers to nothing before it
    checksum = (width * 3 + 1) * height % 65_521 << 16 | 1  # Adler-32 of zeros
    data = b"\x78\xda" + rows * (height // 100) + packed.flush() + struct.pack(">I", checksum)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
