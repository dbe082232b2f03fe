"""Owns what the bytes of a file are: its type by content, and text in whatever encoding."""

from __future__ import annotations

import codecs
import re

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x7fELF", "executable"),
    (b"\xfe\xed\xfa\xce", "executable"),
    (b"\xfe\xed\xfa\xcf", "executable"),
    (b"\xce\xfa\xed\xfe", "executable"),
    (b"\xcf\xfa\xed\xfe", "executable"),
    (b"\xca\xfe\xba\xbe", "executable"),
    (b"\x00asm", "executable"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"BM", "bitmap"),
    (b"\x00\x00\x01\x00", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
    (b"%PDF-", "document"),
    (b"\xd0\xcf\x11\xe0", "document"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "closed archive"),
    (b"Rar!\x1a\x07", "closed archive"),
    (b"\x28\xb5\x2f\xfd", "closed archive"),
    (b"\x00\x01\x00\x00", "font"),
    (b"OTTO", "font"),
    (b"ttcf", "font"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"ID3", "media"),
    (b"OggS", "media"),
    (b"fLaC", "media"),
    (b"SQLite format 3\x00", "database"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".tif", ".tiff")
MEDIA = (*PICTURES, ".pdf", ".ttf", ".otf", ".woff", ".woff2", ".mp3", ".mp4", ".wav", ".ogg")


def kind_of(raw: bytes) -> str:
    """Return what the bytes are by themselves: ``text``, ``executable``, ``zip``, ``image`` ...; the
    name of the file has no say. ``binary`` is what nothing is known of."""
    for magic, kind in _MAGIC:
        if raw.startswith(magic):
            return (
                "image"
                if kind == "bitmap" and b"\0" in raw[:64]
                else kind.replace("bitmap", "text")
            )
    if raw[:2] == b"MZ" and (b"PE\0\0" in raw[:1_024] or _CONTROL.search(raw[2:64])):
        return "executable"
    if raw[:4] == b"RIFF" and raw[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return "image" if raw[8:12] == b"WEBP" else "media"
    if raw[4:8] == b"ftyp":
        return "media"
    if raw[2:4] == b"\r\n" and b"\0" in raw[:64]:
        return "executable"  # compiled Python
    if raw[257:262] == b"ustar":
        return "tar"
    return "text" if decoded(raw) is not None else "binary"


def decoded(raw: bytes) -> str | None:
    """Return the text of a file in UTF-8, UTF-16, UTF-32 or Latin-1; None for what is no text."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if raw.startswith(mark):
            return raw.decode(encoding, "replace")
    sample = raw[:4_096]
    if b"\0" in sample:
        for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
            if zeros and zeros.count(0) > 0.7 * len(zeros) and len(raw) % 2 == 0:
                return raw.decode(encoding, "replace")
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        odd = len(_CONTROL.findall(raw[:65_536]))
        return raw.decode("cp1252", "replace") if odd <= len(raw[:65_536]) // 200 else None
