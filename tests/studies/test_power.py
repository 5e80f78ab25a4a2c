"""Power cuts: strong drives keep what they owe, weak ones show it, nothing is lost on the way."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.cli import app as command_line
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.documents.record import plain
from opennandlab.studies.power.campaign import (
    JOURNAL,
    SMALL,
    Campaign,
    Settings,
    again,
    promised,
    wilson,
)
from opennandlab.studies.power.fitting import fitted
from opennandlab.studies.power.study import run as study

BUFFER = ["--set", "ftl.write_buffer_pages=64", "--set", "ftl.write_frontiers=host_gc"]


def run(folder: Path, *options: str) -> tuple[int, str]:
    words = ["power", "run", "--output", str(folder / "cuts"), *options]
    done = CliRunner().invoke(command_line, words)
    return done.exit_code, done.output


def document(folder: Path) -> PowerDocument:
    found = onl.load(folder / "cuts" / "power.json")
    assert isinstance(found, PowerDocument)
    return found


def test_a_strong_drive_passes_and_its_document_says_why(tmp_path: Path) -> None:
    code, _ = run(tmp_path, "--cuts", "170", "--quiet")
    found = document(tmp_path)
    assert (code, found.passed, found.classes, found.errors) == (0, True, {}, [])
    assert found.cuts == 200, "whole lives of 50"
    assert found.settings["claims"] == ["honest-flush", "rzat"]
    assert found.none_below == pytest.approx(3000 / 200)
    assert set(found.violations) == {f"G{number}" for number in range(1, 11)}
    assert not any(found.violations.values())
    logical = onl.load_device(SMALL).effective["logical_pages"]
    assert found.pages_checked == 200 * logical
    assert found.smart.unsafe_shutdowns == 200
    assert found.smart.torn_pages > 0
    assert found.cost.waf is not None
    assert found.cost.waf > 1
    assert 0 < found.recovery_us.mean <= found.recovery_us.max < found.recovery_us.limit
    page = (tmp_path / "cuts" / "power.html").read_text(encoding="utf-8")
    assert "No fault" in page
    assert "PASSED" in page
    assert not (tmp_path / "cuts" / JOURNAL).exists()


def test_the_digest_depends_on_no_folder(tmp_path: Path) -> None:
    found = []
    for name in ("one", "another"):
        (tmp_path / name).mkdir()
        run(tmp_path / name, "--cuts", "50", "--ready-ms", "5000", "--quiet")
        found.append(document(tmp_path / name))
    assert found[0].digest == found[1].digest
    assert found[0].replay.endswith("--ready-ms 5000 --output again")
    assert found[0].run.command != found[1].run.command


def test_a_weak_drive_fails_with_evidence_that_is_found_again(tmp_path: Path) -> None:
    code, text = run(tmp_path, "--cuts", "100", "--set", "power.flush=ignored", *BUFFER,
                     "--claims", "honest-flush")  # fmt: skip
    found = document(tmp_path)
    assert code == 1
    assert "lost_flushed" in text
    lost = found.classes["lost_flushed"]
    assert lost.low < lost.per_1000 == 1000 * lost.cuts / 100 < lost.high
    assert found.violations["G1"] == lost.cuts
    one = found.evidence[0]
    file = str(tmp_path / "cuts" / "power.json")
    done = CliRunner().invoke(
        command_line, ["power", "replay", file, "--life", str(one.life), "--json"]
    )
    again = json.loads(done.output)
    assert done.exit_code == 0
    assert again["same"]
    assert any(it["cut"] == one.cut and it["found"] == one.found for it in again["evidence"])


def test_the_same_seed_gives_the_same_document_on_any_number_of_threads() -> None:
    settings = Settings(onl.load_device(SMALL), 400, seed=7)
    documents = []
    for jobs in (1, 3):
        campaign = Campaign(settings, jobs=jobs)
        campaign.to_the_end()
        documents.append(campaign.document("x"))
    assert documents[0].digest == documents[1].digest
    other = Campaign(Settings(onl.load_device(SMALL), 400, seed=8))
    other.to_the_end()
    assert other.document("x").digest != documents[0].digest


class StopError(Exception):
    """The run is to end here."""


def test_a_campaign_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    settings = Settings(onl.load_device(SMALL), 600)

    def stop(done: int) -> None:
        if done >= 200:
            raise StopError

    with pytest.raises(StopError):
        Campaign(settings, folder=tmp_path, watch=stop).to_the_end()
    journal = tmp_path / JOURNAL
    # A kill in the middle of a line.
    journal.write_text(journal.read_text(encoding="utf-8") + '{"first": 8, "ta', encoding="utf-8")
    resumed = Campaign(settings, folder=tmp_path)
    assert resumed.cuts == 200
    resumed.to_the_end()
    whole = Campaign(settings)
    whole.to_the_end()
    assert plain(resumed.document("x"))["digest"] == plain(whole.document("x"))["digest"]
    with pytest.raises(ConfigError, match="is of other settings"):
        Campaign(Settings(onl.load_device(SMALL), 600, seed=1), folder=tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cuts", "0"], "--cuts: 0 is not valid; accepted: 1 to 100000000"),
        (["--cuts", "9" * 23], "accepted: 1 to 100000000"),
        *((["--ready-ms", odd], f"--ready-ms: {odd} is not valid") for odd in ("nan", "inf", "-1")),
        (["--workload", "oltp"], "--workload: `oltp` is not known; accepted: random, sequential"),
        (["--at", "noon"], "--at: `noon` is not known; accepted: random, gc"),
        (["--claims", "magic"], "--claims: `magic` is not known; accepted: honest-flush"),
        (["--config", "tlc_standard"], "accepted: up to 1048576"),
        (["--set", "ftl.allocation=dynamic"], "ftl.allocation"),
        (["--set", "ftl.mapping=block"], "ftl.mapping: only a map of single pages"),
        (["--set", "ftl.mapping={kind: bast, log_blocks: 8}"], "with `bast` a page has one offset"),
        (["--set", "power.plp=battery"], "power.plp"),
        (["--set", "power.plp.energy_mj=-1"], "power.plp.energy_mj"),
        (["--set", "power.checkpoint_interval_units=0"], "power.checkpoint_interval_units"),
        (["--set", "power.flushes=honest"], "power.flushes"),
        (
            [
                "--set",
                "nand.program={kind: one_shot, t_wordline_us: 2000}",
                "--set",
                "nand.pages_per_block=3",
            ],
            "blocks of 3 pages are one program unit",
        ),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    tmp_path: Path, options: list[str], words: str
) -> None:
    code, text = run(tmp_path, *options)
    assert code == 2
    assert words in " ".join(text.split())
    assert not (tmp_path / "cuts").exists()


@pytest.mark.parametrize("preset", ["emmc_16gb", "micron_7450_max_800gb", "client_sata_2013"])
def test_a_preset_is_cut_as_a_small_copy_that_says_how_it_differs(
    tmp_path: Path, preset: str
) -> None:
    code, told = run(tmp_path, "--config", preset, "--fit", "--cuts", "50")
    found = document(tmp_path)
    assert (code, found.classes, found.errors) == (0, {}, [])
    assert any("on 4 dies instead of" in line for line in found.changed)
    assert found.changed[0] in " ".join(told.split())
    assert " --fit " in found.replay
    whole, copy = onl.load_device(preset), onl.load_device(dict(found.device))
    spares = [one.effective["spare_factor_effective"] for one in (copy, whole)]
    assert spares[0] == pytest.approx(spares[1], rel=0.02)
    is_protected = whole.to_dict()["host"].get("power_loss_protected", False)
    assert ("plp" in found.settings["claims"]) == is_protected
    page = (tmp_path / "cuts" / "power.html").read_text(encoding="utf-8")
    assert "A copy of the drive" in page


def test_a_drive_that_fits_is_left_as_it_is() -> None:
    device = onl.load_device(SMALL)
    copy, changed = fitted(device)
    assert copy.to_dict() == device.to_dict()
    assert changed == []


def test_claims_follow_from_the_options() -> None:
    def of(power: dict[str, Any]) -> tuple[str, ...]:
        return promised(onl.load_device({**SMALL, "power": power}))

    assert of({}) == ("honest-flush", "rzat")
    assert of({"plp": {"energy_mj": 5}, "flush": "ignored"}) == ("plp", "rzat")
    assert of({"seq_reorder": "in_order", "trim_log": "volatile"}) == ("honest-flush", "ordered")


def test_capacitors_without_energy_are_told_and_never_silent(tmp_path: Path) -> None:
    code, _ = run(tmp_path, "--cuts", "50", *BUFFER, "--set", "power.plp.energy_mj=0")
    found = document(tmp_path)
    assert code == 1
    assert "lost_acked" in found.classes
    assert found.smart.capacitor_failures > 0
    assert found.smart.saved_pages == 0


def test_wilson_against_its_equation() -> None:
    # The interval holds the shares p for which (share - p)^2 = z^2 p (1 - p) / n.
    for count, of in [(1, 10), (10, 100), (500, 1000), (999, 1000)]:
        for end in wilson(count, of):
            left = (count / of - end) ** 2
            assert left == pytest.approx(1.959963984540054**2 * end * (1 - end) / of)
    assert wilson(0, 3000)[0] == 0
    assert math.isclose(wilson(3000, 3000)[1], 1)


def test_every_row_of_the_study_is_as_it_must_be() -> None:
    found = list(study(cuts=500))
    assert [(one.row.option, one.row.value, one.problems) for one in found if one.problems] == []
    weak = {one.row.option for one in found if one.row.is_weak}
    assert weak == {
        "plp", "flush", "lower_page_backup", "journal_crc", "root_pairs", "map_order",
        "subpage_write", "seq_reorder", "trim_log", "suspect_pages", "half_erased",
    }  # fmt: skip
    # Commits in order cost latency.
    acks = {one.row.value: one.document.cost.ack_us for one in found}
    assert acks["in_order"] > acks["per_die"]


def test_the_judge_names_every_fault_that_is_put_in() -> None:
    done = CliRunner().invoke(command_line, ["power", "self-test", "--count", "1200", "--json"])
    found = json.loads(done.output)
    assert done.exit_code == 0
    assert found["passed"]
    assert (found["injected"], found["named"], found["false_alarms"]) == (1200, 1200, 0)
    assert len(found["classes"]) == 12
    assert all(one == {"injected": 100, "named": 100} for one in found["classes"].values())


@pytest.mark.parametrize("count", ["-1", "0", "11", "9" * 20])
def test_a_trial_of_the_judge_has_every_class(count: str) -> None:
    done = CliRunner().invoke(command_line, ["power", "self-test", "--count", count])
    assert done.exit_code == 2
    assert "--count" in done.output


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cuts", None), ("cuts", "x"), ("workloads", []), ("workloads", 7), ("at", []),
        ("claims", None), ("seed", -1), ("seed", 2**64), ("limit_us", "x"), ("limit_us", None),
    ],
)  # fmt: skip
def test_a_document_whose_settings_were_edited_is_no_campaign(key: str, value: object) -> None:
    campaign = Campaign(Settings(onl.load_device(SMALL), 50))
    found = campaign.document("x")
    edited = structs.replace(found, settings={**found.settings, key: value})
    with pytest.raises(ResultError, match="cannot be run again"):
        again(edited, 0)
    less = {name: one for name, one in found.settings.items() if name != key}
    with pytest.raises(ResultError, match=key):
        again(structs.replace(found, settings=less), 0)


def test_an_option_of_flushes_without_a_buffer_is_told_to_change_nothing(tmp_path: Path) -> None:
    weak = ["--cuts", "50", "--set", "power.flush=ignored"]
    code, text = run(tmp_path, *weak)
    assert code == 0
    assert "`power.flush` changes nothing" in " ".join(text.split())
    for memory in (BUFFER, ["--set", "host.write_cache={pages: 64}"]):
        _, text = run(tmp_path, *weak, *memory)
        assert "changes nothing" not in " ".join(text.split())


def test_a_drive_whose_roots_are_damaged_is_dead_and_that_is_told(tmp_path: Path) -> None:
    """One root page, written while the power goes: nothing is left to mount from."""
    code, text = run(tmp_path, "--cuts", "150", "--at", "checkpoint",
                     "--set", "power.root_pairs=false")  # fmt: skip
    found = document(tmp_path)
    assert code == 1
    assert "dead_device" in text
    assert set(found.classes) == {"dead_device"}
    assert found.violations["G9"] == found.classes["dead_device"].cuts


def test_a_journal_that_was_cut_off_is_told(tmp_path: Path) -> None:
    settings = Settings(onl.load_device(SMALL), 400, seed=42)

    def stop(done: int) -> None:
        if done >= 200:
            raise StopError

    folder = tmp_path / "cuts"
    folder.mkdir()
    with pytest.raises(StopError):
        Campaign(settings, folder=folder, watch=stop).to_the_end()
    with (folder / JOURNAL).open("ab") as journal:
        journal.write(b'{"first": 4, "ta')
    code, text = run(tmp_path, "--cuts", "400")
    assert code == 0
    assert "the last line of the journal is incomplete" in " ".join(text.split())
    assert "200 cuts are known" in text
