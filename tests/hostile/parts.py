"""What hostile inputs are made of: wrong values, damaged bytes, and cases."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

# What a number, a text or a path may be replaced by.
NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 7, 255, 4097, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, -(2**63), 10**30),
    *(0.0, -0.0, 0.5, 1.5, 1e-9, 1e-300, 5e-324, 1e9, 1e308, -1e308, float("nan"), float("inf")),
)
TEXTS = (
    *("", " ", "x", "none", "NONE", "true", "1", "1e3", "1GiB", "-5", "nan", "inf", "[", "{}", "%"),
    *(
        "a" * 300,
        "a" * 100_000,
        "ä",
        "日本",
        "\x00",
        "\x1b[31m",
        "a\nb",
        "'",
        '"',
        "`",
        "\\",
        "..",
        "~",
    ),
    *("\ud800", "\udcff", "!!python/object", "*a", "&a", "<<", "2.0s:1.0s", "1e-3:1e-2:0", "0/0"),
)
VALUES: tuple[Any, ...] = (
    *NUMBERS,
    *TEXTS,
    *(None, True, False, [], {}, [[]], [1, 2], {"kind": "x"}, {"kind": None}, [None], {"": 0}),
)
# Where text stands on a command line; no path leads out of the folder of the case.
WORDS = (
    *("", " ", "x", "-", "--", ".", "..", "none", "none/none", "a" * 300, "a" * 5000, "0", "-1"),
    *("1", "1.5", "1e400", "nan", "inf", "-inf", "1e-400", "0x10", "1_000", "٣", "9" * 400, "1,2"),
    *("1:2:3", "1:2:0", "2:1:5", "1:2", ",", ":", "=", "a=b", "ftl.gc_policy=", "=1", "a..b=1"),
    *("nand.channels=[", "nand.channels=*a", "tlc_standard", "W1", "small.yaml", "small.yaml/x"),
    *("bad\udcff", "a\nb", "\x1b[31m", "ä", "%s", "{}", "image:", "image:none", "image:small.yaml"),
    *("sim:small.yaml", "sim:", "sim:none", "file:", "nbd://", "bch:m=13,t=8", "bch:m=99,t=8"),
    *("bch:m=13,t=8,data_bits=4096", "bch:m=5,t=2", "bch:", "ldpc:", "ldpc:x.alist", "nand-1k"),
    *("bsc", "awgn", "sensing:3", "sensing:0", "1e-3", "1e-3,2e-3", "fresh", "/dev/null"),
    "/dev/full",
)  # fmt: skip
# Numbers that no writer of JSON writes, and readers take: a text that stands for each until then.
RAW = {"<1e400>": b"1e400", "<-1e999>": b"-1e999", "<digits>": b"9" * 400, "<more>": b"7" * 5000}
# What a whole section of a document may be replaced by.
SECTIONS: tuple[Any, ...] = (
    *({}, [], None, -1, 0, "x", True, [{}], {"": {}}, "\ud800", float("nan"), 10**30, [[[]]] * 3),
    *RAW,
)
SMALL: dict[str, Any] = {
    "nand": {
        "channels": 2,
        "dies_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 32,
        "pages_per_block": 16,
    },
    "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 2},
}
SHORT: dict[str, Any] = {
    "name": "short",
    "pattern": "random",
    "read_pct": 30,
    "queue_depth": 4,
    "total": {"ios": 2000},
    "precondition": [{"kind": "sequential_fill"}],
}


# What is put into bytes: what parsers stumble over.
PIECES = (
    *(b"\x00", b"\xff\xfe", b"\n", b"\t", b"\xef\xbb\xbf", b"NaN", b"1e400", b'"\\ud800"', b"#"),
    *(b"*a", b"&a ", b"- ", b"{", b"[" * 200, b": ", b"9" * 5000, b"-1", b"\x1b[31m"),
)


@dataclass(frozen=True)
class Bases:
    """What works, made once: resolved documents, results, an image, a container.

    Args:
        device: A resolved device.
        workload: A resolved workload for it.
        result: Its result file.
        test: A document of a standard test.
        curve: A curve of failure rates.
        image: A device image.
        container: Codewords of a file.
        options: Verb, as typed, to (its options that take a value, its flags, its arguments).
        families: Documents of other verbs, by name.
        moments: When and where a standard test ran.
        journal: Its journal.
    """

    device: dict[str, Any]
    workload: dict[str, Any]
    result: dict[str, Any]
    test: dict[str, Any]
    curve: dict[str, Any]
    image: bytes
    container: bytes
    options: dict[str, tuple[list[str], list[str], int]]
    families: dict[str, dict[str, Any]]
    moments: dict[str, Any]
    journal: bytes


@dataclass(frozen=True)
class Case:
    """One input.

    Args:
        kind: Row of `KINDS`.
        number: Its place among those of a seed.
        arguments: Of the command, or the name of an API call and its arguments, or two commands of
            which the second follows when the first was done.
        files: What lies in the folder.
        may_fail: Whether exit code 1 is an answer: of `verify` for a file that was edited, of `ecc
            decode` for a word with too many errors, of `reliability life` for a drive that fails,
            of fleets, cards and power cuts for what they are there to find.
    """

    kind: str
    number: int
    arguments: tuple[Any, ...]
    files: dict[str, bytes] = field(repr=False)
    may_fail: bool = False


def dumped(document: object) -> bytes:
    """Return JSON as a hostile writer would: NaN and halves of surrogate pairs included."""
    content = json.dumps(document).encode()
    for mark, digits in RAW.items():
        content = content.replace(json.dumps(mark).encode(), digits)
    return content


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a document but itself."""
    found = [path] if path else []
    pairs: Any = ()
    if isinstance(document, dict):
        pairs = document.items()
    elif isinstance(document, list):
        pairs = enumerate(document[:20])
    for key, value in pairs:
        found += places(value, (*path, key))
    return found


