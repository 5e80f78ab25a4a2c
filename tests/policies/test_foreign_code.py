"""Files of others name code, and none of it runs unless somebody says so on that command.

A result with `gc_policy: {kind: "numpy:memmap", filename: thesis.txt, mode: w+, …}` once overwrote
the thesis of whoever verified it, and said "identical"; images, stores, sweeps, fleets and buttons
of the page could do the same. Here `evil.py` leaves a trace when it is imported and when it is
called, and every verb gets what names it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import pickle
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import opennandlab as onl
from conftest import SHORT, SMALL
from opennandlab.base.canonical import digest
from opennandlab.base.errors import CodeError
from opennandlab.cli import app as command_line
from opennandlab.core.verification import verify
from opennandlab.ecc import container as containers
from opennandlab.policies import source
from opennandlab.store import Store
from opennandlab.studies.sweeps.engine import run_point
from opennandlab.ui import screens
from opennandlab.ui.asking import Folder
from stored import entry

EVIL = """
from pathlib import Path

__opennandlab__ = {
    "policies": ["Evil"], "workloads": ["Evil"], "traces": ["Evil"], "codes": ["Evil"],
    "reliability": ["Evil"],
}
Path(__file__).with_name("TRACE").write_text("imported")


class Evil:
    def __init__(self, *given, **keywords):
        Path(__file__).with_name("TRACE").write_text("called")

    def choose(self, pool):
        return pool.order[pool.live[pool.order].argmin()]

    def place(self, lpns, sizes, sources):
        return sources * 0
"""
NAME = "evil:Evil"
UNTIMED = {**SHORT, "timed": False}


def with_ftl(**changes: Any) -> dict[str, Any]:
    """Return a small device whose `ftl` has changes."""
    return {**SMALL, "ftl": {**SMALL["ftl"], **changes}}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder with code in it, and a process that has run none of it."""
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text(EVIL.replace("with_name", "parent.with_name"))
    (tmp_path / "pack" / "evil.py").write_text(EVIL.replace("with_name", "parent.with_name"))
    monkeypatch.chdir(tmp_path)
    for known in (source._RUN, source._TYPED, source._ADMITTED):
        known.clear()
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"evil", "pack", "mine"}:
            del sys.modules[name]


def trace(place: Path) -> bool:
    """Tell whether any code ran, and forget it."""
    found = (place / "TRACE").exists()
    (place / "TRACE").unlink(missing_ok=True)
    return found


def record(place: Path) -> dict[str, Any]:
    """Return the record of the policy, with the right hash of its source."""
    sha256 = hashlib.sha256((place / "evil.py").read_bytes()).hexdigest()
    return {"kind": "python", "name": NAME, "source_sha256": sha256}


def signed(document: dict[str, Any]) -> str:
    """Return a document as JSON, with its right digest."""
    document.pop("digest", None)
    return json.dumps({**document, "digest": digest(document)})


def result(place: Path, **ftl: Any) -> Path:
    """Write a result whose device names the policy."""
    document = json.loads(json.dumps(onl.benchmark(SMALL, UNTIMED).document))
    document["device"]["ftl"] |= ftl or {"gc_policy": record(place)}
    path = place / "evil.json"
    path.write_text(signed(document))
    return path


def image(place: Path) -> Path:
    """Write an image of a drive that had the policy."""
    with onl.allow_code():
        drive = onl.Simulation(with_ftl(gc_policy=NAME))
        drive.save(place / "evil.onl")
    trace(place)
    forget()
    return place / "evil.onl"


def forget() -> None:
    """Let this process be as one that has run no code."""
    for known in (source._RUN, source._TYPED, source._ADMITTED):
        known.clear()
    sys.modules.pop("evil", None)


def store(place: Path) -> str:
    """Make a store whose point names the policy, and return its key."""
    settings = {
        "device": {**onl.load_device(SMALL).to_dict()},
        "workload": onl.load_workload(UNTIMED, onl.load_device(SMALL)).to_dict(),
    }
    settings["device"]["ftl"]["gc_policy"] = record(place)
    document = json.loads(result(place).read_text())
    point = entry(1, settings=settings, document=document)
    with Store.open(place / "store") as opened:
        opened.add([point])
    return point.key


def written(place: Path, name: str, document: Any) -> str:
    """Write a file of JSON, which YAML is too."""
    (place / name).write_text(json.dumps(document))
    return name


