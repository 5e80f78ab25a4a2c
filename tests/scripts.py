"""Scripts of tools/, which are not a package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from places import ROOT


def load_tool(name: str) -> ModuleType:
    """Import a script of tools/, which is not a package."""
    if str(ROOT / "tools") not in sys.path:
        sys.path.append(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
