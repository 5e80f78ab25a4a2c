"""Frames over threads: the same counts at any number of threads, and wherever a run was cut.

A GPU gives them in batches of many chunks, with the counts of each chunk, which are those of the
CPU: a point ends with the same chunk there.

All threads simulate chunks ahead, but chunks are *counted in their order*; a point ends with the
first chunk at which enough errors are counted, and chunks that ran ahead are dropped. So a result
counts the frames of its task from the first one on, without a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opennandlab import _core
from opennandlab.base.campaign import Pool, Task
from opennandlab.base.errors import ConfigError
from opennandlab.base.threads import cores
from opennandlab.ecc.channels import Channel
from opennandlab.ecc.codes import Code
from opennandlab.ecc.point import Point
from opennandlab.ecc.strata import estimate, is_enough, next_round
from opennandlab.ecc.tally import Tally

CPU, GPU = "cpu", "gpu"
ENGINES = (CPU, GPU)
# While the device decodes one batch, the words of the others are encoded.
GPU_BATCHES = 4

Report = Callable[[], None]
"""Called whenever counts were added."""
Run = Callable[[int, int], list[Tally]]
"""Tallies of the chunks of a range of frames."""
Chunk = Task[tuple[int, int], list[Tally]]
"""Consecutive frames of one weight; the key is the weight and the first frame.

The weight is the number of wrong hard decisions, the same in all frames of a stratum; it is 0 for
frames that are drawn from the whole channel.
"""


class Engine:
    """Simulates the frames of points.

    Args:
        code: The code.
        channel: The channel.
        seed: Seed of all randomness.
        zero_codeword: Send zeros instead of random codewords.
        threads: Chunks at a time; default one per core.
        name: What runs Monte Carlo, `cpu` or `gpu`; strata run on the CPU.
    """

    def __init__(  # noqa: PLR0913 - one argument for each thing that all points share
        self,
        code: Code,
        channel: Channel,
        *,
        seed: int,
        zero_codeword: bool = False,
        threads: int | None = None,
        name: str = CPU,
    ) -> None:
        """Keep what all points share."""
        if name not in ENGINES:
            message = f"`{name}` is not an engine; accepted: {', '.join(ENGINES)}"
            raise ConfigError("engine", message)
        self.name = name
        self.code = code
        self.channel = channel
        self.seed = seed
        self.zero_codeword = zero_codeword
        self.threads = threads or cores()

    def task(self, x: float, weight: int | None = None) -> _core.EccTask:
        """Return the task of a point, or of a stratum of it.

        Args:
            x: The point: RBER, or Eb/N0 in dB.
            weight: Wrong hard decisions of each frame; None for those of the channel.
        """
        return _core.EccTask(
            self.code.core, self.channel.spec, x, self.seed, self.zero_codeword, weight
        )

    def runner(self, task: _core.EccTask) -> tuple[Run, int]:
        """Return what tries frames of a task, and how many at a time: whole chunks.

        Raises:
            ConfigError: when the engine cannot, and why.
        """
        if self.name == CPU:
            return _on_cpu(task), self.code.chunk_frames
        gpu = task.on_gpu()
        return lambda first, limit: [Tally(*row) for row in gpu.run(first, limit)], gpu.frames_max()

    def run_monte_carlo(
        self,
        point: Point,
        frame_errors_min: int,
        frames_max: int,
        report: Report,
        patience: int | None = None,
    ) -> None:
        """Add frames to a point until its rate is known well enough.

        Errors are examined where a chunk ends, also if an earlier run stopped inside one: else the
        frames of a result would depend on how it was cut.

        Args:
            point: The point; its counts are continued.
            frame_errors_min: Frame errors that end it.
            frames_max: Frames that end it.
            report: Called whenever counts were added.
            patience: Frames without any error that end it; None for no such limit.
        """
        chunk_frames = self.code.chunk_frames

        def is_done() -> bool:
            tally = point.tally
            if tally.frames % chunk_frames == 0 and tally.frame_errors >= frame_errors_min:
                return True
            return patience is not None and tally.frame_errors == 0 and tally.frames >= patience

        def chunks() -> Iterator[Chunk]:
            first = point.tally.frames
            while first < frames_max:
                # Chunks end at fixed frames, also where an earlier run stopped inside one.
                limit = min(frames_max, first // chunk_frames * chunk_frames + batch_frames)
                yield _chunk(0, run, first, limit)
                first = limit

        if is_done():
            return
        run, batch_frames = self.runner(self.task(point.x))
        with self._pool(self.threads if self.name == CPU else GPU_BATCHES) as pool:
            for ended in pool.in_order(chunks(), ahead=1):
                for tally in ended.result():
                    point.tally += tally
                    report()
                    if is_done():
                        return

    def run_strata(
        self, point: Point, frame_errors_min: int, frames_max: int, report: Report
    ) -> None:
        """Add rounds of strata to a point until its rate is known well enough.

        Args:
            point: The point; its counts are continued.
            frame_errors_min: Frame errors of plain counting whose precision ends it.
            frames_max: Frames of all strata that end it.
            report: Called after each round.
        """
        chunk_frames, bits = self.code.chunk_frames, self.code.code_bits
        rber, _ = self.task(point.x).hard_decision()
        runs: dict[int, Run] = {}
        with self._pool(self.threads) as pool:
            while sum(counts.frames for counts in point.strata.values()) < frames_max:
                if point.strata and is_enough(
                    estimate(point.strata, bits, self.code.info_bits, rber), frame_errors_min
                ):
                    return
                chunks: list[Chunk] = []
                nexts = {weight: counts.frames for weight, counts in point.strata.items()}
                for weight in next_round(point.strata, bits, rber, chunk_frames):
                    runs[weight] = runs.get(weight) or _on_cpu(self.task(point.x, weight))
                    first = nexts.get(weight, 0)
                    nexts[weight] = first + chunk_frames
                    chunks.append(_chunk(weight, runs[weight], first, nexts[weight]))
                done = dict(point.strata)
                for ended in pool.in_order(chunks, ahead=len(chunks)):
                    weight, _ = ended.key
                    done[weight] = sum(ended.result(), done.get(weight, Tally()))
                # A round counts as a whole, or the next choice would depend on where it was cut.
                point.strata = done
                report()

    @contextmanager
    def _pool(self, slots: int) -> Iterator[Pool[tuple[int, int], list[Tally]]]:
        pool: Pool[tuple[int, int], list[Tally]] = Pool(slots)
        try:
            yield pool
        finally:
            # Also on Ctrl-C. Chunks that ran ahead are not waited for; batches are, since the next
            # point needs their memory.
            end = pool.stop if self.name == CPU else pool.close
            end()


def _on_cpu(task: _core.EccTask) -> Run:
    return lambda first, limit: [Tally(*task.run(first, limit))]


def _chunk(weight: int, run: Run, first: int, limit: int) -> Chunk:
    return Task((weight, first), lambda _: run(first, limit))