def mutated(rng: random.Random, document: Any, values: tuple[Any, ...] = VALUES) -> Any:
    """Return a copy with one to three values replaced, removed, renamed or wrapped."""
    copy = json.loads(json.dumps(document))
    for _ in range(rng.choice((1, 1, 2, 3))):
        choices = places(copy)
        if not choices:
            return copy
        *parents, last = rng.choice(choices)
        here = copy
        for part in parents:
            here = here[part]
        how = rng.random()
        if how < 0.65:
            here[last] = rng.choice(values)
        elif how < 0.75:
            del here[last]
        elif how < 0.85:
            here[last] = [here[last]] if rng.random() < 0.5 else {"kind": here[last]}
        elif isinstance(here, dict):
            here[str(rng.choice(TEXTS))] = here[last]
        else:
            here.append(here[last])
    return copy


def edited(rng: random.Random, document: Any) -> Any:
    """Return a copy in which a section is something else, or a number or text is odd.

    Of a document with hundreds of values `mutated` hardly ever meets what stands at its top.
    """
    copy = json.loads(json.dumps(document))
    found = places(copy)
    top = [path for path in found if len(path) <= 2]
    *parents, last = rng.choice(top if rng.random() < 0.7 else found)
    here = copy
    for part in parents:
        here = here[part]
    value = here[last]
    if isinstance(value, str) and rng.random() < 0.6:
        here[last] = rng.choice(("\ud800", value + "\udcff", "\udfff" + value))
    elif isinstance(value, int | float) and rng.random() < 0.6:
        here[last] = rng.choice((float("nan"), float("-inf"), *RAW, 2**64 + 1, -(2**70), "1", [1]))
    else:
        here[last] = rng.choice(SECTIONS)
    return copy


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return bytes with some flipped, cut out, doubled or put in."""
    raw = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.randrange(len(raw) + 1)
        how = rng.randrange(5)
        if how == 0 and place < len(raw):
            raw[place] ^= 1 << rng.randrange(8)
        elif how == 1:
            del raw[place : place + rng.choice((1, 10, 1000, len(raw)))]
        elif how == 2:
            raw[place:place] = rng.choice(PIECES)
        elif how == 3:
            raw[place:place] = raw[place : place + rng.choice((1, 50, 2000))]
        else:
            raw = raw[:place]
    return bytes(raw)


# Arguments and files of a case.
Made = tuple[tuple[Any, ...], dict[str, bytes]]
