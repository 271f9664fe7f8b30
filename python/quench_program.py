"""The program `quench`, as the wheel brings it along. Beside the package, not in it: importing that would load torch first."""
from __future__ import annotations

import importlib.util
import os
import runpy
import sys


def main() -> None:
    """Becomes the program. It finds torch's libraries beside the package, or is told where they are."""
    site = os.path.dirname(os.path.abspath(__file__))
    wanted = runpy.run_path(os.path.join(site, "quench", "_built_for.py"))["TORCH"]
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        sys.exit(f"quench needs torch {wanted}, which is not installed: pip install torch=={wanted}")
    torch = os.path.dirname(found.origin)
    installed = runpy.run_path(os.path.join(torch, "version.py"))["__version__"]
    if installed.split("+")[0] != wanted:
        sys.exit(f"this quench was built for torch {wanted}, but torch {installed} is installed: pip install torch=={wanted}")
    if torch != os.path.join(site, "torch"):
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(
            filter(None, [os.path.join(torch, "lib"), os.environ.get("LD_LIBRARY_PATH")]))
    os.execv(os.path.join(site, "quench", "bin", "quench"), ["quench", *sys.argv[1:]])
