"""The examples in the docstrings run, and every public name has one.

What a user reads in `help()` must be true; a name without an example is found here, not in review.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest

import opennandlab.theory
import opennandlab.validation


def module_names() -> Iterator[str]:
    for package in (opennandlab.theory, opennandlab.validation):
        yield package.__name__
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield found.name


@pytest.mark.parametrize("name", list(module_names()))
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    outcome = doctest.testmod(module)
    assert outcome.failed == 0


@pytest.mark.parametrize("package", [opennandlab.theory, opennandlab.validation])
def test_public_names_have_examples(package: ModuleType) -> None:
    missing = [
        name
        for name in package.__all__
        if (value := getattr(package, name)) is not None
        and (inspect.isfunction(value) or inspect.isclass(value))
        and not issubclass(value if inspect.isclass(value) else object, str)
        and ">>>" not in (value.__doc__ or "")
    ]
    assert missing == []
