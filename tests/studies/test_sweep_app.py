"""Settings of `app` in a sweep: each is checked before a drive is made."""

from __future__ import annotations

from typing import Any

import pytest

from opennandlab.app.states import Wanted
from opennandlab.base.errors import ConfigError
from opennandlab.studies.sweeps.verbs.application import AppSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("suite", ["light"]),
        ("state", 3),
        ("drive_writes", "many"),
        ("drive_writes", 2.5),
        ("dirty_writes", [1]),
        ("runs", True),
        ("cases", ["contact"]),
    ],
)
def test_a_setting_of_another_type_is_refused(name: str, value: object) -> None:
    """A text for `drive_writes` ended in a TypeError, with no word of the key."""
    given: dict[str, Any] = {name: value}
    with pytest.raises(ConfigError) as caught:
        AppSettings(**given)
    assert caught.value.path == f"app.{name}"


def test_defaults_are_those_of_a_state() -> None:
    assert AppSettings().drive_state() == Wanted()
