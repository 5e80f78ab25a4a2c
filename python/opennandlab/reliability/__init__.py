"""What wear, time, temperature and reads do to a bit: error rates, LLRs, retry tables, life tests.

    from opennandlab import reliability
    model = reliability.load_model("tlc")
    model.rber([0, 1500, 3000], retention_h=720)

Models are those of the `reliability` section of a device file, by the same names; the arithmetic
is the core's. Voltages are in gaps: distances between neighbouring programmed states.
"""

from __future__ import annotations

from opennandlab.documents.life import DriveLifeTest, LifeTest
from opennandlab.reliability.cells import CellsCount, CellsPage, Valley, count_cells
from opennandlab.reliability.drive_life import drive_life_test
from opennandlab.reliability.jedec import CLASSES, DriveClass, arrhenius
from opennandlab.reliability.life import life_test
from opennandlab.reliability.model import (
    MODELS,
    LlrTable,
    Model,
    RetryTable,
    StatesUnderStress,
    layer_factors,
    load_model,
)
from opennandlab.reliability.page_table import page_table
from opennandlab.reliability.sample import SamplePlan, drives_needed, sample_plan, upper_limit
from opennandlab.reliability.spread import codeword_failure

__all__ = [
    "CLASSES",
    "MODELS",
    "CellsCount",
    "CellsPage",
    "DriveClass",
    "DriveLifeTest",
    "LifeTest",
    "LlrTable",
    "Model",
    "RetryTable",
    "SamplePlan",
    "StatesUnderStress",
    "Valley",
    "arrhenius",
    "codeword_failure",
    "count_cells",
    "drive_life_test",
    "drives_needed",
    "layer_factors",
    "life_test",
    "load_model",
    "page_table",
    "sample_plan",
    "upper_limit",
]
