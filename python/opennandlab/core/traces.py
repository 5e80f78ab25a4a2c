"""Files of traces: the one of a replay, and those of tenants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opennandlab import _core
from opennandlab.base.canonical import oddity
from opennandlab.base.errors import ConfigError, TraceError
from opennandlab.core.config import WorkloadConfig
from opennandlab.core.memory import available_beside
from opennandlab.core.recorded import check_digest


@dataclass(frozen=True)
class TenantTraces:
    """The traces that tenants of a workload replay.

    Args:
        workload: The workload, with the names and digests of the traces.
        read: The traces by tenant; None for a tenant without.
        files: Their paths.
    """

    workload: WorkloadConfig
    read: Sequence[_core.Trace | None] = ()
    files: Sequence[Path] = ()

    @property
    def paths(self) -> dict[str, list[str]]:
        """Their paths, for the record: none if a document cannot hold them."""
        paths = [str(path) for path in self.files]
        return {"trace_paths": paths} if paths and not any(map(oddity, paths)) else {}

    def summaries(self) -> list[tuple[str, str]]:
        """Return the name and the summary of each trace."""
        tenants = self.workload.to_dict()["tenants"] if self.read else []
        return [
            (f"{tenant['name']}: {tenant['trace']['file']}", trace.summary())
            for tenant, trace in zip(tenants, self.read, strict=True)
            if trace is not None
        ]


def read_traces(workload: WorkloadConfig, given: Sequence[str | Path] = ()) -> TenantTraces:
    """Read the traces that tenants of a workload replay.

    Args:
        workload: The resolved workload.
        given: Where the traces are, in the order of their tenants; none: those of the workload,
            seen from its file. With recorded digests they must be those traces.

    Raises:
        ConfigError: when other than all of the traces are given.
        TraceError: with tenant, file and line.
    """
    tenants = workload.to_dict().get("tenants") or []
    wanted = [index for index, tenant in enumerate(tenants) if "trace" in tenant]
    if given and len(given) != len(wanted):
        raise ConfigError(
            "trace", f"{len(given)} traces were given; accepted: one for each of {len(wanted)}"
        )
    if not wanted:
        return TenantTraces(workload)
    read: list[_core.Trace | None] = [None] * len(tenants)
    sources: list[tuple[str, str] | None] = [None] * len(tenants)
    paths = []
    for place, index in enumerate(wanted):
        recorded = tenants[index]["trace"]
        path = Path(given[place]) if given else workload.folder / recorded["file"]
        memory_bytes_max = available_beside(workload.device)
        try:
            trace = _core.Trace.of_tenant(str(path), workload.core, index, memory_bytes_max)
            if recorded["digest"]:
                check_digest(trace.digest(), recorded, path)
        except TraceError as error:
            raise TraceError(f"tenants[{index}] {tenants[index]['name']}: {error}") from error
        except UnicodeEncodeError as error:
            raise unnamed(path) from error
        name = str(recorded["file"]) if recorded["digest"] else printable(path.name)
        read[index], sources[index] = trace, (name, trace.digest())
        paths.append(path)
    return TenantTraces(workload.of(sources), read, paths)


def check_without_traces(workload: WorkloadConfig, place: str) -> None:
    """Refuse tenants with traces where only the keys of a workload are kept, not its folder.

    Args:
        workload: The workload.
        place: The user of the keys, such as `a sweep`.

    Raises:
        ConfigError: with the tenant.
    """
    for index, tenant in enumerate(workload.to_dict().get("tenants") or []):
        if "trace" in tenant:
            message = f"a trace in {place}; accepted: `benchmark` of the workload as it is"
            raise ConfigError(f"workload.tenants[{index}].trace", message)


def printable(name: str) -> str:
    """Return the name of a file as text: names may be any bytes."""
    return name.encode(errors="replace").decode()


def unnamed(path: Path) -> TraceError:
    """Return the error of a file whose name is not text."""
    return TraceError(f"{printable(str(path))}: the name is not UTF-8 text; rename the file")


def legible(**paths: str | Path) -> dict[str, str]:
    """Return those paths that a document can hold: names of folders may be any bytes."""
    return {name: str(path) for name, path in paths.items() if oddity(str(path)) is None}
