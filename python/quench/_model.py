"""A quantized model, and what can be done with it."""
from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from typing import Any, Mapping, Optional, Union

import torch

from . import _C
from ._data import Data, dataset_of
from ._evaluate import Evaluation, Metric, evaluate_graph
from ._module import QuantizedModule
from ._plan import Plan
from ._progress import Progress, showing

Path = Union[str, "os.PathLike[str]"]


class Deployment:
    """The files that were written; `files` are their paths by use ("ship", "instead", "reference")."""

    def __init__(self, folder: str, record: dict[str, Any]) -> None:
        self.folder, self.record = folder, record
        self.notes: list[str] = record.get("notes", [])

    @property
    def files(self) -> dict[str, list[str]]:
        by_use: dict[str, list[str]] = {}
        for file in self.record["files"]:
            by_use.setdefault(file["use"], []).append(os.path.join(self.folder, file["name"]))
        return by_use

    def __repr__(self) -> str:
        return f"Deployment({self.folder!r}: {', '.join(file['name'] for file in self.record['files'])})"


class Verification:
    """What a runtime computed against what was simulated. True if everything was within its bounds."""

    def __init__(self, found: _C.Verified) -> None:
        self.passed: bool = found.passed
        self.text: str = found.text
        self.record: dict[str, Any] = json.loads(found.json)

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return self.text


class QuantizedModel:
    """A network with its quantizers in place. Calling it computes the simulation; `module()` trains."""

    def __init__(self, core: _C.Model, name: str = "model", running: Optional[threading.Lock] = None) -> None:
        self._core, self.name = core, name
        self._running = running or threading.Lock()  # one per core: what a run keeps for the next is not for two threads

    def __repr__(self) -> str:
        plan = self.plan
        return f"<QuantizedModel '{self.name}' for {plan.platform}, {self.stage}, {len(plan)} quantizers>"

    @property
    def stage(self) -> str:
        """"calibrated", "reconstructed", "trained" or "converted"."""
        return self._core.stage

    @property
    def plan(self) -> Plan:
        """The quantizers that it has."""
        return Plan.from_json(self._core.plan)

    def __call__(self, *inputs: torch.Tensor) -> Any:
        """The outputs for these inputs: a tensor, or a tuple of them. Without autograd."""
        with self._running:
            outputs = self._core.run([torch.as_tensor(x) for x in inputs])
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def evaluate(self, data: Data, metric: Union[None, Metric, list[Metric]] = None, progress: Progress = True) -> Evaluation:
        """How good it is: by top-1 and top-5 for class labels, unless `metric` names others or is a function
        (output, target) -> number of one item, of which the mean is taken."""
        return evaluate_graph(self._core.graph, data, metric, progress)

    def module(self) -> QuantizedModule:
        """A torch.nn.Module with parameters of its own that computes with fake quantization, for a training loop."""
        return QuantizedModule(self._core, self.name)

    def convert(self, requantize: str = "") -> QuantizedModel:
        """Integer operators in place of quantizers; `requantize` is a rule of docs/numerics.md, by default the platform's."""
        return QuantizedModel(self._core.convert(requantize), self.name)

    def deploy(self, folder: Path, *, name: str = "", opset: int = 0, options: Optional[Mapping[str, Any]] = None,
               data: Optional[Data] = None, force: bool = False) -> Deployment:
        """Writes the files that the plan's platform takes. They are read back and compared with the model, on `data` if there
        is some."""
        checked_on = None if data is None else dataset_of(data, self._core.graph)
        exporter = {key: float(value) if isinstance(value, (bool, int)) else value for key, value in (options or {}).items()}
        made = _C.DeployOptions(name or self.name, opset, exporter, checked_on)
        return Deployment(os.fspath(folder), json.loads(_C.deploy(self._core, os.fspath(folder), made, force)))

    def verify(self, data: Data, runtime: str = "onnxruntime", **options: Any) -> Verification:
        """Deploys it into a folder of its own and runs that in the real runtime: `quench.verify`."""
        with tempfile.TemporaryDirectory(prefix="quench-") as folder:
            self.deploy(folder)
            model = os.path.join(folder, self.name + ".quench.onnx")
            self.save(model)
            return verify(folder, data, runtime, **{"model": model, **options})

    def save(self, path: Path) -> None:
        """One file (.onnx) that `quench.load` and the program `quench` read."""
        self._core.save(os.fspath(path))


def load(path: Path) -> QuantizedModel:
    """A model that `save` or `quench quantize` wrote."""
    base = os.path.basename(os.fspath(path))
    return QuantizedModel(_C.load(os.fspath(path)), base.removesuffix(".onnx").removesuffix(".quench"))


def verify(path: Path, data: Data, runtime: str = "onnxruntime", *, progress: Progress = True, **options: Any) -> Verification:
    """Runs a deployed file (or the first that fits in a folder) in the real runtime and in simulation on the same data, and
    compares them. `options` are those of `quench verify`: layers, bound, output_bound ..."""
    file = _C.deployed_files(os.fspath(path), runtime)[0]
    os.environ.setdefault("QUENCH_PYTHON", sys.executable)  # the runtime may be installed here
    given = _C.VerifyOptions()
    given.runtime = runtime
    for key, value in options.items():
        if not hasattr(given, key):
            raise TypeError(f"verify() has no option '{key}'")
        setattr(given, key, value)
    with showing(progress) as show:
        return Verification(_C.verify(file, dataset_of(data, _C.open_file(file, [])), given, show))
