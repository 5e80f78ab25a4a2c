"""A process that runs one sweep into a store, or checks a point: `python -m opennandlab.ui.worker`.

```text
stdin   one line: {"store": …, "sweep" or "check": …, "retry": …}; when it ends, so does the worker
stdout  lines of JSON: progress several times a second, then the end
```
It ends as Ctrl-C ends a sweep: finished points are kept, and the same sweep continues with the
others. Since it reads stdin to its end, it ends too when the server was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from opennandlab.base.canonical import as_bytes, readable_json
from opennandlab.base.errors import OpenNandLabError
from opennandlab.core.slices import Watcher as SliceWatcher
from opennandlab.store import Entry, Store
from opennandlab.studies.sweeps.definition import Sweep
from opennandlab.studies.sweeps.engine import Threads, memory_bytes, slots_for
from opennandlab.studies.sweeps.runner import Progress, Run

# Pages, which a person waits for, come first.
NICE = 5
# Seconds between two lines of progress, at least.
PROGRESS_S = 0.2


def main() -> int:
    """Run the request on stdin; return the exit code."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    with contextlib.suppress(OSError):
        os.nice(NICE)
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with, args=(sys.stdin,), daemon=True).start()
    try:
        (_check if "check" in request["sweep"] else _run)(request)
    except KeyboardInterrupt:
        _say(event="end", state="stopped")
    except OpenNandLabError as error:
        _say(event="end", state="failed", message=str(error))
        return 1
    except MemoryError:
        _say(event="end", state="failed", message="out of memory")
        return 1
    return 0


def _run(request: dict[str, Any]) -> None:
    """Run a sweep into the store."""
    last = 0.0

    def watch(state: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PROGRESS_S or state.done == state.total:
            last = now
            _say(
                event="progress", done=state.done, total=state.total, failed=state.failed,
                known=state.known, running=list(state.running), eta_s=state.eta_s,
                elapsed_s=state.elapsed_s,
            )  # fmt: skip

    with Store.open(request["store"], create=False) as store:
        sweep = Sweep.of(request["sweep"])
        run = Run(sweep, store, watch=watch, retry=bool(request.get("retry")))
        _say(event="progress", done=run.known_count, total=run.count, failed=0,
             known=run.known_count, running=[], eta_s=None, elapsed_s=0.0)  # fmt: skip
        slots = slots_for(memory_bytes(run.missing), request.get("jobs"))
        rows = run.to_the_end(Threads(slots, store.unfinished))
        failed = sum(row.error is not None for row in rows)
        _say(event="end", state="done", done=len(rows), total=len(rows), failed=failed,
             keys=[row.key for row in rows[:1]])  # fmt: skip


def _check(request: dict[str, Any]) -> None:
    """Run a point again, or verify its document; a difference ends in the state `failed`."""
    last = 0.0

    def watch(share: float | None) -> None:
        nonlocal last
        if time.monotonic() - last >= PROGRESS_S:
            last = time.monotonic()
            _say(event="progress", done=0, total=1, failed=0, running=[share])

    check = request["sweep"]["check"]
    with Store.open(request["store"], create=False) as store:
        entry = store.entry(check["key"])
    if check["how"] == "rerun":
        from opennandlab.studies.sweeps.again import run_again

        found = run_again(entry, watch)
        is_same, text = found.identical, found.text
    else:
        is_same, text = _verified(entry, lambda state: watch(state.fraction))
    _say(event="end", state="done" if is_same else "failed", message=text, done=1, total=1)


def _verified(entry: Entry, watch: SliceWatcher) -> tuple[bool, str]:
    """Return whether a second run of a document is identical, and in words."""
    from opennandlab.core.verification import verify

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{entry.key[:12]}.json"
        path.write_bytes(as_bytes(readable_json(entry.document) + "\n"))
        found = verify(path, progress=watch)
    if found.identical:
        return True, f"identical, digest {str(found.digest_rerun)[:12]}"
    note = f"; {found.note}" if found.note else ""
    return False, f"differs: {found.difference} (kept against run again){note}"


def _say(**line: object) -> None:
    """Write a line of JSON to stdout."""
    # A server that is gone does not end the run.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def _end_with(stream: Any) -> None:  # noqa: ANN401 (stdin)
    """Interrupt this process when a stream ends, as Ctrl-C does."""
    with contextlib.suppress(OSError, ValueError):
        while stream.readline():
            pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    raise SystemExit(main())
