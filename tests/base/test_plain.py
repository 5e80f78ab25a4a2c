"""Documents as JSON: what is refused, with its path."""

from __future__ import annotations

import json

import pytest

from opennandlab.base.errors import ConfigError
from opennandlab.base.plain import to_json


def test_keys_that_are_equal_as_text_are_refused() -> None:
    """YAML reads `1:` as a number and `"1":` as text: one value replaced the other in silence."""
    with pytest.raises(ConfigError, match="`1` is given twice") as caught:
        to_json({"nand": {1: "a", "1": "b"}})
    assert caught.value.path == "nand"
    with pytest.raises(ConfigError, match="`True` is given twice") as caught:
        to_json({True: "a", "True": "b"})
    assert caught.value.path == "."
    assert json.loads(to_json({1: "a", "2": (3, 4)})) == {"1": "a", "2": [3, 4]}
