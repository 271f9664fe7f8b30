"""The program `quench`, as the wheel brings it along."""
from __future__ import annotations

import importlib.util
import os
import sys


def main() -> None:
    """Becomes the program. It finds torch's libraries beside this package, or is told where they are."""
    here = os.path.dirname(os.path.abspath(__file__))
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        from ._built_for import TORCH
        sys.exit(f"quench needs torch {TORCH}, which is not installed: pip install torch=={TORCH}")
    torch = os.path.dirname(found.origin)
    if torch != os.path.join(os.path.dirname(here), "torch"):
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(
            filter(None, [os.path.join(torch, "lib"), os.environ.get("LD_LIBRARY_PATH")]))
    program = os.path.join(here, "bin", "quench")
    os.execv(program, ["quench", *sys.argv[1:]])
