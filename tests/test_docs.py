"""Every example in a docstring of the package runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import opennandlab

NAMES = [
    module.name
    for module in pkgutil.walk_packages(opennandlab.__path__, "opennandlab.")
    if not module.name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert failed == 0


def test_every_public_name_can_be_imported_and_says_what_it_is() -> None:
    for name in opennandlab.__all__:
        assert getattr(opennandlab, name).__doc__, name
    assert set(opennandlab.__all__) <= set(dir(opennandlab))
    with pytest.raises(AttributeError, match="no `nothing`"):
        _ = opennandlab.nothing
