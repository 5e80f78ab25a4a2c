"""Bit errors of page reads, and what corrected them."""

from __future__ import annotations

from opennandlab.documents.record import Record


class PageTypeErrors(Record, frozen=True, kw_only=True):
    """Errors of the pages of one type; rates are means over the reads.

    Args:
        beyond_step: Share of the reads that the read retries up to each step do not correct.
        rber: Raw bit error rate with the default levels.
        rber_by_step: Raw bit error rate at each step of read retry.
        reads: Pages read.
        uber: Data errors per bit read.
    """

    beyond_step: list[float]
    rber: float
    rber_by_step: list[float]
    reads: int
    uber: float


class RawErrors(Record, frozen=True, kw_only=True):
    """Bit errors before correction; only for models with page types, and under stress.

    Args:
        page_types: By type of page: `lower`, `middle`, `upper`, `top`; `slc` for blocks of one bit
            per cell.
        rber: Raw bit error rate over all reads, with the default levels; `null` without reads.
        reads_per_page_max: Most reads of a page since its block was written, where they count.
        uncorrectable_expected: Uncorrectable reads to be expected.
    """

    page_types: dict[str, PageTypeErrors]
    rber: float | None
    reads_per_page_max: float | None = None
    uncorrectable_expected: float


class CellErrors(Record, frozen=True, kw_only=True):
    """Pages of one type that were read cell by cell, each counted once between two erases.

    Args:
        bits: Bits of their codewords.
        errors: Wrong bits of their first reads.
        expected: Wrong bits that the states of the cells and of their neighbours let expect.
        lost_pages: Pages that no step corrected.
        lost_pages_expected: The same as the tables of the drive expect it.
        pages: Pages.
        z: `errors` less `expected`, in standard deviations.
    """

    bits: int
    errors: int
    expected: float
    lost_pages: int
    lost_pages_expected: float
    pages: int
    z: float


class Cells(Record, frozen=True, kw_only=True):
    """Reads of blocks that have cells; only with `ecc.fidelity: cells`.

    Args:
        agrees: Whether the errors of each page type are within 4.5 standard deviations of the
            number expected.
        page_types: By type of page, as in `raw_errors`.
    """

    agrees: bool
    page_types: dict[str, CellErrors]


class Recovery(Record, frozen=True, kw_only=True):
    """Page reads by what corrected them.

    Args:
        calibrated: The search for the best levels; only with `controller.read_retry.calibrate`.
        default_levels: The default levels, after a remembered step that failed; only with
            `controller.read_retry.remember`.
        first_read: The first hard read, by whichever levels.
        rebuilt: The parity over dies.
        remembered: How many of all began with a remembered step; only with
            `controller.read_retry.remember`.
        retry: Each step of read retry, in order.
        soft: Soft decoding, by the number of reads it took.
        uncorrectable: Nothing.
    """

    calibrated: int | None = None
    default_levels: int | None = None
    first_read: int
    rebuilt: int
    remembered: int | None = None
    retry: list[int]
    soft: dict[str, int]
    uncorrectable: int
