"""Points of a store, run again."""

from typing import TYPE_CHECKING

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.store import Entry


def run_again(entry: "Entry", *, quiet: bool) -> bool:
    """Run a point of a store again; return whether it gives the same document.

    Raises:
        ConfigError: for a verb that cannot be run, such as that of an adopted document.
    """
    from opennandlab.cli._progress import shown
    from opennandlab.store.packing import digest_of
    from opennandlab.sweeps.engine import run_point
    from opennandlab.sweeps.verbs import verb_of

    verb_of(entry.verb)
    with shown(_line, quiet=quiet) as watch:
        done = run_point(
            entry.verb, entry.key, entry.settings, entry.seed, watch or (lambda _: None)
        )
    short = entry.key[:12]
    if done.document is None or entry.document is None:
        is_same = done.error == entry.error
        terminal.note(f"{short}: {done.error or 'it runs now'}; before: {entry.error or 'it ran'}")
        return is_same
    ours, theirs = digest_of(done.document), digest_of(entry.document)
    if ours != theirs:
        from opennandlab.canonical import deterministic_part, first_difference

        parts = (deterministic_part(entry.document), deterministic_part(done.document))
        where = first_difference(*parts)
        terminal.note(f"{short}: differs: {where} (kept against run again)", style="bold red")
        return False
    if not quiet:
        terminal.note(f"{short}: identical, digest {ours[:12]}")
    return True


def _line(share: float | None) -> str:
    return "running" if share is None else f"{100 * share:.0f} %"