def sweep_file(place: Path) -> str:
    sweep = {"run": "benchmark", "device": SMALL, "workload": UNTIMED,
             "grid": {"ftl.gc_policy": ["greedy", NAME]}}  # fmt: skip
    return written(place, "sweep.yaml", sweep)


def fleet_file(place: Path, **changes: Any) -> str:
    suites = {"suites": {"a": {"run": "benchmark", "workload": UNTIMED}}}
    fleet = {"devices": 1, "device": SMALL, "set": {"ftl.gc_policy": NAME}, **suites}
    fleet |= changes
    return written(place, "fleet.yaml", {k: v for k, v in fleet.items() if v is not None})


def power_file(place: Path) -> str:
    """Write the document of a power campaign whose device names the policy."""
    out = place / "power"
    words = ["power", "run", "--cuts", "5", "--output", str(out), "--quiet"]
    assert run(*words)[0] in {0, 1}
    document = json.loads((out / "power.json").read_text())
    document["device"]["ftl"]["gc_policy"] = record(place)
    (place / "power.json").write_text(signed(document))
    return "power.json"


def container(place: Path, name: str) -> str:
    """Write a container of `ecc encode` whose header names a code."""
    identity = {"kind": "nand", "name": name}
    header = {"code": name, "code_identity": identity, "data_bytes": 1, "data_crc32": 0, "words": 1}
    text = json.dumps(header).encode()
    head = containers._HEAD.pack(containers.MAGIC, containers.VERSION, len(text), zlib.crc32(text))
    (place / "c.ecc").write_bytes(head + text + bytes(100))
    return "c.ecc"


def run(*words: str) -> tuple[int, str]:
    """Run a command in this process."""
    done = CliRunner().invoke(command_line, list(words))
    return done.exit_code, done.output


def leaves() -> Iterator[tuple[str, Any]]:
    """Yield all commands, by name."""

    def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name, command
            return
        for part in inner:
            yield from walk(inner[part], f"{name} {part}".strip())

    yield from walk(typer.main.get_command(command_line), "")


