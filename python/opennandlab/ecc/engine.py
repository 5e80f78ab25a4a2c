"""Frames over threads: the same counts at any number of threads, and wherever a run was cut.

Chunks are worked off ahead by all threads and *counted in their order*; a point ends with the first
chunk at which enough errors are counted, and what ran ahead of that is dropped. So the frames of a
result are always the first so many frames of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opennandlab import _core
from opennandlab.base.campaign import Pool, Task
from opennandlab.base.threads import cores
from opennandlab.ecc.channels import Channel
from opennandlab.ecc.codes import Code
from opennandlab.ecc.point import Point
from opennandlab.ecc.strata import estimate, is_enough, next_round
from opennandlab.ecc.tally import Tally

Report = Callable[[], None]
"""Called whenever counts were added."""
Chunk = Task[tuple[int, int], Tally]
"""Frames of a stratum (0: of all frames); the key is the stratum and the first frame."""


class Engine:
    """Simulates the frames of points.

    Args:
        code: The code.
        channel: The channel.
        seed: Seed of all randomness.
        zero_codeword: Send zeros instead of random codewords.
        threads: Chunks at a time; default one per core.
    """

    def __init__(
        self,
        code: Code,
        channel: Channel,
        *,
        seed: int,
        zero_codeword: bool = False,
        threads: int | None = None,
    ) -> None:
        """Keep what all points share."""
        self.code = code
        self.channel = channel
        self.seed = seed
        self.zero_codeword = zero_codeword
        self.threads = threads or cores()

    def task(self, x: float, errors: int | None = None) -> _core.EccTask:
        """Return the task of a point, or of a stratum of it."""
        return _core.EccTask(
            self.code.core, self.channel.spec, x, self.seed, self.zero_codeword, errors
        )

    def monte_carlo(
        self,
        point: Point,
        errors: int,
        frames_max: int,
        report: Report,
        patience: int | None = None,
    ) -> None:
        """Add frames until there are `errors` frame errors or `frames_max` frames.

        With `patience`, so many frames without any error end it too. Errors are looked at where a
        chunk ends, also when an earlier run stopped inside one: else the frames of a result would
        depend on how it was cut.
        """
        task, chunk = self.task(point.x), self.code.chunk_frames

        def is_done() -> bool:
            tally = point.tally
            if tally.frames % chunk == 0 and tally.frame_errors >= errors:
                return True
            return patience is not None and tally.frame_errors == 0 and tally.frames >= patience

        def chunks() -> Iterator[Chunk]:
            first = point.tally.frames
            while first < frames_max:
                # Chunks end at fixed frames, also where an earlier run stopped inside one.
                limit = min(frames_max, (first // chunk + 1) * chunk)
                yield _chunk(0, task, first, limit)
                first = limit

        if is_done():
            return
        with self._pool() as pool:
            for ended in pool.in_order(chunks(), ahead=1):
                point.tally += ended.result()
                report()
                if is_done():
                    return

    def strata(self, point: Point, errors: int, frames_max: int, report: Report) -> None:
        """Add rounds of strata until the estimate is as good as `errors` errors would make it."""
        chunk, bits = self.code.chunk_frames, self.code.code_bits
        rber, _ = self.task(point.x).hard_decision()
        tasks: dict[int, _core.EccTask] = {}
        with self._pool() as pool:
            while sum(counts.frames for counts in point.strata.values()) < frames_max:
                if point.strata and is_enough(
                    estimate(point.strata, bits, self.code.info_bits, rber), errors
                ):
                    return
                chunks: list[Chunk] = []
                nexts = {w: counts.frames for w, counts in point.strata.items()}
                for w in next_round(point.strata, bits, rber, chunk):
                    tasks[w] = tasks.get(w) or self.task(point.x, w)
                    first = nexts.get(w, 0)
                    nexts[w] = first + chunk
                    chunks.append(_chunk(w, tasks[w], first, nexts[w]))
                done = dict(point.strata)
                for ended in pool.in_order(chunks, ahead=len(chunks)):
                    w, _ = ended.key
                    done[w] = done.get(w, Tally()) + ended.result()
                # A round counts as a whole, or the next choice would depend on where it was cut.
                point.strata = done
                report()

    @contextmanager
    def _pool(self) -> Iterator[Pool[tuple[int, int], Tally]]:
        pool: Pool[tuple[int, int], Tally] = Pool(self.threads)
        try:
            yield pool
        finally:
            # Also on Ctrl-C. Chunks that ran ahead are not waited for.
            pool.stop()


def _chunk(w: int, task: _core.EccTask, first: int, limit: int) -> Chunk:
    return Task((w, first), lambda _: Tally(*task.run(first, limit)))
