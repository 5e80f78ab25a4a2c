"""Recorded block requests of a case, with the marks of its iterations.

A trace is what `serve --record` writes, with comments that `replay` passes over:

```text
# opennandlab app trace: contact, 60 iterations, … what was recorded, for people
# sizes rows=100                                   sizes that differ from the defaults of the case
seq,conn,op,flags,off,len,t_arrive,t_target,t_reply
# begin contact 0 1234000                          when an iteration began, ns of the same clock
12,0,write,0,4096,4096,1235000,1236000,1236000
# end contact 0 2345000
```
Lines are in the order of their time. A first line in this form states the number of iterations, so
that a recording that was cut short between two of them is noticed. `Trace.records` is the form that
the core plays: marks are requests that the drive never receives.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final

from opennandlab.base.errors import TraceError
from opennandlab.base.files import read_bytes

HEADER: Final = "seq,conn,op,flags,off,len,t_arrive,t_target,t_reply"
FIELDS: Final = 9
RECORD: Final = struct.Struct("<IIQQQQ")
READ, WRITE, FUA_WRITE, TRIM, FLUSH, MARK = range(6)
# Flags of the protocol; the second of `write_zeroes`: zeros that are to be allocated.
FUA, NO_HOLE = 1, 2
FOLDER: Final = Path(__file__).with_name("traces")
UNPACKED_MAX: Final = 1 << 28
PACKED_MAX: Final = 1 << 26
STATED: Final = re.compile(r"opennandlab app trace: [^,]*, (\d+) iterations")
# Marks belong to a stream of their own only by name: they wait for the requests of this one.
STREAM: Final = 0


@dataclass(frozen=True)
class Request:
    """A request of a trace, or a mark.

    Args:
        kind: `READ` to `MARK`.
        stream: Whose; requests of one stream wait for each other.
        offset: First byte.
        length: Bytes.
        arrive: When it came, in nanoseconds.
        reply: When it was answered.
        mark: Case, index and whether it ends, of a mark.
    """

    kind: int
    stream: int
    offset: int
    length: int
    arrive: int
    reply: int
    mark: tuple[str, int, bool] | None = None


@dataclass(frozen=True)
class Trace:
    """A trace of a case.

    Args:
        name: Name of the file.
        digest: SHA-256 of its text.
        about: The words of its first line.
        requests: In the order of arrival.
        sizes: Sizes of the case that differ from its defaults, by name.
    """

    name: str
    digest: str
    about: str
    requests: tuple[Request, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def iterations(self) -> int:
        """Iterations that it holds."""
        return sum(one.mark is not None and one.mark[2] for one in self.requests)

    @property
    def end(self) -> int:
        """The byte behind the last that it touches."""
        return max((one.offset + one.length for one in self.requests), default=0)

    def first(self, iterations: int) -> tuple[Request, ...]:
        """Return the requests of the first iterations, and what is between them."""
        ended = 0
        for place, one in enumerate(self.requests):
            ended += one.mark is not None and one.mark[2]
            if ended == iterations:
                return self.requests[: place + 1]
        return self.requests

    def split(self, bytes_max: int) -> Trace:
        """Return the trace as a host sends it that splits reads and writes above a size.

        The pieces of a request arrive together, and are answered together in the recording; the
        case waits for all of them. Trims are left whole.
        """
        pieces: list[Request] = []
        for one in self.requests:
            if one.kind not in {READ, WRITE, FUA_WRITE} or one.length <= bytes_max:
                pieces.append(one)
                continue
            pieces += [
                replace(one, offset=one.offset + done, length=min(bytes_max, one.length - done))
                for done in range(0, one.length, bytes_max)
            ]
        return replace(self, requests=tuple(pieces))

    def laid_down(self) -> list[tuple[int, int]]:
        """Return what it reads before it writes it: first byte and length, in units of 4 KiB.

        A drive must hold this before the trace is played, or reads would find nothing.
        """
        written: set[int] = set()
        wanted: set[int] = set()
        for one in self.requests:
            pages = range(one.offset // 4096, -(-(one.offset + one.length) // 4096))
            if one.kind == READ:
                wanted.update(page for page in pages if page not in written)
            elif one.kind in {WRITE, FUA_WRITE}:
                written.update(pages)
        return _runs(sorted(wanted))


def _runs(pages: list[int], most: int = 128) -> list[tuple[int, int]]:
    """Return pages as runs of bytes, at most `most` pages each."""
    found: list[tuple[int, int]] = []
    for page in pages:
        if found and found[-1][0] + found[-1][1] == page * 4096 and found[-1][1] < most * 4096:
            found[-1] = (found[-1][0], found[-1][1] + 4096)
        else:
            found.append((page * 4096, 4096))
    return found


def records(requests: Iterable[Request]) -> bytes:
    """Return requests as the core takes them."""
    pack = RECORD.pack
    return b"".join(
        pack(
            one.kind, one.stream, one.offset, one.length, one.arrive,
            one.reply,
        )
        for one in requests
    )  # fmt: skip


def canonical(case: str) -> Path:
    """Return the trace that the package brings for a case; it may not be there."""
    return FOLDER / f"{case}.csv.xz"


@cache
def shipped(case: str) -> Trace:
    """Return the trace that the package brings for a case; it is read once."""
    return load(canonical(case))


def load(path: Path) -> Trace:
    """Read a trace, plain or compressed with xz.

    Raises:
        TraceError: with file and line.
    """
    try:
        content = read_bytes(path, PACKED_MAX)
        if content.startswith(b"\xfd7zXZ"):
            unpacker = lzma.LZMADecompressor()
            content = unpacker.decompress(content, UNPACKED_MAX)
            if not unpacker.eof:
                raise TraceError(f"{path}: truncated, or more than {UNPACKED_MAX} bytes unpacked")
        text = content.decode("ascii")
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: {error}") from error
    return parse(text, path.name)


def parse(text: str, name: str) -> Trace:
    """Return the trace of a text.

    Raises:
        TraceError: with file and line.
    """
    about = ""
    sizes: dict[str, int] = {}
    requests: list[Request] = []
    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line == HEADER:
            continue
        try:
            if line.startswith("#"):
                words = line[1:].split()
                if words and words[0] in {"begin", "end"}:
                    requests.append(_mark(words))
                elif words and words[0] == "sizes":
                    sizes = _sizes(words[1:])
                elif not about:
                    about = line[1:].strip()
                continue
            one = _request(line.split(","))
        except ValueError as error:
            raise TraceError(f"{name}:{number}: {error}; a line is {HEADER}") from None
        if one is not None:
            requests.append(one)
    requests.sort(key=lambda one: one.arrive)
    _check_marks(requests, name, number)
    digest = hashlib.sha256(text.encode()).hexdigest()
    found = Trace(name, digest, about, tuple(requests), sizes)
    stated = STATED.match(about)
    if stated and int(stated[1]) != found.iterations:
        raise TraceError(
            f"{name}:{number}: cut short: {found.iterations} iterations end here, and the first "
            f"line states {stated[1]}"
        )
    return found


def _sizes(words: list[str]) -> dict[str, int]:
    pairs = [word.partition("=") for word in words]
    if not all(equals for _, equals, _ in pairs):
        raise ValueError("sizes are `# sizes NAME=N ...`")
    return {key: _whole(value) for key, _, value in pairs}


def _mark(words: list[str]) -> Request:
    if len(words) != 4:
        raise ValueError("a mark is `# begin|end CASE INDEX NANOSECONDS`")
    time = _whole(words[3])
    return Request(MARK, STREAM, 0, 0, time, time, (words[1], _whole(words[2]), words[0] == "end"))


def _request(fields: list[str]) -> Request | None:
    if len(fields) != FIELDS:
        raise ValueError(f"{len(fields)} fields")
    op, flags = fields[2], _whole(fields[3])
    stream, offset, length, arrive = (_whole(fields[at]) for at in (1, 4, 5, 6))
    reply = _whole(fields[8])
    match op:
        case "read" | "cache":
            kind = READ
        case "write":
            kind = FUA_WRITE if flags & FUA else WRITE
        case "write_zeroes" if flags & NO_HOLE:
            kind = FUA_WRITE if flags & FUA else WRITE
        case "trim" | "write_zeroes":
            kind = TRIM
        case "flush":
            kind = FLUSH
        case "block_status":
            return None
        case _:
            raise ValueError(f"`{op}` is not a request")
    if kind != FLUSH and length == 0:
        raise ValueError("a length of 0")
    if reply < arrive:
        raise ValueError("answered before it arrived")
    return Request(kind, stream, offset, length, arrive, reply)


def _whole(text: str) -> int:
    if not text.isdigit() or len(text) > 18:
        raise ValueError(f"`{text}` is not a whole number below 10^18")
    return int(text)


def _check_marks(requests: list[Request], name: str, lines: int) -> None:
    """Refuse marks that do not come in pairs, in order."""
    opened: tuple[str, int] | None = None
    for one in requests:
        if one.mark is None:
            continue
        case, index, is_end = one.mark
        if is_end != (opened is not None) or (is_end and opened != (case, index)):
            word = "end" if is_end else "begin"
            raise TraceError(f"{name}: `{word} {case} {index}` is out of place")
        opened = None if is_end else (case, index)
    if opened is not None:
        raise TraceError(f"{name}:{lines}: cut short: {opened[0]} {opened[1]} does not end")
    if not requests or not any(one.mark for one in requests):
        raise TraceError(
            f"{name}: no `# begin` and `# end`: which requests belong to an iteration?"
        )


def text_of(
    requests: Iterable[Request], about: str, sizes: Mapping[str, int] | None = None
) -> Iterator[str]:
    """Yield the lines of a trace, without their ends; times in whole microseconds."""
    yield f"# {about}"
    if sizes:
        yield "# sizes " + " ".join(f"{key}={value}" for key, value in sizes.items())
    yield HEADER
    names = {READ: "read", WRITE: "write", FUA_WRITE: "write", TRIM: "trim", FLUSH: "flush"}
    number = 0
    for one in requests:
        if one.mark is not None:
            case, index, is_end = one.mark
            yield f"# {'end' if is_end else 'begin'} {case} {index} {one.arrive}"
            continue
        flags = FUA if one.kind == FUA_WRITE else 0
        yield (
            f"{number},{one.stream},{names[one.kind]},{flags},{one.offset},{one.length},"
            f"{one.arrive},{one.reply},{one.reply}"
        )
        number += 1
