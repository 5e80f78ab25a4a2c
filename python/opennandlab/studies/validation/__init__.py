"""Validation: what published theory says, and what the simulator says to the same question.

    suites/*    claims with sources      cases(effort) -> [Case]
    runner      devices are simulated    run_cases(cases, simulate) -> rows as they finish
    markdown    rows become tables       render(rows) -> text

The simulator is handed in as a function, so nothing here imports it. What error a case may have
follows from its kind (`case.GOALS`); verdicts are in the head of `case`.
"""

from opennandlab.studies.validation.ad_hoc import Parameters, ad_hoc_case
from opennandlab.studies.validation.case import (
    Case,
    Effort,
    Kind,
    Miss,
    Relation,
    Row,
    Run,
    Simulate,
    Verdict,
)
from opennandlab.studies.validation.devices import Log
from opennandlab.studies.validation.markdown import head_line, render
from opennandlab.studies.validation.runner import run_cases, run_count
from opennandlab.studies.validation.select import select_cases
from opennandlab.studies.validation.suites import SUITES
from opennandlab.studies.validation.suites.waf_uniform import formula_case

__all__ = [
    "SUITES",
    "Case",
    "Effort",
    "Kind",
    "Log",
    "Miss",
    "Parameters",
    "Relation",
    "Row",
    "Run",
    "Simulate",
    "Verdict",
    "ad_hoc_case",
    "formula_case",
    "head_line",
    "render",
    "run_cases",
    "run_count",
    "select_cases",
]