Words = Callable[[Path], list[str]]
# Commands that open what others may have written and that may name code: their words, and the file
# that the refusal names.
REFUSING: dict[str, list[tuple[Words, str]]] = {
    "benchmark": [(lambda at: ["-w", "W2", "--state", f"image:{image(at)}"], "evil.onl")],
    "replay": [
        (lambda at: [requests(at), "--state", f"image:{image(at)}"], "evil.onl"),
    ],
    "verify": [
        (lambda at: [str(result(at))], "evil.json"),
        (lambda at: [str(result(at, gc_policy={"kind": NAME}))], "evil.json"),
        (lambda at: [str(result(at, gc_policy={"kind": "evil.py:Evil"}))], "evil.json"),
        (lambda at: [str(result(at, gc_policy={"kind": "pack.evil:Evil"}))], "evil.json"),
        (lambda at: [str(result(at, placement=NAME))], "evil.json"),
        (lambda at: [str(result(at, placement=placed(at)))], "evil.json"),
        (lambda at: [str(of_model(at))], "evil.json"),
        (lambda at: [str(of_reader(at)), "--trace", "t.csv"], "evil.json"),
    ],
    "serve": [(lambda at: ["--image", str(image(at)), "--socket", "s"], "evil.onl")],
    "sweep": [(lambda at: [sweep_file(at), "--store", "kept"], "sweep.yaml")],
    "fleet run": [
        (lambda at: [fleet_file(at), "--output", "out"], "fleet.yaml"),
        (lambda at: [fleet_file(at, set=None, device=with_ftl(gc_policy=NAME)), "--output", "out"],
         "fleet.yaml"),
    ],
    "power replay": [(lambda at: [power_file(at), "--life", "0"], "power.json")],
    "power endurance": [
        (lambda at: [fleet_file(at, suites=None), "--output", "out"], "fleet.yaml"),
    ],
    "runs rerun": [(lambda at: [store(at), "--store", "store"], "point ")],
}  # fmt: skip
# Commands that read such files, or the user's own, and run nothing of them: their words.
READING: dict[str, list[Words]] = {
    "compare": [lambda at: [str(result(at)), str(result(at))]],
    "report": [lambda at: [str(result(at))], lambda at: [power_file(at)]],
    # An image must be of the device of the target, which the user has named.
    "app run": [
        lambda at: [
            "--target",
            f"sim:{written(at, 'p.yaml', SMALL)}",
            "--state",
            f"image:{image(at)}",
        ]
    ],
    "fleet devices": [lambda at: [fleet_file(at)]],
    "fleet show": [lambda at: [str(result(at))]],
    "calibrate": [lambda at: ["-d", "config", "--to", str(result(at))]],
    "ecc decode": [lambda at: [container(at, NAME), "o.bin"]],
    "ecc plot": [lambda at: [str(result(at))]],
    "ecc encode": [lambda at: [str(result(at)), "o.ecc", "--code", "bch:m=9,t=3,data_bits=400"]],
    "pts import": [lambda at: [str(result(at)), "--output", "o.json"]],
    "pts steady-state": [lambda at: ["--file", str(result(at))]],
    "runs add": [lambda at: [str(result(at)), "--store", "other"]],
    "runs list": [lambda at: ["--store", kept(at)]],
    "runs show": [lambda at: [store(at), "--store", "store"]],
    "runs table": [lambda at: ["waf", "--store", kept(at)]],
    "runs plot": [lambda at: ["p.svg", "--store", kept(at), "--x", "ftl.op", "--y", "waf"]],
    "runs sweeps": [lambda at: ["--store", kept(at)]],
    "runs export": [lambda at: ["o.csv", "--store", kept(at)]],
    "runs merge": [lambda at: [kept(at), "--store", "other"]],
    **{f"runs {it}": [lambda at: [store(at), "--store", "store"]] for it in ("rm", "tag", "note")},
    "app history": [lambda at: ["--store", kept(at)]],
    "config show": [lambda at: [device_file(at)]],
    "config check": [lambda at: [device_file(at)], lambda at: [device_file(at), "-w", NAME]],
    "config init": [lambda at: ["new.yaml", "--from", device_file(at)]],
    "theory scaling": [lambda at: ["--config", device_file(at)]],
}
# Commands that open no file but what the user typed to be run (his device, workload or model), or
# files of other simulators, which name no code, or none at all. `ui` has tests of its own below.
OWN = {
    "pts power", "ocp",
    "quick", "check-data", "config from", "config from-rating", "trace info", "trace check",
    "attach", "detach", "app script", "app state", "app suites", "emmc check", "power run",
    "power study", "power self-test", "power files", "power cut", "power off", "power on",
    "characterise", "validate", "plugins", "ui", "config schema", "config presets", "theory waf",
    "theory bandwidth", "theory queueing", "theory endurance", "theory mapping", "theory cache",
    "theory examples", "ecc curve", "ecc compare", "ecc speed", "ecc limits", "ecc llr", "ecc need",
    "ecc dump dialects", "ecc dump inspect", "ecc dump guess", "ecc dump check", "ecc dump repair",
    "ecc dump build", "theory array", "reliability plan", "reliability rber", "reliability states",
    "reliability llr", "reliability retry", "reliability arrhenius", "reliability cells",
    "reliability life", "reliability table", "pts iops", "pts throughput",
    "pts tp", "pts latency", "pts lat", "pts wsat", "pts hir", "pts xsr", "pts dirth", "pts ecw",
    "pts cbw", "pts skew", "pts fill", "pts zones", "pts load", "pts identify", "pts all",
    "pts slides", "trace convert", "trace capture", "pts rwsw",
}  # fmt: skip


def requests(place: Path) -> str:
    (place / "t.csv").write_text("0,1,0,8\n" * 10)
    return "t.csv"


def kept(place: Path) -> str:
    store(place)
    return "store"


def device_file(place: Path) -> str:
    return written(place, "d.yaml", with_ftl(gc_policy=NAME, placement=NAME) | {
        "reliability": NAME})  # fmt: skip


def placed(place: Path) -> dict[str, Any]:
    by = {key: value for key, value in record(place).items() if key != "kind"}
    return {"kind": "fdp", "handles": 2, "isolation": "initially", "by": by}


def of_model(place: Path) -> Path:
    """Write a result whose device has an error model that is code."""
    path = result(place, gc_policy={"kind": "greedy"})
    document = json.loads(path.read_text())
    document["device"]["reliability"] = {"kind": NAME}
    path.write_text(signed(document))
    return path


def of_reader(place: Path) -> Path:
    """Write a result of a trace that code has read."""
    requests(place)
    document = json.loads(json.dumps(onl.benchmark(SMALL, UNTIMED).document))
    document["workload"] = {"trace": {
        "file": "t.csv", "digest": "0" * 64, "reader": NAME,
        "reader_sha256": record(place)["source_sha256"],
    }}  # fmt: skip
    path = place / "evil.json"
    path.write_text(signed(document))
    return path


