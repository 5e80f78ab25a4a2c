"""What a drive drew in the measured part of a run, as a part of its metrics."""

from __future__ import annotations

from opennandlab.documents.record import Record


class Joules(Record, frozen=True, kw_only=True):
    """Energy of the measured part, in joules, by what took it.

    Args:
        array_reads: Senses, those of retries and soft reads included; with `nand.energy`.
        commands: Commands of the host; with `controller.power`.
        controller: The controller as such, idle or not; with `controller.power`.
        erases: Erases; with `nand.energy`.
        host_transfers: Data that the host read or wrote; with `controller.power`.
        idle_dies: The dies as such, all the time; with `nand.energy`.
        programs: Programs; with `nand.energy`.
        total: The sum of those that exist.
        transfers: Transfers over the channels; with `nand.energy`.
    """

    array_reads: float | None = None
    commands: float | None = None
    controller: float | None = None
    erases: float | None = None
    host_transfers: float | None = None
    idle_dies: float | None = None
    programs: float | None = None
    total: float
    transfers: float | None = None


class JoulesBySource(Record, frozen=True, kw_only=True):
    """Energy of array operations, in joules, by reason (as in `programs`, `reads` and `erases`).

    Reasons that took none are absent.

    Args:
        array_reads: Senses.
        erases: Erases.
        programs: Programs.
    """

    array_reads: dict[str, float]
    erases: dict[str, float]
    programs: dict[str, float]


class Power(Record, frozen=True, kw_only=True):
    """What the drive drew in the measured part; `null` where nothing was done.

    Args:
        iops_per_w: Commands per second and watt, which are commands per joule.
        joules: By what took it.
        joules_by_source: Of array operations by reason; only with `nand.energy`.
        joules_per_host_gb: Joules for each 10^9 bytes that the host read or wrote.
        mb_s_per_w: MB/s that the host read and wrote, per watt.
        mean_w: Joules over simulated time.
    """

    iops_per_w: float | None
    joules: Joules
    joules_by_source: JoulesBySource | None = None
    joules_per_host_gb: float | None
    mb_s_per_w: float | None
    mean_w: float | None
