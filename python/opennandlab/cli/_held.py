"""A command that is loaded first, and begins at a word of the process that started it.

```text
fleet ──► 64 of these: load, "ready" ──► all are ready ──► "go" to all ──► each runs its command
```
Loading takes as long as processors are free, and commands that begin as they are loaded would begin
seconds apart. The end of the input means that the fleet is gone: then nothing begins.
"""

import importlib
import signal
import sys

# What commands load when they begin, by the first word.
LOADED = {
    "app": ("application", "app.live", "app.assembling"),
    "pts": ("pts", "pts.bench.runner", "targets.opening"),
}
READY, GO = "ready\n", "go\n"


def main() -> None:
    """Load, wait, and run the command of the arguments."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing has begun
    first, *others = LOADED.get(sys.argv[1] if len(sys.argv) > 1 else "", ("_process",))
    for name in (f"cli.{first}", *others):
        importlib.import_module(f"opennandlab.{name}")
    from opennandlab.cli import main as run

    sys.stdout.write(READY)
    sys.stdout.flush()
    if sys.stdin.readline() == GO:
        run()


if __name__ == "__main__":
    main()
