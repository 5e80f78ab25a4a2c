"""What scores are compared with: the time of an iteration of each case, in milliseconds.

Measured by the program itself: `app run --target sim:emmc_16gb --suite heavy` with all six cases,
on the young, clean drive, seed 42, five runs. `tests/app/test_app_replay.py` runs it again.
"""

from __future__ import annotations

from typing import Final

BASELINE: Final = "emmc_16gb, young-clean, replay, suite heavy, seed 42, 5 runs"
ITERATION_MS: Final[dict[str, float]] = {
    "camera": 118.621,
    "web": 83.745,
    "contact": 46.597,
    "install": 618.488,
    "mediascan": 299.737,
    "gallery": 63.267,
}