def test_every_command_stands_in_one_of_the_tables() -> None:
    """A new command is missing here until somebody has thought of what it opens."""
    names = {name for name, _ in leaves()}
    assert names == set(REFUSING) | set(READING) | OWN
    takes = {name for name, one in leaves() if any("--allow-code" in it.opts for it in one.params)}
    assert takes == set(REFUSING)


@pytest.mark.parametrize(
    ("verb", "words", "file"),
    [(verb, words, file) for verb, rows in REFUSING.items() for words, file in rows],
    ids=[f"{verb}-{at}" for verb, rows in REFUSING.items() for at in range(len(rows))],
)
def test_a_command_refuses_and_says_what_it_would_have_run(
    place: Path, verb: str, words: Words, file: str
) -> None:
    code, said = run(*verb.split(), *words(place))
    said = " ".join(said.split())
    assert not trace(place)
    assert code == 2, said
    assert file in said
    assert any(name in said for name in (NAME, "evil.py:Evil", "pack.evil:Evil"))
    assert f"from {place}" in said or "from evil.py" in said
    assert "--allow-code" in said


@pytest.mark.parametrize(
    ("verb", "words"),
    [(verb, words) for verb, rows in READING.items() for words in rows],
    ids=[f"{verb}-{at}" for verb, rows in READING.items() for at in range(len(rows))],
)
def test_a_command_that_reads_runs_nothing(place: Path, verb: str, words: Words) -> None:
    code, said = run(*verb.split(), *words(place))
    assert not trace(place), said
    assert code in {0, 1, 2, 3}


@pytest.mark.parametrize("verb", ["show", "check"])
def test_config_tells_what_is_named_and_loads_nothing(place: Path, verb: str) -> None:
    code, said = run("config", verb, device_file(place))
    assert code == 0, said
    said = " ".join(said.split())
    for key in ("ftl.gc_policy", "ftl.placement", "reliability"):
        assert f"{key}: `{NAME}` is code, which was not loaded" in said
    found, _ = json.JSONDecoder().raw_decode(run("config", verb, "d.yaml", "--json")[1])
    assert found["not_loaded"] == dict.fromkeys(
        ("reliability", "ftl.gc_policy", "ftl.placement"), NAME
    )
    assert not trace(place)


def test_what_the_user_typed_runs(place: Path) -> None:
    """`--set`, the own device file, and `--allow-code` for the files of others."""
    written(place, "s.yaml", SMALL)
    written(place, "d.yaml", with_ftl(gc_policy=NAME))
    written(place, "w.yaml", UNTIMED)
    words = ["benchmark", "-w", "w.yaml", "--quiet", "-o", "r.json", "--save-image", "i.onl"]
    assert run(*words, "-c", "s.yaml", "--set", f"ftl.gc_policy={NAME}")[0] == 0
    assert trace(place)
    forget()
    assert run(*words, "-c", "d.yaml")[0] == 0
    assert trace(place)
    forget()
    assert run("verify", "r.json")[0] == 2
    assert not trace(place)
    assert run("verify", "r.json", "--allow-code")[0] == 0
    assert trace(place)
    forget()
    assert run("benchmark", "-w", "w.yaml", "--state", "image:i.onl", "--allow-code")[0] == 0
    assert trace(place)
    forget()
    for vary in (NAME, f"greedy,{NAME}", f"greedy,{{kind: {NAME}}}"):
        words = ["sweep", "-c", "s.yaml", "-w", "w.yaml", "--store", "k", "--retry", "--quiet"]
        run(*words, "--vary", f"ftl.gc_policy={vary}", "--dry-run")
        assert trace(place), vary
        forget()


def test_texts_of_a_file_that_is_no_device_are_not_typed_names(place: Path) -> None:
    """A workload whose `name:` was that of the code let images and sweeps of others run it."""
    written(place, "s.yaml", SMALL)
    written(place, "w.yaml", {**UNTIMED, "name": NAME})
    written(place, "named.yaml", {**SMALL, "name": NAME})
    grid = {"ftl.gc_policy": ["greedy", NAME]}
    written(place, "sw.yaml", {"run": "benchmark", "device": SMALL, "grid": grid})
    seen = ["-w", "w.yaml", "--state", f"image:{image(place)}"]
    assert run("benchmark", *seen)[0] == 2
    assert run("sweep", "sw.yaml", "-w", "w.yaml", "--store", "k", "--quiet")[0] == 2
    assert run("sweep", "sw.yaml", "-w", "w.yaml", "-c", "named.yaml", "--store", "k")[0] == 2
    assert not trace(place)


