"""Device images on disk: read whole, or refused before memory runs out."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from opennandlab import _core
from opennandlab.base.canonical import first_difference
from opennandlab.base.errors import ConfigError, ImageError
from opennandlab.base.words import size
from opennandlab.core.config import DeviceConfig, Source, load_device
from opennandlab.core.memory import available_bytes
from opennandlab.documents.record import made
from opennandlab.documents.saved import IMAGE
from opennandlab.documents.wear import DriveWear

# Magic word, version, length and checksum.
HEADER_BYTES = 24
# A pipe into which nobody writes is not waited for; on Windows there is text, and bytes.
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_image(path: str | Path) -> bytes:
    """Read a device image.

    Raises:
        ImageError: when it is not a file, does not fit the memory, cannot be read, or ends within
            its header.
    """
    try:
        handle = os.open(path, OPEN_FLAGS)
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise ImageError(f"{path}: not a file; accepted: a device image in a file")
            available = available_bytes()
            if available is not None and status.st_size > available:
                raise ImageError(
                    f"{path}: {size(status.st_size)}, larger than the memory available here "
                    f"({size(available)})"
                )
            image = stream.read(status.st_size)
    except OSError as error:
        raise ImageError(f"{path}: {error.strerror or error}") from error
    if image.startswith(IMAGE) and len(image) < HEADER_BYTES:
        raise ImageError(
            f"{path}: a device image that was cut off after {len(image)} bytes: its header alone "
            f"has {HEADER_BYTES}; accepted: the whole file that --save-image wrote"
        )
    return image


def drive_of(image: bytes, seed: int, path: str | Path) -> _core.Drive:
    """Return the drive of an image; a refusal names the file.

    Args:
        image: What `read_image` returned.
        seed: Seed of the runs to come.
        path: The file.

    Raises:
        ImageError: when the image is truncated, foreign, damaged or newer, and why.
    """
    try:
        return _core.Drive.from_image(image, seed)
    except ImageError as error:
        raise ImageError(f"{path}: {error}") from error


def wear_of(drive: _core.Drive) -> DriveWear:
    """Return how worn a drive is."""
    return made(json.loads(drive.wear()), DriveWear)


def is_image(path: Path) -> bool:
    """Whether a file begins as device images do; not that it is whole."""
    try:
        # A pipe would be waited for.
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(len(IMAGE)) == IMAGE
    except OSError:
        return False


def with_policy(image: DeviceConfig, gc_policy: object) -> DeviceConfig:
    """Return the device of an image with a policy, which must be the one that it had."""
    device = image.with_policy(gc_policy)
    here, there = device["ftl.gc_policy"], image["ftl.gc_policy"]
    if dict(here) != dict(there):
        raise ConfigError(
            "ftl.gc_policy",
            f"{image.name} was saved with {dict(there)}, not {dict(here)}; accepted: the policy "
            "that it was saved with",
        )
    return device


def same_device(
    image: DeviceConfig, device: Source | None, path: Path, given: str = "--config"
) -> None:
    """An image brings its device; another one, from `given`, must be the same."""
    if device is None:
        return
    wanted = load_device(device)
    difference = first_difference(image.to_dict(), wanted.to_dict())
    if difference:
        raise ConfigError(
            "state", f"{path} was saved from another device: {difference} (image against {given})"
        )


def parse_state(state: str | None) -> Path | None:
    """Return the path in `image:FILE`; None for the other states.

    Raises:
        ConfigError: for any other text.
    """
    if state in {None, "fresh"}:
        return None
    kind, _, path = str(state).partition(":")
    if kind == "image" and path:
        return Path(path)
    raise ConfigError("state", f"`{state}` is not a valid state; accepted: fresh, image:FILE")
