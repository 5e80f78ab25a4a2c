"""A histogram of a drive whose times are all constants says so, and no other does."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
import pts_documents
from conftest import SHORT, SMALL
from opennandlab.documents import pts
from opennandlab.documents.record import converted
from opennandlab.reports import variation
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.plot import plots
from opennandlab.reports.pts import response

SOURCES: list[dict[str, Any]] = [
    {"nand.timing.t_read_us": [50, 70]},
    {"nand.timing.t_program_us": [400, 800]},
    {"nand.variation": {"block_stddev": 0.05}},
    {"nand.wear_timing": {}},
    {"controller.scheduler": "priority", "controller.suspend": {}},
    {"controller.read_retry": {"step_count_max": 3}, "ecc.algorithm": "bch"},
    {"host.command_overhead_us": 5, "host.jitter": {"kind": "lognormal", "sigma": 0.3}},
    {"ftl.write_frontiers": "host_gc", "ftl.collection": "steps"},
]
CONSTANT: list[dict[str, Any]] = [
    {},
    {"host.command_overhead_us": 5},
    {"nand.timing.t_program_us": [400, 400]},
    {"controller.ecc_decode_us": 5, "ftl.write_buffer_pages": 64},
]


@pytest.mark.parametrize("settings", SOURCES, ids=lambda it: next(reversed(it)))
def test_each_source_of_variation_is_one(settings: dict[str, Any]) -> None:
    assert variation.varies(onl.load_device(SMALL, settings).to_dict())


@pytest.mark.parametrize("settings", CONSTANT, ids=str)
def test_constants_are_none(settings: dict[str, Any]) -> None:
    device = onl.load_device(SMALL, settings).to_dict()
    assert not variation.varies(device)
    assert variation.note(device).strip() == variation.CONSTANT_TIMES


@pytest.mark.parametrize("odd", [None, "x", -1, [], [{}, 1]], ids=str)
def test_a_damaged_device_is_judged_by_what_is_left(odd: Any) -> None:
    for key in ("nand", "ftl", "controller", "host"):
        assert not variation.varies({key: odd})
    assert not variation.varies({"nand": {"timing": odd}, "ftl": {"collection": odd}})
    assert variation.varies({"nand": {"timing": {"t_read_us": [{}, 1]}}, "ftl": odd})


def test_a_drive_that_is_not_simulated_is_not_judged() -> None:
    assert variation.note(None) == ""


def test_histograms_of_standard_tests_say_so() -> None:
    spread = converted(pts_documents.latency()["histograms"][0], pts.Histogram)
    device = onl.load_device(SMALL).to_dict()
    groups = [response.Group(histograms=[spread], device=it) for it in (device, None)]
    drawn = [next(iter(response.items(group))) for group in groups]
    notes = [plot.note for plot in drawn if isinstance(plot, Plot)]
    assert [variation.CONSTANT_TIMES in note for note in notes] == [True, False]


@pytest.mark.parametrize("settings", [CONSTANT[1], SOURCES[6]], ids=["constant", "jitter"])
def test_the_plot_of_latencies_says_so(settings: dict[str, Any]) -> None:
    result = onl.benchmark(onl.load_device(SMALL, settings), {**SHORT, "read_pct": 50})
    drawn = {plot.title: plot for plot in plots(result.content)}
    has_jitter = "host.jitter" in settings
    assert (variation.CONSTANT_TIMES in drawn["Latency by percentile"].note) is not has_jitter
