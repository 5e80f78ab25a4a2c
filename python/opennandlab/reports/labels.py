"""Names of keys, numbers and choices as a figure has them, for people who never typed the key.

One table for the frequent ones. Any other key is written as its last words, with the unit that
its ending names in the reference: `nand.timing.t_read_us` is "t read (µs)".
"""

from __future__ import annotations

import re

from opennandlab.reports.words import METRICS

# Key or number -> its name, its unit, and the factor from the document's number to that unit.
NAMES: dict[str, tuple[str, str, float]] = {
    "ftl.over_provisioning_pct": ("over-provisioning", "%", 100.0),
    "ftl.over_provisioning_ratio": ("over-provisioning", "%", 100.0),
    "ftl.gc_trigger_free_pct": ("erased share that starts a collection", "%", 100.0),
    "ftl.gc_trigger_free_ratio": ("erased share that starts a collection", "%", 100.0),
    "ftl.gc_policy": ("victim policy", "", 1.0),
    "ftl.gc_policy.d": ("blocks drawn by d-choices", "", 1.0),
    "ftl.write_buffer_pages": ("write buffer", "pages", 1.0),
    "ftl.wear_leveling": ("wear leveling", "", 1.0),
    "nand.dies_per_channel": ("dies per channel", "", 1.0),
    "nand.timing.t_read_us": ("page read time", "µs", 1.0),
    "nand.timing.t_program_us": ("page program time", "µs", 1.0),
    "nand.timing.t_erase_us": ("block erase time", "µs", 1.0),
    "workload.pattern": ("workload", "", 1.0),
    "workload.queue_depth": ("queue depth", "", 1.0),
    "workload.read_pct": ("reads", "% of requests", 1.0),
    "workload.block_size_bytes": ("request size", "bytes", 1.0),
    "waf": ("write amplification", "", 1.0),
    "predicted_waf": ("write amplification by theory", "", 1.0),
    "iops.total": ("IOPS", "", 1.0),
    "iops.read": ("read IOPS", "", 1.0),
    "iops.write": ("write IOPS", "", 1.0),
    "throughput_mb_s.total": ("throughput", "MB/s", 1.0),
    "latency_us_mean": ("mean latency", "µs", 1.0),
    "tbw_tb": ("written until worn out", "TB", 1.0),
    "life.tbw_tb": ("written by the host", "TB", 1.0),
    "fer": ("frame error rate", "", 1.0),
    "ber": ("bit error rate", "", 1.0),
    "rber": ("raw bit error rate", "", 1.0),
    "uber": ("data errors per bit read (UBER)", "", 1.0),
    "pe_cycles": ("P/E cycles", "", 1.0),
    "retention_h": ("time since programming", "h", 1.0),
    "temperature_c": ("temperature", "°C", 1.0),
    "reads": ("reads per page of the block", "", 1.0),
    "decoder.iterations": ("iterations", "", 1.0),
}
# Ending of a key -> unit, as the reference uses them.
UNITS = {
    "_mb_s": "MB/s", "_mt_s": "MT/s", "_per_s": "per s", "_us": "µs", "_ns": "ns", "_ms": "ms",
    "_s": "s", "_h": "h", "_days": "days", "_pct": "%", "_bytes": "bytes", "_kib": "KiB",
    "_tb": "TB", "_c": "°C", "_w": "W", "_mj": "mJ", "_nj": "nJ", "_v": "V",
}  # fmt: skip
LATENCY = re.compile(r"latency_us\.(\w+)\.(?:p(\d+)|(mean|max|min|stddev))")
SIDES = {"all": "latency"}
# Built-in victim policies in the order of every legend; each has the colour of its place.
POLICIES = {
    "greedy": "greedy", "cost_benefit": "cost-benefit", "d_choices": "d-choices",
    "random": "random", "fifo": "FIFO", "windowed_greedy": "windowed greedy",
}  # fmt: skip
POLICY_KEY = "ftl.gc_policy"


