"""What is said about values that nobody should have given: short, printable, and what is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import Cli
from opennandlab.base.errors import ConfigError, legible
from opennandlab.base.words import number
from opennandlab.cli._streams import stdout
from opennandlab.pts.bench.plan import Option


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"nand": [1]}, "nand: `[1]` does not fit; accepted: a mapping of keys to values"),
        (
            {"nand": {"wear_out": True}},
            "nand.wear_out: `true` does not fit; accepted: `retire`, `ignore`",
        ),
        (
            {"ftl": {"wear_leveling": [1]}},
            "ftl.wear_leveling: `[1]` does not fit; accepted: `none`, `dynamic`, `static`",
        ),
        ({"nand": {"channels": 10**5000}}, "nand.channels: an integer beyond 2^64"),
        ({"ftl": {"over_provisioning_pct": "7%"}}, "write the ratio alone: 7 % is 0.07"),
        ({"\ud800": 1}, "the key `\\ud800` is not usable; accepted: text"),
        ({"nand": {("a", "b"): 1}}, "nand: the key `('a', 'b')` is not usable; accepted: text"),
        ({"name": "half \ud800"}, "name: `half \\ud800` holds half a surrogate pair"),
    ],
)
def test_the_value_and_what_is_accepted_are_named(document: Any, words: str) -> None:
    """Two of these read `expected value`, three ended with an error of Python or of a parser."""
    with pytest.raises(ConfigError) as refusal:
        onl.load_device(document)
    assert words in str(refusal.value)


def test_a_long_value_is_quoted_in_part() -> None:
    """A kind of 100 000 letters was printed whole, and a list of as many entries."""
    for value in ("x" * 100_000, list(range(100_000))):
        with pytest.raises(ConfigError) as refusal:
            onl.load_device({"nand": {"cell_type": value}})
        assert len(str(refusal.value)) < 2000
    assert len(legible("word " * 10_000)) < 2000


def test_a_key_cannot_act_on_the_terminal(cli: Cli, folder: Path) -> None:
    """A key with an escape sequence and line ends gave several lines in red."""
    (folder / "odd.yaml").write_text('"\\e[31mred\\n\\nx": 1\n', encoding="utf-8")
    shown = cli("config", "check", "odd.yaml")
    assert shown.returncode == 2
    assert "\x1b" not in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_the_name_of_a_file_cannot_act_on_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`verify` and `compare` printed the escape sequences of a name."""
    stdout().print("a\x1b[31m.json: identical\nnext", markup=False)
    assert capsys.readouterr().out == "a\\x1b[31m.json: identical\nnext\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("config", "check", "x" * 300), "unknown device"),
        (("benchmark", "-w", "W1", "-c", "x" * 300), "unknown device"),
        (("replay", ".", "-c", "small.yaml"), "not a file"),
        (("ecc", "curve", "--code", "ldpc:odd.alist", "--points", "1e-3"), "odd.alist: line 1"),
        (
            ("reliability", "arrhenius", "--from", "40", "--to", "85", "--hours", "nan"),
            "hours: `nan` is out of range",
        ),
        (
            ("reliability", "arrhenius", "--from", "40", "--to", "85", "--hours", "1e400"),
            "hours: `inf` is out of range",
        ),
        (("benchmark", "-w", "W1", "--plot", "a.gif"), "accepted file extensions: .html"),
        (("replay", "small.yaml", "--plot", "a.doc"), "accepted file extensions: .html"),
        (("benchmark", "-w", "W1", "--breakdown-plot", "a"), "extensions: .html, .htm, .pdf"),
        (("reliability", "rber", "--plot", "a.jpg"), "accepted file extensions"),
        (("theory", "bandwidth", "--plot", "a.eps"), "accepted file extensions"),
        (("pts", "steady-state", "--file", "/dev/zero"), "larger than 64 MiB"),
        (("benchmark", "-w", "W1", "--seed", "-1"), "'--seed'"),
        (("power", "run", "-o", "x", "--seed", "18446744073709551616"), "to 18446744073709551615"),
        (("benchmark", "-w", "W1", "-o", ""), "'--output' / '-o': an empty name"),
        (("emmc", "check", "--config", "emmc_16gb", "--output="), "an empty name"),
        (("app", "run", "--target", "sim:emmc_16gb", "-o", ""), "an empty name"),
        (("report", "small.yaml", "--csv", ""), "an empty name"),
        (("verify", ""), "an empty name"),
        (("sweep", "-c", "small.yaml", "--csv", "x"), "`runs table --csv FILE` writes"),
        (("replay", "--trace", "x", "-c", "small.yaml"), "`replay FILE --config DEVICE`"),
        (("emmc", "check", "--config", "emmc_16gb", "-o", "/proc/x"), "cannot write /proc/x"),
        (
            ("pts", "wsat", "--target", "sim:small.yaml", "-o", "x", "--capacities", "inf"),
            "capacities: inf is not a finite number; accepted: from 0.1",
        ),
    ],
)
def test_what_does_not_fit_an_option_is_said(
    cli: Cli, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    """Four of these were tracebacks; four wrote HTML under the name of a PDF or a picture."""
    (folder / "odd.alist").write_text("x\n", encoding="utf-8")
    before = sorted(folder.iterdir())
    shown = cli(*arguments)
    assert shown.returncode == 2, shown.stderr
    assert words in shown.stderr
    assert "Traceback" not in shown.stderr
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("default", [1, 1.0])
def test_infinity_is_not_called_small(default: float) -> None:
    option = Option("points", default, "", minimum=1)
    with pytest.raises(ConfigError, match="inf is not a finite number; accepted: from 1"):
        option.checked(float("inf"))
    with pytest.raises(ConfigError, match="0 is too small; accepted: from 1"):
        option.checked(0)
    assert option.checked(2) == 2


@pytest.mark.parametrize(
    ("arguments", "value", "accepted"),
    [
        (("benchmark", "-w", "W1", "--seed", "x"), "x", "a whole number from 0 to 1844674"),
        (("benchmark", "-w", "W1", "--seed", "-1"), "-1", "a whole number from 0 to 1844674"),
        (("benchmark", "-w", "W1", "--slice-ops", "0"), "0", "a whole number from 1\n"),
        (("reliability", "rber", "--spread", "it's"), "it's", "a number\n"),
        (("pts", "iops", "--time-base", "Q"), "Q", "'full', 'scaled', 'smoke'\n"),
    ],
)
def test_the_value_of_an_option_and_what_it_takes_are_named(
    cli: Cli, arguments: tuple[str, ...], value: str, accepted: str
) -> None:
    said = cli(*arguments).stderr
    assert f"`{value}` is not valid; accepted: {accepted}" in said


def test_a_trace_whose_name_is_no_text_is_refused(cli: Cli, folder: Path) -> None:
    """It ended with `unexpected end of hex escape`."""
    name = b"tr\xffce.csv".decode(errors="surrogateescape")
    (folder / name).write_text("0,host,0,Write,0,4096,1\n", encoding="utf-8")
    shown = cli("replay", name, "-c", "small.yaml")
    assert shown.returncode == 2, shown.stderr
    assert "the name is not UTF-8 text" in shown.stderr


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: onl.load_device("config", {5: 1}), "`5` is not a key"),
        (lambda: onl.load_device("config").replace(None), "`None` are not changes"),
        (lambda: onl.load_device("config", "x"), "`x` are not changes"),
        (lambda: onl.load_workload("W1", "config"), "`config` is not a DeviceConfig"),
        (lambda: onl.benchmark("config", "W1", state=5), "`5` is not a valid state"),
    ],
)
def test_the_wrong_type_is_refused_in_our_words(call: Any, words: str) -> None:
    """These were AttributeErrors."""
    with pytest.raises(ConfigError, match=words):
        call()


def test_numbers_of_any_kind_can_be_written() -> None:
    assert (number(float("nan")), number(float("inf"))) == ("nan", "inf")
    assert number(10**400).startswith("10 000")


def test_public_rooms_and_names_are_reached() -> None:
    """`onl.theory` failed unless something had imported it; four more names were hidden."""
    assert onl.__version__ == onl.version()
    assert onl.theory.__name__ == "opennandlab.theory"
    assert "iops" in onl.pts.STANDARD
    assert "tlc_standard" in onl.presets()["devices"]
    assert issubclass(onl.UnlikeError, onl.ResultError)