@pytest.mark.parametrize(
    "name",
    ["numpy:memmap", "tempfile:mkdtemp", "os:system", "antigravity:webbrowser", "this:s",
     "pathlib:Path.touch", "plain:Plain", "computed:Plain", "broken:Plain"],
)  # fmt: skip
def test_what_nobody_offers_is_refused_also_where_code_is_allowed(place: Path, name: str) -> None:
    """And it is not even imported: that would run the module."""
    run_it = 'from pathlib import Path\nPath("TRACE").touch()\nclass Plain:\n    choose = print\n'
    (place / "plain.py").write_text(run_it)
    # Only a literal is read, since anything else would have to be run.
    (place / "computed.py").write_text(run_it + '__opennandlab__ = {"policies": list(["Plain"])}\n')
    (place / "broken.py").write_text(run_it + '__opennandlab__ = {"policies": ["Plain"]\n')
    before = set(sys.modules)
    (place / "thesis.txt").write_text("ten years of work")
    given = {"kind": name, "filename": "thesis.txt", "dtype": "uint8", "mode": "w+", "shape": [4]}
    words = rf"`{name}`.* (does not offer `|the module `os` has no file)"
    with onl.allow_code(), pytest.raises(onl.ConfigError, match=words):
        onl.load_device(with_ftl(gc_policy=given))
    with onl.allow_code(), pytest.raises(onl.ConfigError, match=words):
        onl.load_device({**SMALL, "reliability": {"kind": name}})
    assert (place / "thesis.txt").read_text() == "ten years of work"
    assert not trace(place)
    assert not {name.partition(":")[0]} & (set(sys.modules) - before)


def test_what_is_offered_as_one_thing_is_not_another(place: Path) -> None:
    (place / "mine.py").write_text('__opennandlab__ = {"traces": ["Evil"]}\nEvil = print\n')
    with onl.allow_code(), pytest.raises(CodeError, match="does not offer `Evil` under policies"):
        onl.load_device(with_ftl(gc_policy="mine:Evil"))


def test_a_record_without_a_hash_is_refused_with_that_of_the_file(place: Path) -> None:
    known = record(place)["source_sha256"]
    for policy in (record(place) | {"source_sha256": None}, {"kind": NAME}):
        path = result(place, gc_policy=policy)
        with onl.allow_code(), pytest.raises(CodeError, match=f"no SHA-256 .* is {known}"):
            verify(path)
        assert not trace(place)
    path = result(place, placement=placed(place) | {"by": {"name": NAME}})
    with onl.allow_code(), pytest.raises(CodeError, match=f"no SHA-256 .* is {known}"):
        verify(path)
    assert not trace(place)
    path = result(place, gc_policy=record(place) | {"source_sha256": "0" * 64})
    with onl.allow_code(), pytest.raises(CodeError, match="another source than the one recorded"):
        verify(path)
    assert not trace(place)


def test_a_cached_file_of_code_is_not_run_in_the_place_of_its_source(place: Path) -> None:
    """Python takes `__pycache__` for the source where a date fits; the hash is of the source."""
    (place / "mine.py").write_text(
        '__opennandlab__ = {"policies": ["Mine"]}\nclass Mine:\n'
        "    def choose(self, pool):\n        return pool.order[0]\n"
    )
    other = place / "other.py"
    other.write_text('open("TRACE", "w")\nclass Mine:\n    choose = print\n')
    import importlib.util
    import py_compile

    cached = importlib.util.cache_from_source(str(place / "mine.py"))
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(other), cached, doraise=True, invalidation_mode=mode)
    with onl.allow_code():
        device = onl.load_device(with_ftl(gc_policy="mine:Mine"))
        assert onl.benchmark(device, UNTIMED).metrics["waf"] > 1
    assert not trace(place)


def test_looking_for_a_module_imports_no_package_around_it(place: Path) -> None:
    found = source.find("pack.evil:Evil", ".")
    assert found.path == place / "pack" / "evil.py"
    assert not trace(place)
    with onl.allow_code():
        onl.load_device(with_ftl(gc_policy="pack.evil:Evil"))
    assert trace(place)


