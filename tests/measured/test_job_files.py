"""Job files of fio: each option is carried out, approximated, listed, or refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opennandlab.base.errors import ConfigError
from opennandlab.measured.fio import joboptions
from opennandlab.measured.fio.jobtext import is_job_file, sections
from opennandlab.measured.fio.plan import Drive, Plan, plan

GIB = 1 << 30
DRIVE = Drive(8 * GIB, handles=4)


def read(folder: Path, text: str, drive: Drive = DRIVE, **environment: str) -> Plan:
    path = folder / "job.fio"
    path.write_text(text, encoding="utf-8")
    return plan(sections(path, environment or None), drive)


def spec(folder: Path, text: str, **drive: Any) -> dict[str, Any]:
    return dict(read(folder, f"[job]\n{text}", **drive).processes[0].spec)


def test_every_option_has_one_meaning() -> None:
    tables = [*map(set, (joboptions.RUN, joboptions.NEAR, joboptions.NO)), joboptions.SAID]
    assert sum(map(len, tables)) == len(set().union(*tables))
    assert set(joboptions.ALIASES.values()) <= set().union(*tables)
    assert not set(joboptions.ALIASES) & set().union(*tables)


# Options of `options.c` of fio 3.42, one of each group of its table.
@pytest.mark.parametrize(
    "name",
    ["rw", "bssplit", "percentage_random", "zoneskip", "thinktime_iotime", "plids", "ss_dur",
     "ioscheduler", "verify_backlog", "hugepage-size", "cgroup_weight", "log_hist_coarseness",
     "cmdprio_percentage", "sqthread_poll", "latency_target", "num_range", "http_host"],
)  # fmt: skip
def test_options_of_fio_are_known(name: str) -> None:
    assert name in joboptions.KNOWN


SPECS: list[tuple[str, dict[str, Any]]] = [
    ("", {"kinds": "read", "is_random": False, "size": 8 * GIB, "depth": 1}),
    ("rw=randread", {"is_random": True, "has_map": True, "reach": 8 * GIB}),
    ("rw=write:4k", {"kinds": "write", "skip": 4096}),
    ("rw=read:-8k", {"skip": -8192}),
    ("rw=randread:8", {"is_random": True, "new_place_every": 8}),
    ("readwrite=randrw\nrwmixwrite=30", {"kinds": "mixed", "read_pct": 70}),
    ("rw=randtrimwrite", {"kinds": "trim_write", "is_random": True}),
    ("rw=randread\nrandom_distribution=zipf:1.2",
     {"has_map": False, "places": {"law": "zipf", "value": 1.2, "center": None}}),
    ("rw=randread\nba=8k", {"has_map": False, "align": [8192] * 3}),
    ("size=50%\noffset=25%", {"size": 4 * GIB, "offset": 2 * GIB, "reach": 6 * GIB}),
    ("filename=/dev/nvme0n1\nsize=1g", {"size": GIB, "reach": 8 * GIB}),
    ("size=1g\nio_size=50%", {"io_size": GIB // 2}),
    # As fio 3.33 with these options: 25, 20, 75 and 12 requests of 4 KiB.
    ("filesize=100k\nsize=8m", {"offset": 0, "size": 100 << 10}),
    ("filesize=100k\noffset=20k", {"offset": 20 << 10, "size": 80 << 10}),
    ("filesize=100k\nnrfiles=3\nsize=8m", {"size": 300 << 10}),
    ("filesize=100k\nsize=50%", {"size": 50 << 10}),
    ("filesize=1m\nsize=200k", {"size": 200 << 10}),
    ("iodepth=8", {"depth": 1}),
    ("iodepth=8\nioengine=libaio", {"depth": 8}),
    ("runtime=1m\nramp_time=500ms", {"runtime_ns": 60 * 10**9, "ramp_ns": 5 * 10**8}),
    ("rate=1m,500k", {"rate": [1 << 20, 500 << 10, 500 << 10]}),
    ("rate_iops=,50", {"rate_iops": [0, 50, 50]}),
    ("thinktime=10ms\nthinktime_iotime=2",
     {"think": {"ns": 10**7, "blocks": 0, "by_issue": False, "every_ns": 2 * 10**9}}),
    ("fdatasync=4\nend_fsync=1", {"flush_every": 4, "ends_with_flush": True}),
    ("sync=dsync", {"is_fua": True}),
    ("zonemode=strided\nzonesize=1m\nzoneskip=2m",
     {"stride": {"range": 1 << 20, "size": 1 << 20, "skip": 2 << 20}}),
    ("zoneskip=2m", {"stride": None}),
    ("rw=randread\nnorandommap", {"has_map": False}),
    ("rw=randread\nnorandommap\nrandom_generator=lfsr", {"has_map": True}),
    ("fdp=1\nplids=1,3", {"handles": {"by": "round_robin", "ids": [1, 3]}}),
    ("write_hint=long", {"handles": {"by": "round_robin", "ids": [3]}}),
    ("ss=iops_slope:0.3%\nss_dur=30s",
     {"steady": {"of": "iops", "is_slope": True, "limit": 0.3, "is_percent": True, "window": 30,
                 "interval_ns": 10**9, "ramp_ns": 0}}),
    ("randseed=5", {"repeats": False}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SPECS)
def test_an_option_becomes_a_key_of_the_source(
    tmp_path: Path, text: str, expected: dict[str, Any]
) -> None:
    found = spec(tmp_path, text)
    assert {key: found[key] for key in expected} == expected


def test_sizes_are_read_by_direction(tmp_path: Path) -> None:
    found = spec(tmp_path, "rw=randrw\nbs=8k,16k")["sizes"]
    assert [one["min"] for one in found[:2]] == [8192, 16384]
    found = spec(tmp_path, "rw=randwrite\nbssplit=4k/60:16k/40")["sizes"][1]
    assert found == {"min": 4096, "max": 16384, "split": [(4096, 60), (16384, 40)]}
    zones = spec(tmp_path, "rw=randread\nsize=1g\nrandom_distribution=zoned:60/10:30/20:8/30:2/40")
    shares = [(share, first, end) for share, first, end in zones["places"]["zones"][0]]
    assert [share for share, *_ in shares] == [60, 30, 8, 2]
    assert shares[-1][2] <= GIB


def test_stonewalls_make_stages_and_sections_of_global_are_common(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        ; a comment
        [global]
        rw=randread  # and another
        numjobs=2
        [a]
        [b]
        new_group
        [c]
        stonewall
        rw=write
        wait_for=b
        [d]
        wait_for=c
    """,
    )
    assert [[one.job.section.name for one in stage] for stage in found.stages] == [
        ["a", "a", "b", "b"], ["c", "c", "d", "d"],
    ]  # fmt: skip
    assert [one.group for one in found.processes] == [0, 0, 1, 1, 2, 2, 2, 2]
    assert [one.spec["after"] for one in found.stages[1]] == [[], [], [0, 1], [0, 1]]
    assert len({one.spec["name"] for one in found.processes}) == 8, "own randomness"


