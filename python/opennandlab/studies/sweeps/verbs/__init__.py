"""What a sweep can run: a row for each verb."""

from __future__ import annotations

from opennandlab.base.errors import ConfigError
from opennandlab.base.hints import nearest
from opennandlab.pts import REAL_WORLD, TESTS
from opennandlab.studies.sweeps.verb import Verb
from opennandlab.studies.sweeps.verbs.application import Application
from opennandlab.studies.sweeps.verbs.benchmark import Benchmark, Replay
from opennandlab.studies.sweeps.verbs.cells import Cells
from opennandlab.studies.sweeps.verbs.chain import Chain
from opennandlab.studies.sweeps.verbs.ecc_curve import EccCurve
from opennandlab.studies.sweeps.verbs.formulas import FORMULAS
from opennandlab.studies.sweeps.verbs.life import LIFE_TESTS
from opennandlab.studies.sweeps.verbs.standard_test import StandardTest

VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Benchmark(),
        Replay(),
        Application(),
        *(
            StandardTest(test)
            for name, test in TESTS.items()
            if (not test.kinds or "sim" in test.kinds) and name not in REAL_WORLD
        ),
        Chain(),
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