def test_a_device_is_pickled_with_what_was_allowed(place: Path) -> None:
    """Processes of the user's own go on with it; a device that was refused is no way in."""
    with onl.allow_code():
        device = onl.load_device(with_ftl(gc_policy=NAME))
    raw = pickle.dumps(device)
    forget()
    trace(place)
    assert pickle.loads(raw) == device
    assert not trace(place)
    onl.benchmark(pickle.loads(raw), UNTIMED)
    assert trace(place)


def test_no_file_is_read_by_pickle() -> None:
    """Unpickling runs what a file says: no module of the package, which has files of others, does.

    Dask pickles what goes to and from its workers, which the user has named.
    """
    package = Path(onl.__file__).parent
    modules = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "code", "codeop"}
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {(path.name, one.name) for one in node.names if one.name in modules}
            elif isinstance(node, ast.ImportFrom) and node.module in modules:
                found.add((path.name, node.module))
            elif isinstance(node, ast.Name) and node.id in {"eval", "exec"}:
                found.add((path.name, node.id))
    assert found == set()


def test_buttons_are_not_offered_for_documents_that_name_code(place: Path) -> None:
    """The page looked at the settings, and left out all that is called `name`."""
    plain = {"device": {"ftl": {"gc_policy": "greedy"}, "name": "a/b: c"}, "workload": {}}
    assert screens.is_plain(plain)
    for policy in (record(place), {"kind": NAME}, {"kind": "python", "name": "lazy"}):
        assert not screens.is_plain({"device": {"ftl": {"gc_policy": policy}}})
    assert not screens.is_plain({"workload": {"trace": {"reader": NAME}}})
    document = json.loads(result(place).read_text())
    settings = {"device": {"ftl": {"gc_policy": "greedy"}}, "workload": {}}
    point = entry(1, settings=settings, document=document)
    assert screens.checks_of(point)[0] is False
    document["device"]["ftl"]["gc_policy"] = {"kind": "greedy"}
    assert screens.checks_of(entry(1, settings=settings, document=document))[0] is True
    for key in ("image_path", "trace_path"):
        reads = {**document, "run": {**document["run"], key: "/etc/passwd"}}
        assert screens.checks_of(entry(1, settings=settings, document=reads))[0] is False


def worked(request: dict[str, Any]) -> dict[str, Any]:
    """Let a worker of the page do something, and return the last that it said."""
    with subprocess.Popen(
        source.program("opennandlab.ui.worker"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as worker:  # fmt: skip
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(json.dumps(request) + "\n")
        worker.stdin.flush()
        # It ends when its stdin does, so that stays open until it has said all.
        lines = [json.loads(line) for line in worker.stdout]
    return lines[-1]


@pytest.mark.parametrize("how", ["verify", "rerun"])
def test_a_worker_of_the_page_runs_no_code(place: Path, how: str) -> None:
    """Also where a button was offered: what decides is the same as for commands."""
    key = store(place)
    # A module that the worker needs lies in the folder where the server was started.
    (place / "msgspec.py").write_text('open("TRACE", "w")\n')
    last = worked({"store": str(place / "store"), "sweep": {"check": {"key": key, "how": how}}})
    assert not trace(place)
    assert last["state"] == "failed"
    assert NAME in last["message"]


def test_a_sweep_of_the_page_runs_no_code(place: Path) -> None:
    """`Go on` of a sweep in a store of somebody else."""
    sweep = {"name": "s", "run": "benchmark", "device": SMALL, "workload": UNTIMED,
             "set": {"ftl.gc_policy": NAME}}  # fmt: skip
    Store.open(place / "store").close()
    last = worked({"store": str(place / "store"), "sweep": sweep})
    assert not trace(place)
    assert last["state"] == "failed"
    assert NAME in last["message"]
    assert not screens.can_go_on(sweep, Folder(place))


def test_a_point_that_is_refused_is_a_point_that_failed(place: Path) -> None:
    """Whoever waits for points in other threads and on other machines gets an answer for it."""
    device = onl.load_device(SMALL).to_dict()
    device["ftl"]["gc_policy"] = record(place)
    settings = {"device": device, "workload": UNTIMED}
    done = run_point("benchmark", "0" * 64, settings, 1, lambda _: None)
    assert (done.document, done.is_refused) == (None, True)
    assert f"`{NAME}` is code" in str(done.error)
    assert not trace(place)
