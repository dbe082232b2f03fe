"""Owns the errors of everything that stores: their messages end with the next step."""

from __future__ import annotations


class StorageError(Exception):
    """What was asked could not be stored or read."""


class DiskFull(StorageError):
    """Nothing more can be written; reading still works."""


class Corrupt(StorageError):
    """The file is damaged or no database; see ``memory.salvage``."""
