"""`ecc` on the command line: documents, exit codes, and what is refused with a sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import COMMAND, Cli

BCH = "bch:m=13,t=8,data_bits=4096"
CURVE = ("ecc", "curve", "--code", "bch:m=8,t=4", "--points", "1e-4")
ENDLESS = (
    *("ecc", "curve", "--code", "bch:m=8,t=4", "--points", "5e-3", "--method", "monte_carlo"),
    *("--errors", "1000000000000", "--max-frames", "1e15"),
)


def document(cli: Cli, *arguments: str) -> dict[str, Any]:
    shown = cli(*arguments, "--json")
    assert shown.returncode == 0, shown.stderr
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


@pytest.mark.parametrize("verb", ["curve", "compare", "speed", "limits", "llr", "encode", "decode"])
def test_every_command_has_help_with_an_example(cli: Cli, verb: str) -> None:
    shown = cli("ecc", verb, "--help")
    text = " ".join(shown.stdout.split())
    assert f"Example: opennandlab ecc {verb}" in text
    assert "--json" in text
    assert "--quiet" in text


def test_curve_is_the_document_of_the_contract(cli: Cli) -> None:
    found = document(
        cli,
        *("ecc", "curve", "--code", BCH, "--channel", "bsc", "--points", "1e-4,1e-3,2e-3"),
        *("--errors", "100", "--max-frames", "1e6", "--seed", "42"),
    )
    assert (found["code"], found["channel"], found["decoder"]) == (BCH, "bsc", "bounded-distance")
    names = {"x", "frames", "frame_errors", "undetected", "bit_errors", "fer", "fer_low"}
    for point in found["points"]:
        assert names | {"fer_high", "ber", "method"} <= set(point)
    assert [point["method"] for point in found["points"]] == ["analytic"] + ["monte_carlo"] * 2


def test_tables_are_for_people(cli: Cli) -> None:
    shown = cli(*CURVE).stdout
    assert "8.46e-11" in shown
    assert "analytic" in shown
    assert "0.0224143" in cli("ecc", "limits", "--rate", "0.9").stdout
    assert "+7.443" in cli("ecc", "llr", "--rber", "5e-3", "--reads", "3").stdout
    assert cli(*CURVE, "--quiet").stdout == ""
    speed = cli("ecc", "speed", "--code", BCH, "--bit-errors", "8", "--seconds", "0.1").stdout
    assert "8 bit errors" in speed


def test_limits_and_tables_are_the_documents_of_the_contract(cli: Cli) -> None:
    limits = document(cli, "ecc", "limits", "--rate", "0.9")
    assert set(limits["limits"]) == {"1", "3", "7", "unquantised"}
    assert limits["limits"]["1"] == pytest.approx(0.012987, rel=5e-5)
    table = document(cli, "ecc", "llr", "--rber", "5e-3", "--reads", "7")
    assert table["llrs"][4:] == pytest.approx([0.741, 2.384, 4.651, 9.374], abs=5e-3)
    spaced = document(cli, "ecc", "llr", "--rber", "5e-3", "--reads", "5", "--spacing", "0.1")
    assert spaced["thresholds"] == pytest.approx([-0.2, -0.1, 0.0, 0.1, 0.2])
    given = document(
        cli, "ecc", "llr", "--rber", "5e-3", "--reads", "2", "--thresholds", "-0.1,0.1"
    )
    assert len(given["llrs"]) == 3


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("--code", "bch:m=8,t=4"), "accepted: an LDPC code"),
        (("--code", "nand-n1024-r0889"), "accepted: an LDPC code with arithmetic int8"),
        (
            ("--code", "nand-n1024-r0889", "--arithmetic", "int8", "--decoder", "flooding-nms"),
            "flooding-nms is not for the engine gpu; accepted: layered-nms or layered-oms",
        ),
        (
            ("--code", "nand-n1024-r0889", "--arithmetic", "int8", "--channel", "unquantised"),
            "accepted: bsc or sensing:N",
        ),
        # No device, or not in this build.
        (("--code", "nand-n1024-r0889", "--arithmetic", "int8"), "engine: gpu "),
    ],
)
def test_a_gpu_refuses_what_it_does_not_do(cli: Cli, given: tuple[str, ...], reason: str) -> None:
    shown = cli("ecc", "curve", *given, "--points", "7e-3", "--engine", "gpu")
    assert shown.returncode == 2
    assert "engine: " in shown.stderr
    assert reason in shown.stderr


def test_compare_draws_and_refuses(cli: Cli, folder: Path) -> None:
    shown = cli(
        *("ecc", "compare", "bch:m=8,t=4", "bch:m=8,t=4,data_bits=222", "--points", "5e-4:5e-3:4"),
        *("--method", "analytic", "--plot", "codes.svg", "--output", "codes.json"),
    )
    assert shown.returncode == 0
    assert "Shannon limits" in shown.stdout
    drawing = (folder / "codes.svg").read_text(encoding="utf-8")
    assert drawing.count(">capacity, ") == 1  # of the channel that is drawn
    assert len(json.loads((folder / "codes.json").read_text(encoding="utf-8"))["curves"]) == 2
    refused = cli("ecc", "compare", "bch:m=8,t=4", BCH, "--points", "1e-3", "--json")
    assert refused.returncode == 2
    assert len(json.loads(refused.stdout)["error"]["reasons"]) == 2


def test_files_are_encoded_harmed_and_corrected(cli: Cli, folder: Path) -> None:
    data = bytes(range(256)) * 20
    (folder / "in").write_bytes(data)
    assert cli("ecc", "encode", "in", "held", "--code", BCH, "--inject-errors", "8").returncode == 0
    found = document(cli, "ecc", "decode", "held", "out")
    assert (folder / "out").read_bytes() == data
    assert (found["words"], found["corrected"], found["corrected_max"]) == (10, 80, 8)
    failed = cli("ecc", "decode", "held", "none", "--inject-errors", "5", "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["error"]["counts"]["failed_words"] >= 1
    assert not (folder / "none").exists()


def test_an_interrupted_curve_is_kept_and_goes_on(folder: Path) -> None:
    journal = folder / "curve.json"
    command = [str(COMMAND), *ENDLESS, "--output", str(journal), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not journal.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "continues it" in err
    kept = json.loads(journal.read_text(encoding="utf-8"))
    assert kept["partial"] is True
    assert kept == json.loads(out)
    assert kept["points"][0]["frames"] > 0


# Each line: what is typed after `ecc`, and words of the answer. All end with 2 and leave no file.
HOSTILE = [
    ("curve --code bch:m=4,t=2 --points 1e-3", "5 to 16"),
    ("curve --code bch:m=17,t=2 --points 1e-3", "5 to 16"),
    ("curve --code bch:m=8,t=0 --points 1e-3", "corrects nothing"),
    ("curve --code bch:m=8,t=128 --points 1e-3", "t = 128"),
    ("curve --code bch:m=8,t=4,data_bits=224 --points 1e-3", "224 data bits"),
    ("curve --code bch:m=8,t=4,data_bits=0 --points 1e-3", "0 data bits"),
    ("curve --code bch:m=8 --points 1e-3", "needs t"),
    ("curve --code bch:m=8,t=4,t=5 --points 1e-3", "given twice"),
    ("curve --code bch:m=8,t=-4 --points 1e-3", "whole number"),
    ("curve --code bch:m=8,t=99999999999999999999 --points 1e-3", "whole number"),
    ("curve --code ldpc:none.alist --points 1e-3", "No such file"),
    ("curve --code ldpc:small.yaml --points 1e-3", ".alist, .qc"),
    ("curve --code ldpc:bad.alist --points 1e-3", "line"),
    ("curve --code ldpc:. --points 1e-3", ".alist, .qc"),
    ("curve --code nand-9k-r123 --points 1e-3", "nand-4k-r090"),
    ("curve --code turbo:3 --points 1e-3", "is not a known code"),
    ("curve --code bch:m=8,t=4 --points 0", "above 0 and below 0.5"),
    ("curve --code bch:m=8,t=4 --points 0.5", "above 0 and below 0.5"),
    ("curve --code bch:m=8,t=4 --points nan", "is not a number"),
    ("curve --code bch:m=8,t=4 --points 1e-3:1e-2", "from:to:count"),
    ("curve --code bch:m=8,t=4 --points 1e-3:1e-2:1", "count is"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --channel bec", "is not a channel"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --channel sensing:4", "1, 3, 7"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --channel sensing:0", "reads are refused"),
    ("curve --code bch:m=8,t=4 --points 99 --channel awgn", "-20 to 40"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --errors 0", "1 and more"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --max-frames 0.5", "1 to 1e15"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --max-frames nan", "1 to 1e15"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --seed -1", "is not in the range"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --threads 0", "1 to 1024"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --output none/c.json", "No such file"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --output small.yaml", "no complete JSON"),
    ("curve --code bch:m=8,t=4 --points 1e-3 --plot c.jpg", ".html, .htm, .pdf, .png, .svg"),
    ("curve --code nand-1k-r090 --points 1e-3 --decoder magic", "is not a decoder"),
    ("curve --code nand-1k-r090 --points 1e-3 --iterations 0", "accepted: 1 to"),
    ("curve --code nand-1k-r090 --points 1e-3 --scale nan", "above 0, up to 1"),
    ("curve --code nand-1k-r090 --points 1e-3 --offset -1", "0 to 10"),
    ("curve --code nand-1k-r090 --points 1e-3 --method analytic", "no formula"),
    (
        "curve --code bch:m=8,t=4 --points .1 --channel bsc --sigma-ratio 2 --method analytic",
        "equal width",
    ),
    ("compare bch:m=8,t=4 --points 1e-3", "two or more"),
    ("compare bch:m=8,t=4 bch:m=8,t=5 --points 1e-3", "within 1 %"),
    ("compare bch:m=8,t=4 bch:m=9,t=4 --points 1e-3", "frame"),
    ("compare bch:m=8,t=4 bch:m=8,t=128 --points 1e-3", "t = 128"),
    ("compare bch:m=8,t=4 x --points 1e-3", "no code is named"),
    ("compare bch:m=8,t=4 bch:m=8,t=4 --points 1", "below 0.5"),
    ("compare bch:m=8,t=4 bch:m=8,t=4 --points ,", "is not a number"),
    ("compare bch:m=8,t=4 bch:m=8,t=4 --points 1e-3 --channel awgn:3", "is not a channel"),
    ("compare bch:m=8,t=4 bch:m=8,t=4 --points 1e-3 --errors -5", "1 and more"),
    ("compare bch:m=8,t=4 bch:m=8,t=4 --points 1e-3 --output .", "directory"),
    ("speed --code bch:m=8,t=4", "needs one of the two"),
    ("speed --code bch:m=8,t=4 --bit-errors 1 --points 1e-3", "needs one of the two"),
    ("speed --code bch:m=8,t=4 --bit-errors -1", "0 to 255"),
    ("speed --code bch:m=8,t=4 --bit-errors 256", "0 to 255"),
    ("speed --code bch:m=8,t=4 --bit-errors 1 --seconds 0", "above 0, up to 3600"),
    ("speed --code bch:m=8,t=4 --bit-errors 1 --seconds nan", "above 0, up to 3600"),
    ("speed --code bch:m=8,t=4 --points 0.7", "below 0.5"),
    ("speed --code bch:m=8,t=4 --points 5 --channel sensing:5", "1, 3, 7"),
    ("speed --code bch:m=99,t=4 --bit-errors 1", "5 to 16"),
    ("speed --code nand-1k-r090 --bit-errors 1 --iterations -1", "accepted: 1 to"),
    ("limits --rate 0", "0.999999"),
    ("limits --rate 1", "0.999999"),
    ("limits --rate -0.5", "0.999999"),
    ("limits --rate nan", "0.999999"),
    ("limits --rate inf", "0.999999"),
    ("limits --rate 1e-9", "0.999999"),
    ("limits --rate 90", "0.999999"),
    ("limits --rate x", "--rate"),
    ("limits", "--rate"),
    ("limits --rate 0.9 --reads 2", "--reads"),
    ("llr --rber 0", "above 0 and below 0.5"),
    ("llr --rber 0.5", "above 0 and below 0.5"),
    ("llr --rber nan", "above 0 and below 0.5"),
    ("llr --rber 1e-3 --reads 2", "1, 3, 7"),
    ("llr --rber 1e-3 --reads 0", "reads are refused"),
    ("llr --rber 1e-3 --reads -3", "reads are refused"),
    ("llr --rber 1e-3 --thresholds 0.2,0.1", "ascend"),
    ("llr --rber 1e-3 --thresholds a,b", "is not a number"),
    ("llr --rber 1e-3 --thresholds 11", "-10 to 10"),
    ("llr --rber 1e-3 --spacing 0", "above 0, up to 2"),
    ("llr --rber 1e-3 --spacing 0.1 --thresholds 0.1", "either thresholds or"),
    ("llr --rber 1e-3 --sigma-ratio 9", "0.25 to 4"),
    ("llr --rber 0.45 --sigma-ratio 4", "at most"),
    ("llr --rber 1e-3 --llr-rber 2", "below 0.5"),
    ("encode none out --code bch:m=8,t=4", "No such file"),
    ("encode . out --code bch:m=8,t=4", "directory"),
    ("encode small.yaml none/out --code bch:m=8,t=4", "No such file"),
    ("encode small.yaml . --code bch:m=8,t=4", "directory"),
    ("encode small.yaml small.yaml --code bch:m=8,t=4", "also the input"),
    ("encode small.yaml out --code bch", "needs m and t"),
    ("encode small.yaml out --code bch:m=8,t=4 --inject-ber 0.7", "below 0.5"),
    ("encode small.yaml out --code bch:m=8,t=4 --inject-errors 256", "255 bits"),
    ("encode small.yaml out --code bch:m=8,t=4 --inject-errors -1", "0 and more"),
    ("encode small.yaml out --code bch:m=8,t=4 --inject-errors 1 --inject-ber 0.1", "either"),
    ("encode small.yaml out --code bch:m=8,t=4 --inject-errors 1 --seed -1", "is not in the range"),
    ("decode none out", "No such file"),
    ("decode . out", "directory"),
    ("decode small.yaml out", "does not begin with its magic"),
    ("decode empty out", "does not begin with its magic"),
    ("decode held none/out", "No such file"),
    ("decode held held", "also the input"),
    ("decode held out --code bch:m=8,t=3", "another code"),
    ("decode held out --code nonsense", "no code is named"),
    ("decode held out --rber 0.9", "below 0.5"),
    ("decode held out --inject-errors 999", "255 bits"),
    ("decode cut out", "damaged"),
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files that are not what they seem."""
    place: Path = tmp_path_factory.mktemp("hostile")
    (place / "small.yaml").write_text("nand: {}\n", encoding="utf-8")
    (place / "bad.alist").write_text("7 3\n3 4\n1 1 x\n", encoding="utf-8")
    (place / "empty").write_bytes(b"")
    encode = [str(COMMAND), "ecc", "encode", "small.yaml", "held", "--code", "bch:m=8,t=4"]
    subprocess.run(encode, cwd=place, check=True, capture_output=True)
    (place / "cut").write_bytes((place / "held").read_bytes()[:-1])
    return place


