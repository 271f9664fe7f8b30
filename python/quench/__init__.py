"""quench: neural-network quantization. A thin layer over the C++ library of the same name.

    result = quench.quantize("model.onnx", loader, platform="onnxruntime")
    print(result.report())
    result.deploy("files")

docs/python.md goes through it call by call.
"""
from ._torch import check_torch as _check_torch

_check_torch()  # before anything that is linked to it

from . import _C  # noqa: E402
from ._C import Error, InternalError  # noqa: E402
from ._evaluate import Evaluation, MetricValue, evaluate  # noqa: E402
from ._model import Deployment, QuantizedModel, Verification, load, verify  # noqa: E402
from ._module import QuantizedModule  # noqa: E402
from ._plan import Plan, PlanEntry, PlanSkip  # noqa: E402
from ._quantize import Result, make_plan, quantize  # noqa: E402

for _error in (Error, InternalError):
    _error.__module__ = "quench"  # as it is printed

__version__: str = _C.version
__all__ = ["Deployment", "Error", "Evaluation", "InternalError", "MetricValue", "Plan", "PlanEntry", "PlanSkip",
           "QuantizedModel", "QuantizedModule", "Result", "Verification", "evaluate", "load", "make_plan", "quantize", "verify"]
