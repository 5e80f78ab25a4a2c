"""Files are read strictly and written whole, or not at all."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from opennandlab.base import files
from opennandlab.base.errors import ConfigError, OutputError
from opennandlab.base.files import (
    check_folder,
    check_writable,
    parse_yaml,
    read_bytes,
    read_yaml,
    write_atomically,
    write_into,
)

CONTENT = b"x" * 200_000


@pytest.fixture
def small_files_only() -> Iterator[None]:
    """Make every write beyond 64 KiB fail, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, old)


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_atomically(path, b"first")
    write_atomically(path, b"second")
    assert path.read_bytes() == b"second"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_a_new_file_is_as_readable_as_the_umask_says(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    old = os.umask(0o027)
    try:
        write_atomically(path, b"content")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed_not_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.usefixtures("small_files_only")
def test_a_full_disk_keeps_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(b"old")
    with pytest.raises(OutputError, match="untouched"):
        write_atomically(path, CONTENT)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_a_really_full_file_system_keeps_the_old_file(tmp_path: Path) -> None:
    """The same on a file system of 64 KiB, where one may be mounted."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a file system is not allowed here")
    try:
        path = tmp_path / "result.json"
        path.write_bytes(b"old")
        with pytest.raises(OutputError, match="No space left"):
            write_atomically(path, CONTENT)
        assert path.read_bytes() == b"old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_an_interruption_while_writing_leaves_no_stray_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "result.json", b"content")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_refused_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path, words in (
        (tmp_path, "directory"),
        (tmp_path / "none" / "result.json", "No such file"),
        (tmp_path / "file" / "result.json", "Not a directory"),
        (Path("/proc/result.json"), "/proc"),
    ):
        with pytest.raises(OutputError, match=words):
            check_writable(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_protected_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="ermission denied"):
            check_writable(tmp_path / "result.json")
    finally:
        tmp_path.chmod(0o700)


def test_files_are_written_into_a_folder_that_is_made(tmp_path: Path) -> None:
    written = write_into(tmp_path / "a" / "b", [("one", b"1"), ("two", b"2")])
    assert [(path.name, path.read_bytes()) for path in written] == [("one", b"1"), ("two", b"2")]
    with pytest.raises(OutputError, match=r"cannot write .*one: "):
        write_into(written[0], [("three", b"3")])
    assert written[0].read_bytes() == b"1"


def test_checking_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    check_writable(path)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"old")
    check_writable(path)
    assert path.read_bytes() == b"old"


def test_a_device_file_is_written_to_not_replaced() -> None:
    check_writable(Path("/dev/null"))
    write_atomically(Path("/dev/null"), b"content")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OutputError, match="No space left"):
        write_atomically(Path("/dev/full"), b"content")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_yaml_is_read_as_version_1_2() -> None:
    """PyYAML would read these as True, False, text, text, 90 and 10."""
    text = "[on, no, 1e6, 3e-5, 1:30, 012]"
    assert parse_yaml(text, "test") == ["on", "no", 1e6, 3e-5, "1:30", 12]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds nothing"),
        (b"- 1\n- 2\n", "holds list"),
        (b"just text", "holds str"),
        (b"nand:\n  channels: [1, 2\n", ":3: "),
        (b"nand:\n\tchannels: 8\n", ":2: "),
        (b"a: 1\na: 2\n", ':2: duplicate key "a"; accepted: each key once'),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "not UTF-8"),
        (b"a: \x00", "special characters"),
        (b"a: !!python/object/apply:os.system ['true']", "constructor"),
        (b"[" * 5000, "nested too deeply"),
    ],
)
def test_what_is_no_configuration_is_refused_with_its_place(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "device.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as refusal:
        read_yaml(path)
    assert str(path) in str(refusal.value)
    assert words in str(refusal.value)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "device.yaml"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(ConfigError, match="larger than 256 KiB"):
        read_yaml(path)


def nested(line: str, first: str, count: int) -> str:
    """Return lines each of which names the one before it more than once."""
    return first + "".join(line.format(i=i, b=i - 1) for i in range(1, count))


@pytest.mark.parametrize(
    "text",
    [
        nested("k{i}: &k{i} [*k{b}, *k{b}, *k{b}]\n", "k0: &k0 [x, x, x]\n", 9),
        nested("k{i}: &k{i} {{a: *k{b}, b: *k{b}}}\n", "k0: &k0 {a: 1}\n", 30),
        nested("k{i}: &k{i} {{<<: [*k{b}, *k{b}]}}\n", "k0: &k0 {a: 1}\n", 24),
    ],
)
def test_aliases_do_not_make_a_short_text_endless(text: str) -> None:
    """A device file of 306 bytes took all memory.

    The parser shares what aliases stand for; whoever walks the values does not.
    """
    with pytest.raises(ConfigError, match=r"device.yaml:\d+: its aliases expand to \d+ values"):
        parse_yaml(text, "device.yaml")


def test_an_alias_of_what_it_stands_in_is_refused() -> None:
    """`nand: &a` over `  x: *a` ended with a RecursionError in what walks the keys."""
    with pytest.raises(ConfigError, match=r"device\.yaml:1: an alias of a value that contains it"):
        parse_yaml("nand: &a\n  x: *a\n", "device.yaml")


def test_aliases_of_a_usual_file_are_put_in() -> None:
    assert parse_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a\n", "test") == {
        "a": {"x": 1},
        "b": {"x": 1, "y": 2},
        "c": {"x": 1},
    }


def test_more_values_than_a_device_has_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of 0.8 MiB took the parser 10 s, a file of 4 MiB a minute."""
    monkeypatch.setattr(files, "YAML_NODES_MAX", 100)
    with pytest.raises(ConfigError, match="holds more than 100 values"):
        parse_yaml("- 1\n" * 200, "device.yaml")


@pytest.mark.parametrize("source", ["/dev/zero", "/dev/urandom"])
def test_what_never_ends_is_read_up_to_the_limit(source: str) -> None:
    """`verify /dev/zero` took 4 GiB before it was out of memory."""
    with pytest.raises(OSError, match="larger than 64 KiB"):
        read_bytes(Path(source), 64 << 10)


def test_a_pipe_without_a_writer_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that read one waited for ever."""
    monkeypatch.setattr(files, "PIPE_WAIT_S", 0.01)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="a pipe that stayed silent"):
        read_yaml(tmp_path / "pipe")


def test_the_pipe_of_a_shell_is_read_to_its_end() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a: 1\n")
    os.close(writer)
    try:
        assert read_yaml(Path(f"/dev/fd/{reader}")) == {"a": 1}
    finally:
        os.close(reader)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "half\ud800"])
def test_a_name_that_no_file_can_have_is_refused(name: str) -> None:
    """`config check` of 300 letters ended with an OSError of `Path.is_file`."""
    with pytest.raises(OSError, match="name"):
        read_bytes(Path(name), 10)
    assert not files.is_there(Path(name))


def test_a_directory_that_could_not_be_written_is_refused_before(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path, tmp_path / "new", tmp_path / "new" / "deeper"):
        check_folder(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    for folder, said in (
        (tmp_path / "file", "is not a directory"),
        (tmp_path / "file" / "below", "is not a directory"),
        (Path("/proc/x"), "cannot write /proc/x: /proc: "),
    ):
        with pytest.raises(OutputError, match=said):
            check_folder(folder)


def test_yaml_of_another_version_is_refused() -> None:
    """By version 1.1 `010` is 8: a directive changed numbers without a word."""
    with pytest.raises(ConfigError, match=r"a.yaml:2: `%YAML 1.1`; accepted: YAML 1.2"):
        parse_yaml("# a drive\n%YAML 1.1\n---\npages: 010\n", "a.yaml")
    assert parse_yaml("%YAML 1.2\n---\npages: 010\n", "a.yaml") == {"pages": 10}
