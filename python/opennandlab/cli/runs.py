"""`runs`: the finished points of a store: list, show, average, export, merge, add and remove."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import AllowCode, ForPrint, Json, Printed, Quiet, tell_latex
from opennandlab.cli.options.rows import Options, argument, command, flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opennandlab.store import Added, Store

app = typer.Typer(
    help="Keep finished runs in a store, and make tables of them.",
    epilog="Example: opennandlab runs list --where 'waf>=2' --limit 10",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Place = Annotated[
    Path | None,
    flag(
        "The store. Default: $OPENNANDLAB_STORE, else ./.opennandlab if it exists, else "
        "opennandlab in $XDG_DATA_HOME or ~/.local/share.",
        "--store",
        metavar="DIR",
    ),
]
Where = Annotated[
    list[str] | None,
    flag(
        "Only points that meet this condition: NAME=VALUE, or !=, <, <=, >, >=. May be "
        "repeated: all must hold.",
        "--where",
        metavar="COND",
    ),
]
LIMIT = 20


@dataclass(frozen=True, kw_only=True)
class ListOptions(Printed):
    """Options of `list`."""

    store: Place = None
    where: Where = None
    limit: Annotated[int, flag("Number of points at most.", metavar="N", min=1)] = LIMIT
    order: Annotated[
        str | None,
        flag(
            "Order by a column, coordinate or metric; -NAME for the greatest first. Default: the "
            "newest first.",
            metavar="NAME",
        ),
    ] = None
    keys: Annotated[bool, flag("Print whole keys, one in a line, and nothing else.")] = False


@command(app, "list", example="opennandlab runs list --where ftl.gc_policy=greedy")
def list_(given: ListOptions) -> None:
    """List points: key, verb, coordinates, main metrics, age and status."""
    with _opened(given.store) as opened:
        rows = opened.rows(where=given.where or (), limit=given.limit, order=given.order)
        from opennandlab.cli._runs_tables import points, points_json

        if given.as_json:
            found = {"store": str(opened.file), "matched": rows.matched, "rows": points_json(rows)}
            terminal.emit_json(found)
            return
        if given.keys:
            for key in rows.column("key"):
                typer.echo(key)
            return
        if given.quiet:
            return
        import datetime as dt

        from opennandlab.store.packing import SMOKE

        if rows.rows:
            terminal.stdout().print(points(rows, now=dt.datetime.now(dt.timezone.utc)))
        if "caution" in rows.columns:
            terminal.note(SMOKE, style="yellow")
        if len(rows) < rows.matched:
            terminal.note(f"{len(rows)} of {rows.matched} points; --limit N shows more")
        elif not rows.rows:
            terminal.note("no points")
        if begun := opened.unfinished.keys():
            from opennandlab.base.words import size as spoken

            size = spoken(opened.unfinished.bytes())
            terminal.note(
                f"{_count(len(begun))} begun and not finished ({size}): the same sweep continues "
                "them, `runs rm --unfinished` drops them"
            )


@dataclass(frozen=True, kw_only=True)
class ShowOptions(Printed):
    """Options of `show`."""

    key: Annotated[str, argument("Key of the run, or its first digits.", metavar="KEY")]
    store: Place = None
    output: Annotated[
        Path | None, flag("Write the document, as the run itself would have.", "-o")
    ] = None


@command(app, example="opennandlab runs show 3f9a --output result.json")
def show(given: ShowOptions) -> None:
    """Show one point with its settings; with --json its whole document."""
    with _opened(given.store) as opened:
        from opennandlab.base.canonical import as_bytes, readable_json
        from opennandlab.base.files import check_writable, write_atomically

        if given.output is not None:
            check_writable(given.output)
        entry = opened.entry(given.key)
        if entry.document is None and (given.as_json or given.output is not None):
            text = f"the point {entry.key[:12]} has no document, it failed: {entry.error}"
            terminal.stop(terminal.REFUSED, text, as_json=given.as_json)
        if given.output is not None:
            write_atomically(given.output, as_bytes(readable_json(entry.document) + "\n"))
        if given.as_json and entry.document is not None:
            terminal.emit_json(entry.document)
        elif not given.quiet:
            from opennandlab.cli._runs_tables import show_entry

            show_entry(entry, opened.remarks([entry.key]).get(entry.key))
            if given.output is not None:
                terminal.note(f"document saved to {given.output}")


@dataclass(frozen=True, kw_only=True)
class TableOptions(Printed):
    """Options of `table`."""

    spec: Annotated[
        str | None,
        argument(
            "Metrics to average over seeds, and the coordinates to group by. Without `by`: a "
            "row for each point; without an argument: with all its metrics.",
            metavar="'METRIC,… [by NAME,…]'",
        ),
    ] = None
    store: Place = None
    where: Where = None
    csv: Annotated[Path | None, flag("Write it as CSV; - is stdout.", metavar="FILE")] = None
    parquet: Annotated[
        Path | None, flag("Write it as Parquet (needs pyarrow).", metavar="FILE")
    ] = None
    tex: Annotated[Path | None, flag("Write the printed table as LaTeX.", metavar="FILE")] = None


@command(app, example="opennandlab runs table 'waf,iops by ftl.gc_policy'")
def table(given: TableOptions) -> None:
    """Average metrics over seeds, with 95 % intervals; or points, one a row."""
    from opennandlab.base.files import write_atomically
    from opennandlab.cli import _runs_tables as tables
    from opennandlab.store import exporting
    from opennandlab.store.latex import latex_table
    from opennandlab.store.means import split

    is_csv = terminal.csv_to_stdout(given.csv, as_json=given.as_json)
    outputs = {
        "--csv": None if is_csv else given.csv, "--parquet": given.parquet, "--tex": given.tex
    }  # fmt: skip
    terminal.check_outputs(outputs)
    _check_endings(outputs)
    metrics, by = split(given.spec or "")
    with _opened(given.store) as opened:
        means = opened.means(metrics, by, where=given.where or ()) if by else None
        if means and not given.quiet:
            _tell_smoke(opened, given.where or ())
        found = (
            means.rows() if means else tables.picked(opened.rows(where=given.where or ()), metrics)
        )
    if given.csv is not None:
        exporting.write_csv(found, given.csv)
    if given.parquet is not None:
        exporting.write_rows(found, given.parquet)
    if given.tex is not None:
        shown = tables.means_cells(means, metrics) if means else tables.rows_cells(found)
        write_atomically(given.tex, latex_table(*shown).encode())
    if given.as_json:
        plain = {"columns": found.columns, "rows": found.rows}
        terminal.emit_json(tables.means_json(means) if means else plain)
    elif not given.quiet and not is_csv:
        tables.show(means or found, metrics)
        for path in (path for path in outputs.values() if path is not None):
            terminal.note(f"table saved to {path}")


@dataclass(frozen=True, kw_only=True)
class PlotOptions(ForPrint):
    """Options of `plot`."""

    file: Annotated[Path, argument("Ends in .svg, .png, .pdf or .html.", metavar="FILE")]
    store: Place = None
    where: Where = None
    x: Annotated[str | None, flag("Coordinate along the x axis.")] = None
    y: Annotated[str | None, flag("Metric along the y axis.")] = None
    lines: Annotated[str | None, flag("Coordinate with a line for each value.")] = None
    facets: Annotated[str | None, flag("Coordinate with a figure for each value.")] = None
    title: Annotated[str, flag("Title of the figure.")] = ""
    quiet: Quiet = False


@command(app, example="opennandlab runs plot waf.svg --where sweep=waf-vs-op")
def plot(given: PlotOptions) -> None:
    """Draw a metric against a coordinate, with 95 % intervals over seeds, and theory."""
    from opennandlab.reports.output import check_ending, for_print
    from opennandlab.studies.sweeps.drawing import draw

    terminal.check_outputs({"FILE": given.file})
    check_ending(given.file)
    asked = {"x": given.x, "y": given.y, "lines": given.lines, "facets": given.facets}
    paper = given.page(given.file, "FILE")
    where, title = given.where or (), given.title
    with _opened(given.store) as opened:
        drawn = draw(opened, given.file, where=where, title=title, paper=paper, **asked)
        if not given.quiet:
            _tell_smoke(opened, where)
    if not given.quiet:
        terminal.note(f"{_count(drawn.points)} drawn in {given.file}")
        if paper is not None:
            tell_latex(for_print(drawn.report), given.file, paper)


@dataclass(frozen=True, kw_only=True)
class RerunOptions(Options):
    """Options of `rerun`."""

    key: Annotated[str, argument("Key of the run, or its first digits.", metavar="KEY")]
    store: Place = None
    as_json: Json = False
    quiet: Quiet = False
    allow_code: AllowCode = False


@command(app, example="opennandlab runs rerun 3f9a")
def rerun(given: RerunOptions) -> None:
    """Run a point again, and compare it with the stored one; exit code 1 if they differ."""
    from opennandlab.cli._runs_again import run_again

    with _opened(given.store) as opened:
        entry = opened.entry(given.key)
    is_same = run_again(entry, quiet=given.quiet)
    if given.as_json:
        terminal.emit_json({"key": entry.key, "identical": is_same})
    if not is_same:
        raise typer.Exit(terminal.FAILED)


@dataclass(frozen=True, kw_only=True)
class SweepsOptions(Printed):
    """Options of `sweeps`."""

    store: Place = None


@command(app, example="opennandlab runs sweeps")
def sweeps(given: SweepsOptions) -> None:
    """List the sweeps of a store, the newest first."""
    with _opened(given.store) as opened:
        found = opened.sweeps()
        if given.as_json:
            rows = [
                {
                    "name": one.name, "created": one.created, "points": one.points,
                    "done": one.done, "failed": one.failed, "definition": one.definition,
                }
                for one in found
            ]  # fmt: skip
            terminal.emit_json({"sweeps": rows})
        elif not given.quiet:
            cells = [
                [one.name, str(one.definition.get("run", "")), str(one.points), str(one.done),
                 str(one.failed), one.created[:19].replace("T", " ")]
                for one in found
            ]  # fmt: skip
            heads = ["sweep", "verb", "points", "done", "failed", "last run"]
            terminal.stdout().print(terminal.plain_table(heads, cells))


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Printed):
    """Options of `export`."""

    file: Annotated[Path, argument("Ends in .csv, .parquet or .jsonl.", metavar="FILE")]
    store: Place = None
    where: Where = None
    documents: Annotated[bool, flag("Put the documents into the lines of a .jsonl.")] = False


@command(app, example="opennandlab runs export points.csv --where verb=benchmark")
def export(given: ExportOptions) -> None:
    """Write points into a file: a row, or a line of JSON with the settings, for each."""
    from opennandlab.store import exporting

    terminal.check_outputs({"the file": given.file})
    with _opened(given.store) as opened:
        count = exporting.export(opened, given.file, given.where or (), documents=given.documents)
    if given.as_json:
        terminal.emit_json({"file": str(given.file), "points": count})
    elif not given.quiet:
        terminal.note(f"{_count(count)} saved to {given.file}")


@dataclass(frozen=True, kw_only=True)
class AddOptions(Printed):
    """Options of `add`."""

    files: Annotated[
        list[Path],
        argument(
            "Saved documents: results, standard tests, ECC curves, life tests, applications.",
            metavar="FILE…",
        ),
    ]
    store: Place = None
    by: Annotated[
        list[str] | None,
        flag(
            "A setting that becomes a coordinate, to filter and group by: ftl.gc_policy, "
            "workload.queue_depth. May be repeated.",
            metavar="KEY",
        ),
    ] = None


@command(app, example="opennandlab runs add results/*.json --by ftl.gc_policy")
def add(given: AddOptions) -> None:
    """Add saved documents, in one transaction; make the store if there is none."""
    from opennandlab.store import Store
    from opennandlab.store.adopting import adopt

    adopted = [adopt(path, given.by or ()) for path in given.files]
    with Store.open(given.store) as opened:
        added = opened.add([entry for one in adopted for entry in one.entries])
        place = opened.file
    notes = [note for one in adopted for note in one.notes]
    _tell(added, place, notes, given)


@dataclass(frozen=True, kw_only=True)
class MergeOptions(Printed):
    """Options of `merge`."""

    other: Annotated[Path, argument("A store; it is not changed.", metavar="OTHER")]
    store: Place = None


@command(app, example="opennandlab runs merge elsewhere/.opennandlab")
def merge(given: MergeOptions) -> None:
    """Add all points of another store, in one transaction."""
    from opennandlab.store import Store

    # Before a store is made for it.
    Store.open(given.other, create=False).close()
    with Store.open(given.store) as opened:
        added = opened.merge(given.other)
        place = opened.file
    _tell(added, place, [], given)


@dataclass(frozen=True, kw_only=True)
class TagOptions(Printed):
    """Options of `tag`."""

    key: Annotated[str, argument("Key of the run, or its first digits.", metavar="KEY")]
    tags: Annotated[
        list[str] | None,
        argument("Words of up to 40 characters; none to print those it has.", metavar="TAG…",
                 show_default=False),
    ] = None  # fmt: skip
    store: Place = None
    remove: Annotated[bool, flag("Take these tags away.")] = False


@command(app, example="opennandlab runs tag 3f9a figure-3")
def tag(given: TagOptions) -> None:
    """Tag a point, to find it by `--where tag=NAME`; its document does not change."""
    from opennandlab.base.errors import StoreError
    from opennandlab.store.remarks import Remark

    if given.remove and not given.tags:
        raise StoreError("--remove is given without a tag; accepted: KEY TAG… --remove")
    with _opened(given.store) as opened:
        key = opened.whole_key(given.key)
        if given.remove:
            old = opened.remarks([key]).get(key, Remark()).tags
            missing = [one for one in given.tags or () if one not in old]
            if missing:
                accepted = ", ".join(old) or "nothing, for it has no tags"
                raise StoreError(f"{key[:12]} has no tag `{missing[0]}`; accepted: {accepted}")
            opened.remark([key], tags=[one for one in old if one not in (given.tags or ())])
        elif given.tags:
            opened.remark([key], add=given.tags)
        _tell_remark(opened, key, given)


@dataclass(frozen=True, kw_only=True)
class NoteOptions(Printed):
    """Options of `note`."""

    key: Annotated[str, argument("Key of the run, or its first digits.", metavar="KEY")]
    text: Annotated[
        str | None,
        argument("Up to 2000 characters; '' for none. Without it the note is printed.",
                 metavar="TEXT", show_default=False),
    ] = None  # fmt: skip
    store: Place = None


@command(app, example="opennandlab runs note 3f9a 'for the paper'")
def note(given: NoteOptions) -> None:
    """Keep a note on a point, in place of an earlier one; its document does not change."""
    with _opened(given.store) as opened:
        key = opened.whole_key(given.key)
        if given.text is not None:
            opened.remark([key], note=given.text)
        _tell_remark(opened, key, given)


def _tell_remark(opened: "Store", key: str, given: Printed) -> None:
    """Print tags and note of a point."""
    from opennandlab.base.errors import inert
    from opennandlab.store.remarks import Remark

    found = opened.remarks([key]).get(key, Remark())
    if given.as_json:
        terminal.emit_json({"key": key, "tags": list(found.tags), "note": found.note})
    elif not given.quiet:
        tags = f"tags {inert(', '.join(found.tags))}" if found.tags else "no tags"
        text = f"note: {inert(found.note)}" if found.note else "no note"
        typer.echo(f"{key[:12]}: {tags}; {text}")


@dataclass(frozen=True, kw_only=True)
class RmOptions(Printed):
    """Options of `rm`."""

    keys: Annotated[
        list[str] | None, argument("First digits are enough.", metavar="KEY…", show_default=False)
    ] = None
    store: Place = None
    where: Where = None
    unfinished: Annotated[bool, flag("What interrupted runs left of unfinished points.")] = False
    yes: Annotated[bool, flag("Do not ask.", "-y")] = False


@command(app, example="opennandlab runs rm --where status=failed --yes")
def rm(given: RmOptions) -> None:
    """Remove points, by key or by condition, after a question."""
    from opennandlab.base.errors import StoreError

    if [bool(given.keys), bool(given.where), given.unfinished].count(True) != 1:
        raise StoreError(
            "what to remove is not clear; accepted: exactly one of KEY…, --where and --unfinished"
        )
    with _opened(given.store) as opened:
        if given.unfinished:
            _drop_unfinished(opened, yes=given.yes, as_json=given.as_json, quiet=given.quiet)
            return
        found = [opened.whole_key(key) for key in given.keys or ()] or opened.keys(
            given.where or ()
        )
        chosen = list(dict.fromkeys(found))
        question = f"remove {_count(len(chosen))} of {len(opened)} from {opened.file}"
        if chosen and not given.yes:
            _ask(question, as_json=given.as_json)
        removed = opened.remove(chosen)
    if given.as_json:
        terminal.emit_json({"removed": removed})
    elif not given.quiet:
        terminal.note(f"{_count(removed)} removed")


def _drop_unfinished(opened: "Store", *, yes: bool, as_json: bool, quiet: bool) -> None:
    begun = opened.unfinished.keys()
    if begun and not yes:
        question = f"drop what {_count(len(begun))} not finished have stored in {opened.path}"
        _ask(question, as_json=as_json)
    removed = opened.unfinished.drop(begun)
    if as_json:
        terminal.emit_json({"removed": removed})
    elif not quiet:
        held = len(begun) - removed
        under_way = f"; {held} running in another process" if held else ""
        terminal.note(f"removed {_count(removed)} that had not finished{under_way}")


def _opened(place: Path | None) -> "Store":
    """Open a store that must be there."""
    from opennandlab.store import Store

    return Store.open(place, create=False)


def _tell_smoke(opened: "Store", where: "Sequence[str]") -> None:
    """Report how many points of a table of means or of a figure are no measurements."""
    found = len(opened.rows(where=[*where, "caution!=null"], columns=["key"]))
    if found:
        terminal.note(f"note: {_count(found)} of smoke tests: not a result", style="yellow")


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


def _tell(added: "Added", place: Path, notes: list[str], given: Printed) -> None:
    """Say what became of points that were added."""
    if given.as_json:
        counts = {"new": added.new, "replaced": added.replaced, "known": added.known}
        terminal.emit_json({"store": str(place), **counts, "notes": notes})
        return
    if given.quiet:
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
