"""Names with marks of other programs' syntax: fio opens what was checked, or nothing is written.

Loop devices here are made from files of the test; see `real_drives`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from opennandlab.reports.model import Table
from opennandlab.reports.pts.csv import text_of
from opennandlab.targets.base import Limit, Stimulus, TargetError
from opennandlab.targets.consent import Consent
from opennandlab.targets.device import DeviceTarget
from opennandlab.targets.file import FileTarget
from opennandlab.targets.fio.runner import Fio, find_fio
from opennandlab.targets.names import check_name, link_to, printable
from opennandlab.targets.nbd import NbdTarget
from opennandlab.targets.nbd_wire import parse_address
from real_drives import Attach, loop_devices, needs_fio, needs_nbdkit, servers

MIB = 1 << 20
ALLOWED = Consent(destructive=True)
WRITE = Stimulus("random", 0, 4096, 1, 4)
HOSTILE = [
    "disk#2", "disk;old", "disk #2", " disk", "disk ", "disk$HOME", "disk:other", "disk,2",
    "[disk]", "'disk'", "disk\\", "-x", "%d", "*", "~", "=1+1", "`disk`", "$(disk)", 'disk"', "ä",
]  # fmt: skip


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Attach]:
    """Return what makes a loop device of a file of the test."""
    with loop_devices(tmp_path) as attach:
        yield attach


@needs_fio
@pytest.mark.parametrize("name", HOSTILE)
def test_fio_writes_to_the_file_of_that_name_and_to_no_other(name, tmp_path):
    """`disk#2` was checked and locked, and fio, for which `#` begins a comment, wrote `disk`."""
    others = [tmp_path / other for other in ("disk", "disk ", "2", "other") if other != name]
    for other in others:
        other.write_bytes(b"precious" * (4 * MIB // 8))
    before = {other: digest(other) for other in others}
    target = FileTarget(tmp_path / name, 4 * MIB, folder=tmp_path / "fio")
    target.run(WRITE, Limit(ios=200), seed=1)
    target.close()
    assert {other: digest(other) for other in others} == before
    assert any((tmp_path / name).read_bytes())
    jobs = [path.read_text() for path in (tmp_path / "fio").glob("*.fio")]
    assert len(jobs) > 1
    assert all("\nfilename=target\n" in text for text in jobs)


@needs_fio
def test_a_folder_with_such_a_name_is_no_way_out(tmp_path):
    """The folder of the run, its files and the target's folder are on no line of a job file."""
    inner = tmp_path / "a;b #c"
    inner.mkdir()
    (tmp_path / "a").write_bytes(b"precious" * MIB)
    before = digest(tmp_path / "a")
    target = FileTarget(inner / "disk", 4 * MIB, folder=inner / "run")
    assert target.run(WRITE, Limit(ios=50), seed=1).ios == 50
    target.close()
    assert digest(tmp_path / "a") == before


@needs_fio
def test_a_device_is_not_written_through_a_file_beside_it(loop, tmp_path):
    """`file:/dev/loop0#x?size=4MiB` overwrote the ext4 of /dev/loop0, without any flag."""
    image = tmp_path / "image"
    image.write_bytes(bytes(8 * MIB))
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("mkfs.ext4 is not installed")
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    device = loop(image)
    before = digest(image)
    beside = Path(f"{device}#x")
    try:
        # Where files in memory take direct I/O it is used, else refused.
        with suppress(TargetError):
            FileTarget(beside, 4 * MIB, folder=tmp_path / "fio").close()
    finally:
        beside.unlink(missing_ok=True)
    assert digest(image) == before


