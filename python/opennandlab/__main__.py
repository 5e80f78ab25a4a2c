"""`python -m opennandlab`, and the command `opennandlab`."""

import signal

# Nothing has begun while modules are loaded: Ctrl-C just ends the program.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from opennandlab.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
