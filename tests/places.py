"""Where the tests and what they test are."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
