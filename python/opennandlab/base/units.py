"""Units of the keys of device and workload files: the names of keys state them."""

# Suffix of a key -> unit shown; `_pct` keys hold ratios, as the benchmark page writes them.
UNITS = {
    "_us": "µs",
    "_us_per_block": "µs",
    ".t_read_us": "µs, by page type",
    "command_cost_us.flush": "µs",
    "command_cost_us.read": "µs",
    "command_cost_us.trim": "µs",
    "command_cost_us.write": "µs",
    "mb_s": "MB/s",
    "_gb_s": "GB/s",
    "_iops": "commands/s",
    "_stddev": "of the mean",
    "_factor": "factor",
    "_slope": "per life",
    "_count_max": "times",
    "blocks_goal": "blocks",
    "reads_per_suspend_max": "reads",
    "_cache.pages": "pages",
    "cores": "cores",
    "queues": "queues",
    "stripe": "pages",
    "_bytes": "B",
    "_bytes_max": "B",
    "_mt_s": "MT/s",
    "_ratio": "ratio",
    "_pct": "ratio",
    "rber_floor": "errors per bit",
    "rber_ceil": "errors per bit",
    "_cycles": "erases",
    "_pages": "pages",
    "_blocks": "blocks",
    "_depth_max": "commands",
    "bch_t": "bits per codeword",
    "channels": "channels",
    "_per_channel": "dies",
    "_per_die": "planes",
    "_per_plane": "blocks",
    "_per_block": "pages",
}


def unit(path: str, value: object = None) -> str:
    """Return the unit that the name of a key states; empty for a word.

    >>> unit("nand.timing.t_erase_us"), unit("ftl.gc_policy.kind", "greedy")
    ('µs', '')
    """
    if isinstance(value, str):
        return ""
    return next((text for suffix, text in UNITS.items() if path.endswith(suffix)), "")
