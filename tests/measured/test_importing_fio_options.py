"""Options of jobs of fio: where they stand, and which make a cell another than a plain one."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from test_importing_fio import imported, labels, options, sample, varied

from opennandlab.measured.fio.options import load


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rw": "randread:8"}, "rw is randread:8: one of 8 requests is at a new place"),
        ({"rw": "read:4k"}, "rw is read:4k: requests leave gaps"),
        ({"rate_process": "poisson", "rate": ",500k"}, "rate is ,500k: the rate is the one"),
        ({"thinktime": "50", "thinktime_blocks": "4"}, "thinktime is 50: the rate has pauses"),
        ({"percentage_random": "5"}, "percentage_random is 5: the others are sequential"),
        ({"percentage_random": "100,50"}, "percentage_random is 100,50: the others"),
        ({"random_distribution": "zipf:1.2"}, "random_distribution is zipf:1.2: some places"),
        ({"latency_target": "2ms"}, "latency_target is 2ms: fio sets the depth by it"),
        ({"iodepth_low": "2"}, "iodepth_low is 2: the queue is not kept full"),
        ({"iodepth_batch": "4"}, "iodepth_batch is 4: requests begin or end in batches"),
        ({"iodepth_batch_complete_min": "4"}, "iodepth_batch_complete_min is 4: requests begin"),
        ({"zonemode": "strided", "zonesize": "1m"}, "zonemode is strided: requests go through"),
        ({"flow": "3"}, "flow is 3: other jobs hold its rate back"),
        ({"ioengine": "null"}, "ioengine is null: its requests are none of a drive"),
        ({"ioengine": "mmap"}, "ioengine is mmap: the page cache of the host takes part"),
        ({"read_iolog": "a.log"}, "read_iolog is a.log: requests are those of a log"),
        ({"verify": "crc32c"}, "verify is crc32c: data are checked, and read for it"),
        ({"readfua": "1"}, "readfua is 1: reads pass the cache of the drive"),
        ({"rw": "randwrite", "sync": "dsync"}, "sync is dsync: each write lasts until it is on"),
        ({"rw": "randrw", "sync": "1"}, "sync is 1: each write lasts until it is on the medium"),
        ({"rw": "randwrite", "fsync": "8"}, "fsync is 8: flushes between the writes take time"),
        ({"rw": "write", "fdatasync": "1"}, "fdatasync is 1: flushes between the writes"),
    ],
)
def test_options_that_change_what_is_measured_make_a_cell_uncertain(
    tmp_path: Path, given: dict[str, str], said: str
) -> None:
    """Pauses, flushes, hits of a few places were plain cells, and `calibrate` took them."""
    found = load(sample("plain")["jobs"][0]["job options"] | {"direct": "1"} | given)
    assert any(reason.startswith(said) for reason in found.limits), found.limits
    (doubt,) = imported(tmp_path, varied(options(**given))).header.imported.uncertain or []
    assert set(found.limits) <= set(doubt.reasons)


def test_options_that_change_nothing_are_passed_over(tmp_path: Path) -> None:
    plain = {
        "rate": "0", "thinktime": "0", "thinktime_blocks": "4", "sync": "1", "fsync": "8",
        "percentage_random": "100,100", "random_distribution": "random", "iodepth_low": "4",
        "iodepth_batch": "1", "iodepth_batch_complete_min": "0", "zonemode": "none", "flow": "0",
        "iodepth_batch_complete_max": "4", "verify": "0", "norandommap": "1",
    }  # fmt: skip
    assert imported(tmp_path, varied(options(**plain))).header.imported.uncertain is None
    assert not load({"direct": "1", "rw": "read", "percentage_random": "5"}).limits
    assert not load({"direct": "1", "rw": "randread", "iodepth_batch": "16"}).limits


def test_requests_go_through_the_page_cache_where_the_engine_has_one(tmp_path: Path) -> None:
    for engine, buffered, count in (("libaio", "0", 0), ("libaio", "1", 1), ("rbd", "1", 0)):
        document = varied(options(ioengine=engine, buffered=buffered))
        del document["global options"]["direct"]
        assert len(imported(tmp_path, document).header.imported.uncertain or []) == count


def test_options_may_all_be_global(tmp_path: Path) -> None:
    """A section without lines of its own lost `rate_iops`, and "fio-3.33 writes no options"."""
    document = varied(options(rate_iops="300"))
    document["global options"] |= document["jobs"][0].pop("job options")
    found = imported(tmp_path, document)
    assert [one.reasons for one in found.header.imported.uncertain or []] == [
        ["rate_iops is 300: the rate is the one that was asked for"]
    ]
    assert found.header.queue_depth == 4
    assert not any("no options" in text for text in found.warnings)
    del document["global options"]
    said = " ".join(imported(tmp_path, document).warnings)
    assert "fio-3.33 wrote no options here: size and mix are those of the figures" in said


def test_clients_have_the_options_of_their_hosts(tmp_path: Path) -> None:
    """Of several clients `global options` is a list: such an output was refused as damaged."""
    document = sample("plain")
    (job,) = document.pop("jobs")
    own = job.pop("job options")
    hosts = [{"hostname": name, "port": 8765} for name in ("one", "two")]
    sizes = [{**own, **document["global options"], **host, "bs": bs}
             for host, bs in zip(hosts, ("16k", "4k"), strict=True)]  # fmt: skip
    small = copy.deepcopy(job) | hosts[1]
    small["read"]["io_bytes"] //= 4
    small["read"]["bw_bytes"] //= 4
    total = {**job, "jobname": "All clients", "hostname": "", "port": 0}
    found = imported(tmp_path, {**document, "global options": sizes,
                                "client_stats": [job | hosts[0], small, total]})  # fmt: skip
    assert labels(found) == {"16 KiB 100/0", "4 KiB 100/0"}
    assert found.header.imported.uncertain is None


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({"bs": "0x1000"}, (4096, 4096)),
        ({"bs": "4ki"}, (4096, 4096)),
        # As fio 3.33 does: the units are the opposite of the usual ones, and `kb_base` counts for
        # what it reads later.
        ({"bs": "4kib"}, (4000, 4000)),
        ({"kb_base": "1000", "bs": "4k,16KiB"}, (4000, 16384)),
        ({"bs": "4k", "kb_base": "1000"}, (4096, 4096)),
        ({"bsrange": "0x200-1M"}, (512, 1 << 20)),
        ({"bssplit": "4k/60:0x4000/40"}, (4096, 16384)),
        ({}, (4096, 4096)),
    ],
)
def test_sizes_are_read_as_fio_reads_them(given: dict[str, str], sizes: tuple[int, int]) -> None:
    assert load({"direct": "1", **given}).sizes == sizes


def test_counts_are_read_as_fio_reads_them() -> None:
    found = load({"iodepth": "0x10", "numjobs": "2", "rw": "randread"})
    assert (found.depth, found.processes) == (16, 2)
    for given in ({"iodepth": "x"}, {"numjobs": "-1"}, {"bs": "0"}, {"bs": "0.5k"}):
        with pytest.raises(ValueError, match="accepted"):
            load(given)
