"""The cases: one file each, and a row here.

A case yields operations: `setup` once, then `iteration` as often as the suite says. Its sizes have
names and defaults, `SIZES`. All it draws comes from its own stream of the seed. `camera.py` is the
smallest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from opennandlab.app.cases.base import Case
from opennandlab.app.ops import AnyOp, Begin, End, Think
from opennandlab.base.errors import ConfigError

# Name -> module and class; the first six are those of the benchmark, in the order of its report,
# and the last six those of a desktop.
HOMES: Final = {
    "camera": ("camera", "Camera"),
    "web": ("web", "Web"),
    "contact": ("contact", "Contact"),
    "install": ("install", "Install"),
    "mediascan": ("mediascan", "MediaScan"),
    "gallery": ("gallery", "Gallery"),
    "iozone": ("iozone", "Iozone"),
    "iozone_direct": ("iozone", "IozoneDirect"),
    "fileio": ("fileio", "FileIo"),
    "modes": ("modes", "Modes"),
    "rates": ("rates", "Rates"),
    "transactions": ("transactions", "Transactions"),
    "boot": ("desktop", "Boot"),
    "load": ("desktop", "Load"),
    "surf": ("desktop", "Surf"),
    "media": ("desktop", "Media"),
    "photo": ("desktop", "Photo"),
    "office": ("desktop", "Office"),
}
APPLICATIONS: Final = tuple(HOMES)[:6]
DESKTOP: Final = tuple(HOMES)[-6:]

Sizes = Mapping[str, Mapping[str, int]]


def case_class(name: str) -> type[Case]:
    """Return the class of a case.

    Raises:
        ConfigError: for an unknown one.
    """
    if name not in HOMES:
        raise ConfigError("case", f"`{name}` is not a case; accepted: {', '.join(HOMES)}")
    module, kind = HOMES[name]
    found: type[Case] = getattr(import_module(f"{__name__}.{module}"), kind)
    return found


def make(name: str, seed: int, sizes: Sizes) -> Case:
    """Return a case, ready to be scripted.

    Args:
        name: Name of the case.
        seed: Seed of all its choices.
        sizes: Sizes that differ from its defaults, by case and name.

    Raises:
        ConfigError: for an unknown case or size.
    """
    return case_class(name)(seed, sizes.get(name, {}))


def check_sizes(sizes: Sizes) -> None:
    """Refuse sizes that no case has.

    Raises:
        ConfigError: with those that are accepted.
    """
    for name, own in sizes.items():
        case_class(name)(0, own)


def script(case: Case, iterations: int, idle_ms: int = 0) -> Iterator[AnyOp]:
    """Yield the whole script of a case: setup, and iterations between their marks.

    Args:
        case: Fresh from `make`.
        iterations: How often.
        idle_ms: The user's pause between two iterations.
    """
    yield from case.setup()
    for index in range(iterations):
        if index and idle_ms:
            yield Think(us=1000 * idle_ms)
        yield from case.before(index)
        yield Begin(case=case.name, i=index)
        yield from case.iteration(index)
        yield End(case=case.name, i=index)
