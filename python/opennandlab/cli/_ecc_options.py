"""The options that the commands of `ecc` share, each described once."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from opennandlab.cli._typed import typed


class Method(str, Enum):
    """How the error rate is obtained."""

    AUTO = "auto"
    MONTE_CARLO = "monte_carlo"
    IMPORTANCE_SAMPLING = "importance_sampling"
    ANALYTIC = "analytic"


class Arithmetic(str, Enum):
    """In what numbers a decoder computes."""

    AUTO = "auto"
    INT8 = "int8"
    FLOAT32 = "float32"


class AxisOf(str, Enum):
    """What the column `x` of a CSV file is."""

    RBER = "rber"
    EBN0_DB = "ebn0_db"


CODE_HELP = (
    "bch:m=M,t=T[,data_bits=N], ldpc:FILE.alist, ldpc:FILE.qc, or a name such as nand-4k-r090."
)
CodeText = Annotated[str, typer.Option("--code", callback=typed, help=CODE_HELP)]
ChannelText = Annotated[
    str, typer.Option("--channel", help="bsc, awgn, sensing:N (N reads) or unquantised.")
]
Points = Annotated[
    str,
    typer.Option(
        "--points",
        help="A list, or from:to:count. RBER points are spaced logarithmically; for awgn, Eb/N0 in "
        "dB per information bit, linearly.",
    ),
]
Algorithm = Annotated[
    str,
    typer.Option(
        "--decoder",
        help="Decoder of LDPC codes: layered-spa, flooding-spa, layered-nms, flooding-nms, "
        "layered-oms, flooding-oms, gallager-b, weighted-bit-flip.",
    ),
]
Iterations = Annotated[int, typer.Option("--iterations", help="Maximum number of iterations.")]
Scale = Annotated[float, typer.Option("--scale", help="Factor of normalised min-sum.")]
Offset = Annotated[float, typer.Option("--offset", help="Offset of offset min-sum, LLR.")]
ArithmeticOf = Annotated[
    Arithmetic,
    typer.Option(
        "--arithmetic",
        help="float32, or int8 as in controllers; auto: int8 for min-sum in `speed` and `decode`.",
    ),
]
Fixed = Annotated[bool, typer.Option("--fixed-iterations", help="Do not stop at a zero syndrome.")]
Thresholds = Annotated[
    str | None,
    typer.Option(
        "--thresholds",
        metavar="A,B,...",
        help="Voltages of the reads, ascending, in units of half the distance of the states; "
        "default where they keep the most information (1, 3, 7 reads).",
    ),
]
Spacing = Annotated[
    float | None, typer.Option("--spacing", help="Distance of evenly spaced reads, same unit.")
]
SigmaRatio = Annotated[
    float, typer.Option("--sigma-ratio", help="Width of the lower state (bit 1) over the upper's.")
]
LlrRber = Annotated[
    float | None,
    typer.Option(
        "--llr-rber", help="RBER for which LLRs are computed; default: that of the point."
    ),
]
Errors = Annotated[int, typer.Option("--errors", help="Stop a point after this many frame errors.")]
MaxFrames = Annotated[
    float, typer.Option("--max-frames", help="Stop a point after this many frames, such as 1e6.")
]
MethodOf = Annotated[Method, typer.Option("--method", help="How the error rate is obtained.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all randomness.")]
Zero = Annotated[
    bool,
    typer.Option(
        "--zero-codeword",
        help="Send the all-zero word instead of random words: faster, but biased for decoders "
        "that favour zeros.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", help="Number of threads; default: one per core. Results do not depend on it."
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Plot into this HTML, SVG, PNG or PDF file."),
]
LimitsOf = Annotated[
    bool,
    typer.Option(
        "--limits/--no-limits",
        help="Draw capacity, the best code of the length, and bounded distance of BCH.",
    ),
]
Ber = Annotated[bool, typer.Option("--ber", help="Draw bit error rates beside.")]
Target = Annotated[
    float | None,
    typer.Option("--target", metavar="FER", help="Draw a level line, such as 1e-11."),
]
InjectBer = Annotated[
    float | None, typer.Option("--inject-ber", help="Flip this share of the encoded bits.")
]
InjectErrors = Annotated[
    int | None, typer.Option("--inject-errors", help="Flip this many bits of each codeword.")
]
