"""The options that the commands of `ecc` share, each described once."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

from opennandlab.cli._typed import typed
from opennandlab.cli.options.common import Printed, Seed
from opennandlab.cli.options.rows import Options, flag

if TYPE_CHECKING:
    from opennandlab.ecc.channels import Channel
    from opennandlab.ecc.charts import Look
    from opennandlab.ecc.codes import Decoder
    from opennandlab.ecc.container import Injection


class Method(str, Enum):
    """How the error rate is obtained."""

    AUTO = "auto"
    MONTE_CARLO = "monte_carlo"
    IMPORTANCE_SAMPLING = "importance_sampling"
    ANALYTIC = "analytic"


class Arithmetic(str, Enum):
    """The type of the numbers that a decoder computes with."""

    AUTO = "auto"
    INT8 = "int8"
    FLOAT32 = "float32"


CODE_HELP = (
    "bch:m=M,t=T[,data_bits=N], ldpc:FILE.alist, ldpc:FILE.qc, or a name such as nand-4k-r090."
)
CodeText = Annotated[str, flag(CODE_HELP, "--code", callback=typed)]


@dataclass(frozen=True, kw_only=True)
class DecoderOptions(Options):
    """The decoder of LDPC codes."""

    decoder: Annotated[
        str,
        flag(
            "Decoder of LDPC codes: layered-spa, flooding-spa, layered-nms, flooding-nms, "
            "layered-oms, flooding-oms, gallager-b, weighted-bit-flip.",
        ),
    ] = "layered-nms"
    iterations: Annotated[int, flag("Maximum number of iterations.")] = 20
    scale: Annotated[float, flag("Factor of normalised min-sum.")] = 0.75
    offset: Annotated[float, flag("Offset of offset min-sum, LLR.")] = 0.5

    def decoder_with(
        self, arithmetic: Arithmetic, *, prefers_int8: bool, stop: bool = True
    ) -> "Decoder":
        """Return the decoder.

        Args:
            arithmetic: The type of its numbers.
            prefers_int8: Whether `auto` is `int8` for min-sum; `float32` otherwise.
            stop: Whether a zero syndrome ends the iterations.

        Raises:
            ConfigError: for settings that no decoder has.
        """
        from opennandlab.ecc.codes import Decoder

        number = arithmetic.value
        if arithmetic is Arithmetic.AUTO:
            is_min_sum = self.decoder.endswith(("-nms", "-oms"))
            number = "int8" if prefers_int8 and is_min_sum else "float32"
        return Decoder(self.decoder, self.iterations, self.scale, self.offset, number, stop=stop)


@dataclass(frozen=True, kw_only=True)
class ArithmeticOptions(DecoderOptions):
    """The decoder, and the type of its numbers."""

    arithmetic: Annotated[
        Arithmetic,
        flag(
            "float32, or int8 as in controllers; auto: int8 for min-sum in `speed` and `decode`.",
        ),
    ] = Arithmetic.AUTO
    fixed_iterations: Annotated[bool, flag("Do not stop at a zero syndrome.")] = False

    def refuse_of_bch(self, codes: Sequence[str]) -> None:
        """Refuse settings of the decoder if all codes are BCH codes, whose decoder has none.

        Raises:
            ConfigError: for the first that was given.
        """
        if all(code.startswith("bch:") for code in codes):
            names = ("decoder", "iterations", "scale", "offset", "arithmetic", "fixed_iterations")
            self.refuse(names, "on BCH codes; accepted: with LDPC codes")

    def chosen_decoder(self, *, prefers_int8: bool) -> "Decoder":
        """Return the decoder, as `decoder_with`."""
        return self.decoder_with(
            self.arithmetic, prefers_int8=prefers_int8, stop=not self.fixed_iterations
        )


@dataclass(frozen=True, kw_only=True)
class SensingOptions(Options):
    """The reads of a page."""

    thresholds: Annotated[
        str | None,
        flag(
            "Voltages of the reads, ascending, in units of half the distance of the states; "
            "default: the most informative ones (1, 3, 7 reads).",
            metavar="A,B,...",
        ),
    ] = None
    spacing: Annotated[float | None, flag("Distance of evenly spaced reads, same unit.")] = None

    def voltages(self) -> list[float] | None:
        """Return the voltages at which a page is read; None for the default.

        Raises:
            ConfigError: for a word that is no number.
        """
        from opennandlab.ecc.channels import parse_number

        if self.thresholds is None:
            return None
        return [parse_number("thresholds", part) for part in self.thresholds.split(",")]


@dataclass(frozen=True, kw_only=True)
class ChannelOptions(SensingOptions):
    """The channel."""

    channel: Annotated[str, flag("bsc, awgn, sensing:N (N reads) or unquantised.")] = "bsc"

    def channel_of(self, sigma_ratio: float = 1.0, llr_rber: float | None = None) -> "Channel":
        """Return the channel.

        Raises:
            ConfigError: for an unknown one.
        """
        from opennandlab.ecc.channels import Channel

        return Channel.parse(
            self.channel,
            thresholds=self.voltages(),
            spacing=self.spacing,
            sigma_ratio=sigma_ratio,
            llr_rber=llr_rber,
        )


@dataclass(frozen=True, kw_only=True)
class StateOptions(Options):
    """The widths of the states of a cell, and the error rate that LLRs are computed for."""

    sigma_ratio: Annotated[
        float, flag("Width of the lower state (bit 1), divided by that of the upper.")
    ] = 1.0
    llr_rber: Annotated[
        float | None,
        flag("RBER for which LLRs are computed; default: the RBER of the point."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class DrawnOptions(Options):
    """What a figure of curves shows."""

    limits: Annotated[
        bool,
        flag(
            "Draw capacity, the best code of the length, and bounded distance of BCH.",
            "--limits/--no-limits",
        ),
    ] = True
    ber: Annotated[bool, flag("Also draw bit error rates.")] = False
    target: Annotated[
        float | None, flag("Draw a horizontal line, such as at 1e-11.", metavar="FER")
    ] = None

    def look(self, title: str = "") -> "Look":
        """Return the content and the title of the figure."""
        from opennandlab.ecc.charts import Look

        return Look(self.limits, self.ber, self.target, title)


@dataclass(frozen=True, kw_only=True)
class InjectionOptions(Options):
    """Errors that are put into codewords."""

    inject_ber: Annotated[float | None, flag("Flip this share of the encoded bits.")] = None
    inject_errors: Annotated[int | None, flag("Flip this many bits of each codeword.")] = None
    seed: Seed = 42

    def injection(self) -> "Injection":
        """Return the errors to inject."""
        from opennandlab.ecc.container import Injection

        return Injection(self.inject_ber, self.inject_errors, self.seed)


class Measuring(TypedDict):
    """Arguments of `ecc.curve` and `ecc.comparing.measure`."""

    decoder: "Decoder"
    errors: int
    max_frames: int
    method: str
    seed: int
    zero_codeword: bool
    threads: int | None


@dataclass(frozen=True, kw_only=True)
class MeasuredOptions(ArithmeticOptions, ChannelOptions, StateOptions, DrawnOptions, Printed):
    """What a measured curve takes."""

    points: Annotated[
        str,
        flag(
            "A list, or from:to:count. RBER points are spaced logarithmically; for awgn, Eb/N0 in "
            "dB per information bit, linearly.",
        ),
    ]
    errors: Annotated[int, flag("Stop a point after this many frame errors.")] = 100
    max_frames: Annotated[float, flag("Stop a point after this many frames, such as 1e6.")] = 1e6
    method: Annotated[Method, flag("How the error rate is obtained.")] = Method.AUTO
    seed: Seed = 42
    zero_codeword: Annotated[
        bool,
        flag(
            "Send the all-zero word instead of random words: faster, but biased for decoders that "
            "favour zeros.",
        ),
    ] = False
    threads: Annotated[
        int | None,
        flag("Number of threads; default: one per core. Results do not depend on it."),
    ] = None
    plot: Annotated[
        Path | None, flag("Plot into this HTML, SVG, PNG or PDF file.", metavar="FILE")
    ] = None

    def measuring(self) -> Measuring:
        """Return the arguments of a measurement.

        Raises:
            ConfigError: for a number of frames that is invalid.
        """
        return {
            "decoder": self.chosen_decoder(prefers_int8=False),
            "errors": self.errors,
            "max_frames": _frames(self.max_frames),
            "method": self.method.value,
            "seed": self.seed,
            "zero_codeword": self.zero_codeword,
            "threads": self.threads,
        }


def _frames(value: float) -> int:
    from opennandlab.base.errors import ConfigError
    from opennandlab.ecc.curves import FRAMES_MAX

    # Written 1e6 more often than 1000000, so it arrives as a float.
    if not 1 <= value <= FRAMES_MAX or value != int(value):
        raise ConfigError("max_frames", f"{value:g} is refused; accepted: 1 to 1e15, whole")
    return int(value)
