"""What the tests of the package share: small drives, short workloads, and the installed command."""

from __future__ import annotations

import filecmp
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import opennandlab as onl
import warm
from scripts import load_tool

# pytest-xdist sets it in its workers; tables in a pipe would obey it.
os.environ.pop("COLUMNS", None)

# How long an example takes depends on who else uses the machine: no property of the code.
settings.register_profile("package", deadline=None)
settings.load_profile("package")

# A shell without job control lets its background jobs ignore SIGINT, and their children after them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
HANDLERS = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

# A test that took longer when `make weights` was run last runs in `make test-long`.
LONG_S = 1.5

COMMAND = Path(sys.executable).parent / "opennandlab"

# 2 dies of 64 blocks of 32 pages: runs in milliseconds, and collects from the second overwrite on.
SMALL: dict[str, Any] = {
    "nand": {
        "channels": 2,
        "dies_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 64,
        "pages_per_block": 32,
    },
    "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 2},
}
SHORT: dict[str, Any] = {
    "name": "short",
    "pattern": "random",
    "queue_depth": 4,
    "total": {"drive_writes": 2},
    "precondition": [{"kind": "sequential_fill"}],
}
# Long enough to be interrupted in the middle on any machine, and untimed so that WAF is known
# early.
ENDLESS: dict[str, Any] = {
    "name": "endless",
    "pattern": "random",
    "timed": False,
    "total": {"drive_writes": 1_000_000},
}

Cli = Callable[..., subprocess.CompletedProcess[str]]


def pytest_configure() -> None:
    """Refuse to test an installed package that is not what the sources are."""
    installed = Path(onl.__file__).parent
    sources = Path(__file__).parent.parent / "python" / "opennandlab"
    if not sources.is_dir() or (installed / "core").resolve() == sources / "core":
        return
    names = [str(path.relative_to(sources)) for path in sources.rglob("*.py")]
    _, unlike, missing = filecmp.cmpfiles(sources, installed, names, shallow=False)
    if unlike or missing:
        message = f"the installed package is not what python/ is ({[*unlike, *missing][0]}, …)"
        pytest.exit(f"{message}: `make quick` tests the sources, `make test` installs them", 4)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests that take long to `make test-long`, unless they are marked `always`."""
    taken_s = load_tool("quick").weights()
    for item in items:
        is_long = taken_s.get(item.nodeid, 0.0) > LONG_S
        if is_long and item.get_closest_marker("always") is None:
            item.add_marker("long")


def pytest_collection_finish() -> None:
    """Let no collection of garbage look again at modules and tests: a twentieth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """Let no test be deaf to Ctrl-C after one that ran a verb in its own process: verbs end so.

    Fixtures of a module run verbs too, and run before this one: so handlers are set, not kept.
    """
    for number, handler in HANDLERS.items():
        signal.signal(number, handler)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    for number, handler in HANDLERS.items():
        signal.signal(number, handler)


@pytest.fixture
def allowed() -> Iterator[None]:
    """Run what files name."""
    with onl.allow_code():
        yield


@pytest.fixture
def small() -> dict[str, Any]:
    """Return a small device; every test may change its own."""
    copy: dict[str, Any] = json.loads(json.dumps(SMALL))
    return copy


@pytest.fixture
def short() -> dict[str, Any]:
    """Return a short workload; every test may change its own."""
    copy: dict[str, Any] = json.loads(json.dumps(SHORT))
    return copy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with `small.yaml`, `short.yaml` and `endless.yaml` (JSON is YAML)."""
    for name, document in (("small", SMALL), ("short", SHORT), ("endless", ENDLESS)):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(document), encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="session")
def command() -> Iterator[Path]:
    """Return what does as `COMMAND`, in a quarter of its time."""
    with warm.commands(COMMAND) as place:
        yield place


@pytest.fixture
def cli(folder: Path, command: Path) -> Cli:
    """Return a function that runs the command in `folder`."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(command), *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