def test_what_is_not_carried_out_is_named_once(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        [global]
        ioengine=psync
        direct=1
        iodepth=16
        verify=crc32c
        [a]
        [b]
        iodepth_batch=1
        nrfiles=4
    """,
    )
    assert found.notes == [
        f"approximated: verify: {joboptions.VERIFY}",
        "approximated: iodepth 16: the engine psync has depth 1",
        "approximated: nrfiles: the job has one range, from its offset on",
        "without meaning on a simulated drive: direct",
    ]


REFUSED = [
    ("[a]\nblocksise=4k", 2, "did you mean `blocksize`?"),
    ("[a]\nbs=1000", 2, "multiples of 512 B"),
    ("[a]\nbs=4q", 2, "a number such as 4k"),
    ("[a]\nbs", 2, "one behind `=`"),
    ("[a]\nbs=", 2, "one to three values"),
    ("[a]\nbs=４k", 2, "a number such as 4k"),
    ("[a]\nruntime=４", 2, "a time such as 30s"),
    ("[a]\nruntime=99999999999999999999", 2, "a time up to 53375d"),
    ("[a]\nthinktime=99999d", 2, "a time up to 53375d"),
    ("[a]\nfilesize=1m\noffset=1m", 2, "above the offset of 1048576 B"),
    ("[a]\nsize=9g", 2, "up to 8589934592 B"),
    ("[a]\nsize=5g\noffset=5g", 2, "the rest of the drive"),
    ("[a]\noffset=9g", 2, "below the 8589934592 B"),
    ("[a]\nsize=1k", 2, "a request of 4096 B"),
    ("[a]\nrw=random", 2, "randread"),
    ("[a]\nrandom_distribution=zipf:1", 2, "differs from 1"),
    ("[a]\nrw=randread\nrandom_distribution=zoned:60/50:50/50", 3, "100 %"),
    ("[a]\nbssplit=4k/60:8k/50", 2, "100 %"),
    ("[a]\nrate=1m\nrate_iops=5", 3, "one of rate and rate_iops"),
    ("[a]\niodepth=0", 2, "1 to 65536"),
    ("[a]\nlatency_target=5ms", 2, "not searched"),
    ("[a]\nzonemode=zbd", 2, "zones are not written by jobs"),
    ("[a]\nzonesize=1m", 2, "zonemode=strided with a zonesize"),
    ("[a]\nzonemode=none\nzonesize=1m", 3, "zonemode=strided with a zonesize"),
    ("[a]\nzonemode=strided", 2, "zonemode=strided with a zonesize"),
    ("[a]\ndirect=maybe", 2, "0 or 1"),
    ("[a]\nnice=low", 2, "a number such as 4k"),
    ("[a]\nnrfiles=some", 2, "a number such as 4k"),
    ("[a]\nrw=read:--4k", 2, "a number such as 4k"),
    ("[a]\nioengine=null", 2, "none of a drive"),
    ("[a]\nioengine=libaoi", 2, "did you mean `libaio`?"),
    ("[a]\nread_iolog=x", 2, "opennandlab replay"),
    ("[a]\nnumjobs=4096\n[b]", None, "4096 processes"),
    ("[a]\nsize=${SIZE}", 2, "with --env"),
    ("[a]\nsize=$mb_memory", 2, "depends on the machine"),
    ("[a]\nplids=9\nfdp=1", 2, "below 4"),
    ("[a]\nwait_for=b", 2, "a job before this one"),
    ("[a]\nss_dur=1500ms", 2, "a multiple of ss_interval"),
    ("[a]\ninclude ../x.fio", 2, "in this folder"),
    ("[a]\ninclude missing.fio", None, "No such file"),
    ("[a\nbs=4k", 1, "accepted: [name]"),
    ("bs=4k\n[a]", 1, "in no section"),
    ("; nothing\n", None, "no job in it"),
    ("[global]\nbs=4k", None, "no job in it"),
    ("[a]\nbs=4k\x1b[31m", 2, "control character 0x1b"),
    ("[a]\ndescription=" + "x" * 9000, 2, "up to 8192"),
    ("[a]\n" * 5000, 4097, "more than 4096 sections"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "words"), REFUSED)
def test_bad_input_is_refused_with_its_place(
    tmp_path: Path, text: str, line: int | None, words: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        read(tmp_path, text)
    assert words in str(refusal.value)
    if line is not None:
        assert refusal.value.path == f"{tmp_path}/job.fio:{line}"


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.fio"
    path.write_bytes(b"[a]\nbs=\xff\n")
    with pytest.raises(ConfigError, match=r"job\.fio:2: byte 7 is not UTF-8"):
        sections(path, None)
    path.write_bytes(b"[a]\n" * (5 << 20))
    with pytest.raises(ConfigError, match="larger than 1 MiB"):
        sections(path, None)


def test_files_of_the_folder_are_included_and_the_environment_is_asked(tmp_path: Path) -> None:
    (tmp_path / "common.fio").write_text("bs=16k\nrw=randread\n")
    found = read(tmp_path, "[a]\ninclude common.fio\nsize=${SIZE}\n", SIZE="1g")
    assert found.processes[0].spec["sizes"][0]["min"] == 16384
    assert found.processes[0].spec["size"] == GIB
    (tmp_path / "link.fio").symlink_to("/etc/hostname")
    with pytest.raises(ConfigError, match="a link out of the folder"):
        read(tmp_path, "[a]\ninclude link.fio")
    (tmp_path / "common.fio").write_text("[b]\n")
    with pytest.raises(ConfigError, match=r"common\.fio:1: a section in an included file"):
        read(tmp_path, "[a]\ninclude common.fio")
    with pytest.raises(ConfigError, match="`NONE` is not set"):
        read(tmp_path, "[a]\nsize=${NONE}", SIZE="1g")


def test_job_files_are_told_from_workload_files(tmp_path: Path) -> None:
    for name, text, is_job in [
        ("a.fio", "", True), ("a", "# x\n\n[job]\nrw=read\n", True),
        ("a.yaml", "pattern: x", False), ("b.yaml", "[1, 2]: x", False), ("none", None, False),
    ]:  # fmt: skip
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        assert is_job_file(path) is is_job, name