@needs_fio
@needs_nbdkit
def test_the_export_of_the_socket_that_was_named(tmp_path):
    """`?socket=/s1;b` asked for consent for one export and wrote the one of `/s1`."""
    with servers(tmp_path) as serve:
        for name in ("s1", "s1;b"):
            image = tmp_path / f"{name}.img"
            image.write_bytes(b"precious" * (4 * MIB // 8))
            serve("file", str(image), name=name)
        before = digest(tmp_path / "s1.img")
        with pytest.raises(TargetError, match="%3B"):
            NbdTarget(f"nbd+unix:///?socket={tmp_path}/s1;b", consent=ALLOWED)
        address = f"nbd+unix:///?socket={tmp_path}/s1%3Bb"
        target = NbdTarget(address, consent=ALLOWED, folder=tmp_path / "fio")
        # The sector with the marker holds again what it held.
        assert digest(tmp_path / "s1;b.img") == before
        target.run(WRITE, Limit(ios=200), seed=1)
        target.close()
        assert digest(tmp_path / "s1.img") == before
        assert digest(tmp_path / "s1;b.img") != before


@pytest.mark.parametrize(
    ("uri", "plain"),
    [
        ("nbd+unix:///a%23b?socket=/s%3B1", "nbd+unix:///a%23b?socket=socket"),
        ("nbd+unix:///a/%2e;x".replace(";", "%3b") + "?socket=/s", None),
        ("nbd://h.example/%24HOME", "nbd://h.example:10809/%24HOME"),
        ("nbd://[::1]:7/x", "nbd://[::1]:7/x"),
        ("nbd://127.0.0.1/x?tls=#f", None),
        ("nbd+unix:///x?socket=/s#2", None),
        ("nbd+unix:///x%0ay?socket=/s", None),
        ("nbd+unix:///x%ff?socket=/s", None),
        ("nbd://a;b/x", None),
        ("nbd://[fe80::1%25eth0]/x", None),
    ],
)
def test_addresses_are_spelled_by_us(uri, plain):
    if plain is None and "%2e%3bx" not in uri:
        with pytest.raises(TargetError):
            parse_address(uri)
        return
    assert parse_address(uri).plain_uri("socket") == (
        plain or "nbd+unix:///a%2F.%3Bx?socket=socket"
    )


def confused(tmp_path: Path, other: Path) -> Fio:
    """Return a fio that opens another file than the job file says, as by a defect of its own."""
    real = find_fio()
    script = tmp_path / "confused"
    script.write_text(
        f'#!/bin/sh\nfor job in "$@"; do :; done\nln -sf {other} elsewhere\n'
        'sed -i "s/^filename=.*/filename=elsewhere/" "$job"\n'
        f'exec {real.path} "$@"\n'
    )
    script.chmod(0o755)
    return Fio(str(script), real.version)


@needs_fio
def test_a_fio_that_opens_something_else_is_found_out_before_anything_is_written(tmp_path):
    other, disk = tmp_path / "other", tmp_path / "disk"
    for path in (other, disk):
        path.write_bytes(b"precious" * (4 * MIB // 8))
    before = digest(other)
    with pytest.raises(TargetError, match="fio opens another target; nothing was written"):
        FileTarget(disk, consent=ALLOWED, folder=tmp_path / "fio", fio=confused(tmp_path, other))
    assert digest(other) == digest(disk) == before


@needs_fio
def test_a_device_is_proved_like_a_file(loop, tmp_path):
    images = [tmp_path / name for name in ("one", "two")]
    for image in images:
        image.write_bytes(bytes(8 * MIB))
    one, two = map(loop, images)
    consent = Consent(destructive=True, i_know=Path(one).name)
    fio = confused(tmp_path, Path(two))
    with pytest.raises(TargetError, match="fio opens another target"):
        DeviceTarget(one, consent=consent, folder=tmp_path / "a", fio=fio)
    assert not any(images[0].read_bytes())
    assert not any(images[1].read_bytes())
    target = DeviceTarget(one, consent=consent, folder=tmp_path / "b")
    target.run(WRITE, Limit(ios=100), seed=1)
    target.close()
    assert any(images[0].read_bytes())
    assert not any(images[1].read_bytes())


@needs_fio
def test_a_device_named_by_a_link_is_the_one_that_was_checked(loop, tmp_path):
    """Udev allows `#` in names of links; and a link can be made to lead elsewhere meanwhile."""
    images = [tmp_path / name for name in ("one", "two")]
    for image in images:
        image.write_bytes(bytes(8 * MIB))
    one, two = map(loop, images)
    plain, marked = tmp_path / "by-id", tmp_path / "by-id#1"
    plain.symlink_to(two)
    marked.symlink_to(one)
    consent = Consent(destructive=True, i_know="by-id#1")
    target = DeviceTarget(str(marked), consent=consent, folder=tmp_path / "fio")
    target.run(WRITE, Limit(ios=100), seed=1)
    assert any(images[0].read_bytes())
    marked.unlink()
    marked.symlink_to(two)
    with pytest.raises(TargetError, match="no longer the device that was checked"):
        target.run(WRITE, Limit(ios=100), seed=1)
    target.close()
    assert not any(images[1].read_bytes())


@needs_fio
def test_a_file_that_was_exchanged_under_its_name_is_not_written(tmp_path):
    target = FileTarget(tmp_path / "disk", 4 * MIB, folder=tmp_path / "fio")
    (tmp_path / "disk").rename(tmp_path / "old")
    (tmp_path / "disk").write_bytes(b"precious" * (4 * MIB // 8))
    before = digest(tmp_path / "disk")
    for verb in (target.place, target.purge):
        with pytest.raises(TargetError, match="replaced or resized"):
            verb()
    target.close()
    assert digest(tmp_path / "disk") == before


@needs_fio
@pytest.mark.parametrize("read_pct", [0, 100])
def test_a_file_that_was_exchanged_between_two_processes_of_fio_is_not_used(
    read_pct, tmp_path, monkeypatch
):
    """A stimulus is several processes of fio, each of which opens the name again."""
    target = FileTarget(tmp_path / "disk", 4 * MIB, folder=tmp_path / "fio")
    leg, legs = target._leg, 0

    def exchanging(*arguments):
        nonlocal legs
        done, legs = leg(*arguments), legs + 1
        if legs == 1:
            (tmp_path / "disk").rename(tmp_path / "old")
            (tmp_path / "disk").write_bytes(b"precious" * (4 * MIB // 8))
        return done

    monkeypatch.setattr(target, "_leg", exchanging)
    with pytest.raises(TargetError, match="replaced or resized"):
        target.run(Stimulus("random", read_pct, 4096), Limit(ios=400, ramp_ratio=0.5), seed=1)
    target.close()
    assert legs == 1
    assert (tmp_path / "disk").read_bytes() == b"precious" * (4 * MIB // 8)


@needs_fio
def test_a_file_that_fio_does_not_find_any_more_is_said_to_be_gone(tmp_path, monkeypatch):
    target = FileTarget(tmp_path / "disk", 4 * MIB, folder=tmp_path / "fio")
    write_job = target.write_job

    def removing(*arguments):
        (tmp_path / "disk").unlink()
        write_job(*arguments)

    monkeypatch.setattr(target, "write_job", removing)
    with pytest.raises(TargetError, match="the file is gone"):
        target.run(WRITE, Limit(ios=10), seed=1)
    target.close()


def test_a_link_that_leads_elsewhere_is_left_alone(tmp_path):
    """Two targets in one folder must not open each other's file."""
    one = link_to(tmp_path, "target", "/nowhere/1")
    two = link_to(tmp_path, "target", "/nowhere/2")
    (tmp_path / "target-2").write_text("mine")
    three = link_to(tmp_path, "target", "/nowhere/3")
    assert [link.name for link in (one, two, three)] == ["target", "target-1", "target-3"]
    assert link_to(tmp_path, "target", "/nowhere/2") == two
    assert (tmp_path / "target-2").read_text() == "mine"
    with pytest.raises(TargetError, match="cannot be made"):
        link_to(tmp_path / "none", "target", "/nowhere")


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31m", "bad\udcff", "a\0b", "a\u2028b"])
def test_names_that_no_report_can_hold_are_refused(name, tmp_path):
    r"""`bad\xff` ended in a UnicodeEncodeError when the job file was written."""
    with pytest.raises(TargetError, match="control characters"):
        check_name(name)
    with pytest.raises(TargetError, match="control characters"):
        FileTarget(tmp_path / name, 4 * MIB, consent=ALLOWED)
    with pytest.raises(TargetError, match="control characters"):
        DeviceTarget(f"/dev/{name}", consent=ALLOWED)
    assert list(tmp_path.iterdir()) == []


def test_what_a_device_says_of_itself_is_one_plain_line():
    assert printable("DRIVE\x1b]0;x\x07\n 2\udcff") == "DRIVE?]0;x? 2?"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|x", "'+cmd|x"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\\t=1"),
        ("\N{FULLWIDTH EQUALS SIGN}1", "'\N{FULLWIDTH EQUALS SIGN}1"),
        ("-3.5", "-3.5"),
        ("+1e6", "+1e6"),
        ("file:a;b", "file:a;b"),
        ("", ""),
    ],
)
def test_no_name_is_a_formula_in_a_table(text, field):
    """A label that began with `-` went into CSV as it was, and a spreadsheet would run it."""
    written = text_of(Table("t", "T", ("name",), ((text,),)))
    rows = list(csv.reader(io.StringIO(written)))
    assert rows[1:] in ([[field]], [[]])
