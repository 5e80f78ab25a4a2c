"""Figures that makers and reviewers published of the drives behind the product presets, as data.

    DRIVES ──► suites.presets ──► published next to simulated, in docs/presets.md

A cell is one figure: what is asked, in which state of the drive, the number, and its source
(brackets are those of docs/presets.md). `fitted` names the key that the figure fixed; all other
cells are predicted. A cell outside the goal of its kind states what the model lacks.

| state | how the drive got there |
|---|---|
| `fresh` | empty |
| `cached` | fresh, then 2 % of the space written at random, four times: what is read |
| `filled` | two sequential fills, so that no cache of single bits holds data |
| `dirty` | a sequential fill, and 0.19 drive writes of random units, the last part timed |
| `steady` | a sequential fill and 4 drive writes of random units, the last part timed |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opennandlab.measured.published import figures
from opennandlab.studies.validation.case import Kind, Relation

FRESH, CACHED, FILLED = "fresh", "cached", "filled"
DIRTY, STEADY = "dirty", "steady"
READ, WRITE = "read", "write"
RANDOM, SEQUENTIAL = "random", "sequential"

IOPS, MB_S, MEAN_US, P999_US, WATTS = "IOPS", "MB/s", "mean us", "p99.9 us", "mean W"
CACHE_GB, CACHE_MB_S, BEYOND_MB_S = "GB cached", "MB/s into the cache", "MB/s beyond the cache"
FOLDED_MB_S = "MB/s beyond the folded cache"
"""The last three are read from one sequential write over the whole of an empty drive."""


MEASURED = ("[9]", "[15]", "[55]", "[64]", "[65]")
"""Sources that measured; the others are data sheets, or repeat them."""


@dataclass(frozen=True)
class Cell:
    """One published figure of a drive, and what is asked of its preset to compare.

    Example:
        >>> cell = Cell("4 KiB", RANDOM, READ, 32, FILLED, IOPS, 75_000.0, "[36]")
        >>> cell.name, cell.request
        ('random-read-4KiB-q32-filled-iops', 'random read of 4 KiB, 32 outstanding, filled')
    """

    size: str
    pattern: str
    operation: str
    depth: int
    state: str
    unit: str
    published: float
    source: str
    fitted: str = ""
    """Key that this figure fixed; empty where it is a prediction."""
    lacks: str = ""
    """What the model lacks, where it is outside the goal of its kind."""
    missed: float = 0.0
    """Recorded error, then."""
    tolerance: float | None = None
    """Accepted error, where it is less than the goal."""
    variant: str = ""
    """Tells cells of the same request and unit apart."""
    relation: Relation = Relation.EQUAL
    """`AT_MOST`: a bound is published. `AT_LEAST`: nothing is published, and the figure is what the
    preset gave before it mapped units of 4 KiB."""

    @property
    def name(self) -> str:
        """What `--case` takes, behind the name of the preset."""
        size = self.size.replace(" ", "")
        unit = self.unit.lower().replace("/", "-per-").replace(" ", "-")
        words = (self.pattern, self.operation, size, f"q{self.depth}", self.state, unit)
        return "-".join((*words, self.variant) if self.variant else words)

    @property
    def kind(self) -> Kind:
        """Whether somebody measured it, or a maker states this; none where nothing is published."""
        if self.relation is Relation.AT_LEAST:
            return Kind.REFERENCE
        return Kind.RATE if any(name in self.source for name in MEASURED) else Kind.DATA_SHEET

    @property
    def request(self) -> str:
        """Request and state in words."""
        asked = f"{self.pattern} {self.operation} of {self.size}"
        return f"{asked}, {self.depth} outstanding, {self.state}"


@dataclass(frozen=True)
class Drive:
    """A product preset, the share of its blocks that is simulated, and its cells.

    Example:
        >>> DRIVES["nvme_gen4_tlc"].shrink
        8
    """

    title: str
    shrink: int
    """Blocks per plane are divided by it; dies, sizes of blocks and all shares stay."""
    cells: tuple[Cell, ...]


OVERHEAD = "an overhead for each kind of command: a read has the 44 us of a write"
OTHER_PART = "a preset of this part: it is fitted to that of the talk"
LOSSES = "structure unknown: losses of the controller"
# [15] and [9], which are tables of `measured`.
TALK = figures("emmc_2013_chunks")
TUTORIAL = figures("client_2013_iops", "iops")["4"]

GEN4 = Drive(
    "Samsung 980 PRO 1 TB, nvme_gen4_tlc",
    8,
    (
        Cell("128 KiB", SEQUENTIAL, READ, 32, FILLED, MB_S, 7000.0, "[22], [23]"),
        Cell(
            "128 KiB", SEQUENTIAL, WRITE, 32, FRESH, MB_S, 5000.0, "[22], [23]",
            fitted="nand.slc_timing.t_program_us",
        ),
        Cell("4 KiB", RANDOM, READ, 1, CACHED, IOPS, 22_000.0, "recalled"),
        Cell("4 KiB", RANDOM, READ, 1, FILLED, IOPS, 17_000.0, "the 980 of the same flash [60]"),
        Cell("4 KiB", RANDOM, READ, 256, CACHED, IOPS, 1e6, "[22], [23]"),
        Cell(
            "4 KiB", RANDOM, READ, 128, FILLED, IOPS, 1e6, "[22], [23], state not given",
        ),
        Cell(
            "4 KiB", RANDOM, READ, 256, FILLED, IOPS, 1e6, "[22], [23], state not given",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 1, FRESH, IOPS, 60_000.0, "recalled",
            lacks="the host of the rating: its predecessor, rated the same, did 163 140 [61]",
            missed=0.3225,
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 32, FRESH, IOPS, 1e6, "[22], [23]",
            fitted="host.command_cost_us",
        ),
        Cell("4 KiB", RANDOM, WRITE, 256, FRESH, IOPS, 1e6, "[22], [23]"),
        Cell(
            "1 MiB", SEQUENTIAL, WRITE, 4, FRESH, CACHE_GB, 113.0, "[55]; 114 rated [58]",
            tolerance=0.10,
        ),
        Cell(
            "1 MiB", SEQUENTIAL, WRITE, 4, FRESH, CACHE_MB_S, 4000.0, "[55], one thread",
            lacks="the host: one thread that copies", missed=0.192,
        ),
        Cell(
            "1 MiB", SEQUENTIAL, WRITE, 4, FRESH, BEYOND_MB_S, 1500.0, "[55], while it is flushed",
            fitted="ftl.slc_cache.fold_beside",
        ),
        Cell(
            "1 MiB", SEQUENTIAL, WRITE, 4, FRESH, FOLDED_MB_S, 2000.0, "rated [58]",
        ),
        Cell(
            "1 MiB", SEQUENTIAL, WRITE, 4, FRESH, MB_S, 1900.0, "[55], the whole drive",
        ),
        Cell(
            "128 KiB", SEQUENTIAL, READ, 32, FILLED, WATTS, 6.2, "[67], the 2 TB model",
            fitted="controller.power.host_nj_per_kib", tolerance=0.10,
        ),
        Cell(
            "128 KiB", SEQUENTIAL, WRITE, 32, FRESH, WATTS, 8.49, "[68], the most of its first "
            "power state; 8.9 [69]", relation=Relation.AT_MOST, tolerance=0.05,
        ),
        Cell(
            "4 KiB", RANDOM, READ, 256, FILLED, WATTS, 8.49, "[68]", relation=Relation.AT_MOST,
            tolerance=0.05,
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 32, STEADY, IOPS, 1054.0, "none published",
            relation=Relation.AT_LEAST,
        ),
    ),
)  # fmt: skip

ENTERPRISE = Drive(
    "Intel SSD DC S3700 400 GB, mlc_enterprise_plp",
    8,
    (
        Cell("128 KiB", SEQUENTIAL, READ, 32, FILLED, MB_S, 500.0, "[36]"),
        Cell("128 KiB", SEQUENTIAL, WRITE, 32, FILLED, MB_S, 460.0, "[36]"),
        Cell(
            "4 KiB", RANDOM, READ, 32, FILLED, IOPS, 75_000.0, "[36]",
            fitted="host.command_cost_us.read",
        ),
        Cell(
            "8 KiB", RANDOM, READ, 32, FILLED, IOPS, 47_500.0, "[36]",
            fitted="host.command_cost_us.per_kib.read",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 32, STEADY, IOPS, 36_000.0, "[36]",
            fitted="host.command_cost_us.move",
        ),
        Cell("8 KiB", RANDOM, WRITE, 32, STEADY, IOPS, 20_000.0, "[36]"),
        Cell(
            "128 KiB", SEQUENTIAL, WRITE, 32, FILLED, WATTS, 6.0, "[36], typical",
            fitted="nand.energy.program_uj", tolerance=0.10,
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 32, STEADY, WATTS, 6.0, "[36], up to",
            relation=Relation.AT_MOST, tolerance=0.05,
        ),
        Cell(
            "128 KiB", SEQUENTIAL, READ, 32, FILLED, WATTS, 6.0, "[36], up to",
            relation=Relation.AT_MOST, tolerance=0.05,
        ),
        Cell(
            "4 KiB", SEQUENTIAL, READ, 1, FILLED, MEAN_US, 50.0, "[36], typical",
            lacks=OVERHEAD, missed=0.2992,
        ),
        Cell(
            "4 KiB", SEQUENTIAL, WRITE, 1, FILLED, MEAN_US, 65.0, "[36], typical",
            fitted="host.command_overhead_us",
        ),
        Cell(
            "4 KiB", RANDOM, READ, 1, STEADY, P999_US, 500.0, "[36]", relation=Relation.AT_MOST,
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 1, STEADY, P999_US, 500.0, "[36]", relation=Relation.AT_MOST,
        ),
    ),
)  # fmt: skip

QLC = Drive(
    "Intel SSD 660p 1 TB, qlc_pslc",
    8,
    (
        Cell("128 KiB", SEQUENTIAL, READ, 32, FILLED, MB_S, 1800.0, "[29]"),
        Cell(
            "128 KiB", SEQUENTIAL, WRITE, 32, FRESH, MB_S, 1800.0, "[29]",
            fitted="host.link.efficiency",
        ),
        Cell("4 KiB", RANDOM, READ, 256, CACHED, IOPS, 220_000.0, "[29]", variant="rated"),
        Cell(
            "4 KiB", RANDOM, READ, 256, CACHED, IOPS, 160_000.0, "measured, depth not given [64]",
            lacks="the depth of this figure: rated are 220 000, which it meets", missed=0.3787,
            variant="measured",
        ),
        Cell(
            "4 KiB", RANDOM, READ, 256, FILLED, IOPS, 110_000.0, "half of the cache [65]",
            lacks="planes that read partly by themselves: all apart it is 207 000",
            missed=-0.3974,
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 256, FRESH, IOPS, 220_000.0, "[29]",
            fitted="host.command_cost_us", variant="rated",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 256, FRESH, IOPS, 240_000.0, "measured, depth not given [64]",
            variant="measured",
        ),
        Cell(
            "1 MiB", SEQUENTIAL, WRITE, 4, FRESH, CACHE_GB, 140.0, "[63]; 76 to 280 by model [29]",
            tolerance=0.10,
        ),
        Cell(
            "1 MiB", SEQUENTIAL, WRITE, 4, FRESH, BEYOND_MB_S, 100.0, "[29]",
        ),
        Cell(
            "128 KiB", SEQUENTIAL, WRITE, 32, FILLED, MB_S, 100.0, "[29]",
        ),
        Cell(
            "128 KiB", SEQUENTIAL, WRITE, 32, FRESH, WATTS, 4.0, "[70], the most of its first "
            "power state", relation=Relation.AT_MOST, tolerance=0.05,
        ),
        Cell(
            "128 KiB", SEQUENTIAL, WRITE, 32, FILLED, WATTS, 4.0, "[70]",
            relation=Relation.AT_MOST, tolerance=0.05,
        ),
        Cell(
            "4 KiB", RANDOM, READ, 256, FILLED, WATTS, 4.0, "[70]", relation=Relation.AT_MOST,
            tolerance=0.05,
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 32, STEADY, IOPS, 258.0, "none published",
            relation=Relation.AT_LEAST,
        ),
    ),
)  # fmt: skip

EMMC = Drive(
    "eMMC 16 GB, emmc_16gb",
    1,
    (
        Cell(
            "4 KiB", RANDOM, READ, 1, FILLED, IOPS,
            float(round(TALK["4 and 8 KiB"]["read IOPS"])), "4, 8 KiB in [15]",
            fitted="host.command_overhead_us", variant="talk",
        ),
        Cell(
            "32 KiB", RANDOM, READ, 1, FILLED, IOPS, TALK["16 to 64 KiB"]["read IOPS"],
            "16 to 64 KiB in [15]",
        ),
        Cell(
            "256 KiB", RANDOM, READ, 1, FILLED, MB_S, TALK["128 to 512 KiB"]["read MB/s"],
            "128 to 512 KiB in [15]",
            fitted="host.command_cost_us.per_kib.read",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 1, FRESH, IOPS,
            float(round(TALK["4 and 8 KiB"]["write IOPS"])), "4, 8 KiB in [15]",
            fitted="host.command_cost_us.write", variant="talk",
        ),
        Cell(
            "32 KiB", RANDOM, WRITE, 1, FRESH, IOPS, TALK["16 to 64 KiB"]["write IOPS"],
            "16 to 64 KiB in [15]",
        ),
        Cell(
            "256 KiB", RANDOM, WRITE, 1, FRESH, MB_S, TALK["128 to 512 KiB"]["write MB/s"],
            "128 to 512 KiB in [15]",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 1, DIRTY, IOPS, 1525.0, "2288 / 1.5: 50 % longer [15]",
            fitted="ftl.over_provisioning_pct",
        ),
        Cell(
            "4 KiB", RANDOM, READ, 1, FILLED, IOPS, 3500.0, "class 1500 [16]",
            lacks=OTHER_PART, missed=0.4986, variant="class-1500",
        ),
        Cell(
            "4 KiB", RANDOM, READ, 1, FILLED, IOPS, 5000.0, "class 2000 [17]",
            variant="class-2000",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 1, FRESH, IOPS, 1500.0, "class 1500 [16]",
            lacks=OTHER_PART, missed=0.5267, variant="class-1500",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 1, FRESH, IOPS, 2000.0, "class 2000 [17]",
            variant="class-2000",
        ),
        Cell(
            "128 KiB", SEQUENTIAL, READ, 1, FILLED, MB_S, 140.0, "class 1500 [16]",
            lacks=OTHER_PART, missed=-0.6029,
        ),
        Cell(
            "128 KiB", SEQUENTIAL, WRITE, 1, FRESH, MB_S, 50.0, "class 1500 [16]",
            lacks=f"{OTHER_PART}; a buffer of single bits", missed=-0.3274,
        ),
    ),
)  # fmt: skip

CLIENT = Drive(
    "Client SATA drive of 2013 (Samsung SSD 840, 250 GB), client_sata_2013",
    26,
    (
        Cell("128 KiB", SEQUENTIAL, READ, 32, FILLED, MB_S, 530.0, "[10]"),
        Cell("128 KiB", SEQUENTIAL, WRITE, 32, FILLED, MB_S, 250.0, "[10]"),
        Cell("4 KiB", RANDOM, READ, 1, FILLED, IOPS, 7900.0, "[10]", variant="rated"),
        Cell(
            "4 KiB", RANDOM, READ, 1, FILLED, IOPS, 7100.0, "[9]",
            fitted="host.command_overhead_us", variant="tutorial",
        ),
        Cell(
            "4 KiB", RANDOM, READ, 32, FILLED, IOPS, 96_000.0, "[10]",
            lacks="another host: the preset has the tutorial's and its adapter", missed=-0.305,
            variant="rated",
        ),
        Cell(
            "4 KiB", RANDOM, READ, 32, FILLED, IOPS, float(round(TUTORIAL["100"])), "[9]",
            fitted="host.command_cost_us.read", variant="tutorial",
        ),
        Cell("4 KiB", RANDOM, WRITE, 32, FRESH, IOPS, 62_000.0, "[10]", variant="rated"),
        Cell(
            "4 KiB", RANDOM, WRITE, 32, FRESH, IOPS, float(round(TUTORIAL["0"])), "[9]",
            fitted="nand.timing.t_program_us", variant="tutorial",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 1, FRESH, IOPS, 29_000.0, "[10]",
            lacks="another host: the tutorial's writes took 0.19 ms, and the preset is its drive",
            missed=-0.84, variant="rated",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 1, FRESH, IOPS, 5260.0, "[9]",
            fitted="host.command_overhead_us", variant="tutorial",
        ),
        Cell(
            "4 KiB", RANDOM, WRITE, 32, STEADY, IOPS, 9040.0, "none published",
            relation=Relation.AT_LEAST,
        ),
    ),
)  # fmt: skip

SLC_2009 = Drive(
    "SATA-B of 2009 (Intel X25-E 32 GB), sata_b_2009",
    32,
    (
        Cell("128 KiB", SEQUENTIAL, READ, 32, FILLED, MB_S, 250.0, "[3]"),
        Cell("128 KiB", SEQUENTIAL, WRITE, 32, FILLED, MB_S, 170.0, "[3]"),
        Cell("4 KiB", RANDOM, READ, 32, FILLED, IOPS, 35_000.0, "recalled"),
        Cell(
            "4 KiB", RANDOM, WRITE, 32, STEADY, IOPS, 3300.0, "recalled",
            lacks="structure unknown: a map that is not all in memory (inferred)", missed=3.3121,
        ),
    ),
)  # fmt: skip

CARD_2009 = Drive(
    "PCI-C of 2009 (a 160 GB SLC card), pci_c_2009",
    32,
    (
        Cell("128 KiB", SEQUENTIAL, READ, 128, FILLED, MB_S, 700.0, "[4]"),
        Cell(
            "128 KiB", SEQUENTIAL, WRITE, 128, FILLED, MB_S, 550.0, "[4]: 500 to 600",
            lacks=LOSSES, missed=0.3204,
        ),
        Cell("4 KiB", RANDOM, READ, 128, FILLED, IOPS, 100_000.0, "[4]: above"),
    ),
)  # fmt: skip

DRIVES: Mapping[str, Drive] = {
    "nvme_gen4_tlc": GEN4,
    "qlc_pslc": QLC,
    "mlc_enterprise_plp": ENTERPRISE,
    "client_sata_2013": CLIENT,
    "emmc_16gb": EMMC,
    "sata_b_2009": SLC_2009,
    "pci_c_2009": CARD_2009,
}
"""By preset."""
