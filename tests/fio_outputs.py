"""Outputs of the fio that is installed, made on small files: one for each entry of `OUTPUTS`.

Usage: `python tests/fio_outputs.py FOLDER`.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Output:
    """A run of fio.

    Args:
        name: Of its file.
        sections: Options of each job, by name.
        arguments: Of the command line, besides.
        labels: How the import labels its cells; empty where nothing may come in.
        said: Words that the document, or the refusal, must have.
        is_quick: Whether it is of the normal suite.
    """

    name: str
    sections: dict[str, str]
    arguments: str = "--output-format=json"
    labels: tuple[str, ...] = ()
    said: str = ""
    is_quick: bool = False


def _outputs() -> list[Output]:
    found = []
    add = found.append
    # Engines, directions, sizes, processes, reporting: each way once.
    mixes = {
        "randread": "100/0", "randwrite": "0/100", "read": "100/0", "write": "0/100",
        "randrw rwmixread=70": "70/30", "rw rwmixwrite=25": "75/25",
    }  # fmt: skip
    for engine in ("psync", "libaio", "io_uring", "null", "posixaio"):
        for at, (rw, mix) in enumerate(mixes.items()):
            kind, _, share = rw.partition(" ")
            size = ("4k", "8k", "16k", "64k", "512", "4k")[at]
            jobs, grouped = ((1, 0), (4, 0), (4, 1), (1, 1), (2, 1), (1, 0))[at]
            depth = (1, 8, 4, 16, 1, 4)[at]
            form = ("json", "json+", "normal,json")[at % 3]
            is_quick = engine == "psync" and at in {0, 2}
            options = (f"ioengine={engine} rw={kind} {share} bs={size} numjobs={jobs} "
                       f"group_reporting={grouped} iodepth={depth}")  # fmt: skip
            kib = {"512": "0.5"}.get(size, size.removesuffix("k"))
            add(Output(f"{engine}-{kind}-{at}", {"job": options}, f"--output-format={form}",
                       (f"{kib} KiB {mix}",), is_quick=is_quick))  # fmt: skip
    # What a label cannot hold.
    add(Output("bssplit", {"job": "rw=randwrite bssplit=4k/60:16k/40"}, said="filed under"))
    add(Output("bsrange", {"job": "rw=randread bsrange=4k-64k"}, said="filed under"))
    add(Output("bs-apart", {"job": "rw=randrw bs=4k,16k"}, said="filed under"))
    add(Output("trim", {"job": "ioengine=null rw=randtrim bs=4k"}, said="not a load of a test"))
    add(
        Output(
            "trimwrite", {"job": "ioengine=null rw=trimwrite bs=4k"}, said="not a load of a test"
        )
    )
    add(Output("fsync", {"job": "rw=randwrite bs=4k fsync=8"}, labels=("4 KiB 0/100",),
               said="flushes are left out", is_quick=True))  # fmt: skip
    add(Output("sync-depth", {"job": "ioengine=psync rw=randwrite bs=4k iodepth=16 fdatasync=1"},
               labels=("4 KiB 0/100",), said="QD 1", is_quick=True))  # fmt: skip
    two = {"reader": "rw=randread bs=4k", "writer": "rw=randwrite bs=4k"}
    add(Output("unlike-grouped", {key: f"{it} group_reporting" for key, it in two.items()},
               said="where rw is randwrite", is_quick=True))  # fmt: skip
    add(Output("unlike-apart", two, labels=("4 KiB 100/0", "4 KiB 0/100"), is_quick=True))
    sizes = {
        "small": "rw=randread bs=4k group_reporting",
        "large": "rw=randread bs=64k group_reporting",
    }
    add(Output("sizes-grouped", sizes, said="on average", is_quick=True))
    add(Output("alike-grouped", {f"j{at}": "rw=randread bs=4k group_reporting" for at in range(3)},
               said="run times are those of 3 processes"))  # fmt: skip
    stages = {"a": "rw=randread bs=4k stonewall", "b": "rw=randwrite bs=4k stonewall",
              "c": "rw=randread bs=8k stonewall"}  # fmt: skip
    labels = ("4 KiB 100/0", "4 KiB 0/100", "8 KiB 100/0")
    add(Output("stages", stages, labels=labels, is_quick=True))
    add(Output("stages-grouped", {key: f"{it} group_reporting" for key, it in stages.items()},
               labels=labels))  # fmt: skip
    for form in ("json", "json+"):
        arguments = f"--output-format={form} --status-interval=200ms"
        long = {"job": "rw=randrw bs=4k runtime=1"}
        add(Output(f"status-{form}", long, arguments, ("4 KiB 50/50",)))
        add(Output(f"status-stages-{form}", stages, arguments, labels))
    for way, said in (("mixed", "not distinguished"), ("both", "given separately")):
        for rw, mix in (("randrw rwmixread=30", "30/70"), ("randwrite", "0/100")):
            told = said if "rwmix" in rw or way == "mixed" else ""
            job = {"job": f"rw={rw} bs=4k unified_rw_reporting={way}"}
            add(Output(f"unified-{way}-{rw[:6]}", job, labels=(f"4 KiB {mix}",), said=told))
    bad = {"bad": "rw=write bs=4k filename=/dev/full size=1m"}
    add(Output("error", {**bad, "good": "rw=read bs=4k"},
               labels=("4 KiB 100/0",), said="ended with an error"))  # fmt: skip
    add(Output("error-alone", bad, said="ended with an error", is_quick=True))
    add(Output("no-lat", {"job": "rw=randread bs=4k gtod_reduce=1"}, labels=("4 KiB 100/0",),
               said="no response times"))  # fmt: skip
    add(Output("lat-percentiles", {"job": "rw=randread bs=4k lat_percentiles=1"},
               "--output-format=json", ("4 KiB 100/0",)))  # fmt: skip
    add(Output("both-percentiles",
               {"job": "rw=randread bs=4k lat_percentiles=1 clat_percentiles=1"},
               "--output-format=json+", ("4 KiB 100/0",)))  # fmt: skip
    add(Output("ramp", {"job": "rw=randread bs=4k ramp_time=1 numjobs=2 "
                               "group_reporting"}, labels=("4 KiB 100/0",)))  # fmt: skip
    add(Output("late", {"job": "rw=randread bs=4k startdelay=1 numjobs=2 "
                               "group_reporting"}, labels=("4 KiB 100/0",)))  # fmt: skip
    add(Output("thinktime", {"job": "rw=randread bs=4k thinktime=50000 number_ios=10"},
               said="the queue was not full"))  # fmt: skip
    add(Output("rate", {"job": "ioengine=libaio rw=randread bs=4k iodepth=8 rate_iops=500 "
                               "number_ios=400"}, said="the queue was not full"))  # fmt: skip
    add(Output("text-before", {"job": "rw=randread bs=4k ioengine=psync iodepth=4"},
               "--output-format=json --debug=time", ("4 KiB 100/0",), "other text"))  # fmt: skip
    return found


OUTPUTS = _outputs()


def make(output: Output, folder: Path) -> tuple[Path, int]:
    """Run fio; return its output and its exit status."""
    lines = ["[global]", "size=8m"]
    if "number_ios" not in str(output.sections):
        lines += ["time_based", "runtime=300ms"]
    for name, options in output.sections.items():
        place = () if "filename=" in options else ("filename=drive.img",)
        lines += [f"[{name}]", *place, *options.split()]
    job = folder / f"{output.name}.fio"
    job.write_text("\n".join(lines) + "\n")
    path = folder / f"{output.name}.json"
    arguments = ["fio", job.name, *output.arguments.split()]
    with path.open("wb") as stream:
        done = subprocess.run(
            arguments, cwd=folder, stdout=stream, stderr=stream, timeout=60, check=False
        )
    return path, done.returncode


if __name__ == "__main__":
    place = Path(sys.argv[1]).absolute()
    place.mkdir(exist_ok=True)
    for one in OUTPUTS:
        made, status = make(one, place)
        sys.stdout.write(f"{made.name} {status} {made.stat().st_size}\n")
