"""`python -m opennandlab`: the same as the command `opennandlab`."""

from opennandlab.cli import main

if __name__ == "__main__":
    main()
