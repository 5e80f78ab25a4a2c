"""What nvme-cli prints, of version 1.8 to 3.0, for a drive that is a file of JSON.

The forms are those of its sources (nvme.c, nvme-print.c, nvme-print-json.c, nvme-print-stdout.c at
the tags v1.8, v2.0, v2.3, v2.11, v2.16 and v3.0-rc1): `status` of a sanitize is a sentence in all
of them, below the name of the device; `format` waits 10 s from 1.10 on, and knows `--force` since
then; hex dumps have `*` for rows like the one before from 3.0 on. A wait is noted, not made.

    version   of nvme-cli, such as "2.3"
    drive     what `id-ctrl`, `id-ns` and `list-ns` say
    log       states of the sanitize log: [SSTAT, SPROG, ETBE], one for each time it is read;
              null where reading fails; the last one stays
    done      commands that changed the drive
    waited_s  how long they waited for a change of mind
"""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

SENTENCES = (
    "NVM Subsystem has never been sanitized.",
    "Most Recent Sanitize Command Completed Successfully.",
    "Sanitize in Progress.",
    "Most Recent Sanitize Command Failed.",
    "Most Recent Sanitize Command (No-Deallocate After Sanitize) Completed Successfully.",
)
LOG_BYTES = 512
# Verbs that change the drive, and their options.
CHANGES = {"format": {"--ses", "--force"}, "sanitize": {"--sanact"}}


def hex_dump(content: bytes, *, omits: bool = False) -> str:
    """Return what `d()` of nvme-print.c prints; `omits` as from 3.0 on."""
    lines = ["     " + "".join(f"{at:3x}" for at in range(16))]
    for start in range(0, len(content), 16):
        row = content[start : start + 16]
        if omits and start and row == content[start - 16 : start]:
            lines += ["*"] if lines[-1] != "*" else []
            continue
        letters = "".join(chr(one) if ord("!") <= one <= ord("~") else "." for one in row)
        digits = "".join(f" {one:02x}" for one in row)
        lines.append(f'{start:04x}:{digits} "{letters}"')
    if lines[-1] == "*":
        lines.append(f"{len(content):04x}:\n")
    return "\n".join(lines)


def next_log(drive: dict[str, Any]) -> tuple[int, int, int] | None:
    """Return the state of the log, and go on to the one that comes behind it."""
    log = drive["log"]
    now = log.pop(0) if len(log) > 1 else log[0]
    return None if now is None else (now[0], now[1], now[2])


def sanitize_log(drive: dict[str, Any], name: str) -> str:
    """Return the JSON of `sanitize-log`."""
    status, progress, expected_s = next_log(drive) or (0, 0, 0)
    found = {
        "sprog": progress,
        "sstat": {
            "global_erased": status >> 8 & 1,
            "no_cmplted_passes": status >> 3 & 0x1F,
            "status": f"({status & 7}) {SENTENCES[status & 7]}",
        },
        "cdw10_info": 2,
        "time_over_write": 0xFFFFFFFF,
        "time_block_erase": expected_s,
    }
    return json.dumps({name: found})


def get_log(drive: dict[str, Any], name: str, options: dict[str, str]) -> str | None:
    """Return the hex dump of a log; None for one that cannot be read."""
    if int(options["--log-id"], 0) != 0x81 or int(options["--log-len"], 0) != LOG_BYTES:
        return None
    now = next_log(drive)
    if now is None:
        return None
    status, progress, expected_s = now
    omits = tuple(map(int, drive["version"].split("."))) >= (3, 0)
    log = struct.pack("<HHIII", progress, status, 2, 0xFFFFFFFF, expected_s).ljust(LOG_BYTES, b"\0")
    return f"Device:{name} log-id:129 namespace-id:0xffffffff\n{hex_dump(log, omits=omits)}"


def change(drive: dict[str, Any], words: list[str], options: dict[str, str]) -> tuple[int, str]:
    """Format or sanitize; return exit status and what is said."""
    version = tuple(map(int, drive["version"].split(".")))
    known = CHANGES[words[0]] - ({"--force"} if version < (1, 10) else set())
    for option in options:
        if option not in known:
            return 22, f"{words[0]}: unrecognized option '{option}'"
    if words[0] == "format" and version >= (1, 10) and "--force" not in options:
        drive["waited_s"] += 10
    drive["done"].append(" ".join([words[0], *sorted(options)]))
    return (0, "Success formatting namespace:1") if words[0] == "format" else (0, "")


def main(words: list[str], place: Path) -> int:
    """Be nvme-cli."""
    drive = json.loads(place.read_text())
    options = dict(one.partition("=")[::2] for one in words if one.startswith("--"))
    name = Path(words[1]).name if len(words) > 1 else ""
    code, said = 0, ""
    if words[0] == "version":
        said = f"nvme version {drive['version']} (git {drive['version']})\nlibnvme version 1.3"
    elif words[0] in {"id-ctrl", "id-ns", "list-ns"}:
        said = json.dumps(drive["drive"][words[0]])
    elif words[0] == "sanitize-log":
        said = sanitize_log(drive, name)
    elif words[0] == "get-log":
        found = get_log(drive, name, options)
        code, said = (1, "NVMe status: INVALID_LOG_PAGE(0x109)") if found is None else (0, found)
    elif words[0] in CHANGES:
        code, said = change(drive, words, options)
    else:
        code, said = 1, f"ERROR: Invalid sub-command '{words[0]}'"
    place.write_text(json.dumps(drive))
    (sys.stderr if code else sys.stdout).write(said + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(os.environ["NVME_STAND_IN"])))
