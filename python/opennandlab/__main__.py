"""`python -m opennandlab`, and the command `opennandlab`."""

import contextlib
import os
import signal
import sys

# `python -m` looks for modules in the working directory first: what is there is no part of us.
with contextlib.suppress(FileNotFoundError):  # it may be gone
    if sys.path[:1] == [os.getcwd()]:  # noqa: PTH109 (as Python has it, before more is imported)
        del sys.path[0]

# Nothing has begun while modules are loaded: Ctrl-C just ends the program.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from opennandlab.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
