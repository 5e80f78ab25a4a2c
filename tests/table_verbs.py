"""Commands that print tables, the files that they read, and a way to run them here."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from pathlib import Path

import pytest

from conftest import SHORT, SMALL
from opennandlab.cli import _process, app

# Verbs that print tables, on files that the fixture `place` makes; a later one may read what an
# earlier one wrote.
VERBS = """
benchmark -w W2 -c small.yaml --breakdown -o a.json
benchmark -w short.yaml -c small.yaml --set ftl.gc_policy=fifo -o b.json
benchmark -w shared.yaml -c small.yaml
runs add a.json b.json --store kept
runs list --store kept
runs table --store kept
runs table waf,iops.total --store kept
sweep -c small.yaml -w short.yaml --store kept --seeds 2 --vary ftl.gc_policy=greedy,fifo
runs table "waf,iops.total by ftl.gc_policy" --store kept
runs list --store kept
runs sweeps --store kept
pts iops --target sim:small.yaml --time-base smoke --dry-run
pts iops --target sim:small.yaml --time-base smoke -o iops --block-sizes 4k,64k --mixes 100,0
pts latency --target sim:small.yaml --time-base smoke -o latency
pts latency -t sim:small.yaml --time-base smoke --state young,old --set controller.power.idle_w=1
pts identify --target sim:small.yaml --time-base smoke
pts steady-state --values 5300,5200,5050,4900,4770
pts import --list
pts import reference:client_2013_iops
compare iops/iops.json reference:client_2013_iops --force
ecc curve --code bch:m=8,t=4 --channel bsc --points 1e-4,1e-3,5e-3
ecc compare bch:m=13,t=8,data_bits=4096 bch:m=13,t=9,data_bits=4096 --points 2e-3
ecc llr --rber 5e-3 --reads 3
ecc limits --rate 0.9
reliability states --pe 3000 --retention-h 8760
reliability rber --pe 3000 --retention-h 0,720,8760 --temperature-c 25,40
reliability llr --page-type lower --pe 3000 --retention-h 8760
reliability retry --pe 3000 --retention-h 8760 --steps 4
reliability arrhenius --from 40 --to 85 --ea 1.1
reliability life --analytic -c tlc_standard --set ecc.bch_m=14 --set ecc.bch_t=72
reliability table
theory waf --spare-factor 0.0654 --pages-per-block 64 --trim-pct 10 --trim-target mapped
theory examples garbage_collection
theory bandwidth --cell slc
theory scaling --rates 1:500,300,250,220,200 --rates 2:900,540,450,380,340 --watts 5
config show emmc_16gb
config presets
validate ablation --quick --case planes-*
plugins --no-load
fleet devices fleet.yaml
fleet run fleet.yaml -o fleet
fleet run stages.yaml -o stages
fleet show stages/fleet.json
fleet show stages/fleet.json --device 1
power self-test --count 24
power run --cuts 20 -o cuts
pts import drive.csv --threads 1 --queue-depth 4 -o drive.json
calibrate --device small.yaml --to drive.json
app run --target sim:emmc_16gb --case camera=2 --runs 1 --keep --store kept
app history --store kept
quick --target sim:small.yaml --size 8MiB --runs 1 --seconds 0.05 --set nand.blocks_per_plane=128
quick --target sim:tlc_standard --dry-run
check-data --target file:drive.img?size=2MiB
check-data --target file:none.img?size=2MiB --dry-run
ocp after.json smart.json monitor.json --before before.json --before monitor.json
trace info t.csv
trace capture t.csv -o c.json
pts rwsw --capture c.json --target sim:small.yaml --time-base smoke --test multi
trace convert t.csv --addresses dense -o dense.csv
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the verbs read."""
    folder = tmp_path_factory.mktemp("tables")
    tenants = [
        {"name": "one", "pattern": "random"},
        {"name": "two", "pattern": "random", "read_pct": 50},
    ]
    fleet = {
        "name": "few", "devices": 3, "device": "small.yaml",
        "spread": {"nand.timing.t_program_us": {"normal": [700, 50]}},
        "suites": {"writes": {"run": "benchmark", "workload": "short.yaml"}},
    }  # fmt: skip
    cut = {"run": "power", "power": {"cuts": 3}}
    suites = {"life": {"run": "chain", "stages": {"cut": cut, "old": {"run": "age"}}}}
    files = {
        "stages.yaml": json.dumps({**fleet, "set": {"ftl.gc_reserve_blocks": 8}, "suites": suites}),
        "small.yaml": json.dumps(SMALL),
        "short.yaml": json.dumps(SHORT),
        "shared.yaml": json.dumps({"total": SHORT["total"], "tenants": tenants}),
        "fleet.yaml": json.dumps(fleet),
        "t.csv": "0 0 0 8 0\n5000 1 8 8 1\n9000 0 0 8 0\n",
        "drive.csv": "Block size (KiB),0/100,100/0\n4,1306,55340\n",
    }
    files |= logs_of_a_drive()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def logs_of_a_drive() -> dict[str, str]:
    """Return files of nvme-cli with counters that are long."""
    c0, c3 = "0xafd514c97c6f4f9ca4f2bfea2810afc5", "85D45E58D4E643709C6C84D08CC07A92"
    rows = {
        f"{window} Bucket Counter: Bucket {bucket}": {"Read": 4_294_967_295, "Write": 17, "Trim": 0}
        for window in ("Active", "Static")
        for bucket in range(4)
    }
    limits = dict(
        zip((f"Active Threshold {it}" for it in "ABCD"), (30, 100, 155, 235), strict=True)
    )
    files = {
        "before.json": {"Physical media units written": {"hi": 0, "lo": 1 << 50},
                        "Soft ecc error count": 1 << 60, "Log page GUID": c0},
        "after.json": {"Physical media units written": {"hi": 0, "lo": 3 << 50},
                       "Soft ecc error count": 3 << 60, "Log page GUID": c0},
        "smart.json": {"data_units_written": 123_456_789_012},
        "monitor.json": {**limits, **rows, "Log Page GUID": c3},
    }  # fmt: skip
    return {name: json.dumps(content) for name, content in files.items()}


def ran(line: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = _process.run(app, shlex.split(line))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()
