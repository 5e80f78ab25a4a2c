"""A raw chip: from Python, as a dump, below littlefs, and on a socket."""

from __future__ import annotations

import ast
import doctest
import errno
import importlib.util
import json
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import opennandlab as onl
from opennandlab import _core
from opennandlab.base.errors import ConfigError
from places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

START = [sys.executable, "-m", "opennandlab"]
EXAMPLE = ROOT / "examples" / "littlefs_on_raw_nand.py"
LIMIT_S = 60


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 (data)


def dump_check(path: Path, page: int, oob: int, *more: str) -> dict[str, Any]:
    command = [*START, "ecc", "dump", "check", str(path), "--page", str(page), "--oob", str(oob)]
    done = subprocess.run([*command, *more, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("page", "oob", "step", "strength"),
    [(2048, 64, 512, 8), (2048, 64, 512, 4), (512, 16, 512, 8), (4096, 224, 1024, 24)],
)
def test_a_saved_image_is_a_dump_of_linux_bch(
    page: int, oob: int, step: int, strength: int, tmp_path: Path
) -> None:
    ecc = {"step_bytes": step, "strength": strength}
    chip = onl.RawNand(page_bytes=page, oob_bytes=oob, blocks=2, pages_per_block=8, ecc=ecc)
    rng = seeded(page + strength)
    for number in range(6):
        assert chip.program(0, number, rng.randbytes(page), b"\xff\x12") == 0
    chip.flip(0, 1, None, strength)
    chip.flip(0, 2, 0, strength + 1)
    chip.flip(1, 3, 0, strength)
    chip.save(tmp_path / "chip.bin")
    given = ("--dialect", "linux-bch", "--strength", str(strength), "--step", str(step))
    found = dump_check(tmp_path / "chip.bin", page, oob, *given)
    steps = page // step
    assert (found["pages"], found["erased_pages"], found["words"]) == (16, 9, 7 * steps)
    assert found["bad_words"] == 1
    # Corrected words by their number: the kernel's layout and ours agree to the bit.
    assert found["words_by_corrected_bits"][str(strength)] == steps + 1


def test_a_chip_that_guess_knows_nothing_of_is_found(tmp_path: Path) -> None:
    chip = onl.RawNand(blocks=1, seed=3)
    rng = seeded(3)
    for number in range(64):
        chip.program(0, number, rng.randbytes(2048))
    chip.save(tmp_path / "chip.bin")
    layout = tmp_path / "layout.json"
    command = [*START, "ecc", "dump", "guess", str(tmp_path / "chip.bin"), "--page", "2048"]
    subprocess.run([*command, "--oob", "64", "-o", str(layout), "-q"], check=True)
    command = [*START, "ecc", "dump", "check", str(tmp_path / "chip.bin"), "--layout", str(layout)]
    subprocess.run([*command, "-q"], check=True)


def test_what_cannot_be_is_refused_in_words() -> None:
    chip = onl.RawNand(blocks=2, pages_per_block=4)
    for call, reason in [
        (lambda: chip.read(2, 0), "block: 2 is out of range; accepted: 0 to 1"),
        (lambda: chip.read(0, -1), "page: -1 is out of range"),
        (lambda: chip.program(0, 0, b""), "data: 0 bytes; accepted: the 2048 of a page"),
        (lambda: chip.program(0, 0, bytes(2048), bytes(13)), "oob: 13 bytes; accepted: up to 12"),
        (lambda: chip.age(pe=-1), "pe: -1 is not usable"),
        (lambda: chip.age(hours=float("nan")), "hours: NaN is not usable"),
        (lambda: chip.age(celsius=float("inf")), "celsius: inf is not usable"),
        (lambda: chip.age(pe=1), "reliability: is none"),
        (lambda: chip.cut(0), "after_ops: 0 is out of range"),
        (lambda: chip.flip(0, 0, 4, 1), "step: 4 is out of range; accepted: 0 to 3"),
        (lambda: chip.flip(0, 0, 0, 4201), "n: 4201 is out of range; accepted: 0 to 4200"),
        (lambda: onl.RawNand(oob_bytes=20), "53 in all"),
        (lambda: onl.RawNand(blocks=0), "blocks: 0 is out of range"),
        (lambda: onl.RawNand(colour=1), "unknown field `colour`"),  # type: ignore[call-arg]
        (lambda: onl.RawNand("none.bin"), "image: none.bin: "),
    ]:
        with pytest.raises(onl.ConfigError, match=re.escape(reason)):
            call()
    with pytest.raises(onl.WriteError, match="cannot write"):
        chip.save("none/chip.bin")
    chip.cut(1)
    assert chip.erase(0) == errno.ENODEV
    with pytest.raises(OSError, match="the power is off"):
        chip.is_bad(0)
    chip.power_on()
    assert not chip.is_bad(0)


def test_the_example_of_the_class_holds() -> None:
    parsed = doctest.DocTestParser().get_doctest(onl.RawNand.__doc__ or "", {}, "chip", None, 0)
    assert len(parsed.examples) == 6
    assert doctest.DocTestRunner().run(parsed).failed == 0


# littlefs


@pytest.fixture(scope="module")
def port() -> ModuleType:
    pytest.importorskip("littlefs", reason="littlefs-python is not installed")
    spec = importlib.util.spec_from_file_location(EXAMPLE.stem, EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("flips", [0, 8])
def test_littlefs_survives_200_cuts_and_t_flips_a_step(port: ModuleType, flips: int) -> None:
    from littlefs import LittleFSError

    chip = onl.RawNand(blocks=40, pages_per_block=16, bad_share=0.05, read_flips=flips, seed=flips)
    fs = port.filesystem(port.RawContext(chip))
    fs.format()
    fs.mount()
    rng = seeded(flips)
    files = {f"f{number}": rng.randbytes(rng.randrange(30_000)) for number in range(20)}
    for name, data in files.items():
        port.write(fs, name, data)
    for _ in range(200):
        chip.cut(rng.randrange(1, 60))
        try:
            while True:
                name, data = rng.choice(sorted(files)), rng.randbytes(rng.randrange(30_000))
                port.write(fs, name, data)
                files[name] = data
        except LittleFSError as cut:
            assert cut.code == port.IO  # noqa: PT017 (in the middle of a loop)
        chip.power_on()
        fs = port.filesystem(port.RawContext(chip))
        fs.mount()
        if port.read(fs, name) == data:
            files[name] = data
        for one in [name, *rng.sample(sorted(files), 2)]:
            assert port.read(fs, one) == files[one]
    assert all(port.read(fs, name) == data for name, data in files.items())
    stats = chip.stats()
    assert (stats["cuts"], stats["bad_blocks"]) == (200, 2)
    assert stats["corrected_bits"] > 0 or not flips


def test_littlefs_is_told_of_one_flip_more(port: ModuleType) -> None:
    from littlefs import LittleFSError

    chip = onl.RawNand(blocks=20, pages_per_block=16)
    context = port.RawContext(chip)
    fs = port.filesystem(context)
    fs.format()
    fs.mount()
    data = seeded(5).randbytes(20_000)
    port.write(fs, "f", data)
    for block in range(2, 20):
        chip.flip(block, None, None, 9)
    assert port.read(fs, "f") != data
    assert len(context.lost) == 10
    # The metadata of the root as well.
    chip.flip(0, None, None, 400)
    chip.flip(1, None, None, 400)
    with pytest.raises(LittleFSError) as corrupt:
        port.filesystem(context).mount()
    assert corrupt.value.code == port.CORRUPT


def test_the_page_and_the_example_have_the_same_port() -> None:
    def bodies(text: str) -> dict[str, str]:
        """Return the code of each method, without its docstring."""
        source = "class RawContext" + text.split("class RawContext")[1].split("\n\n\n", 1)[0]
        methods = ast.parse(source).body[0].body  # type: ignore[attr-defined]
        found = {one.name: one.body for one in methods if isinstance(one, ast.FunctionDef)}
        return {
            name: "\n".join(ast.unparse(line) for line in body if not is_docstring(line))
            for name, body in found.items()
            if name != "__init__"
        }

    def is_docstring(line: ast.stmt) -> bool:
        return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)

    page = bodies((ROOT / "docs" / "raw-nand.md").read_text(encoding="utf-8"))
    assert sorted(page) == ["erase", "prog", "read", "sync"]
    assert page == bodies(EXAMPLE.read_text(encoding="utf-8"))


# The socket

MAGIC = b"ONLR"
GEOMETRY, READ, PROGRAM, ERASE, IS_BAD, MARK_BAD, INJECT, AGE, STATS = range(1, 10)


OPEN: list[socket.socket] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close what a test opened."""
    yield
    while OPEN:
        OPEN.pop().close()


class Client:
    """Frames of the page, written down once more."""

    def __init__(self, family: int, address: object) -> None:
        self.socket = socket.socket(family)
        OPEN.append(self.socket)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect(address)  # type: ignore[arg-type]
        self.tag = 0

    def take(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            assert more, "the connection was closed"
            found += more
        return found

    def reply(self) -> tuple[int, tuple[int, int], bytes, int]:
        magic, tag, status, most, total, length = struct.unpack("<4sQIIII", self.take(28))
        assert magic == MAGIC
        return status, (most, total), self.take(length), tag

    def ask(
        self, op: int, block: int = 0, page: int = 0, data: bytes = b"", flags: int = 0
    ) -> tuple[int, tuple[int, int], bytes]:
        self.tag += 1
        head = struct.pack("<4sHHQIII", MAGIC, op, flags, self.tag, block, page, len(data))
        self.socket.sendall(head + data)
        *found, tag = self.reply()
        assert tag == self.tag
        return tuple(found)  # type: ignore[return-value]

    def is_closed(self) -> bool:
        return self.socket.recv(1) == b""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    path = tmp_path / "chip.sock"
    command = [*START, "serve", "--raw-nand", "default", "--set", "blocks=8", "--socket", str(path)]
    more = ["--set", "reliability=weibull", "--save-image", str(tmp_path / "chip.bin"), "--json"]
    server = subprocess.Popen(
        [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    assert server.stderr.readline() == f"ready {path}\n"
    yield path, server
    if server.poll() is None:
        server.kill()
    server.communicate()


def test_a_chip_is_used_over_a_socket_and_saved(
    served: tuple[Path, subprocess.Popen[str]], tmp_path: Path
) -> None:
    path, server = served
    client = Client(socket.AF_UNIX, str(path))
    shape = struct.unpack("<8I", client.ask(GEOMETRY)[2])
    assert shape == (2048, 64, 12, 64, 8, 512, 8, 6)
    data = seeded(1).randbytes(2048)
    assert client.ask(PROGRAM, 3, 0, data + b"\xffmine")[0] == 0
    status, _, reason = client.ask(PROGRAM, 3, 0, data)
    assert (status, b"page 0 of block 3 was programmed 1 times" in reason) == (errno.EINVAL, True)
    assert client.ask(INJECT, 3, 0, struct.pack("<3I", 1, 2, 7)) == (0, (0, 0), b"")
    status, corrected, found = client.ask(READ, 3, 0)
    assert (status, corrected, found[:2053]) == (117, (7, 7), data + b"\xffmine")
    assert client.ask(READ, 3, 0, flags=1)[0] == 0
    assert client.ask(MARK_BAD, 5)[0] == 0
    assert client.ask(IS_BAD, 5)[2] == b"\x01"
    assert client.ask(ERASE, 5)[0] == errno.EIO
    assert client.ask(ERASE, 5, flags=2)[0] == 0
    assert client.ask(READ, 8)[0] == errno.EINVAL
    assert client.ask(AGE, data=struct.pack("<3d", 100, 10, 40))[0] == 0
    assert client.ask(AGE, data=struct.pack("<3d", -1, 0, 40))[0] == errno.EINVAL
    assert client.ask(AGE, data=struct.pack("<3d", 0, float("nan"), 40))[0] == errno.EINVAL
    assert client.ask(INJECT, data=struct.pack("<3I", 4, 0, 1))[0] == 0
    assert client.ask(ERASE, 1)[0] == errno.ENODEV
    assert client.ask(INJECT, data=struct.pack("<3I", 5, 0, 0))[0] == 0
    assert client.ask(INJECT, data=struct.pack("<3I", 6, 0, 0))[0] == errno.EINVAL
    assert json.loads(client.ask(STATS)[2])["cuts"] == 1
    server.send_signal(signal.SIGTERM)
    printed, _ = server.communicate(timeout=LIMIT_S)
    assert server.returncode == 0
    assert json.loads(printed)["programs"] == 1
    assert client.is_closed()
    assert not path.exists()
    again = onl.RawNand(tmp_path / "chip.bin")
    assert again.geometry()["blocks"] == 8
    assert again.read(3, 0).data == data


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ((b"ONLX", 2, 0, 9, 0, 0, 0), b"magic"),
        ((MAGIC, 0, 0, 9, 0, 0, 0), b"op: 0 is unknown"),
        ((MAGIC, 2, 2, 9, 0, 0, 0), b"flags: 2"),
        ((MAGIC, 2, 0, 9, 0, 0, 1), b"length: 1; accepted: 0 to 0"),
        ((MAGIC, 3, 0, 9, 0, 0, 2**32 - 1), b"length: 4294967295; accepted: 2048 to 2112"),
        ((MAGIC, 3, 0, 9, 0, 0, 2047), b"length: 2047"),
    ],
)
def test_a_frame_that_is_not_valid_ends_its_connection_alone(
    head: tuple[Any, ...], reason: bytes
) -> None:
    chip = onl.RawNand(blocks=2)
    server = _core.RawServer(chip, tcp="127.0.0.1:0")
    port = int((server.tcp() or "").rpartition(":")[2])
    other = Client(socket.AF_INET, ("127.0.0.1", port))
    client = Client(socket.AF_INET, ("127.0.0.1", port))
    client.socket.sendall(struct.pack("<4sHHQIII", *head))
    status, _, found, tag = client.reply()
    assert (status, tag) == (errno.EINVAL, 9 if head[0] == MAGIC else 0)
    assert reason in found
    assert client.is_closed()
    assert other.ask(IS_BAD, 1) == (0, (0, 0), b"\x00")
    # Half a request, and gone.
    other.socket.sendall(MAGIC)
    other.socket.close()
    server.stop()
    assert chip.read(0, 0).status == 0


def test_clients_at_once_get_their_own_replies() -> None:
    chip = onl.RawNand(blocks=8, ecc=None)
    server = _core.RawServer(chip, tcp="127.0.0.1:0")
    port = int((server.tcp() or "").rpartition(":")[2])
    wrong: list[int] = []

    def work(block: int) -> None:
        client = Client(socket.AF_INET, ("127.0.0.1", port))
        for page in range(64):
            data = bytes([block * 16 + page % 16]) * 2048
            client.ask(PROGRAM, block, page, data)
            if client.ask(READ, block, page)[2][:2048] != data:
                wrong.append(block)

    threads = [threading.Thread(target=work, args=(block,)) for block in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    server.stop()
    assert not wrong
    assert chip.stats()["programs"] == 512


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["default"], "give --socket PATH, or --tcp"),
        (["default", "--tcp", "0.0.0.0:0"], "is not a loopback address"),
        (["default", "--tcp", "somewhere"], "--tcp takes ADDRESS:PORT"),
        (["default", "--socket", "there"], "there exists and is not a socket"),
        (["default", "--socket", "s", "--config", "x"], "--config: has no effect with --raw-nand"),
        (["default", "--socket", "s", "--set", "page_bytes=0"], "page_bytes: 0 is out of range"),
        (["default", "--socket", "s", "--set", "image=x"], "`image` is not a key of a chip"),
        (["default", "--socket", "s", "--image", "there"], "leave a remainder of 5 bytes"),
        (["none.yaml", "--socket", "s"], "none.yaml: No such file"),
        (["chip.yaml", "--socket", "s"], "colour: unknown field"),
    ],
)
def test_a_chip_that_cannot_be_served_is_refused(
    more: list[str], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("there", encoding="utf-8")
    (tmp_path / "chip.yaml").write_text("colour: red\n", encoding="utf-8")
    done = subprocess.run(
        [*START, "serve", "--raw-nand", *more],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert reason in done.stderr
    assert not (tmp_path / "s").exists()


def test_errors_of_cells_are_those_of_their_states() -> None:
    # TLC after 3,000 cycles and a year: an own integration over states and neighbours.
    rates = {0: 6.129e-3, 1: 2.655e-2, 2: 6.160e-2}
    chip = onl.RawNand(
        page_bytes=16384,
        oob_bytes=1,
        pages_per_block=33,
        blocks=2,
        ecc=None,
        reliability={"kind": "states", "preset": "tlc"},
        cells={},
    )
    data = [bytes([value]) * 16384 for value in range(33)]
    for page, written in enumerate(data):
        assert chip.program(0, page, written) == 0
    chip.age(pe=3000, hours=8760)
    errors = dict.fromkeys(rates, 0)
    for page, written in enumerate(data[:30]):
        found = chip.read(0, page).data
        # The same cells again, disturbed by a read more.
        again = int.from_bytes(chip.read(0, page).data, "big")
        assert (int.from_bytes(found, "big") ^ again).bit_count() < 20
        wrong = int.from_bytes(found, "big") ^ int.from_bytes(written, "big")
        errors[page % 3] += wrong.bit_count()
    bits = 10 * 8 * 16384
    for page_type, rate in rates.items():
        allowed = 4.5 * (bits * rate) ** 0.5
        assert abs(errors[page_type] - bits * rate) < allowed, (page_type, errors)
    # An erased page has few wrong bits, and the next wordline moves the cells of an open one.
    blank = chip.read(1, 0).data
    assert sum(8 - byte.bit_count() for byte in blank) < bits / 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cells": {}}, "reliability states"),
        ({"cells": {}, "reliability": "weibull"}, "reliability states"),
        ({"cells": {"blocks": 4}, "reliability": {"kind": "states"}}, "omitted"),
        ({"cells": {"program": "two_step"}, "reliability": {"kind": "states"}}, "foggy_fine"),
    ],
)
def test_cells_that_a_chip_cannot_have(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        onl.RawNand(blocks=4, **options)
