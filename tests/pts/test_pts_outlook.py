"""What is left of a test: between a drive that is steady at once and one that never is."""

from __future__ import annotations

import pytest

from opennandlab.pts import TESTS, Settings, run_test
from opennandlab.pts.bench.outlook import Outlook
from opennandlab.pts.bench.pace import Pace
from opennandlab.pts.bench.plan import make_plan
from opennandlab.pts.bench.record import Progress
from opennandlab.pts.bench.rehearsal import Rehearsal, Stretch, rehearse
from opennandlab.targets.opening import Request, open_target
from opennandlab.targets.simulated import SimulatedTarget


def rehearsal(rounds: int) -> Rehearsal:
    """Return purge, fill, rounds of two cells and a histogram: work 10, 4 a round, and 6."""
    stretches = [Stretch("purge", None, [], 0, 0.0), Stretch("wipc", None, [10.0], 7, 1.0)]
    stretches += [Stretch("round", number, [1.0, 3.0], 1, 1.0) for number in range(1, rounds + 1)]
    return Rehearsal(stretches=[*stretches, Stretch("histogram", None, [6.0], 0, 1.0)])


def seen(outlook: Outlook, *steps: tuple[str, int | None, int, float]) -> Progress:
    """Show the steps as phase, round, cell and wall time, each as it ends; return the last."""
    progress = Progress("t")
    for phase, number, cell, elapsed_s in steps:
        progress.phase, progress.round, progress.cell = phase, number, cell
        progress.fraction, progress.elapsed_s = 1.0, elapsed_s
        outlook.see(progress)
    return progress


BEGIN = (("purge", None, 0, 0.0), ("wipc", None, 1, 10.0))


def test_the_two_ends_are_those_of_the_rehearsals() -> None:
    outlook = Outlook(rehearsal(5), rehearsal(25))
    assert (outlook.least, outlook.most) == (36.0, 116.0)
    progress = seen(outlook, *BEGIN)
    # Ten seconds for ten units of work.
    assert (progress.eta_least_s, progress.eta_s) == (26.0, 106.0)
    progress = seen(outlook, ("round", 1, 1, 11.0))
    assert (progress.eta_least_s, progress.eta_s) == (25.0, 105.0)


def test_beyond_the_fifth_round_what_follows_the_rounds_is_left_at_least() -> None:
    outlook = Outlook(rehearsal(5), rehearsal(25))
    rounds = [("round", number, cell, 10.0 + 4 * number - 3 * (cell < 2))
              for number in range(1, 8) for cell in (1, 2)]  # fmt: skip
    progress = seen(outlook, *BEGIN, *rounds[:-1])
    # Round 7, its second cell to come, and the histogram.
    assert progress.eta_least_s == pytest.approx(3.0 + 6.0)
    assert progress.eta_s == pytest.approx(3.0 + 4 * 18 + 6.0)


def test_a_drive_that_became_steady_leaves_no_rounds() -> None:
    """ECW said `31 min left` to its end, which came after two."""
    outlook = Outlook(rehearsal(5), rehearsal(25))
    rounds = [("round", number, 2, 10.0 + 4 * number) for number in range(1, 7)]
    progress = seen(outlook, *BEGIN, *rounds, ("histogram", None, 1, 40.0))
    assert (progress.eta_least_s, progress.eta_s) == (0.0, 0.0)
    assert progress.work == pytest.approx(10 + 4 * 6 + 6)


def test_a_phase_that_takes_longer_than_was_assumed_is_known_by_itself() -> None:
    """Rounds said `19 s left` that took 20 s each: the fill before them had gone fast."""
    outlook = Outlook(rehearsal(5), rehearsal(25))
    rounds = [("round", number, 2, 1.0 + 20 * number) for number in range(1, 4)]
    progress = seen(outlook, BEGIN[0], ("wipc", None, 1, 1.0), *rounds)
    # Of the histogram nothing is known yet but what all took so far: 61 s for 22 units.
    histogram = 6 * 61 / 22
    assert progress.eta_least_s == pytest.approx(20 * 2 + histogram)
    assert progress.eta_s == pytest.approx(20 * 22 + histogram)


def test_a_run_that_goes_on_counts_only_its_own_time() -> None:
    outlook = Outlook(rehearsal(5), rehearsal(25))
    progress = seen(outlook, ("round", 3, 1, 0.0), ("round", 3, 2, 6.0))
    assert progress.work == pytest.approx(3.0)
    assert progress.eta_least_s == pytest.approx(2.0 * (4 * 2 + 6))


def test_groups_with_a_purge_of_their_own_are_told_apart() -> None:
    def twice(rounds: int) -> Rehearsal:
        one = rehearsal(rounds).stretches
        return Rehearsal(stretches=[*one, *one])

    outlook = Outlook(twice(5), twice(25))
    first = [("round", number, 2, 10.0 + 4 * number) for number in range(1, 7)]
    second = [("purge", None, 0, 40.0), ("wipc", None, 1, 50.0)]
    progress = seen(outlook, *BEGIN, *first, ("histogram", None, 1, 40.0), *second)
    assert progress.eta_least_s == pytest.approx(26.0)
    assert progress.eta_s == pytest.approx(106.0)


def test_a_request_alone_takes_time_from_flash_and_none_from_a_buffer():
    works = {}
    for name, changes in (("flash", {}), ("buffer", {"ftl.write_buffer_pages": 64})):
        target = SimulatedTarget("tlc_standard", changes)
        settings = Settings(time_base="full", cache="enabled")
        plan = make_plan(TESTS["latency"], settings, target)
        works[name] = rehearse(TESTS["latency"], plan, target, is_steady=True).work
    # A minute of 2000 requests a second, or of 50 000.
    assert 15 < works["buffer"] / works["flash"] < 25


def test_a_forecast_has_the_time_of_the_drive() -> None:
    """A dry run assumed 50 000 requests a second of every drive, and a sixth of the cells' time."""
    target = SimulatedTarget("tlc_standard", {"nand.blocks_per_plane": 256})
    settings = Settings(time_base="scaled", options={"block_sizes": "4k,64k", "mixes": "100,65,0"})
    test = TESTS["iops"]
    plan = make_plan(test, settings, target)
    pace = Pace.of(target, cache_enabled=False, is_range_small=False)
    assert pace is not None
    found = rehearse(test, plan, target, is_steady=True, pace=pace)
    document = run_test(test, target, settings=settings)
    rounds = [phase for phase in document.phases if phase.name == "round"]
    assert 1 / 1.5 < found.seconds / rounds[4].end_s < 1.5
    assert found.here_s is not None
    assert found.here_s > 0
    assert rehearse(test, plan, target, is_steady=True).here_s is None


def test_a_disc_has_no_small_copy() -> None:
    disc = open_target(Request("sim:disc_10k_600gb"))
    assert Pace.of(disc, cache_enabled=True, is_range_small=False) is None
