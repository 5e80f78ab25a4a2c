"""What cuts the power and gives it back: commands of the user, or the socket of our own server.

A command has a time limit. One that fails or takes too long ends the campaign: whether the drive
has power is then unknown, and nothing that it answers means anything.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from opennandlab.base.errors import OpenNandLabError, OutputError
from opennandlab.serving.power import ask

SAID_BYTES_MAX: Final = 300


class SupplyError(OutputError):
    """The power could not be switched."""


class Supply(Protocol):
    """A switch."""

    def off(self) -> None:
        """Cut the power.

        Raises:
            SupplyError: when that is not known to have happened.
        """

    def on(self) -> None:
        """Give it back.

        Raises:
            SupplyError: when that is not known to have happened.
        """


@dataclass(frozen=True)
class Commands:
    """Two commands of the user, run by the shell.

    Args:
        cmd_off: Cuts the power.
        cmd_on: Gives it back.
        limit_s: Time that each may take.
        name: The drive, for messages.
    """

    cmd_off: str
    cmd_on: str
    limit_s: float
    name: str

    def off(self) -> None:
        """Cut the power."""
        self._run("--power-off", self.cmd_off)

    def on(self) -> None:
        """Give it back."""
        self._run("--power-on", self.cmd_on)

    def _run(self, option: str, command: str) -> None:
        what = f"{option} of {self.name}"
        try:
            process = subprocess.Popen(  # noqa: S602 (the user's own command line)
                command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise SupplyError(f"{what}: {error.strerror or error}") from error
        with process:
            try:
                said, _ = process.communicate(timeout=self.limit_s)
            except subprocess.TimeoutExpired:
                _kill(process)
                raise SupplyError(f"{what} took longer than {self.limit_s:g} s") from None
            except BaseException:
                _kill(process)
                raise
        if process.returncode:
            text = " ".join(said.decode(errors="replace").split())[:SAID_BYTES_MAX]
            raise SupplyError(f"{what} failed with code {process.returncode}: {text or '-'}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it began, unless it has just ended: Ctrl-C may come after that."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Switched:
    """A drive of our own server.

    Args:
        socket: Socket of `serve --power-socket`.
        limit_s: Time that a turn may take.
    """

    socket: Path
    limit_s: float

    def off(self) -> None:
        """Cut the power."""
        self._ask("off")

    def on(self) -> None:
        """Give it back, and wait until the drive is ready."""
        self._ask("on")

    def _ask(self, word: str) -> None:
        try:
            ask(self.socket, word, self.limit_s)
        except OpenNandLabError as error:
            raise SupplyError(str(error)) from error
