"""A disk for guests that run this package: Python, what the package needs, and programs it asks.

```text
/lib      shared libraries       /bin   python and programs
/python   Python's own modules   /site  this package and those that it imports
```
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import sysconfig
from pathlib import Path

from guest import parts
from guest.machine import Kit

# What a standard test imports, and what these need. A folder of libraries has no dot in its name.
SITE = (
    "opennandlab", "numpy", "msgspec", "ruamel", "typer", "rich", "annotated_doc", "shellingham",
    "typing_extensions", "click", "pygments", "markdown_it", "mdurl",
)  # fmt: skip
PROGRAMS = ("fio", "lsblk", "blkid", "setpriv")
# What no program needs, of Python and of others' packages.
LEFT_OUT = shutil.ignore_patterns(
    "test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages",
    "dist-packages", "config-*", "_test*", "plotly*", "*.a", "*.pyi",
)  # fmt: skip
SPARE_MIB = 64
# virtio_blk is for the disk; TCG of QEMU 7.2 with a later processor crashes numpy's sort.
MODULES, CPU = ("virtio_blk",), "Nehalem"
# For scripts: mount the disk, and call `onl` as one calls `opennandlab`.
PRELUDE = """
mkdir /host; mount -t ext4 -o ro /dev/vda /host
export PATH=/host/bin:$PATH LD_LIBRARY_PATH=/lib:/host/lib
export PYTHONHOME=/host/python PYTHONPATH=/host/site PYTHONDONTWRITEBYTECODE=1 TERM=dumb
onl() { python -m opennandlab "$@"; }
"""


def disk() -> Path:
    """Make the disk, a file with ext4; return where it is.

    Raises:
        Skipped: when a part of it cannot be had.
    """
    image, staging = parts.FOLDER / "python.img", parts.FOLDER / "python"
    shutil.rmtree(staging, ignore_errors=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    standard = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(standard, staging / "python/lib" / version, ignore=LEFT_OUT)
    for name in SITE:
        _copy(name, staging / "site")
    (staging / "bin").mkdir()
    (staging / "lib").mkdir()
    programs = {name: parts.program(name) for name in PROGRAMS}
    programs["python"] = Path(sys.executable).resolve()
    for name, path in programs.items():
        shutil.copy(path, staging / "bin" / name)
    needing = [*programs.values(), *staging.rglob("*.so")]
    for name, path in parts.libraries(*needing).items():
        shutil.copy(path, staging / "lib" / name)
    _format(staging, image)
    shutil.rmtree(staging)
    return image


def kit(memory_mb: int = 768) -> Kit:
    """Return a kit with the disk; its scripts begin with `PRELUDE`."""
    drive = ("-drive", f"file={disk()},if=none,id=d0,format=raw,readonly=on")
    device = ("-device", "virtio-blk-pci,drive=d0")
    return Kit(modules=MODULES, memory_mb=memory_mb, cpu=CPU, more=(*drive, *device))


def _copy(name: str, site: Path) -> None:
    """Copy a module or a package, and the libraries that wheels keep next to it."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return
    places = [Path(place) for place in spec.submodule_search_locations or ()]
    for place in places:
        shutil.copytree(place, site / name, ignore=LEFT_OUT)
        kept = place.parent / f"{name}.libs"
        if kept.is_dir():
            shutil.copytree(kept, site / kept.name)
    if not places and spec.origin is not None:
        site.mkdir(parents=True, exist_ok=True)
        shutil.copy(spec.origin, site)


def _format(folder: Path, image: Path) -> None:
    """Make a file system of a folder."""
    size = sum(path.stat().st_blocks for path in folder.rglob("*")) * 512
    image.unlink(missing_ok=True)
    mke2fs = parts.program("mke2fs")
    options = ("-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", folder, image)
    parts.run(
        mke2fs, *options, f"{size // 2**20 + SPARE_MIB}M",
        libraries=f"{parts.FOLDER}/{parts.LIBRARIES}",
    )  # fmt: skip
