"""`runs`: the finished points of a store: list, show, average, export, merge, add and remove."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import AllowCode, Json, Quiet

if TYPE_CHECKING:
    from opennandlab.store import Added, Store

app = typer.Typer(
    help="Keep finished runs in a store, and make tables of them.",
    epilog="Example: opennandlab runs list --where 'waf>=2' --limit 10",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Place = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="The store. Default: $OPENNANDLAB_STORE, else ./.opennandlab if it exists, else "
        "opennandlab in $XDG_DATA_HOME or ~/.local/share.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COND",
        help="Only points that this holds for: NAME=VALUE, or !=, <, <=, >, >=. May be repeated: "
        "all must hold.",
    ),
]
LIMIT = 20


@app.command("list", epilog="Example: opennandlab runs list --where ftl.gc_policy=greedy")
def list_(
    store: Place = None,
    where: Where = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="At most so many points.")
    ] = LIMIT,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="NAME",
            help="Order by a column, coordinate or metric; -NAME for the greatest first. Default: "
            "the newest first.",
        ),
    ] = None,
    keys: Annotated[
        bool, typer.Option("--keys", help="Print whole keys, one in a line, and nothing else.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List points: key, verb, what was varied, main metrics, age and status."""
    with terminal.guard(as_json=as_json), _opened(store) as opened:
        rows = opened.rows(where=where or (), limit=limit, order=order)
        from opennandlab.cli._runs_tables import points, points_json

        if as_json:
            found = {"store": str(opened.file), "matched": rows.matched, "rows": points_json(rows)}
            terminal.emit_json(found)
            return
        if keys:
            for key in rows.column("key"):
                typer.echo(key)
            return
        if quiet:
            return
        import datetime as dt

        if rows.rows:
            terminal.stdout().print(points(rows, now=dt.datetime.now(dt.timezone.utc)))
        if len(rows) < rows.matched:
            terminal.note(f"{len(rows)} of {rows.matched} points; --limit N shows more")
        elif not rows.rows:
            terminal.note("no points")
        if begun := opened.unfinished.keys():
            from opennandlab.base.words import size as spoken

            size = spoken(opened.unfinished.bytes())
            terminal.note(
                f"{_count(len(begun))} begun and not finished ({size}): the same sweep goes on "
                "with them, `runs rm --unfinished` drops them"
            )


