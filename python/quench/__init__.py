"""quench: neural-network quantization. A thin layer over the C++ library of the same name.

    result = quench.quantize("model.onnx", loader, platform="onnxruntime")
    print(result.report())
    result.deploy("files")

docs/python.md goes through it call by call.
"""
import ctypes as _ctypes
import os as _os

from ._torch import check_torch as _check_torch

_check_torch()  # before anything that is linked to it

from . import _C  # noqa: E402
from ._C import Error, InternalError  # noqa: E402
from ._evaluate import Evaluation, MetricValue, evaluate  # noqa: E402
from ._model import Path as _Path, Deployment, QuantizedModel, Verification, load, verify  # noqa: E402
from ._module import QuantizedModule  # noqa: E402
from ._plan import Plan, PlanEntry, PlanSkip  # noqa: E402
from ._quantize import Result, make_plan, quantize  # noqa: E402
from ._report import Report  # noqa: E402

for _error in (Error, InternalError):
    _error.__module__ = "quench"  # as it is printed



def load_plugin(path: _Path) -> None:
    """Loads a shared library that adds platforms, observers and the like (docs/adding.md)."""
    _ctypes.CDLL(_C.__file__, mode=_ctypes.RTLD_GLOBAL)  # a plug-in is to find the registries of the library that is loaded
    _C.load_plugin(_os.fspath(path))


__version__: str = _C.version
__all__ = ["Deployment", "Error", "Evaluation", "InternalError", "MetricValue", "Plan", "PlanEntry", "PlanSkip",
           "QuantizedModel", "QuantizedModule", "Report", "Result", "Verification", "evaluate", "load", "load_plugin", "make_plan",
           "quantize", "verify"]
