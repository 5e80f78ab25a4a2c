"""The figures of the tutorials: one test with several values of one parameter, overlaid.

```text
slide           test      varied            a figure of
data            wsat      data              random data against compressible data
cache           wsat      cache             write cache off (WCD) against on (WCE)
oio             wsat      oio               1, 2, 4 and 8 requests outstanding in all
active-range    wsat      active-range-pct  100, 80, 50, 25, 10 and 5 % of the drive
amount          wsat      ar-amount         the full range against 8 GiB of it
age             latency   nand.stress…      data just programmed against a year old
```
Each is a suite of its own, made as `--vary` makes one. A target that cannot have a value of the
parameter leaves the slide out and states why: two equal lines would show nothing.

Beginning against end of life needs a drive with wear. A device file has no erase counts to start
from, so `age` varies what it does have, the time since the data was written; a real drive keeps
both to itself.

Source: SNIA PTS tutorial, E. Kim and E. Ho, 2013 (IOPS against bytes written by data pattern, write
cache, outstanding requests, active range and amount).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from opennandlab.base.errors import ConfigError
from opennandlab.documents.pts import Varied
from opennandlab.pts.bench.plan import CLIENT_AMOUNT_BYTES, RANGE_SHARE, Settings
from opennandlab.pts.bench.suite import Job, vary
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests import latency, wsat
from opennandlab.targets.base import Target
from opennandlab.targets.opening import Request, sketch

# Models of the raw bit error rate that know how old data is.
AGEING_MODELS = ("kim", "states")


@dataclass(frozen=True)
class Slide:
    """A figure of several documents of one test.

    Args:
        name: On the command line, and of the folder.
        title: Title of the figure.
        test: Which test.
        vary: The parameter and its values, as `--vary` has them.
        objection: Says why a target with these settings cannot have it; empty where it can.
        labels: What values are called in the figure, where that is not what they are.
        note: A sentence for the page; empty for none.
    """

    name: str
    title: str
    test: Test
    vary: str
    objection: Callable[[Target, Settings], str]
    labels: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def label(self, value: str) -> str:
        """Return what a value is called in the figure."""
        return self.labels.get(value, value)


def _no_objection(_: Target, __: Settings) -> str:
    return ""


def _data(target: Target, _: Settings) -> str:
    if target.kind == "sim" and target.facts().device.data == "no effect by design":
        return "the device has no `ftl.compression`: what is written makes no difference to it"
    return ""


def _cache(target: Target, _: Settings) -> str:
    if target.kind in {"file", "nbd"}:
        return f"the cache below a target of the kind {target.kind} cannot be set"
    # A sketch of a real drive is not asked: its document states what became of the setting.
    if target.kind == "sim" and target.set_cache(enabled=True) == "absent":
        return "the device has no volatile write cache (`ftl.write_buffer_pages`)"
    return ""


def _amount(target: Target, settings: Settings) -> str:
    usual = RANGE_SHARE[settings.profile, settings.pts_version] * 100
    pct = usual if settings.active_range_pct is None else settings.active_range_pct
    if pct / 100 * target.capacity_bytes <= CLIENT_AMOUNT_BYTES:
        return "the active range holds no more than 8 GiB"
    return ""


def _age(target: Target, _: Settings) -> str:
    if target.kind != "sim":
        return "neither the wear of a real drive nor the age of its data can be set"
    config = target.facts().device.config or {}
    model = config.get("reliability")
    kind = model.get("kind") if isinstance(model, Mapping) else model
    if kind not in AGEING_MODELS:
        accepted = " and ".join(AGEING_MODELS)
        return f"the error model of the device does not know how old data is ({accepted} do)"
    return ""


SLIDES: dict[str, Slide] = {
    slide.name: slide
    for slide in (
        Slide("data", "Data pattern", wsat.TEST, "data=random,file", _data),
        Slide(
            "cache",
            "Write cache",
            wsat.TEST,
            "cache=disabled,enabled",
            _cache,
            {"disabled": "write cache off (WCD)", "enabled": "write cache on (WCE)"},
        ),
        Slide(
            "oio",
            "Outstanding requests",
            wsat.TEST,
            "oio=1,2,4,8",
            _no_objection,
            {str(count): f"OIO {count}" for count in (1, 2, 4, 8)},
        ),
        Slide(
            "active-range",
            "Active range",
            wsat.TEST,
            "active-range-pct=100,80,50,25,10,5",
            _no_objection,
            {str(pct): f"{pct} %" for pct in (100, 80, 50, 25, 10, 5)},
            "The active range limits preconditioning and test: what is left of the drive is spare "
            "area as long as nothing was ever written there.",
        ),
        Slide(
            "amount",
            "Active range amount",
            wsat.TEST,
            "ar-amount=0,8GiB",
            _amount,
            {"0": "full range", "8GiB": "8 GiB in segments"},
        ),
        Slide(
            "age",
            "Age of the data",
            latency.TEST,
            "nand.stress.retention_h=0,8760",
            _age,
            {"0": "just programmed", "8760": "a year old"},
            "Not a drive at the end of its life: a device file cannot give blocks the erases of "
            "years. What is varied is the age of everything that is read.",
        ),
    )
}


def chosen(only: str | None) -> list[Slide]:
    """Return the slides of `--only`, or all of them.

    Raises:
        ConfigError: for a name that is not known.
    """
    if only is None:
        return list(SLIDES.values())
    names = [word.strip().replace("_", "-") for word in only.split(",") if word.strip()]
    for name in names or [only]:
        if name not in SLIDES:
            raise ConfigError("only", f"`{name}` is not known; accepted: {', '.join(SLIDES)}")
    return [SLIDES[name] for name in dict.fromkeys(names)]


def objection(slide: Slide, request: Request, settings: Settings) -> str:
    """Return why a target cannot have a slide; empty where it can."""
    target = sketch(request)
    try:
        return slide.objection(target, settings)
    finally:
        target.close()


def jobs_of(
    slide: Slide, settings: Settings, set_already: Collection[str] = ()
) -> tuple[list[Job], Varied]:
    """Return the documents of a slide, and what its suite says of them; see `suite.vary`."""
    if slide.name == "oio":
        settings = replace(settings, threads=None, queue_depth=None)
    return vary(Job(slide.test.name, slide.test, settings), slide.vary, set_already)