def test_what_cannot_be_is_refused_with_a_sentence(hostile: Path) -> None:
    """All in one process: starting the command a hundred times would take a minute."""
    script = (
        "import json, sys, contextlib, io\n"
        "from opennandlab.cli import app\n"
        "from typer.testing import CliRunner\n"
        "runner = CliRunner()\n"
        "for line in json.load(sys.stdin):\n"
        "    shown = runner.invoke(app, ['ecc', *line.split()])\n"
        "    print(json.dumps([shown.exit_code, shown.output, repr(shown.exception)]))\n"
    )
    before = sorted(hostile.iterdir())
    shown = subprocess.run(
        [str(COMMAND.parent / "python"), "-c", script],
        input=json.dumps([line for line, _ in HOSTILE]),
        cwd=hostile,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    wrong = []
    answers = [json.loads(line) for line in shown.stdout.splitlines()]
    assert len(answers) == len(HOSTILE)
    for (line, words), (code, output, exception) in zip(HOSTILE, answers, strict=True):
        text = " ".join(output.split())
        if code != 2 or words not in text or "Traceback" in text:
            wrong.append((line, words, code, text, exception))
    assert wrong == []
    assert sorted(hostile.iterdir()) == before


def test_each_command_has_ten_hostile_inputs() -> None:
    for verb in ("curve", "compare", "speed", "limits", "llr", "encode", "decode"):
        assert sum(line.split()[0] == verb for line, _ in HOSTILE) >= 10, verb


@pytest.mark.parametrize("words", [("decode", "pipe", "out"), ("encode", "pipe", "out")])
def test_a_pipe_that_nobody_writes_into_is_not_waited_for(
    cli: Cli, folder: Path, words: tuple[str, ...]
) -> None:
    """Opening it took as long as nobody wrote."""
    os.mkfifo(folder / "pipe")
    code = ("--code", "bch:m=8,t=4") if words[0] == "encode" else ()
    shown = cli("ecc", *words, *code)
    assert shown.returncode == 2
    assert shown.stderr.endswith("pipe: no regular file\n")