def parts(key: str) -> tuple[str, str, float]:
    """Return the name of a key or number, its unit, and the factor to that unit.

    >>> parts("ftl.over_provisioning_pct"), parts("nand.timing.t_transfer_us")
    (('over-provisioning', '%', 100.0), ('t transfer', 'µs', 1.0))
    >>> parts("latency_us.all.p999"), parts("wear.max")
    (('99.9th percentile of latency', 'µs', 1.0), ('wear, max', '', 1.0))
    """
    if key in NAMES:
        return NAMES[key]
    if (found := LATENCY.fullmatch(key)) is not None:
        side, digits, what = found.groups()
        of = SIDES.get(side, f"{side} latency")
        if digits:
            nines = digits if len(digits) < 3 else f"{digits[:2]}.{digits[2:]}"
            return f"{nines}th percentile of {of}", "µs", 1.0
        return f"{what} {of}", "µs", 1.0
    if key in METRICS:
        return METRICS[key][0], "", METRICS[key][1]
    head, _, last = key.rpartition(".")
    unit = next((one for ending, one in UNITS.items() if last.endswith(ending)), "")
    if unit:
        last = last.removesuffix(next(end for end in UNITS if last.endswith(end)))
    if len(last.split("_")) == 1 and head and not unit:
        last = f"{head.rpartition('.')[2]}, {last}"
    return last.replace("_", " "), unit, 1.0


def axis(key: str) -> tuple[str, float]:
    """Return the label of an axis, and the factor of its values.

    >>> axis("ftl.over_provisioning_pct"), axis("waf")
    (('over-provisioning (%)', 100.0), ('write amplification', 1.0))
    """
    name, unit, factor = parts(key)
    return (f"{name} ({unit})" if unit else name), factor


def choice(text: str) -> str:
    """Return the value of a key as a legend has it: words, and parameters in parentheses.

    >>> choice("cost_benefit"), choice("d_choices d=4"), choice("my_policies:GreedyWithAge")
    ('cost-benefit', 'd-choices (d = 4)', 'GreedyWithAge')
    >>> choice("hot_cold fraction=0.1 share=0.9"), choice("tlc_standard.yaml")
    ('hot cold (fraction = 0.1, share = 0.9)', 'tlc_standard.yaml')
    """
    kind, *rest = text.split(" ")
    if rest and not all("=" in one for one in rest):
        return text
    if kind in POLICIES:
        kind = POLICIES[kind]
    elif re.fullmatch(r"[\w.]+:[A-Za-z_]\w*", kind):
        kind = kind.rpartition(":")[2]
    elif re.fullmatch(r"[a-z]+(_[a-z]+)+", kind):
        kind = kind.replace("_", " ")
    given = ", ".join(one.replace("_", " ").replace("=", " = ") for one in rest)
    return f"{kind} ({given})" if given else kind


def policy_places(names: list[str]) -> dict[str, int]:
    """Return the place in the palette of each victim policy, in the order of the legend.

    A built-in policy has the same place in each figure. A second one of its kind, with other
    parameters, and policies of users take the places after them.

    >>> policy_places(["fifo", "mine:Aged", "greedy", "d_choices d=2", "d_choices d=4"])
    {'greedy': 0, 'd_choices d=2': 2, 'fifo': 4, 'd_choices d=4': 6, 'mine:Aged': 7}
    """
    order = list(POLICIES)
    found: dict[str, int] = {}
    later: list[str] = []
    for name in sorted(names, key=lambda one: _rank(one, order)):
        rank = _rank(name, order)
        if rank < len(order) and rank not in found.values():
            found[name] = rank
        else:
            later.append(name)
    return found | {name: len(order) + at for at, name in enumerate(later)}


def _rank(name: str, order: list[str]) -> int:
    kind = name.partition(" ")[0]
    return order.index(kind) if kind in order else len(order)