@app.command(epilog="Example: opennandlab runs show 3f9a --output result.json")
def show(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Its first digits are enough.")],
    store: Place = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the document, as the run itself would have."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show one point with its settings; with --json its whole document."""
    with terminal.guard(as_json=as_json), _opened(store) as opened:
        from opennandlab.base.canonical import as_bytes, readable_json
        from opennandlab.base.files import check_writable, write_atomically

        if output is not None:
            check_writable(output)
        entry = opened.entry(key)
        if entry.document is None and (as_json or output is not None):
            text = f"the point {entry.key[:12]} has no document, it failed: {entry.error}"
            terminal.stop(terminal.REFUSED, text, as_json=as_json)
        if output is not None:
            write_atomically(output, as_bytes(readable_json(entry.document) + "\n"))
        if as_json:
            terminal.emit_json(entry.document)
        elif not quiet:
            from opennandlab.cli._runs_tables import show_entry

            show_entry(entry)
            if output is not None:
                terminal.note(f"document saved to {output}")


@app.command(epilog="Example: opennandlab runs table 'waf,iops by ftl.gc_policy'")
def table(
    spec: Annotated[
        str | None,
        typer.Argument(
            metavar="'METRIC,… [by NAME,…]'",
            help="What is averaged over seeds, and by what. Without `by`: a row for each point; "
            "without anything: with all its metrics.",
        ),
    ] = None,
    store: Place = None,
    where: Where = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write it as CSV.")
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", metavar="FILE", help="Write it as Parquet (needs pyarrow)."),
    ] = None,
    tex: Annotated[
        Path | None,
        typer.Option("--tex", metavar="FILE", help="Write what is printed as a table of LaTeX."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Average metrics over seeds, with 95 % intervals; or points, one a row."""
    with terminal.guard(as_json=as_json):
        from opennandlab.base.files import write_atomically
        from opennandlab.cli import _runs_tables as tables
        from opennandlab.store import exporting
        from opennandlab.store.latex import latex_table
        from opennandlab.store.means import split

        outputs = {"--csv": csv, "--parquet": parquet, "--tex": tex}
        terminal.check_outputs(outputs)
        _check_endings(outputs)
        metrics, by = split(spec or "")
        with _opened(store) as opened:
            means = opened.means(metrics, by, where=where or ()) if by else None
            found = (
                means.rows() if means else tables.picked(opened.rows(where=where or ()), metrics)
            )
        for path in (csv, parquet):
            if path is not None:
                exporting.write_rows(found, path)
        if tex is not None:
            shown = tables.means_cells(means, metrics) if means else tables.rows_cells(found)
            write_atomically(tex, latex_table(*shown).encode())
        if as_json:
            plain = {"columns": found.columns, "rows": found.rows}
            terminal.emit_json(tables.means_json(means) if means else plain)
        elif not quiet:
            if means:
                tables.show_means(means, metrics)
            else:
                tables.show_rows(found)
            for path in outputs.values():
                if path is not None:
                    terminal.note(f"table saved to {path}")


@app.command(epilog="Example: opennandlab runs plot waf.svg --where sweep=waf-vs-op")
def plot(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Ends in .svg, .png, .pdf or .html.")
    ],
    store: Place = None,
    where: Where = None,
    x: Annotated[str | None, typer.Option("--x", help="Coordinate along the axis.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="Metric that is drawn.")] = None,
    lines: Annotated[
        str | None, typer.Option("--lines", help="Coordinate with a line for each value.")
    ] = None,
    facets: Annotated[
        str | None, typer.Option("--facets", help="Coordinate with a figure for each value.")
    ] = None,
    title: Annotated[str, typer.Option("--title", help="Title of the figure.")] = "",
    quiet: Quiet = False,
) -> None:
    """Draw a metric against what was varied, with 95 % intervals over seeds, and theory beside."""
    with terminal.guard(as_json=False):
        from opennandlab.reports.output import check_ending
        from opennandlab.studies.sweeps.drawing import draw

        terminal.check_outputs({"FILE": file})
        check_ending(file)
        asked = {"x": x, "y": y, "lines": lines, "facets": facets}
        with _opened(store) as opened:
            count = draw(opened, file, where=where or (), title=title, **asked)
        if not quiet:
            terminal.note(f"{_count(count)} drawn in {file}")


@app.command(epilog="Example: opennandlab runs rerun 3f9a")
def rerun(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Its first digits are enough.")],
    store: Place = None,
    as_json: Json = False,
    quiet: Quiet = False,
    allow_code: AllowCode = False,
) -> None:
    """Run a point again, and compare it with what is kept; exit code 1 where they differ."""
    with terminal.guard(as_json=as_json, allow_code=allow_code):
        from opennandlab.cli._runs_again import run_again

        with _opened(store) as opened:
            entry = opened.entry(key)
        is_same = run_again(entry, quiet=quiet)
        if as_json:
            terminal.emit_json({"key": entry.key, "identical": is_same})
        if not is_same:
            raise typer.Exit(terminal.FAILED)


@app.command(epilog="Example: opennandlab runs sweeps")
def sweeps(store: Place = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """List the sweeps of a store, the newest first."""
    with terminal.guard(as_json=as_json), _opened(store) as opened:
        found = opened.sweeps()
        if as_json:
            terminal.emit_json(
                [
                    {
                        "name": one.name, "created": one.created, "points": one.points,
                        "done": one.done, "failed": one.failed, "definition": one.definition,
                    }
                    for one in found
                ]
            )  # fmt: skip
        elif not quiet:
            rows = [
                [one.name, str(one.definition.get("run", "")), str(one.points), str(one.done),
                 str(one.failed), one.created[:19].replace("T", " ")]
                for one in found
            ]  # fmt: skip
            heads = ["sweep", "verb", "points", "done", "failed", "last run"]
            terminal.stdout().print(terminal.plain_table(heads, rows))


@app.command(epilog="Example: opennandlab runs export points.csv --where verb=benchmark")
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Ends in .csv, .parquet or .jsonl.")],
    store: Place = None,
    where: Where = None,
    documents: Annotated[
        bool, typer.Option("--documents", help="Put the documents into the lines of a .jsonl.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write points into a file: a row, or a line of JSON with the settings, for each."""
    with terminal.guard(as_json=as_json):
        from opennandlab.store import exporting

        terminal.check_outputs({"the file": file})
        with _opened(store) as opened:
            count = exporting.export(opened, file, where or (), documents=documents)
        if as_json:
            terminal.emit_json({"file": str(file), "points": count})
        elif not quiet:
            terminal.note(f"{_count(count)} saved to {file}")


@app.command(epilog="Example: opennandlab runs add results/*.json --by ftl.gc_policy")
def add(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help="Saved documents: results, standard tests, ECC curves, life tests, applications.",
        ),
    ],
    store: Place = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="KEY",
            help="A setting that becomes a coordinate, to filter and group by: ftl.gc_policy, "
            "workload.queue_depth. May be repeated.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add saved documents, in one transaction; make the store where there is none."""
    with terminal.guard(as_json=as_json):
        from opennandlab.store import Store
        from opennandlab.store.adopting import adopt

        adopted = [adopt(path, by or ()) for path in files]
        with Store.open(store) as opened:
            added = opened.add([entry for one in adopted for entry in one.entries])
            place = opened.file
        notes = [note for one in adopted for note in one.notes]
        _tell(added, place, notes, as_json=as_json, quiet=quiet)


@app.command(epilog="Example: opennandlab runs merge elsewhere/.opennandlab")
def merge(
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="A store; it is not changed.")],
    store: Place = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add all points of another store, in one transaction."""
    with terminal.guard(as_json=as_json):
        from opennandlab.store import Store

        # Before a store is made for it.
        Store.open(other, create=False).close()
        with Store.open(store) as opened:
            added = opened.merge(other)
            place = opened.file
        _tell(added, place, [], as_json=as_json, quiet=quiet)


@app.command(epilog="Example: opennandlab runs rm --where status=failed --yes")
def rm(
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY…", help="First digits are enough.", show_default=False),
    ] = None,
    store: Place = None,
    where: Where = None,
    unfinished: Annotated[
        bool,
        typer.Option("--unfinished", help="What cut runs left of points that are not finished."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Remove points, by key or by condition; asks before."""
    with terminal.guard(as_json=as_json):
        from opennandlab.base.errors import StoreError

        if [bool(keys), bool(where), unfinished].count(True) != 1:
            raise StoreError(
                "nothing to remove is named, or too much; accepted: KEY…, --where or --unfinished"
            )
        with _opened(store) as opened:
            if unfinished:
                _drop_unfinished(opened, yes=yes, as_json=as_json, quiet=quiet)
                return
            found = [opened.whole_key(key) for key in keys or ()] or opened.keys(where or ())
            chosen = list(dict.fromkeys(found))
            question = f"remove {_count(len(chosen))} of {len(opened)} from {opened.file}"
            if chosen and not yes:
                _ask(question, as_json=as_json)
            removed = opened.remove(chosen)
        if as_json:
            terminal.emit_json({"removed": removed})
        elif not quiet:
            terminal.note(f"{_count(removed)} removed")


def _drop_unfinished(opened: "Store", *, yes: bool, as_json: bool, quiet: bool) -> None:
    begun = opened.unfinished.keys()
    if begun and not yes:
        question = f"drop what there is of {_count(len(begun))} not finished in {opened.path}"
        _ask(question, as_json=as_json)
    removed = opened.unfinished.drop(begun)
    if as_json:
        terminal.emit_json({"removed": removed})
    elif not quiet:
        held = len(begun) - removed
        under_way = f"; {held} under way in another process" if held else ""
        terminal.note(f"{_count(removed)} not finished removed{under_way}")


def _opened(place: Path | None) -> "Store":
    """Open a store that must be there."""
    from opennandlab.store import Store

    return Store.open(place, create=False)


def _ask(question: str, *, as_json: bool) -> None:
    """Ask whoever sits at the terminal.

    Raises:
        Exit: unless the answer is yes.
    """
    import sys

    if not sys.stdin.isatty() or as_json:
        terminal.stop(terminal.REFUSED, f"would {question}: give --yes to go on", as_json=as_json)
    sys.stderr.write(f"{question}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        terminal.stop(terminal.REFUSED, "nothing was removed")


def _tell(added: "Added", place: Path, notes: list[str], *, as_json: bool, quiet: bool) -> None:
    """Say what became of points that were added."""
    if as_json:
        counts = {"new": added.new, "replaced": added.replaced, "known": added.known}
        terminal.emit_json({"store": str(place), **counts, "notes": notes})
        return
    if quiet:
        return
    for note in notes:
        terminal.note(f"note: {note}", style="yellow")
    known = f", {added.known} known before" if added.known else ""
    replaced = f", {added.replaced} in place of failed ones" if added.replaced else ""
    new = "1 new point" if added.new == 1 else f"{added.new} new points"
    terminal.note(f"{new} in {place}{replaced}{known}")


def _check_endings(outputs: dict[str, Path | None]) -> None:
    from opennandlab.base.errors import OutputError

    for option, path in outputs.items():
        ending = f".{option.removeprefix('--')}"
        if path is not None and path.suffix.lower() != ending:
            raise OutputError(f"{option} {path}: accepted: a name that ends in {ending}")


def _count(number: int) -> str:
    return "1 point" if number == 1 else f"{number} points"
