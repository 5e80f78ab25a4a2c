"""Where the chunks of an array are, and the operations of its members for a request.

```text
level 5 of 4 members     member   0   1   2   3        level 10      member   0   1   2   3
                         row 0    0   1   2   P                      row 0    0   0   1   1
                         row 1    4   5   P   3                      row 1    2   2   3   3
                         row 2    8   P   6   7
```
A request is cut into steps: reads, and writes that begin after the last of these reads. The steps
of a request do not wait for each other.

- Rows that are written whole are written without a read. For any other write of levels 5 and 6 old
  data and parity are read, and both are written.
- A mirror is read from one member of the pair, by turns of rows.
- Of members that failed nothing is read or written. Their data are read from the others: the
  rest of the data, and as much parity as data are missing. A write to data that cannot be read
  makes the parity from the rest of the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opennandlab.theory.array import LEVELS

READ, WRITE = 0, 1
# Member, kind, first byte, bytes.
Op = tuple[int, int, int, int]
# Operations that come first, and those that follow.
Stages = tuple[list[Op], list[Op]]


@dataclass(frozen=True)
class Piece:
    """A part of a request within a chunk.

    Args:
        row: Number of the row.
        index: Place of the chunk among the data of the row.
        first: First byte within the chunk.
        size: Bytes.
    """

    row: int
    index: int
    first: int
    size: int


@dataclass(frozen=True)
class Layout:
    """The places of an array.

    Args:
        level: 0, 5, 6 or 10.
        members: Number of drives.
        chunk_bytes: Bytes in a row on one member.
        failed: Members that answer nothing.
    """

    level: int
    members: int
    chunk_bytes: int
    failed: frozenset[int] = frozenset()

    @property
    def data_chunks(self) -> int:
        """Chunks of data in a row."""
        return int(LEVELS[self.level].data_members(self.members))

    @property
    def is_lost(self) -> bool:
        """Whether more members failed than the level survives."""
        if self.level == 10:
            pairs = [{first, first + 1} for first in range(0, self.members, 2)]
            return any(pair <= self.failed for pair in pairs)
        return len(self.failed) > LEVELS[self.level].parities

    def steps(self, kind: int, offset: int, size: int) -> list[Stages]:
        """Return the operations of the members for a request."""
        rows: dict[int, list[Piece]] = {}
        for piece in self._pieces(offset, size):
            rows.setdefault(piece.row, []).append(piece)
        found: list[Stages] = []
        for pieces in rows.values():
            if kind == READ:
                found += [(self._read(piece), []) for piece in pieces]
            elif LEVELS[self.level].parities:
                found.append(self._parity_write(pieces))
            else:
                found += [([], self._plain_write(piece)) for piece in pieces]
        return found

    def _pieces(self, offset: int, size: int) -> Iterator[Piece]:
        end = offset + size
        while offset < end:
            chunk, first = divmod(offset, self.chunk_bytes)
            length = min(self.chunk_bytes - first, end - offset)
            row, index = divmod(chunk, self.data_chunks)
            yield Piece(row, index, first, length)
            offset += length

    def data_member(self, row: int, index: int) -> int:
        """Return the member that has a chunk of data; of mirrors the first."""
        if self.level == 10:
            return 2 * index
        parities = LEVELS[self.level].parities
        if not parities:
            return index
        return (self.parity_members(row)[0] + parities + index) % self.members

    def parity_members(self, row: int) -> list[int]:
        """Return the members that have the parity of a row: the last one first, then leftwards."""
        first = (self.members - 1 - row) % self.members
        return [(first + step) % self.members for step in range(LEVELS[self.level].parities)]

    def _op(self, member: int, kind: int, piece: Piece) -> Op:
        return member, kind, piece.row * self.chunk_bytes + piece.first, piece.size

    def _read(self, piece: Piece) -> list[Op]:
        member = self.data_member(piece.row, piece.index)
        if self.level == 10:
            member += (piece.row + piece.index) % 2
            member = member ^ 1 if member in self.failed else member
        if member not in self.failed:
            return [self._op(member, READ, piece)]
        return [self._op(other, READ, piece) for other in self._rest(piece, frozenset())]

    def _rest(self, piece: Piece, written: frozenset[int]) -> list[int]:
        """Return the members that replace data of a row that cannot be read.

        Args:
            piece: A part of the row.
            written: Places of data that are overwritten, and not needed.
        """
        others = {
            self.data_member(piece.row, index)
            for index in range(self.data_chunks)
            if index not in written
        }
        missing = len(others & self.failed)
        parity = [one for one in self.parity_members(piece.row) if one not in self.failed]
        if piece.row // self.members % 2:
            parity.reverse()  # Both kinds of parity get their part of the reads.
        return [*sorted(others - self.failed), *parity[:missing]]

    def _plain_write(self, piece: Piece) -> list[Op]:
        first = self.data_member(piece.row, piece.index)
        copies = LEVELS[self.level].copies
        chosen = [member for member in range(first, first + copies) if member not in self.failed]
        return [self._op(member, WRITE, piece) for member in chosen]

    def _parity_write(self, pieces: list[Piece]) -> Stages:
        row = pieces[0].row
        places = {piece.index: self.data_member(row, piece.index) for piece in pieces}
        alive = [piece for piece in pieces if places[piece.index] not in self.failed]
        first = min(piece.first for piece in pieces)
        end = max(piece.first + piece.size for piece in pieces)
        part = Piece(row, pieces[0].index, first, end - first)
        parity = [one for one in self.parity_members(row) if one not in self.failed]
        writes = [self._op(places[piece.index], WRITE, piece) for piece in alive]
        writes += [self._op(member, WRITE, part) for member in parity]
        whole = self.data_chunks * self.chunk_bytes
        if not parity or sum(piece.size for piece in pieces) == whole:
            return [], writes
        if len(alive) == len(pieces):
            reads = [self._op(places[piece.index], READ, piece) for piece in pieces]
            reads += [self._op(member, READ, part) for member in parity]
        else:
            needed = self._rest(part, frozenset(places))
            reads = [self._op(member, READ, part) for member in needed]
        return reads, writes
