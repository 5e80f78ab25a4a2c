"""Every public name has an example, which `test_docs.py` runs like all others.

A name without an example is found here, not in review.
"""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import opennandlab.studies.validation
import opennandlab.theory


@pytest.mark.parametrize("package", [opennandlab.theory, opennandlab.studies.validation])
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
