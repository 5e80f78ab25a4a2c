"""`check-data` finds how large a drive is, whatever it claims, on drives that lie."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.targets.base import TargetError
from opennandlab.targets.claimed_size import Check, Plan, Stage, Verdict, make_plan
from opennandlab.targets.consent import Consent
from opennandlab.targets.opening import Request
from opennandlab.targets.raw import Raw, RequestError, open_raw
from opennandlab.targets.stamps import seen, stamped
from real_drives import Serve, needs_nbdkit, servers

MIB = 1 << 20
RUNNER = CliRunner()


class Liar(Raw):
    """A drive that claims more than it has.

    Args:
        claimed: Bytes that it says it has.
        real: Bytes that it has.
        how: What becomes of the others: `wrap` (an address is taken modulo the real size), `ring`
            (the upper part of the drive, `ring` bytes, answers for them), `zeros`, `garbage`,
            `error`, `block` (one block of 4 KiB holds what was written last).
        sector: Smallest request.
        ring: Of a drive that wraps in part.
        cache: Bytes that it keeps of what was written last, wherever that was.
    """

    def __init__(  # noqa: PLR0913, PLR0917
        self, claimed: int, real: int, how: str, sector: int = 512, ring: int = 0, cache: int = 0
    ) -> None:
        super().__init__("liar", claimed, sector)
        self.real, self.how, self.ring, self.cache = real, how, ring, cache
        self.data = bytearray(real)
        self.block = bytearray(4096)
        self.kept: dict[int, bytes] = {}
        self.written: list[tuple[int, int]] = []
        self.random = random.Random(real)  # noqa: S311 (no secret)

    def _place(self, offset: int) -> int | None:
        if offset < self.real:
            return offset
        if self.how == "wrap":
            return offset % self.real
        if self.how == "ring":
            start = self.real - self.ring
            return start + (offset - start) % self.ring
        return None

    def _checked(self, offset: int, length: int) -> None:
        assert offset % self.sector_bytes == length % self.sector_bytes == 0
        assert 0 < length <= MIB
        assert 0 <= offset <= self.capacity_bytes - length
        if self.how == "error" and offset + length > self.real:
            raise RequestError("Input/output error")

    def read(self, offset: int, length: int) -> bytes:
        self._checked(offset, length)
        return b"".join(self._sector(at) for at in range(offset, offset + length, 512))

    def _sector(self, offset: int) -> bytes:
        place = self._place(offset)
        if offset in self.kept:
            return self.kept[offset]
        if place is not None:
            return bytes(self.data[place : place + 512])
        if self.how == "block":
            return bytes(self.block[offset % 4096 :][:512])
        return self.random.randbytes(512) if self.how == "garbage" else bytes(512)

    def write(self, offset: int, data: bytes) -> None:
        self._checked(offset, len(data))
        self.written.append((offset, len(data)))
        for at in range(0, len(data), 512):
            part = data[at : at + 512]
            place = self._place(offset + at)
            if place is not None:
                self.data[place : place + 512] = part
            else:
                spot = (offset + at) % 4096
                self.block[spot : spot + 512] = part
            if self.cache:
                self.kept.pop(offset + at, None)
                self.kept[offset + at] = part
        while len(self.kept) * 512 > self.cache:
            del self.kept[next(iter(self.kept))]

    def flush(self) -> None:
        """Hold nothing back but what the cache answers."""

    def close(self) -> None:
        """Hold nothing."""


def checked(drive: Raw, *, is_full: bool = False, cache: int = 256 << 10, tag: int = 7) -> Verdict:
    plan = make_plan(drive.capacity_bytes, drive.sector_bytes, is_full=is_full, cache_bytes=cache)
    return Check(drive, plan, tag).run()


def drawn(number: int) -> tuple[Liar, str, bool]:
    """Return one of fifty liars, what it should be called, and whether it is checked in full."""
    draw = random.Random(number)  # noqa: S311 (no secret)
    how = ("wrap", "zeros", "garbage", "error", "ring", "block")[number % 6]
    sector = draw.choice((512, 4096))
    claimed = draw.choice((4, 6, 8)) * MIB - draw.choice((0, draw.randrange(4000))) * 512
    claimed -= claimed % sector
    real = draw.choice((draw.randrange(sector, claimed, sector), draw.randrange(1, 4) * MIB))
    ring = min(real, draw.randrange(64, 512) * 4096)
    verdict = "wraps" if how in {"wrap", "ring"} else "lost"
    # A ring beyond the stamps of the first part is found by looking at all of it.
    return Liar(claimed, real, how, sector, ring), verdict, how == "ring" or draw.random() < 0.2


@pytest.mark.parametrize("number", range(50))
def test_the_real_size_of_a_drive_that_lies_is_found_exactly(number: int) -> None:
    drive, verdict, is_full = drawn(number)
    found = checked(drive, is_full=is_full)
    assert (found.kind, found.real_bytes) == (verdict, drive.real)
    assert found.written_bytes == sum(length for _, length in drive.written)


@pytest.mark.parametrize("real", [16, 20])
@pytest.mark.parametrize("how", ["wrap", "zeros"])
def test_64_mib_announced_and_16_or_20_real(real: int, how: str) -> None:
    found = checked(Liar(64 * MIB, real * MIB, how), cache=4 * MIB)
    assert found.real_bytes == real * MIB
    assert found.kind == ("wraps" if how == "wrap" else "lost")


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("size", [64 << 10, MIB, MIB + 512, MIB + 8192, 2 * MIB, 5 * MIB - 512])
def test_a_sound_drive_is_sound(size: int, is_full: bool) -> None:  # noqa: FBT001
    found = checked(Liar(size, size, "zeros"), is_full=is_full)
    assert (found.kind, found.real_bytes, found.found.first_bad) == ("sound", size, None)
    if is_full:
        assert found.found.own_bytes == size


def test_a_cache_that_answers_for_the_drive_is_washed() -> None:
    """Without the wash, the cache answers for all that was lost."""

    def drive() -> Liar:
        return Liar(4 * MIB, 2 * MIB, "zeros", cache=MIB + 128 * 1024)

    assert checked(drive(), cache=0).kind == "sound"
    found = checked(drive(), cache=2 * MIB)
    assert (found.kind, found.real_bytes) == ("lost", 2 * MIB)


def test_what_is_written_is_what_the_plan_says() -> None:
    """The stamps of a large drive, in their order, without writing them."""
    size = (1 << 40) + 4096 * 3
    plan = Plan(size, 512, is_full=False, cache_bytes=64 * MIB)
    step = plan.step_bytes
    assert step == 256 * MIB + 4096  # size / 4096, in whole blocks, rounded up
    pieces = list(plan.pieces())
    offsets = [offset for offset, _ in pieces]
    assert offsets == sorted(offsets, reverse=True)
    assert pieces[0] == (size - 8192, 8192)
    assert offsets[1:4096] == [number * step for number in range(4095, 0, -1)]
    assert sum(length for offset, length in pieces if offset < step) == step
    assert plan.wash_bytes == 64 * MIB
    stamps = {block for offset, length in pieces for block in range(offset, offset + length, 4096)}
    assert not stamps & {
        block for offset, length in plan.wash() for block in range(offset, offset + length, 4096)
    }


def test_bad_places_among_good_ones_are_no_wrong_size() -> None:
    class Worn(Liar):
        def read(self, offset: int, length: int) -> bytes:
            data = bytearray(super().read(offset, length))
            if offset <= 2 * MIB < offset + length:
                data[2 * MIB - offset] ^= 1
            return bytes(data)

    found = checked(Worn(4 * MIB, 4 * MIB, "zeros"))
    assert (found.kind, found.real_bytes, found.found.first_bad) == ("damaged", None, 2 * MIB)
    assert found.found.counts["garbage"] == 512


def test_stamps_of_an_earlier_check_do_not_count() -> None:
    """A drive that takes no writes any more would be sound for ever."""
    drive = Liar(2 * MIB, 2 * MIB, "zeros")
    assert checked(drive, tag=1).kind == "sound"
    drive.write = lambda _offset, _data: None  # type: ignore[method-assign]
    found = checked(drive, tag=2)
    assert (found.kind, found.real_bytes) == ("lost", 0)
    assert found.found.counts["old"] == found.found.read_bytes


@given(st.integers(0, 1 << 40), st.integers(0, (1 << 64) - 1), st.integers(0, 511))
def test_a_stamp_is_whole_or_none(sector: int, tag: int, place: int) -> None:
    """Any changed byte, and any other place or tag, is seen."""
    offset = sector * 512
    good = stamped(offset, 512, tag)
    assert seen(offset, good, tag).own.all()
    assert seen(offset + 512, good, tag).strange.all()
    assert seen(offset + 512, good, tag).origins.tolist() == [offset]
    assert seen(offset, good, tag ^ 1).old.all()
    hurt = bytearray(good)
    hurt[place] ^= 0x10
    found = seen(offset, bytes(hurt), tag)
    assert not found.own.any()
    assert not found.strange.any()
    assert seen(offset, bytes(512), tag).blank.all()


def test_stamps_do_not_repeat_and_do_not_compress() -> None:
    words = np.frombuffer(stamped(0, MIB, 3), dtype="<u8").reshape(-1, 64)[:, 3:]
    assert len(np.unique(words)) == words.size
    ones = np.unpackbits(words.copy().view(np.uint8)).mean()
    assert abs(ones - 0.5) < 4.5 * 0.5 / (words.size * 64) ** 0.5


def test_progress_ends_at_its_total_and_ctrl_c_ends_the_check() -> None:
    stages: list[Stage] = []
    plan = make_plan(3 * MIB, 512, is_full=False, cache_bytes=MIB)
    Check(Liar(3 * MIB, 3 * MIB, "zeros"), plan, 1, stages.append).run()
    assert stages[-1].done == stages[-1].total == 2 * plan.stamp_bytes + plan.wash_bytes

    def interrupt(_stage: Stage) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Check(Liar(3 * MIB, 3 * MIB, "zeros"), plan, 1, interrupt).run()


def test_a_file_is_checked_and_one_that_holds_something_needs_consent(tmp_path: Path) -> None:
    path = tmp_path / "drive.img"
    done = RUNNER.invoke(app, ["check-data", "--target", f"file:{path}?size=3MiB", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["verdict"], document["real_bytes"]) == ("sound", 3 * MIB)
    again = ["check-data", "--target", f"file:{path}", "--full", "--seed", "5"]
    before = path.read_bytes()
    refused = RUNNER.invoke(app, again)
    assert refused.exit_code == 3
    assert "--destructive allows that" in refused.output
    plan = RUNNER.invoke(app, [*again, "--dry-run"])
    assert plan.exit_code == 0
    assert "refused: holds 3145728 bytes" in plan.output
    assert path.read_bytes() == before
    done = RUNNER.invoke(app, [*again, "--destructive"])
    assert done.exit_code == 0, done.output
    assert path.read_bytes() == stamped(0, 3 * MIB, 5)


def test_a_plan_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "none.img"
    words = ["check-data", "--target", f"file:{path}?size=1GiB", "--dry-run", "--json"]
    done = RUNNER.invoke(app, words)
    assert done.exit_code == 0
    assert json.loads(done.stdout)["stamp_bytes"] == 1023 * 4096 + 8192 + MIB
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "sim:tlc_standard"), "holds no data"),
        (("--target", "file:{at}/x?size=2MiB", "--set", "ftl.gc_policy=fifo"), "--set"),
        (("--target", "file:{at}/x?size=2MiB", "--cache-size", "much"), "size: `much`"),
        (("--target", "tape:0"), "is not understood"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    given = [word.format(at=tmp_path) for word in words]
    for more in ([], ["--dry-run"]):
        done = RUNNER.invoke(app, ["check-data", *given, *more])
        assert done.exit_code == 2, done.output
        assert said.removeprefix("--") in done.output
    assert not list(tmp_path.iterdir())


def test_a_target_that_is_too_small_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 65536"):
        make_plan(4096, 512, is_full=True, cache_bytes=0)


# A shell plugin of nbdkit: a file of REAL bytes behind an export of CLAIMED.
PLUGIN = r"""
case "$1" in
  get_size) echo {claimed} ;;
  can_write|can_flush) exit 0 ;;
  flush) exit 0 ;;
  pread)
    {read}
    dd if={image} bs=65536 skip=$at count=$3 iflag=skip_bytes,count_bytes,fullblock status=none ;;
  pwrite)
    {write}
    dd of={image} bs=65536 seek=$at oflag=seek_bytes conv=notrunc iflag=fullblock status=none ;;
  *) exit 2 ;;
