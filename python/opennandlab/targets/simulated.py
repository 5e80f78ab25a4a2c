"""A simulated drive as the target of a test.

Time is the drive's own: it passes while a stimulus runs and while `idle` lets it, and costs what is
done in it. Everything follows from the device, from what was done before and from the seeds of the
stimuli, to the byte; a `checkpoint` is such a state.

What a stimulus means here:

- Random stimuli are one closed loop of threads times queue depth. Sequential ones are a loop for
  each thread, on an equal slice of the range (whole multiples of 4 KiB), at most 256 threads. A
  stream starts again when the next request does not fit before the end of its slice or segment.
- Requests smaller than a page move whole pages: a read senses and transfers the page, a write reads
  the rest of it (read, modify, write) unless the page holds nothing or is in the write buffer, and
  programs it whole. So a drive of 4 KiB pages takes 512 B requests and pays for 4 KiB.
- A `rate_per_s` is an open loop of Poisson arrivals. A request that arrives while `outstanding` are
  in progress waits outside, and its response time begins when it is let in, as in fio.
- A `skew` has the same popular places in every stimulus with its seed; `logs` trim a zone by one
  command before its first write, and a stimulus begins with zones drawn again.
- Places are aligned from the start of the range, or of its segment.
- Reads of pages that were never written take no flash time, as on a drive after TRIM. A stimulus in
  which no time passes at all is refused: without a link or command costs in the device file such
  reads are infinitely fast.
- `data` sets `ftl.compression.data` of devices that have `ftl.compression`, while the drive is
  empty; on others it has no effect by design.
- What is not measured runs without a clock. What a controller does in steps or when idle is then
  done at once; `pass_time` tells the drive afterwards how long it took.

What is kept from one stimulus to the next: flash and tables, the pages in the write buffer and the
caches, temperature and wear budget of throttles. What starts again with each: queues, the last
direction of the link and of the cores, the idle timers of dies.

After Ctrl-C in the middle of a stimulus the drive holds what was done until then; commands under
way are dropped, and how many are is a matter of timing. Purge it, or restore a checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from opennandlab import _core
from opennandlab._core import Device, Player
from opennandlab.base.errors import ConfigError, ImageError
from opennandlab.base.files import write_atomically
from opennandlab.core.by_hand import overruled
from opennandlab.core.config import DeviceConfig, Source, load_device
from opennandlab.core.device_logs import LIMITS_MS, codes_of, logs_of_drive
from opennandlab.core.images import drive_of, read_image
from opennandlab.core.memory import check_memory
from opennandlab.core.run import SEED
from opennandlab.core.shrinking import asked_divisor
from opennandlab.core.shrinking import shrink as shrunk
from opennandlab.core.slices import SLICE_GROWTH, SLICE_OPS_FIRST, SLICE_S
from opennandlab.documents import pts_header
from opennandlab.documents.ocp import NO_LOGS, DeviceLogs
from opennandlab.stats.histogram import Histogram
from opennandlab.targets import mixture
from opennandlab.targets.base import (
    CacheState,
    Limit,
    LoadPart,
    Measurement,
    Purge,
    Requests,
    Sample,
    Step,
    Stimulus,
    Target,
    TargetError,
    Watcher,
    WornOutError,
)
from opennandlab.targets.drive_state import StartState, overruled_by, settings_of
from opennandlab.targets.spec import cell_spec
from opennandlab.targets.stepped import Loop
from opennandlab.theory.prediction import has_write_buffer

# What draws the energies of a key of the device file.
_PARTS = {"nand.energy": "flash", "controller.power": "controller"}
# What a test has outstanding at most, for the buffers of a divided drive.
REQUESTS = {"block_size_bytes": 4096, "queue_depth": 1, "total": {"ios": 1}}
# A watcher is called about so often.
WATCH_S = 0.05


class SimulatedTarget(Target):
    """A drive in virtual time.

    Args:
        device: Preset name, path, mapping or `DeviceConfig`.
        overrides: Dotted path to value, as `--set` gives them.
        seed: Decides what is drawn when the drive is made: its factory bad blocks, and the speed of
            its blocks where that varies.
        oio: Requests that the drive takes at once (`host.queue_depth_max`); None for what the
            device declares.
        name: As the user named it; None for `sim:` and the name of the device.
        shrink: By what the pages of its blocks are divided: see `core.shrinking`.
        state: Its state before the first stimulus, see `targets.drive_state`; None for an empty
            drive from the factory.

    Raises:
        ConfigError: for a device that cannot be built, or that needs more memory than there is.

    >>> from opennandlab.targets.base import Limit, Stimulus
    >>> drive = SimulatedTarget("tlc_standard")
    >>> stimulus = Stimulus("sequential", block_bytes=131072, queue_depth=4)
    >>> drive.run(stimulus, Limit(ios=100), seed=1).written_bytes >= 100 * 131072
    True
    """

    kind: ClassVar[str] = "sim"
    is_virtual: ClassVar[bool] = True

    def __init__(  # noqa: PLR0913 (options, by name)
        self,
        device: Source,
        overrides: Mapping[str, Any] | None = None,
        *,
        seed: int = SEED,
        oio: int | None = None,
        name: str | None = None,
        shrink: str | None = None,
        state: str | None = None,
    ) -> None:
        """Build a drive, empty unless its state is an image."""
        settings = {**(overrides or {}), **settings_of(state)}
        if oio is not None:
            settings["host.queue_depth_max"] = oio
        self._declared = load_device(device, settings)
        self.warnings: tuple[str, ...] = overruled_by(state, overrides or {})
        if shrink is not None:
            smaller = shrunk(self._declared, REQUESTS, asked_divisor(shrink))
            self._declared, self.shrink = smaller.device, smaller.divisor
            told = f"--shrink: the drive is divided by {smaller.divisor}"
            self.warnings += (told, *smaller.notes)
        self.device = self._declared
        self.name = name or f"sim:{self._declared.name}"
        check_memory(self._declared)
        self._seed = seed
        self.state = state
        self._facts_of_state: pts_header.DriveState | None = None
        self._open: _core.Drive | None = None
        # Reached with the first use: a plan needs no drive, and age takes seconds of many blocks.
        self._begin = None if state is None else StartState.of(state, self._declared)
        if self._begin is None:
            self._open = self._declared.drive(seed)
        self.capacity_bytes = int(self._declared.effective["logical_bytes"])
        self.sector_bytes = 512
        self._data = _declared_data(self._declared)
        self._began_anew = False
        self._has_cache = True
        # Whether a player was made once, which drives that are no plain disks refuse.
        self._takes_mixes = False

    @property
    def _core(self) -> _core.Drive:
        if self._begin is not None:
            self._open, self._facts_of_state = self._begin.drive(self._seed)
            self._declared.consulted(self._open)
            self._begin = None
        if self._open is None:
            raise TargetError(f"{self.name}: it was closed")
        return self._open

    def facts(self) -> pts_header.Target:
        """Return what a report says of the drive; nothing in it depends on this machine."""
        config = self._declared.to_dict()
        effective = self._declared.effective
        return pts_header.Target(
            kind=self.kind,
            name=self.name,
            device=pts_header.DeviceFacts(
                vendor="opennandlab",
                model=self._declared.name,
                firmware=_core.version(),
                serial_sha256=None,
                capacity_bytes=self.capacity_bytes,
                sector_bytes=self.sector_bytes,
                nand_type=config["nand"]["cell_type"],
                interface=_kind_of(config["host"]["link"]),
                config=config,
                config_sha256=hashlib.sha256(self._declared.json.encode()).hexdigest(),
                over_provisioning_ratio=float(config["ftl"]["over_provisioning_pct"]),
                physical_bytes=int(effective["raw_bytes"]),
                page_bytes=int(config["nand"]["page_size_bytes"]),
                data="device model" if self._data else "no effect by design",
            ),
            platform={
                "simulator_version": _core.version(),
                "model_version": _core.model_version(),
            },
        )

    def state_facts(self) -> pts_header.DriveState | None:
        """Return the state that the drive began with; None if none was asked for."""
        return None if self.state is None or self._core is None else self._facts_of_state

    def power_facts(self) -> pts_header.Power:
        """Return which energies the device file states, and what the idle drive draws."""
        config = self._declared.to_dict()
        nand, controller = config["nand"], config["controller"].get("power")
        energy = nand.get("energy")
        known = {"nand.energy": energy, "controller.power": controller}
        counted = [key for key, value in known.items() if value]
        dies_w = energy["idle_mw"] * 1e-3 * self._declared.effective["die_count"] if energy else 0.0
        lacking = " and no ".join(key for key, value in known.items() if not value)
        part = f": watts are those of the {_PARTS[counted[0]]} alone" if counted else ""
        return pts_header.Power(
            source="energies" if counted else None,
            counted=counted,
            idle_w=dies_w + (controller["idle_w"] if controller else 0.0) if counted else None,
            missing=f"the device file has no {lacking}{part}" if lacking else None,
        )

    def host_path(self) -> pts_header.HostPath:
        """Return the way through the simulated host."""
        host = self._declared.to_dict()["host"]
        link, queues = host.get("link"), host.get("queue_depth_max")
        requests = "1 request" if queues == 1 else f"{queues} requests"
        return pts_header.HostPath(
            engine="simulated host",
            layer=f"link {_kind_of(link) if link else 'none'}, at most {requests} in the drive",
            direct=None,
            notes=[
                "threads of random requests are one closed loop: TC x QD decides, not TC alone",
                "requests under way when a cell ends are carried out before the next one begins",
            ],
        )

    def set_cache(self, *, enabled: bool) -> CacheState:
        """Switch the write buffer off (WCD) or to what the device declares (WCE).

        What waits in it is programmed first, without a clock.

        Returns:
            `absent` when the device declares no write buffer, or one that keeps its content without
            power (`host.power_loss_protected`), which is as good as flash and stays on.
        """
        if not _has_volatile_buffer(self._declared):
            return "absent"
        self._has_cache = enabled
        self._reconfigure()
        return "enabled" if enabled else "disabled"

    def purge(self) -> Purge:
        """Erase every block that holds something and forget the map; wear stays."""
        erased = self._core.purge()
        return Purge("erase of all blocks", is_purge=True, note=f"{erased} blocks were erased")

    def check(self, stimulus: Stimulus) -> None:
        """Refuse what `run` would, such as random writes of a drive with zones."""
        self._core.cell_commands(cell_spec(stimulus, Limit(ios=1), None, is_measured=True), 0, 0)
        if stimulus.streams and not self._takes_mixes:
            self.player()
            self._takes_mixes = True

    def run(  # noqa: PLR0913 (as the base says)
        self,
        stimulus: Stimulus,
        limit: Limit,
        *,
        seed: int,
        sample_s: float | None = None,
        is_measured: bool = True,
        watch: Watcher | None = None,
    ) -> Measurement:
        """Apply a stimulus until its limit; see `base.Target.run`.

        `Measurement.inside` has `nand_bytes_written` (of host, collection and all else, until the
        drive was idle), `waf` (over the same time; None when nothing was written), `erases`,
        `unmapped_read_pages` and `littles_law_error`; and where reads gave no data
        `lost_read_pages`, since no step of recovery corrected them.

        Raises:
            ConfigError: for a stimulus that the drive cannot take; nothing was done.
            TargetError: when the drive is worn out, or no time passes.
        """
        self._set_data(stimulus)
        if stimulus.streams:
            return self._run_mix(stimulus, limit, seed, sample_s, watch)
        stimulus = self._of_whole(stimulus)
        self._core.begin_cell(cell_spec(stimulus, limit, sample_s, is_measured=is_measured), seed)
        self._advance(watch)
        outcome: dict[str, Any] = json.loads(self._core.cell())
        self._refuse(outcome)
        return _measurement(outcome)

    def _run_mix(
        self,
        stimulus: Stimulus,
        limit: Limit,
        seed: int,
        sample_s: float | None,
        watch: Watcher | None,
    ) -> Measurement:
        """Apply a mix of streams, request by request."""
        nand = self._declared.to_dict()["nand"]
        player = self.player()
        dies = nand["channels"] * nand["dies_per_channel"]
        drawn = mixture.sources(stimulus, self.capacity_bytes, seed)
        loop = Loop(self.name, player, drawn, stimulus.queue_depth, limit, dies)
        loop.run(watch)
        found = loop.measured(stimulus, self.capacity_bytes, sample_s)
        nand_bytes = self.take_back(player)
        waf = nand_bytes / found.written_bytes if found.written_bytes else None
        return replace(found, inside={"nand_bytes_written": nand_bytes, "waf": waf})

    def commands(
        self, stimulus: Stimulus, seed: int, count: int
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
        """Return the first commands of a stimulus, threads in turn.

        Returns:
            Kinds (0 reads, 1 writes, 2 trims), first sectors of 512 B, and sectors, one entry a
            command.

        >>> drive = SimulatedTarget("tlc_standard")
        >>> kinds, sectors, counts = drive.commands(Stimulus("sequential"), seed=1, count=3)
        >>> kinds.tolist(), sectors.tolist(), counts.tolist()
        ([1, 1, 1], [0, 8, 16], [8, 8, 8])
        """
        spec = cell_spec(stimulus, Limit(ios=1), None, is_measured=True)
        kinds, sectors, counts = self._core.cell_commands(spec, seed, count)
        return (
            np.frombuffer(kinds, dtype=np.uint8),
            np.frombuffer(sectors, dtype="<u8").astype(np.uint64),
            np.frombuffer(counts, dtype="<u4").astype(np.uint32),
        )

    def sibling(self, config: Mapping[str, Any]) -> SimulatedTarget:
        """Return an empty drive of another device that is otherwise like this one."""
        found = SimulatedTarget(dict(config), seed=self._seed, name=self.name, state=self.state)
        self._tell({"ftl": found.device.to_dict()["ftl"]}, "it follows from the number of dies")
        return found

    def _of_whole(self, stimulus: Stimulus) -> Stimulus:
        """Return a stimulus with the law of the whole drive, if this is a part of one."""
        skew = stimulus.skew
        if skew is None or skew.law != "zipf":
            return stimulus
        return replace(stimulus, skew=replace(skew, ranks_per_place=self.shrink))

    def idle(self, seconds: float) -> None:
        """Let time pass: dies collect and fold as the device says, throttles recover."""
        if not 0.0 <= seconds <= 1e9:
            raise ConfigError("idle", f"`{seconds}` is out of range; accepted: 0 to 1e9 seconds")
        self._core.begin_idle(round(seconds * 1e9))
        self._advance(None)

    def watch_slow(self) -> None:
        """Count slow commands, by the first limits of OCP."""
        self._core.monitor(codes_of(LIMITS_MS))

    def device_logs(self) -> DeviceLogs:
        """Return the logs of the drive, since it was made; none after its data changed.

        Other data of a drive with compression restart its counters.
        """
        return NO_LOGS if self._began_anew else logs_of_drive(self._core)

    def pass_time(self, seconds: float) -> None:
        """Let blocks age by the time that writes without a clock took; nothing is collected."""
        self._core.pass_time(round(seconds * 1e9))

    def checkpoint(self) -> bytes | None:
        """Return the drive as it stands, with the pages that wait in its write buffer."""
        return self._core.checkpoint()

    def restore(self, state: bytes) -> None:
        """Take a state that `checkpoint` returned.

        Raises:
            TargetError: for bytes that are no checkpoint, or one of another device.
        """
        try:
            core = _core.Drive.from_checkpoint(state)
        except ImageError as error:
            raise TargetError(f"{self.name}: {error}") from error
        found = core.device().json()
        for has_cache in (True, False):
            for data in (self._data, *_data_kinds(self._declared)):
                if self._configuration(has_cache=has_cache, data=data).json() == found:
                    if self._begin is not None:
                        self.state_facts()
                    self._open, self._has_cache, self._data = core, has_cache, data
                    self._declared.consulted(core)
                    self.device = DeviceConfig(core.device(), self._declared.name)
                    return
        raise TargetError(f"{self.name}: the checkpoint belongs to another device")

    def load_image(self, path: Path, seed: int) -> None:
        """Take the drive of a device image, in place of the empty one.

        Args:
            path: The image.
            seed: Seed of the random numbers afterwards.

        Raises:
            ImageError: when the file is truncated, foreign, damaged or newer, and why.
            TargetError: for an image of another device.
        """
        self.restore(drive_of(read_image(path), seed, path).checkpoint())

    def save_image(self, path: Path) -> None:
        """Write the drive as a device image; write buffer and data are as declared again.

        Raises:
            OutputError: with the reason.
            ConfigError: for data that a drive which is not empty cannot change.
        """
        self._has_cache, self._data = True, _declared_data(self._declared)
        self._reconfigure()
        write_atomically(path, self._core.image())

    def player(self) -> Player:
        """Return a copy of the drive that takes single requests: see `targets.members`.

        Raises:
            ConfigError: for drives that are no plain disks.
        """
        return Player(self._core)

    def take_back(self, player: Player) -> int:
        """Take the drive of a player, at rest, and return the bytes that its flash took."""
        programmed = int(json.loads(player.status())["programmed_bytes"])
        self._open = player.drive()
        return programmed

    def audit(self) -> None:
        """Check that all tables of the drive agree; it examines every page.

        Raises:
            TargetError: with the first contradiction, which is a bug of the simulator.
        """
        problem = self._core.audit()
        if problem is not None:
            raise TargetError(f"{self.name}: the map contradicts itself: {problem}")

    def close(self) -> None:
        """Give the memory of the drive back."""
        self._open = self._begin = None

    def _advance(self, watch: Watcher | None) -> None:
        """Run the work begun to its end, in slices of about 20 ms: Ctrl-C lands between them."""
        before = time.perf_counter()
        told, ops = before, float(SLICE_OPS_FIRST)
        while True:
            progress = json.loads(self._core.advance(int(ops)))
            now = time.perf_counter()
            if watch is not None and (now - told >= WATCH_S or progress["finished"]):
                told = now
                fraction = progress["done"] / progress["total"] if progress["total"] else None
                watch(Step(fraction, progress["simulated_ns"] * 1e-9))
            if progress["finished"]:
                return
            wanted = ops * SLICE_S / max(now - before, 1e-6)
            ops = min(max(wanted, 64.0), ops * SLICE_GROWTH)
            before = time.perf_counter()

    def _refuse(self, outcome: dict[str, Any]) -> None:
        if outcome["failures"]:
            raise TargetError(f"{self.name}: a self-check failed: {'; '.join(outcome['failures'])}")
        if outcome["is_worn_out"]:
            cycles = self._declared.to_dict()["nand"]["max_pe_cycles"]
            raise WornOutError(
                f"{self.name}: the drive is worn out and takes no more writes: the test writes "
                f"more than its blocks endure (nand.max_pe_cycles is {cycles}; more of them, or a "
                "larger drive, let it end)"
            )
        if outcome["is_standstill"]:
            raise TargetError(
                f"{self.name}: no time passes: every request is answered without the flash, "
                f"because what it reads was never written; write the range first, or give the "
                f"device a host.link or host.command_cost_us"
            )

    def _set_data(self, stimulus: Stimulus) -> None:
        if not self._data or stimulus.data == self._data:
            return
        before, self._data = self._data, stimulus.data
        try:
            self._reconfigure()
        except ConfigError as error:
            self._data = before
            raise TargetError(f"{self.name}: {error}") from error
        self._began_anew = True

    def _reconfigure(self) -> None:
        self._core.reconfigure(self._configuration(has_cache=self._has_cache, data=self._data))
        self.device = DeviceConfig(self._core.device(), self._declared.name)
        self._tell(self.device.to_dict(), "the test says it (--cache, --profile, --data)")

    def _tell(self, by: Mapping[str, Any], why: str) -> None:
        """Warn of keys that were set by hand and are other ones here."""
        told = overruled(self._declared, by, why)
        self.warnings += tuple(text for text in told if text not in self.warnings)

    def _configuration(self, *, has_cache: bool, data: str | None) -> Device:
        """Return the device with its write buffer and its data as they are to be."""
        document = self._declared.to_dict()
        if not has_cache:
            document["ftl"]["write_buffer_pages"] = 0
            if document["host"].get("write_cache"):
                document["host"]["write_cache"]["enabled"] = False
        if data is not None and data != _declared_data(self._declared):
            # A device of random data declares no ratio: then files do not compress either.
            ratio = {"ratio": 1.0} if data == "file" else {}
            document["ftl"]["compression"] = {"data": data, **ratio}
        return Device(json.dumps(document))


def _measurement(outcome: dict[str, Any]) -> Measurement:
    flash = outcome["flash"]
    written = int(outcome["written_bytes"])
    inside: dict[str, float | int | None] = {
        "nand_bytes_written": flash["nand_bytes_written"],
        "waf": flash["nand_bytes_written"] / written if written else None,
        "erases": sum(flash["erases"].values()),
        "reclaims": outcome["reclaims"],
        "collections": flash["erases"].get("gc", 0),
        "unmapped_read_pages": outcome["unmapped_read_pages"],
        "littles_law_error": outcome.get("littles_law_error"),
    }
    if outcome["lost_read_pages"]:
        inside["lost_read_pages"] = outcome["lost_read_pages"]
    if "power" in outcome:
        inside["power_w"] = outcome["power"]["mean_w"]
    if "reads" not in outcome:
        nothing = Requests(0, 0, Histogram.empty())
        end = int(outcome["end_bytes"])
        return Measurement(0.0, None, nothing, nothing, written, end, (), inside)
    return Measurement(
        seconds=outcome["seconds"],
        elapsed_s=outcome["elapsed_s"],
        reads=_requests(outcome["reads"]),
        writes=_requests(outcome["writes"]),
        written_bytes=written,
        end_bytes=int(outcome["end_bytes"]),
        samples=_samples(outcome["samples"]),
        inside=inside,
        loads=tuple(
            LoadPart(_requests(load["reads"]), _requests(load["writes"]))
            for load in outcome.get("loads", ())
        ),
    )


def _requests(row: dict[str, Any]) -> Requests:
    histogram = Histogram(
        np.array(row["ns"], dtype=np.int64),
        np.array(row["counts"], dtype=np.int64),
        float(row["sum_ns"]),
        int(row["max_ns"]),
    )
    return Requests(int(row["ios"]), int(row["bytes"]), histogram)


def _samples(columns: dict[str, list[Any]] | None) -> tuple[Sample, ...]:
    if columns is None:
        return ()
    rows = zip(
        *(columns[key] for key in ("end_s", "ios", "bytes", "sum_ns", "max_ns")), strict=True
    )
    return tuple(
        Sample(
            end_s,
            ios,
            size,
            sum_ns / ios * 1e-3 if ios else None,
            max_ns * 1e-3 if ios else None,
        )
        for end_s, ios, size, sum_ns, max_ns in rows
    )


def _kind_of(value: object) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) else str(value)


def _has_volatile_buffer(device: DeviceConfig) -> bool:
    config = device.to_dict()
    return has_write_buffer(config) and not config["host"].get("power_loss_protected")


def _declared_data(device: DeviceConfig) -> str | None:
    compression = device.to_dict()["ftl"].get("compression")
    return compression["data"] if isinstance(compression, dict) else None


def _data_kinds(device: DeviceConfig) -> tuple[str, ...]:
    return ("random", "file") if _declared_data(device) else ()
