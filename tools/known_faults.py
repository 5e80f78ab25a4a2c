"""Faults known of what we build on: releases that must not be among our dependencies.

Compiled on `AS_OF` from the RustSec database (its commit of 2026-08-21), the database of the Python
Packaging Authority (2024-10-10) and, for what came later, the advisories of the projects. What was
published since then is not known here; `tools/audit.py` says so each time it runs. Faults of
releases that are years older than what anybody installs today are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

AS_OF = "2026-09-14"


@dataclass(frozen=True)
class Fault:
    """One advisory.

    Args:
        identity: Its name.
        package: Of what.
        fixed: The first release without it.
        since: The first release with it; empty for all before.
    """

    identity: str
    package: str
    fixed: str
    since: str = ""


PYTHON = (
    Fault("CVE-2024-56326", "jinja2", "3.1.5"),
    Fault("CVE-2025-27516", "jinja2", "3.1.6"),
    Fault("CVE-2025-54121", "starlette", "0.47.2"),
    Fault("CVE-2025-62727", "starlette", "0.49.1"),
    Fault("CVE-2026-48710", "starlette", "1.0.1"),
    Fault("CVE-2026-48817", "starlette", "1.1.0"),
    Fault("CVE-2026-48818", "starlette", "1.1.0"),
    Fault("CVE-2026-54282", "starlette", "1.3.0"),
    Fault("CVE-2026-54283", "starlette", "1.3.1"),
    Fault("CVE-2025-43859", "h11", "0.16.0"),
    Fault("CVE-2023-47248", "pyarrow", "14.0.1"),
    Fault("CVE-2026-25087", "pyarrow", "23.0.1", since="15.0.0"),
    Fault("CVE-2026-23528", "distributed", "2026.1.1"),
    Fault("CVE-2026-57585", "msgpack", "1.2.1"),
    Fault("CVE-2026-31958", "tornado", "6.5.5"),
    Fault("CVE-2026-49853", "tornado", "6.5.7"),
    Fault("CVE-2026-40192", "pillow", "12.2.0"),
    Fault("PYSEC-2026-2253", "pillow", "12.3.0"),
    Fault("CVE-2025-66034", "fonttools", "4.60.2", since="4.33.0"),
    Fault("CVE-2026-4539", "pygments", "2.20.0"),
    Fault("CVE-2026-45409", "idna", "3.15"),
)
RUST = (
    Fault("RUSTSEC-2023-0004", "bzip2", "0.4.4"),
    Fault("RUSTSEC-2024-0401", "zlib-rs", "0.4.0"),
    Fault("RUSTSEC-2025-0020", "pyo3", "0.24.1"),
    Fault("RUSTSEC-2026-0013", "pyo3", "0.28.2", since="0.28.0"),
    Fault("RUSTSEC-2026-0176", "pyo3", "0.29.0", since="0.24.0"),
    Fault("RUSTSEC-2026-0177", "pyo3", "0.29.0"),
    Fault("RUSTSEC-2021-0100", "sha2", "0.9.8", since="0.9.7"),
    Fault("RUSTSEC-2026-0097", "rand", "0.10.1", since="0.10.0"),
    Fault("RUSTSEC-2021-0023", "rand_core", "0.6.2", since="0.6.0"),
    Fault("RUSTSEC-2024-0006", "shlex", "1.3.0"),
)
