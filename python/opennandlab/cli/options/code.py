"""The options that the commands of `ecc` share, each described once."""

from enum import Enum
from pathlib import Path
from typing import Annotated

from opennandlab.cli._typed import typed
from opennandlab.cli.options.rows import flag


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
CodeText = Annotated[str, flag(CODE_HELP, "--code", callback=typed)]
ChannelText = Annotated[str, flag("bsc, awgn, sensing:N (N reads) or unquantised.", "--channel")]
Points = Annotated[
    str,
    flag(
        "A list, or from:to:count. RBER points are spaced logarithmically; for awgn, Eb/N0 in dB "
        "per information bit, linearly.",
        "--points",
    ),
]
Algorithm = Annotated[
    str,
    flag(
        "Decoder of LDPC codes: layered-spa, flooding-spa, layered-nms, flooding-nms, "
        "layered-oms, flooding-oms, gallager-b, weighted-bit-flip.",
        "--decoder",
    ),
]
Iterations = Annotated[int, flag("Maximum number of iterations.", "--iterations")]
Scale = Annotated[float, flag("Factor of normalised min-sum.", "--scale")]
Offset = Annotated[float, flag("Offset of offset min-sum, LLR.", "--offset")]
ArithmeticOf = Annotated[
    Arithmetic,
    flag(
        "float32, or int8 as in controllers; auto: int8 for min-sum in `speed` and `decode`.",
        "--arithmetic",
    ),
]
Fixed = Annotated[bool, flag("Do not stop at a zero syndrome.", "--fixed-iterations")]
Thresholds = Annotated[
    str | None,
    flag(
        "Voltages of the reads, ascending, in units of half the distance of the states; default "
        "where they keep the most information (1, 3, 7 reads).",
        "--thresholds",
        metavar="A,B,...",
    ),
]
Spacing = Annotated[float | None, flag("Distance of evenly spaced reads, same unit.", "--spacing")]
SigmaRatio = Annotated[
    float, flag("Width of the lower state (bit 1) over the upper's.", "--sigma-ratio")
]
LlrRber = Annotated[
    float | None,
    flag("RBER for which LLRs are computed; default: that of the point.", "--llr-rber"),
]
Errors = Annotated[int, flag("Stop a point after this many frame errors.", "--errors")]
MaxFrames = Annotated[
    float, flag("Stop a point after this many frames, such as 1e6.", "--max-frames")
]
MethodOf = Annotated[Method, flag("How the error rate is obtained.", "--method")]
Zero = Annotated[
    bool,
    flag(
        "Send the all-zero word instead of random words: faster, but biased for decoders that "
        "favour zeros.",
        "--zero-codeword",
    ),
]
Threads = Annotated[
    int | None,
    flag("Number of threads; default: one per core. Results do not depend on it.", "--threads"),
]
Plot = Annotated[
    Path | None, flag("Plot into this HTML, SVG, PNG or PDF file.", "--plot", metavar="FILE")
]
LimitsOf = Annotated[
    bool,
    flag(
        "Draw capacity, the best code of the length, and bounded distance of BCH.",
        "--limits/--no-limits",
    ),
]
Ber = Annotated[bool, flag("Draw bit error rates beside.", "--ber")]
Target = Annotated[
    float | None, flag("Draw a level line, such as 1e-11.", "--target", metavar="FER")
]
InjectBer = Annotated[float | None, flag("Flip this share of the encoded bits.", "--inject-ber")]
InjectErrors = Annotated[
    int | None, flag("Flip this many bits of each codeword.", "--inject-errors")
]
