"""The ECC lab from Python: tables, limits, channels, Monte Carlo, strata, journals, containers.

What is expected comes from outside: closed forms, reference values computed elsewhere (next to the
repository where they are present), and the exact binomial tail.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from opennandlab import _core, ecc
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.ecc.channels import Channel, parse_points
from opennandlab.ecc.codes import Code, Decoder
from opennandlab.ecc.engine import Engine, Run
from opennandlab.ecc.point import Point
from opennandlab.ecc.strata import estimate
from opennandlab.ecc.tally import Tally
from places import ROOT

SHARED = ROOT.parent / "shared" / "ecc"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no reference data beside the tree")
# A (7, 4) Hamming code as a matrix: 3 checks of 4 bits each.
HAMMING = (
    "7 3\n3 4\n1 1 1 2 2 2 3\n4 4 4\n1 0 0\n2 0 0\n3 0 0\n1 2 0\n1 3 0\n2 3 0\n1 2 3\n"
    "1 4 5 7\n2 4 6 7\n3 5 6 7\n"
)
SHORT = "bch:m=8,t=4"


@pytest.fixture
def hamming(tmp_path: Path) -> str:
    """Return the description of a small code in a file."""
    path = tmp_path / "hamming.alist"
    path.write_text(HAMMING, encoding="ascii")
    return f"ldpc:{path}"


def test_names_are_public() -> None:
    assert onl.ecc is ecc
    for name in ecc.__all__:
        assert getattr(ecc, name) is not None
    with pytest.raises(AttributeError, match="has no `curv`"):
        _ = ecc.curv  # type: ignore[attr-defined]


@needs_shared
def test_limits_are_the_reference_values_to_four_digits() -> None:
    names = {"1": "hard", "3": "3read", "7": "7read", "unquantised": "soft"}
    rows = json.loads((SHARED / "curves" / "capacity.json").read_text(encoding="utf-8"))
    assert len(rows) >= 9
    for row in rows:
        ours = ecc.limits(row["rate"])
        for name, key in names.items():
            # Half a unit of the fourth digit.
            reference = row[f"rber_{key}_limit"]
            assert ours[name] == pytest.approx(reference, rel=5e-4), (row["rate"], name)


@needs_shared
def test_tables_are_the_reference_values_at_the_limits() -> None:
    rows = json.loads((SHARED / "curves" / "capacity.json").read_text(encoding="utf-8"))
    for row in rows:
        for reads in (3, 7):
            table = ecc.llr_table(row[f"rber_{reads}read_limit"], reads)
            # The reference stands on a coarse grid of thresholds, to three digits.
            upper = table.thresholds[reads // 2 + 1 :]
            assert upper == pytest.approx(row[f"th_{reads}"], abs=2e-3), row["rate"]
            assert table.llrs == pytest.approx(row[f"llr_{reads}"], rel=6e-3), row["rate"]


def test_asymmetric_states_move_reads_and_errors() -> None:
    table = ecc.llr_table(0.01, 1, sigma_ratio=2.0)
    assert table.thresholds[0] > 0.1  # towards the narrow state of bit 0
    zero, one = table.probabilities[0][0], table.probabilities[1][1]
    assert (zero + one) / 2 == pytest.approx(0.01, rel=1e-9)
    assert one > zero
    assert table.sigma[1] / table.sigma[0] == pytest.approx(2.0)


def test_believed_llrs_leave_the_reads_alone() -> None:
    true, wrong = ecc.llr_table(0.01, 3), ecc.llr_table(0.01, 3, llr_rber=0.001)
    assert (true.thresholds == wrong.thresholds).all()
    assert (true.probabilities == wrong.probabilities).all()
    assert wrong.llrs[-1] > 1.5 * true.llrs[-1]
    assert "<table>" in true._repr_html_()


def test_points_are_lists_or_ranges() -> None:
    bsc, awgn = Channel.parse("bsc"), Channel.parse("awgn")
    assert parse_points("1e-3, 2e-3,1e-3", bsc) == [1e-3, 2e-3]
    assert parse_points("1e-4:1e-2:3", bsc) == [1e-4, 1e-3, 1e-2]
    assert parse_points("3:4:5", awgn) == [3.0, 3.25, 3.5, 3.75, 4.0]


@pytest.mark.parametrize("wrong", [5, None, 1.5, {"kind": "x"}, [None], ["\0"], 10**400])
def test_the_wrong_type_is_refused_by_name(wrong: Any, tmp_path: Path) -> None:
    """These were AttributeErrors and ValueErrors."""
    for call, key in (
        (lambda: ecc.curve(wrong, "bsc", [0.01]), "code"),
        (lambda: ecc.curve(SHORT, wrong, [0.01]), "channel"),
        (lambda: ecc.curve(SHORT, "bsc", wrong), "points"),
        (lambda: ecc.compare([SHORT, wrong], "bsc", [0.01]), "code"),
        (lambda: ecc.speed(wrong, bit_errors=1), "code"),
        (lambda: ecc.speed(SHORT, channel=wrong, bit_errors=1), "channel"),
        (lambda: ecc.encode_file(tmp_path / "in", tmp_path / "out", wrong), "code"),
    ):
        with pytest.raises(ConfigError) as refusal:
            call()
        assert refusal.value.path == key


@pytest.mark.parametrize("rber", [2e-3, 5e-3])
def test_monte_carlo_of_bch_holds_the_exact_tail(rber: float) -> None:
    """The interval covers in 95 of 100 cases; this seed is one of them, and stays it."""
    curve = ecc.curve(SHORT, "bsc", [rber], errors=400, max_frames=10**7, method="monte_carlo")
    (point,) = curve.points
    assert point["method"] == "monte_carlo"
    assert point["fer_low"] < _core.ecc_tail(255, 4, rber) < point["fer_high"]
    assert point["channel_ber"] == pytest.approx(rber, rel=0.02)
    # A decoder of five errors that takes them for four others is wrong without knowing it.
    assert 0 < point["undetected"] < point["frame_errors"]


def test_bch_sees_hard_decisions_of_every_channel() -> None:
    """The same RBER is the same curve, whatever it came from."""
    fer = _core.ecc_tail(255, 4, 5e-3)
    for channel in ("bsc", "sensing:3", "unquantised"):
        (point,) = ecc.curve(SHORT, channel, [5e-3], method="analytic").points
        assert point["fer"] == pytest.approx(fer, rel=1e-9)
    sigma2 = 1 / (2 * 223 / 255 * 10**0.6)
    rber = math.erfc(math.sqrt(1 / sigma2 / 2)) / 2
    (point,) = ecc.curve(SHORT, "awgn", [6.0], method="analytic").points
    assert point["fer"] == pytest.approx(_core.ecc_tail(255, 4, rber), rel=1e-9)
    # 4.57e-3 at 6.0 dB, computed elsewhere.
    assert point["fer"] == pytest.approx(4.57e-3, rel=2e-3)


def test_auto_counts_what_can_be_met_and_computes_the_rest() -> None:
    curve = ecc.curve(SHORT, "bsc", [1e-4, 5e-3], errors=50, max_frames=10**6)
    assert curve.methods == ["analytic", "monte_carlo"]
    exact = curve.points[0]
    assert exact["fer"] == pytest.approx(8.46e-11, rel=1e-3)
    assert exact["fer_low"] == exact["fer"] == exact["fer_high"]
    # E[X; X > 4] / n, summed here.
    terms = (w / 255 * math.comb(255, w) * 1e-4**w * (1 - 1e-4) ** (255 - w) for w in range(5, 60))
    assert exact["ber"] == pytest.approx(math.fsum(terms), rel=1e-9)


def test_a_result_does_not_depend_on_threads(hamming: str) -> None:
    documents = [
        ecc.curve(hamming, "sensing:3", [0.02, 0.03], errors=40, threads=threads).document
        for threads in (1, 2, 5)
    ]
    assert documents[0] == documents[1] == documents[2]
    other = ecc.curve(hamming, "sensing:3", [0.02, 0.03], errors=40, seed=43).document
    assert other["points"][0]["tally"] != documents[0]["points"][0]["tally"]


def test_batches_of_a_gpu_give_the_curve_of_the_cpu(
    tmp_path: Path, hamming: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_batches(engine: Engine, task: _core.EccTask) -> tuple[Run, int]:
        chunk = engine.code.chunk_frames

        def run(first: int, limit: int) -> list[Tally]:
            ends = [*range((first // chunk + 1) * chunk, limit, chunk), limit]
            return [Tally(*task.run(*cut)) for cut in zip([first, *ends], ends, strict=False)]

        return run, 5 * chunk

    counted: dict[str, Any] = {"decoder": ecc.Decoder(arithmetic="int8"), "method": "monte_carlo"}
    more = {**counted, "errors": 900, "max_frames": 200_000}
    fresh = ecc.curve(hamming, "bsc", [0.02, 0.03], **more).document
    assert "engine" not in fresh
    monkeypatch.setattr(Engine, "runner", in_batches)
    alone = ecc.curve(hamming, "bsc", [0.02, 0.03], engine="gpu", **more).document
    assert alone == fresh | {"engine": "gpu"}
    journal = tmp_path / "curve.json"
    ecc.curve(hamming, "bsc", [0.02], output=journal, max_frames=5001, errors=900, **counted)
    mixed = ecc.curve(hamming, "bsc", [0.02, 0.03], engine="gpu", output=journal, **more).document
    assert mixed == fresh | {"engine": "cpu, gpu"}
    with pytest.raises(ConfigError, match="accepted: cpu, gpu"):
        ecc.curve(hamming, "bsc", [0.02], engine="tpu")


def test_a_curve_goes_on_where_it_stopped(tmp_path: Path, hamming: str) -> None:
    journal = tmp_path / "curve.json"
    counted: dict[str, Any] = {"method": "monte_carlo"}
    for frames, errors in ((100, 10), (5000, 10), (5001, 10_000)):
        more = {**counted, "errors": errors, "max_frames": frames, "output": journal}
        assert ecc.curve(hamming, "bsc", [0.03], **more).points[0]["frames"] <= frames
    counted |= {"errors": 300, "max_frames": 200_000}
    more = ecc.curve(hamming, "bsc", [0.03, 0.05], output=journal, **counted)
    fresh = ecc.curve(hamming, "bsc", [0.03, 0.05], **counted)
    assert more.document == fresh.document
    assert ecc.Curve.load(journal).document == fresh.document
    assert fresh.points[0]["frame_errors"] >= 300


def test_strata_go_on_where_they_stopped(tmp_path: Path, hamming: str) -> None:
    journal = tmp_path / "curve.json"
    method: dict[str, Any] = {"method": "importance_sampling", "errors": 1000}
    for frames in (10_000, 100_000):
        ecc.curve(hamming, "sensing:3", [0.01], max_frames=frames, output=journal, **method)
    fresh = ecc.curve(hamming, "sensing:3", [0.01], max_frames=100_000, **method)
    assert ecc.Curve.load(journal).document == fresh.document


def test_a_journal_of_another_curve_is_refused(tmp_path: Path, hamming: str) -> None:
    journal = tmp_path / "curve.json"
    ecc.curve(hamming, "bsc", [0.03], errors=5, output=journal)
    before = journal.read_bytes()
    changes: list[dict[str, Any]] = [
        {"seed": 1},
        {"zero_codeword": True},
        {"decoder": Decoder("layered-spa")},
    ]
    for change in changes:
        with pytest.raises(ResultError, match="holds another curve"):
            ecc.curve(hamming, "bsc", [0.03], errors=5, output=journal, **change)
    with pytest.raises(ResultError, match="holds another curve"):
        ecc.curve(hamming, "sensing:3", [0.03], errors=5, output=journal)
    assert journal.read_bytes() == before


@pytest.mark.parametrize("channel", ["bsc", "sensing:3", "unquantised"])
def test_strata_agree_with_plain_counting(hamming: str, channel: str) -> None:
    plain = ecc.curve(hamming, channel, [0.02], errors=1500, max_frames=10**7).points[0]
    weighted = ecc.curve(
        hamming, channel, [0.02], errors=1500, max_frames=10**6, method="importance_sampling"
    ).points[0]
    assert (plain["method"], weighted["method"]) == ("monte_carlo", "importance_sampling")
    assert weighted["relative_error"] < 0.03
    # Four standard deviations of both.
    assert weighted["fer"] == pytest.approx(plain["fer"], rel=4 * math.hypot(0.026, 0.026))
    assert weighted["ber"] == pytest.approx(plain["ber"], rel=0.15)


def test_strata_of_bch_reach_the_exact_tail() -> None:
    """Bounded distance fails with more than t errors, always: FER(w) is a step, P(w) the rest."""
    curve = ecc.curve(SHORT, "bsc", [1e-4], method="importance_sampling", errors=100)
    (point,) = curve.points
    assert point["fer"] == pytest.approx(_core.ecc_tail(255, 4, 1e-4), rel=1e-3)
    assert point["fer_low"] <= point["fer"] <= point["fer_high"]
    assert point["effective_frames"] > 1e12


def test_an_estimate_says_what_it_has_not_seen() -> None:
    strata = {5: Tally(1000, 0), 8: Tally(1000, 10, bit_errors=50), 12: Tally(1000, 400)}
    found = estimate(strata, 500, 250, 0.01)
    assert found.unseen_share > 0.05
    assert found.fer_low < found.fer < found.fer_high
    nothing = estimate({5: Tally(1000, 0)}, 500, 250, 0.01)
    assert (nothing.fer, nothing.fer_low) == (0.0, 0.0)
    assert nothing.fer_high >= 3.6e-3


def test_frames_of_an_engine_are_those_of_one_task(hamming: str) -> None:
    engine = Engine(Code.parse(hamming), Channel.parse("bsc"), seed=5, threads=3)
    point = Point(0.03)
    engine.run_monte_carlo(point, 10**9, 20_000, lambda: None)
    assert point.tally == Tally(*engine.task(0.03).run(0, 20_000))


@needs_shared
@pytest.mark.parametrize(
    ("matrix", "reads", "rber"),
    [("WIMAX_480_576", "3", 0.018), ("WIMAX_480_576", "1", 0.01), ("WIMAX_480_576", "7", 0.02)],
)
def test_sensing_is_the_reference_measurement(matrix: str, reads: str, rber: float) -> None:
    with (SHARED / "curves" / "quantised_sensing.csv").open(encoding="utf-8") as stream:
        rows = csv.DictReader(stream)
        (row,) = (
            row
            for row in rows
            if row["h_matrix"] == f"{matrix}.alist"
            and row["reads"] == reads
            and float(row["rber"]) == rber
        )
    spacing = float(row["threshold_spacing"]) if row["threshold_spacing"] else None
    channel = Channel.parse(f"sensing:{reads}", spacing=spacing)
    code = f"ldpc:{SHARED / 'h' / matrix}.alist"
    (point,) = ecc.curve(code, channel, [rber], errors=200).points
    ratio = point["fer"] / float(row["fer_codeword"])
    assert 1 / 1.35 < ratio < 1.35


def test_likes_are_compared_and_others_refused() -> None:
    document = ecc.compare(
        ["bch:m=8,t=4", "bch:m=8,t=4,data_bits=222"], "bsc", [1e-4], method="analytic"
    )
    assert [curve["points"][0]["method"] for curve in document["curves"]] == ["analytic"] * 2
    assert set(document["limits"]) == {"1", "3", "7", "unquantised"}
    assert document["limits"] == ecc.limits(document["rate"])
    with pytest.raises(ecc.UnlikeCodesError) as refusal:
        ecc.compare(["bch:m=8,t=4", "bch:m=8,t=5"], "bsc", [1e-4])
    assert len(refusal.value.reasons) == 1
    assert "rate" in str(refusal.value)
    with pytest.raises(ecc.UnlikeCodesError, match="frame"):
        ecc.compare(["bch:m=8,t=4", "bch:m=13,t=8,data_bits=4096"], "bsc", [1e-4])
    with pytest.raises(ConfigError, match="two or more"):
        ecc.compare(["bch:m=8,t=4"], "bsc", [1e-4])


def test_speed_is_measured_in_bits() -> None:
    document = ecc.speed(SHORT, bit_errors=4, seconds=0.05)
    assert document["information_mbit_s"] > 1.0
    ratio = document["coded_mbit_s"] / document["information_mbit_s"]
    assert ratio == pytest.approx(255 / 223)
    assert document["rows"][0]["information_mbit_s_max"] >= document["information_mbit_s"]
    assert document["rows"][0]["decoded_share"] == 1.0
    beyond = ecc.speed(SHORT, bit_errors=6, seconds=0.05)
    assert beyond["rows"][0]["decoded_share"] < 0.2
    fixed = ecc.speed("nand-1k-r090", points=[1e-3], decoder=Decoder(stop=False), seconds=0.05)
    assert fixed["rows"][0]["iterations_mean"] == 20.0


@pytest.mark.parametrize("size", [0, 1, 27, 28, 1000, 5000])
@pytest.mark.parametrize(
    ("code", "errors"),
    [("bch:m=8,t=4", 4), ("bch:m=13,t=8,data_bits=4099", 8), ("nand-1k-r090", 20)],
)
def test_a_file_survives_its_errors(tmp_path: Path, code: str, errors: int, size: int) -> None:
    source, held, target = (tmp_path / name for name in ("in", "held", "out"))
    source.write_bytes(bytes((17 * place + 3) % 256 for place in range(size)))
    harmed = ecc.encode_file(source, held, code, ecc_injection(errors))
    assert harmed["injected"] == errors * harmed["words"]
    found = ecc.decode_file(held, target)
    assert target.read_bytes() == source.read_bytes()
    assert found["corrected"] == harmed["injected"]


def ecc_injection(errors: int | None) -> Any:
    from opennandlab.ecc.container import Injection

    return Injection(errors=errors, seed=7)


def test_too_many_errors_leave_no_file(tmp_path: Path) -> None:
    from opennandlab.ecc.container import UncorrectableError

    source, held, target = (tmp_path / name for name in ("in", "held", "out"))
    source.write_bytes(b"x" * 5000)
    ecc.encode_file(source, held, "bch:m=13,t=8,data_bits=4096", ecc_injection(9))
    with pytest.raises(UncorrectableError, match="cannot be corrected"):
        ecc.decode_file(held, target)
    assert not target.exists()
    target.write_bytes(b"old")
    with pytest.raises(UncorrectableError):
        ecc.decode_file(held, target)
    assert target.read_bytes() == b"old"


def test_miscorrection_is_found_by_the_crc(tmp_path: Path) -> None:
    """Five errors in (255, 223) are taken for four others in about one word of 24."""
    from opennandlab.ecc.container import UncorrectableError

    source, held, target = (tmp_path / name for name in ("in", "held", "out"))
    source.write_bytes(b"abcdefgh" * 3 + b"abc")
    ecc.encode_file(source, held, SHORT)
    reasons = set()
    for seed in range(300):
        from opennandlab.ecc.container import Injection

        with pytest.raises(UncorrectableError) as failure:
            ecc.decode_file(held, target, injection=Injection(errors=5, seed=seed))
        reasons.add("miscorrected" in str(failure.value))
        assert not target.exists()
    assert reasons == {True, False}


@pytest.mark.parametrize("place", [0, 3, 8, 11, 15, 20, 60, -1])
def test_a_damaged_container_is_refused(tmp_path: Path, place: int) -> None:
    source, held, target = (tmp_path / name for name in ("in", "held", "out"))
    source.write_bytes(b"x" * 100)
    ecc.encode_file(source, held, SHORT)
    raw = bytearray(held.read_bytes())
    if place < 0:
        raw.pop()
    else:
        raw[place] ^= 0xFF
    held.write_bytes(raw)
    with pytest.raises(ResultError, match=r"damaged|no file of|version"):
        ecc.decode_file(held, target)
    assert not target.exists()


def test_a_container_of_a_matrix_wants_that_matrix(tmp_path: Path, hamming: str) -> None:
    source, held, target = (tmp_path / name for name in ("in", "held", "out"))
    source.write_bytes(b"hello")
    ecc.encode_file(source, held, hamming)
    with pytest.raises(ConfigError, match="give --code"):
        ecc.decode_file(held, target)
    with pytest.raises(ConfigError, match="another code"):
        ecc.decode_file(held, target, code=SHORT)
    assert str(tmp_path) not in held.read_bytes().decode("latin-1")
    with pytest.raises(ConfigError, match="also the input"):
        ecc.decode_file(held, held, code=hamming)


def test_curves_show_themselves(tmp_path: Path) -> None:
    curve = ecc.curve(SHORT, "bsc", [1e-4, 5e-3], errors=20)
    assert curve.x.tolist() == [1e-4, 5e-3]
    assert curve.fer.dtype == float
    assert "<td>exact</td>" in curve._repr_html_()
    assert list(curve.frame()["method"]) == curve.methods
    assert "2 points" in repr(curve)
    from opennandlab.ecc.charts import write

    for name in ("curve.svg", "curve.html"):
        write(curve.content, tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "frame error rate" in text
        assert "<path" in text


def test_too_few_frames_give_a_bound_and_no_rate() -> None:
    """Strata far above what matters once made a rate of 1e-24 out of 2000 frames."""
    (point,) = ecc.curve("nand-1k-r090", "sensing:3", [0.006], max_frames=2000).points
    assert (point["method"], point["frames"], point["fer"]) == ("monte_carlo", 2000, 0.0)
    assert point["fer_high"] == pytest.approx(_core.ecc_interval(0, 2000)[1])
