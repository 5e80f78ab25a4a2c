"""The documents of `examples/results/`: one row for each, with the command that makes it.

`record.py` runs the commands. A row is kept while a page of docs/ shows its numbers; what takes
longer than a minute has no row, so that all of them can be made again in five.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# Words for a figure -> its dotted path in the document.
Figures = dict[str, str]

WAF: Figures = {"WAF": "metrics.waf"}
WRITES: Figures = {
    "write mean µs": "metrics.latency_us.write.mean",
    "p50": "metrics.latency_us.write.p50",
    "p99": "metrics.latency_us.write.p99",
    "p99.9": "metrics.latency_us.write.p999",
}
READS: Figures = {
    "read mean µs": "metrics.latency_us.read.mean",
    "read p99": "metrics.latency_us.read.p99",
    "write mean µs": "metrics.latency_us.write.mean",
    "write p99": "metrics.latency_us.write.p99",
}
WEAR: Figures = {
    "erases min": "metrics.wear.min",
    "mean": "metrics.wear.mean",
    "max": "metrics.wear.max",
    "stddev": "metrics.wl_stddev",
}


@dataclass(frozen=True)
class Entry:
    """A document of the record.

    Args:
        file: Below `examples/results/`.
        about: What it is.
        command: What follows `opennandlab`, without where the output goes.
        figures: Headline figures; a validation has its own.
    """

    file: str
    about: str
    command: str
    figures: Figures = field(default_factory=dict)


def _run(file: str, about: str, options: str, *figures: Figures) -> Entry:
    """Return a row of the benchmark page."""
    shown = {label: path for one in figures for label, path in one.items()}
    return Entry(f"benchmark-page/{file}.json", about, f"benchmark {options}", shown)


def _cells(file: str, about: str, options: str) -> Entry:
    """Return a row of validation tables."""
    return Entry(f"presets/{file}.json", about, f"validate {options}")


def _amplification() -> list[Entry]:
    """Return the grid of policy, open blocks and workload under "Write amplification"."""
    policies = {"greedy": "", "cost-benefit": " --set ftl.gc_policy=cost_benefit"}
    frontiers = {"": "", "-apart": " --set ftl.write_frontiers=host_gc"}
    return [
        _run(
            f"{workload}-{policy}{suffix}",
            f"{workload}, {policy}{', host and moved pages apart' if suffix else ''}",
            f"-w {workload} -c tlc_standard{policy_key}{frontier_key}",
            WAF,
            WRITES if workload == "W2" else {},
            WEAR if workload == "W2" and not suffix else {},
        )
        for workload in ("W1", "W2", "W3", "W3-zipf")
        for policy, policy_key in policies.items()
        for suffix, frontier_key in frontiers.items()
        if not (workload == "W1" and suffix)
    ]


ENTRIES: list[Entry] = [
    *_amplification(),
    _run(
        "W2-three-drive-writes",
        "W2 on an empty drive: WAF over its first three capacities",
        "-w W2 -c tlc_standard --state fresh --set workload.timed=false "
        "--set 'workload.total={drive_writes: 3}'",
        WAF,
    ),
    _run(
        "W2-fresh",
        "W2 on an empty drive: latency without collection",
        "-w W2 -c tlc_standard --state fresh",
        WRITES,
    ),
    _run(
        "W2-buffered",
        "W2 at 500 writes a second into a buffer of 16 MiB",
        "-w W2 -c tlc_standard --set ftl.write_buffer_pages=4096 "
        "--set host.command_overhead_us=12 "
        "--set 'workload.queue_depth={arrival: poisson, iops: 500}'",
        WRITES,
    ),
    _run(
        "W2-no-leveling",
        "W2 without wear leveling",
        "-w W2 -c tlc_standard --set ftl.wear_leveling=none",
        WEAR,
    ),
    _run(
        "W2-10000-writes",
        "W2, 10 000 writes",
        "-w W2 -c tlc_standard --set workload.total.bytes=40960000",
        WEAR,
    ),
    _run("W4", "W4, OLTP: half reads", "-w W4 -c tlc_standard", WAF, READS),
    _run("W5", "W5, 50 capacities", "-w W5 -c tlc_standard", WAF, WEAR),
    _run(
        "W5-no-leveling",
        "W5 without wear leveling",
        "-w W5 -c tlc_standard --set ftl.wear_leveling=none",
        WEAR,
    ),
    _run("W2-mlc-enterprise", "W2 on MLC-enterprise", "-w W2 -c mlc_enterprise", WAF),
    _cells("published", "client drive and drives of 2009 next to two tutorials", "published"),
    _cells("client_sata_2013", "client SATA drive of 2013", "presets --case 'client_sata_2013-*'"),
    _cells("emmc_16gb", "eMMC, 16 GB", "presets --case 'emmc_16gb-*'"),
    _cells("sata_b_2009", "SATA-B of 2009", "presets --case 'sata_b_2009-*'"),
    _cells("pci_c_2009", "PCI-C of 2009", "presets --case 'pci_c_2009-*'"),
    _cells(
        "mlc_enterprise_plp-filled",
        "enterprise MLC drive, filled",
        "presets --case 'mlc_enterprise_plp-*-filled-*'",
    ),
    _cells(
        "nvme_gen4_tlc-fresh",
        "Gen4 TLC drive, empty",
        "presets --case 'nvme_gen4_tlc-*-fresh-*'",
    ),
    _cells("qlc_pslc-fresh", "QLC drive, empty", "presets --case 'qlc_pslc-*-fresh-*'"),
    Entry(
        "pts/iops.json",
        "PTS-E IOPS test, textbook drive",
        "pts iops -t sim:tlc_standard",
        {
            "4 KiB: write IOPS": "results.iops_rnd_4kib_write",
            "read IOPS": "results.iops_rnd_4kib_read",
            "65/35 IOPS": "results.iops_rnd_4kib_65_35",
            "WAF": "results.waf_rnd_4kib_write",
        },
    ),
    Entry(
        "pts/latency.json",
        "PTS-E latency test, textbook drive",
        "pts latency -t sim:tlc_standard",
        {
            "4 KiB: write ART ms": "results.art_ms_rnd_4kib_write",
            "MRT ms": "results.mrt_ms_rnd_4kib_write",
            "read ART ms": "results.art_ms_rnd_4kib_read",
        },
    ),
    Entry(
        "pts/throughput.json",
        "PTS-E throughput test, textbook drive",
        "pts throughput -t sim:tlc_standard",
        {
            "1 MiB: read MB/s": "results.mb_s_seq_1024kib_read",
            "write MB/s": "results.mb_s_seq_1024kib_write",
        },
    ),
]
