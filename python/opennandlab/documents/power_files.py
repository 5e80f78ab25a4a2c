"""The document `opennandlab.power-files/1`: a file system and databases after losses of power."""

from __future__ import annotations

from typing import Final, Literal

from opennandlab.documents.power_loss import PowerRun
from opennandlab.documents.record import JsonObject, Number, Record

POWER_FILES_SCHEMA: Final = "opennandlab.power-files/1"


class FilesSettings(Record, frozen=True, kw_only=True):
    """What decides the result, in addition to the device and the recordings.

    Args:
        cuts: Cuts for each mode and variant.
        rows: Commits of each database.
        modes: Modes of the database.
        variants: Behaviours of the disk.
        file_system: The file system.
        atomic_bytes: Bytes that the disk writes as one unit.
        window_ms: Length of the last moments before a cut, ms.
        seed: Seed of the cuts.
    """

    cuts: int
    rows: int
    modes: list[str]
    variants: list[str]
    file_system: str
    atomic_bytes: int
    window_ms: Number
    seed: int


class FilesRecording(Record, frozen=True, kw_only=True):
    """What the drive was told while a database was written.

    Args:
        mode: Journal and `synchronous` of the database.
        rows: Rows that were committed.
        writes: Writes that the drive got.
        flushes: Flushes.
        trims: Trims and zeros.
        bytes: Bytes of the writes.
        seconds: From the first commit to the last, in this machine's time.
        sha256: SHA-256 of the record with its bytes.
    """

    mode: str
    rows: int
    writes: int
    flushes: int
    trims: int
    bytes: int
    seconds: Number
    sha256: str


class FilesCell(Record, frozen=True, kw_only=True):
    """What cuts did to one mode of the database, by one behaviour of the disk.

    Args:
        mode: Journal and `synchronous` of the database.
        variant: What the disk made of what no flush covers.
        honest: Whether a disk may do that.
        cuts: Cuts that were judged.
        ok: Cuts after which every commit that had come back was there.
        lost_last: The last one was gone.
        lost: More were gone.
        corrupt: The database was damaged.
        unopenable: It could not be opened.
        unclean: The file system was damaged after its journal was replayed; next to the others.
        per_1000: Cuts that were not `ok`, per 1,000.
        low: Lower end of the 95 % interval of that (Wilson, 1927).
        high: Upper end.
        reading: `sound`; `application semantics`, for a last commit that a perfect disk may lose;
            `fault`, where the disk may not have done it; or `contradiction`, where an honest disk
            lost what was owed.
    """

    mode: str
    variant: str
    honest: bool
    cuts: int
    ok: int
    lost_last: int
    lost: int
    corrupt: int
    unopenable: int
    unclean: int
    per_1000: Number
    low: Number
    high: Number
    reading: str


class FilesEvidence(Record, frozen=True, kw_only=True):
    """A cut after which something was missing.

    Args:
        mode: Journal and `synchronous` of the database.
        variant: What the disk made of what no flush covers.
        cut: Number of the cut, from 0.
        place: Entries of the record before it.
        outcome: As the columns of the cells.
        owed: Commits that had come back.
        rows: Rows that were there.
        why: In words.
    """

    mode: str
    variant: str
    cut: int
    place: int
    outcome: str
    owed: int
    rows: int
    why: str


class FilesDocument(Record, frozen=True, kw_only=True):
    """A file system with a database, cut from power at many moments of one record.

    Args:
        schema: Kind and version of the document.
        device: The resolved device file of the drive that was served.
        settings: Modes, variants, cuts, rows, file system, atomic unit, window and seed.
        recordings: What was recorded.
        cells: By mode and variant.
        evidence: Some cuts of each cell that were not `ok`.
        partial: It was interrupted.
        passed: Honest disks lost nothing that was owed, and nothing is missing.
        run: What was true of the run and not of its result.
        digest: SHA-256 of all but `run`, in hex.
    """

    schema: Literal["opennandlab.power-files/1"]
    device: JsonObject
    settings: FilesSettings
    recordings: list[FilesRecording]
    cells: list[FilesCell]
    evidence: list[FilesEvidence]
    partial: bool
    passed: bool
    run: PowerRun
    digest: str