esac
"""
BEYOND = "at=$4; if [ $4 -ge {real} ]; then {what}; fi"
HOW = {
    "wrap": ("at=$(($4 % {real}))",) * 2,
    "zeros": (
        BEYOND.replace("{what}", "head -c $3 /dev/zero; exit 0"),
        BEYOND.replace("{what}", "cat > /dev/null; exit 0"),
    ),
    "error": (BEYOND.replace("{what}", "echo EIO beyond >&2; exit 1"),) * 2,
}
Export = Callable[[str, int, int], str]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """Return what serves a drive that lies, and gives its address."""
    with servers(tmp_path) as serve:
        yield lambda how, claimed, real: _served(serve, tmp_path, how, claimed, real)


def _served(serve: Serve, folder: Path, how: str, claimed: int, real: int) -> str:
    image = folder / "image"
    image.write_bytes(bytes(real))
    read, write = (text.format(real=real) for text in HOW[how])
    script = folder / "plugin.sh"
    script.write_text(PLUGIN.format(claimed=claimed, image=image, read=read, write=write))
    script.chmod(0o755)
    return serve("sh", str(script)).uri


@needs_nbdkit
@pytest.mark.parametrize(
    ("how", "real"),
    [("wrap", 16 * MIB), ("wrap", 20 * MIB), ("zeros", 16 * MIB), ("error", 20 * MIB)],
)
def test_an_export_that_lies_ends_with_1_and_its_real_size(
    export: Export, how: str, real: int
) -> None:
    uri = export(how, 64 * MIB, real)
    words = ["check-data", "--target", uri, "--cache-size", "1MiB", "--json"]
    refused = RUNNER.invoke(app, words)
    assert refused.exit_code == 3
    assert "--destructive allows that" in refused.output
    done = RUNNER.invoke(app, [*words, "--destructive"])
    assert done.exit_code == 1, done.output
    document = json.loads(done.stdout)
    assert document["real_bytes"] == real
    assert document["verdict"] == ("wraps" if how == "wrap" else "lost")


@needs_nbdkit
def test_an_export_that_is_gone_is_an_error_not_a_lost_byte(tmp_path: Path) -> None:
    with servers(tmp_path) as serve:
        server = serve("memory", "4M")
        request = Request(server.uri, consent=Consent(destructive=True))
        assert checked(open_raw(request)).kind == "sound"
        raw = open_raw(request)
        server.kill()
        with pytest.raises(TargetError, match=r"closed the connection|Broken pipe|reset"):
            checked(raw)
        raw.close()
