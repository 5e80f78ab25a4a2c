"""Whether cells of a simulated drive were long for their queue: Little's law on what they report.

In a closed loop that is always full, throughput times mean response time is the number of
outstanding requests (J. D. C. Little, 1961). A cell counts from when its queue is full; where it
has only a few times as many requests as are outstanding, or begins after a pause, those that wait
longest are still under way when it ends. Cells of real drives are compared when they are measured,
and a warning is in their document.
"""

from __future__ import annotations

from opennandlab.documents import pts

LIMIT = 0.05
# Steps of which no mean response time is quoted.
BEFORE = {"gap", "wipc", "prewrite", "precondition"}
# Tests whose requests arrive at a rate: an open loop.
OPEN = {"load"}


def note(document: pts.PtsDocument) -> tuple[str, ...]:
    """Return a sentence on the cells whose response times are too short; empty for none."""
    if document.header.time_base.clock != "virtual" or document.test in OPEN:
        return ()
    windows = {number for state in document.steady_state for number in state.window}
    cells = [
        cell
        for cell in document.cells.rows
        if cell.phase not in BEFORE and (not windows or cell.round is None or cell.round in windows)
    ]
    off = [(share, cell) for cell in cells if abs(share := _error(cell)) > LIMIT]
    if not off:
        return ()
    worst, cell = max(off, key=lambda pair: abs(pair[0]))
    text = (
        f"Rate and mean response time disagree by more than 5 % in {len(off)} of {len(cells)} "
        f"cells (Little's law; worst {100 * worst:+.1f} %, {cell.label}): they are short for their "
        "queue, or begin after a pause."
    )
    if all(share < 0 for share, _ in off):
        text += " Response times are too short there; outstanding requests over IOPS is right."
    return (text,)


def _error(cell: pts.Cell) -> float:
    """Return how far rate times response time is off the outstanding requests; 0 if unknown."""
    outstanding = float(cell.threads or 0) * float(cell.queue_depth or 0)
    if not cell.iops or not cell.lat_us_mean or not outstanding:
        return 0.0
    return cell.iops * cell.lat_us_mean * 1e-6 / outstanding - 1.0
