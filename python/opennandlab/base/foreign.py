"""Device and workload files of other simulators: which one wrote a file, by its first bytes.

`config from` reads such files; where a YAML file belongs, the error names it.
"""

from __future__ import annotations

import re

FORMATS = ("mqsim", "femu", "nvmevirt", "simplessd")
# Bytes of a file that are examined.
HEAD_BYTES = 64 << 10

# What only a file of this kind has, in the order in which they are tried.
SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("mqsim", re.compile(r"\A\s*<")),
    ("femu", re.compile(r"-device[ \t]+\\?\s*[\"']?femu\b")),
    ("nvmevirt", re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+", re.MULTILINE)),
    ("simplessd", re.compile(r"^[ \t]*\[(?:pal|ftl|icl|hil|nvme|cpu|dram)\]", re.MULTILINE)),
)
# The first line with text of a job file of fio is the name of a section.
JOB_FILE = re.compile(r"(?:[ \t]*(?:[#;].*)?\r?\n)*[ \t]*\[[^\]\n,:{]+\][ \t]*(?:[#;].*)?\r?\n")


def format_of(head: bytes) -> str | None:
    r"""Return which simulator a file is of; None for none of them.

    Args:
        head: Its first bytes.

    >>> format_of(b"<?xml version='1.0'?>\n<a/>"), format_of(b"# a device\nnand: {}\n")
    ('mqsim', None)
    >>> format_of(b"[pal]\nChannel = 8\n"), format_of(b"#define NAND_CHANNELS (8)\n")
    ('simplessd', 'nvmevirt')
    """
    text = head[:HEAD_BYTES].decode("utf-8-sig", "replace")
    return next((name for name, sign in SIGNS if sign.search(text)), None)


def refusal(head: bytes) -> str:
    """Return the error of a file in the place of a YAML file; empty for one of no simulator.

    Args:
        head: Its first bytes.
    """
    name = format_of(head)
    if name is None and JOB_FILE.match(head[:HEAD_BYTES].decode("utf-8-sig", "replace")):
        return (
            "this is a job file of fio; accepted: YAML; `opennandlab benchmark -w JOB.fio -c "
            "DEVICE` runs its jobs"
        )
    if name is None:
        return ""
    return (
        f"this is a file of another simulator ({name}); accepted: YAML, which `opennandlab config "
        "from FILE -o D.yaml` makes of it"
    )
