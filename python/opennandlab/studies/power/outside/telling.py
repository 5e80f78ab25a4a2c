"""The document of a campaign on a drive outside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from opennandlab import _core
from opennandlab.base.canonical import digest
from opennandlab.documents.power_loss import POWER_SCHEMA, PowerDocument
from opennandlab.documents.record import made, plain
from opennandlab.studies.power.campaign import wilson
from opennandlab.studies.power.outside.campaign import EVIDENCE_MAX, Campaign


def document(
    campaign: Campaign, command: str, wall_s: float, *, partial: bool = False
) -> PowerDocument:
    """Return the document of the campaign.

    Args:
        campaign: Up to the point that it reached.
        command: What ran it.
        wall_s: Time that it took.
        partial: Whether it was interrupted.
    """
    cycles = campaign.cycles
    cuts = len(cycles)
    classes = _classes(cycles)
    broken = Counter(name for cycle in cycles for name in cycle["guarantees"])
    ready = [cycle["ready_ns"] for cycle in cycles if "ready_ns" in cycle]
    acked = _sum(cycles, "units_acked")
    errors = [f"cut {cycle['cut']}: {text}" for cycle in cycles for text in cycle.get("errors", [])]
    content: dict[str, Any] = {
        "schema": POWER_SCHEMA,
        "device": dict(campaign.facts),
        "settings": campaign.settings.document(),
        "cuts": cuts,
        "pages_checked": _sum(cycles, "units_checked"),
        "audits": 0,
        "violations": {f"G{number}": broken[f"G{number}"] for number in range(1, 11)},
        "classes": classes,
        "none_below": round(3000 / cuts, 6) if cuts and not classes else None,
        "recovery_us": {
            "mean": round(sum(ready) / len(ready) / 1000, 3) if ready else 0.0,
            "max": max(ready, default=0) / 1000,
            "limit": campaign.settings.limit_us,
        },
        "smart": None,
        "cost": {
            "requests": _sum(cycles, "requests"),
            "host_pages": _sum(cycles, "units_written"),
            "flash_pages": None,
            "record_pages": None,
            "guard_pages": None,
            "waf": None,
            "ack_us": round(_sum(cycles, "ack_ns") / acked / 1000, 3) if acked else None,
            "flush_us": None,
        },
        "evidence": list(_evidence(cycles, command)),
        "replay": command,
        "errors": errors,
        "partial": partial,
        "passed": not classes and not errors and not partial and cuts > 0,
        "run": {"version": _core.version(), "wall_s": round(wall_s, 3), "command": command},
        "digest": "",
    }
    whole = made(content, PowerDocument)
    return structs.replace(whole, digest=digest(plain(whole)))


def _classes(cycles: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in sorted({name for cycle in cycles for name in cycle["classes"]}):
        own = [number for number, cycle in enumerate(cycles) if name in cycle["classes"]]
        low, high = wilson(len(own), len(cycles))
        found[name] = {
            "cuts": len(own),
            "per_1000": round(1000 * len(own) / len(cycles), 6),
            "low": round(1000 * low, 6),
            "high": round(1000 * high, 6),
            "first_cycle": own[0],
        }
    return found


def _evidence(cycles: Sequence[Mapping[str, Any]], command: str) -> Iterator[dict[str, Any]]:
    kept: Counter[str] = Counter()
    for cycle in cycles:
        for fault in cycle["faults"]:
            kept[fault["class"]] += 1
            if kept[fault["class"]] > EVIDENCE_MAX:
                continue
            yield {
                "life": 0,
                "cut": cycle["cut"],
                "workload": cycle.get("workload", "-"),
                "at": "random",
                "cut_ns": cycle.get("cut_ns", 0),
                "class_name": fault["class"],
                "guarantee": fault["guarantee"],
                "unit": fault["unit"],
                "owed_version": fault["owed_version"],
                "found": fault["found"],
                "replay": command,
            }


def _sum(cycles: Sequence[Mapping[str, Any]], key: str) -> int:
    return sum(int(cycle.get(key, 0)) for cycle in cycles)
