"""Completion: what a shell offers for the values of options, on the command line as it is typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import COMMAND
from opennandlab.base.keys import keys
from opennandlab.cli import VERBS, _verb
from opennandlab.cli._completion import OFFERS


def offered(words: str, folder: Path | None = None) -> list[str]:
    script = (
        "import os, sys; words = sys.argv[1:]; os.environ.update("
        "_OPENNANDLAB_COMPLETE='complete_bash', COMP_WORDS=' '.join(words), "
        "COMP_CWORD=str(len(words) - 1)); from opennandlab.cli import main; "
        "sys.argv = ['opennandlab']; main()"
    )
    command = [sys.executable, "-c", script, *words.split(" ")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("opennandlab benchmark -c tlc_s", ["tlc_standard"]),
        ("opennandlab benchmark -w W3", ["W3", "W3-zipf"]),
        ("opennandlab sweep --vary nand.chan", ["nand.channels="]),
        ("opennandlab benchmark --set ftl.gc_policy=f", ["ftl.gc_policy=fifo"]),
        ("opennandlab benchmark --set workload.read", ["workload.read_pct="]),
        ("opennandlab replay --trace-format ms", ["msr"]),
        (
            "opennandlab ecc curve --code nand-4k-r09",
            ["nand-4k-r090", "nand-4k-r0933", "nand-4k-r095"],
        ),
        ("opennandlab ecc compare nand-n", ["nand-n1024-r0889"]),
        ("opennandlab app run --suite mobi", ["mobibench-like"]),
        ("opennandlab pts iops --target sim:qlc", ["sim:qlc_pslc"]),
        ("opennandlab pts iops --model t", []),
        ("opennandlab config init --workload --from W2", ["W2"]),
        ("opennandlab config show mlc_enterprise_", ["mlc_enterprise_plp"]),
        ("opennandlab benchmark -c ./no", []),
        ("opennandlab runs show --store none 1", []),
    ],
)
def test_a_shell_is_offered_the_values_of_an_option(words, expected, tmp_path):
    assert offered(words, tmp_path) == expected


def test_a_shell_is_offered_the_points_of_the_store(tmp_path):
    (tmp_path / "dev.yaml").write_text(
        "nand: {channels: 1, dies_per_channel: 1, planes_per_die: 1, blocks_per_plane: 64}\n"
    )
    run = "sweep -c dev.yaml -w W1 --vary nand.pages_per_block=32,64 --store kept --quiet"
    subprocess.run([COMMAND, *run.split(" ")], cwd=tmp_path, check=True)
    listed = [COMMAND, "runs", "list", "--keys", "--store", "kept"]
    done = subprocess.run(listed, cwd=tmp_path, check=True, capture_output=True, text=True)
    found = offered("opennandlab runs show --store kept ", tmp_path)
    assert len(found) == 2
    assert {key[:8] for key in done.stdout.split()} == set(found)


def test_every_offer_belongs_to_an_option_that_some_verb_has():
    def names(command):
        for inner in getattr(command, "commands", {}).values():
            yield from names(inner)
        for one in command.params:
            takes = str(one.metavar)
            is_option = one.param_type_name == "option"
            yield from (one.opts[0], f"{one.opts[0]} {takes}") if is_option else (takes,)

    known = {name for verb in VERBS for name in names(_verb(verb))}
    assert set(OFFERS) - known == set()


def test_keys_of_files_have_a_meaning_and_lead_somewhere():
    for kind in ("device", "workload"):
        found = list(keys(kind))
        paths = [key.path for key in found]
        assert len(set(paths)) == len(paths) > 30
        for key in found:
            section = key.path.rpartition(".")[0]
            assert not section or next(one for one in found if one.path == section).is_section
