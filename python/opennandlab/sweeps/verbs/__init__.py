"""What a sweep can run: a row for each verb."""

from __future__ import annotations

from opennandlab.base.errors import ConfigError
from opennandlab.base.hints import nearest
from opennandlab.pts import TESTS
from opennandlab.sweeps.verb import Verb
from opennandlab.sweeps.verbs.application import Application
from opennandlab.sweeps.verbs.benchmark import Benchmark, Replay
from opennandlab.sweeps.verbs.cells import Cells
from opennandlab.sweeps.verbs.ecc_curve import EccCurve
from opennandlab.sweeps.verbs.formulas import FORMULAS
from opennandlab.sweeps.verbs.life import LIFE_TESTS
from opennandlab.sweeps.verbs.standard_test import StandardTest

VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Benchmark(),
        Replay(),
        Application(),
        *(StandardTest(test) for test in TESTS.values() if not test.kinds or "sim" in test.kinds),
        Cells(),
        EccCurve(),
        *LIFE_TESTS,
        *FORMULAS,
    )
}


def verb_of(name: str) -> Verb:
    """Return a verb by its name.

    Raises:
        ConfigError: for another name.
    """
    if name in VERBS:
        return VERBS[name]
    near = nearest(name, list(VERBS))
    meant = f"; did you mean `{near}`?" if near else ""
    raise ConfigError("run", f"`{name}` cannot be run; accepted: {', '.join(VERBS)}{meant}")
