"""The command line: one file per verb, parsing and printing only.

A new verb is a file with a function (or a group `app`), and one row here. Verbs import what they
need inside their functions, so that `opennandlab --help` stays fast.
"""

from collections.abc import Callable

import typer

from opennandlab.cli import _process as process
from opennandlab.cli import (
    benchmark,
    characterise,
    compare,
    config,
    ecc,
    pts,
    reliability,
    replay,
    report,
    theory,
    validate,
    verify,
)

app = typer.Typer(
    name="opennandlab",
    help="Simulates NAND flash drives: write amplification, latency, wear and errors, "
    "reproducibly and checked against closed forms.",
    epilog="Example: opennandlab benchmark --workload W2 --config tlc_standard "
    "--output results.json",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    # Plain help: the rich renderer costs 0.1 s of a 0.3 s budget for `--help`.
    rich_markup_mode=None,
)

# Verb -> (function, example shown by --help).
VERBS: dict[str, tuple[Callable[..., None], str]] = {
    "benchmark": (
        benchmark.benchmark,
        "opennandlab benchmark -w W2 -c tlc_standard --seed 42 --output results.json",
    ),
    "verify": (verify.verify, "opennandlab verify results.json"),
    "compare": (compare.compare, "opennandlab compare greedy.json cost_benefit.json"),
    "replay": (replay.replay, "opennandlab replay msr.csv.gz -c tlc_standard --wrap"),
    "report": (report.report, "opennandlab report pts/iops.json --html iops.html --pdf iops.pdf"),
    "characterise": (
        characterise.characterise,
        "opennandlab characterise --target sim:tlc_standard --output drive",
    ),
    "validate": (validate.validate, "opennandlab validate --quick"),
}
GROUPS = {
    "config": config.app,
    "theory": theory.app,
    "ecc": ecc.app,
    "reliability": reliability.app,
    "pts": pts.app,
}

for _name, (_function, _example) in VERBS.items():
    app.command(_name, epilog=f"Example: {_example}")(_function)
for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Answer what concerns the program as a whole."""
    del context
    if version:
        from opennandlab import _core

        typer.echo(f"opennandlab {_core.version()} ({_core.commit()})")
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    process.prepare()
    with process.broken_output():
        process.check_folder()
        code = process.run(app)
    raise SystemExit(code)
