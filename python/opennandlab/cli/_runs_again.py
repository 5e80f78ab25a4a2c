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
    from opennandlab.studies.sweeps import again

    with shown(_line, quiet=quiet) as watch:
        found = again.run_again(entry, watch or (lambda _: None))
    text = f"{entry.key[:12]}: {found.text}"
    if entry.document is None:
        terminal.note(text)
    elif not found.identical:
        terminal.note(text, style="bold red")
    elif not quiet:
        terminal.note(text)
    return found.identical


def _line(share: float | None) -> str:
    return "running" if share is None else f"{100 * share:.0f} %"
