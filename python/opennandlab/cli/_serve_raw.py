"""`serve --raw-nand`: a raw chip on a socket, for emulators and other languages."""

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab._core import RawNand
    from opennandlab.cli.serve import ServeOptions

# Options of drives.
OF_DRIVES = (
    "config", "any_address", "timing", "read_only", "record", "record_data", "power_socket",
    "result", "status", "allow_code",
)  # fmt: skip


def serve_raw(given: "ServeOptions", described: str) -> None:
    """Serve a chip until SIGTERM or Ctrl-C, and save its image.

    Args:
        given: Options of `serve`.
        described: YAML file of the options of a chip, or `default`.
    """
    from opennandlab import _core
    from opennandlab.base.errors import ConfigError
    from opennandlab.serving.server import locked

    given.refuse(OF_DRIVES, "with --raw-nand")
    if given.socket is None and given.tcp is None:
        raise ConfigError("socket", "give --socket PATH, or --tcp 127.0.0.1:PORT")
    target = given.save_image or given.image
    terminal.check_outputs({"--save-image": target})
    stopping = {signal.SIGTERM, signal.SIGINT}
    with locked(*(path for path in (given.image, target) if path is not None)):
        chip = _chip(given, described)
        # Before the server has threads: they inherit it, and the signals wait for us.
        signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
        server = _core.RawServer(chip, given.socket, given.tcp)
        for place in (given.socket, server.tcp()):
            if place is not None and given.as_json:
                terminal.note(f"ready {place}")
            elif place is not None:
                sys.stdout.write(f"ready {place}\n")
        sys.stdout.flush()
        signal.sigwait(stopping)
        server.stop()
        if target is not None:
            chip.save(target)
    stats = chip.stats()
    if given.as_json:
        terminal.emit_json(stats)
    elif not given.quiet:
        terminal.note(
            f"{stats['reads']} reads, {stats['programs']} programs, {stats['erases']} erases; "
            f"{stats['corrected_bits']} bits corrected"
        )


def _chip(given: "ServeOptions", described: str) -> "RawNand":
    """Return the chip of a file, changed by `--seed` and `--set`."""
    from opennandlab import RawNand
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import read_yaml
    from opennandlab.core.overrides import parse_overrides, set_path

    options: dict[str, Any] = {} if described == "default" else read_yaml(Path(described))
    options.setdefault("seed", given.seed)
    for path, value in parse_overrides(given.settings or []).items():
        set_path(options, path, value)
    for key in options:
        if not isinstance(key, str) or key == "image":
            raise ConfigError(described, f"`{key}` is no key of a chip")
    try:
        json.dumps(options)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            described, f"holds more than numbers, text and mappings: {error}"
        ) from None
    return RawNand(given.image, **options)
