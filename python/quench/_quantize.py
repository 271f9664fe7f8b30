"""The whole of quantization in one call."""
from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Sequence, Union

import torch

from . import _C
from ._data import Data, dataset_of
from ._graph import graph_of
from ._model import Path, QuantizedModel
from ._plan import Plan
from ._progress import Progress, showing


class Result(QuantizedModel):
    """A quantized model with all that was learned on the way."""

    def __init__(self, core: _C.Quantized, name: str) -> None:
        super().__init__(core.model, name)
        self._result = core

    @property
    def model(self) -> QuantizedModel:
        """The model alone."""
        return QuantizedModel(self._core, self.name)

    @property
    def record(self) -> dict[str, Any]:
        """Scales, errors of layers, results, timings, versions: what `quench quantize` writes as record.json."""
        return json.loads(self._result.record)

    @property
    def plan(self) -> Plan:
        """As it fits the float model: to look at, or to edit and pass to `quantize` again."""
        return Plan.from_json(self._result.plan)

    def report(self) -> str:
        """For people: accuracy, damage by layer, what stayed float and why, sizes, time."""
        return self._result.report

    def summary(self) -> str:
        """The first part of the report."""
        return self._result.summary

    def save(self, path: Path) -> None:
        """As QuantizedModel.save; where it came from goes with it."""
        self._result.save(os.fspath(path))

    def __repr__(self) -> str:
        return self.summary()


def _job(config: Union[None, Path, Mapping[str, Any]], settings: dict[str, Any]) -> _C.Job:
    """Settings win over the config."""
    if config is None or isinstance(config, Mapping):
        return _C.read_job("", json.dumps({"version": 1, **(config or {}), **settings}), [])
    return _C.read_job(os.fspath(config), "", [f"{key}={json.dumps(value)}" for key, value in settings.items()])


def quantize(model: Any, data: Optional[Data] = None, platform: Optional[str] = None, *,
             example_inputs: Optional[Sequence[torch.Tensor]] = None, plan: Optional[Plan] = None,
             eval_data: Optional[Data] = None, train_data: Optional[Data] = None, val_data: Optional[Data] = None,
             config: Union[None, Path, Mapping[str, Any]] = None, progress: Progress = True, **settings: Any) -> Result:
    """Quantizes a float model for a platform.

    model: a path (.onnx, .pt2, .pt, or "zoo:NAME"), an onnx.ModelProto, a torch.export.ExportedProgram, or a torch.nn.Module
        with example_inputs.
    data: what to calibrate on: an iterable of tensors, arrays, tuples or dicts (a DataLoader), or a spec of docs/data.md.
        Labels that come with it are not needed.
    platform: the target, `quench list platforms`.
    plan: an edited plan, instead of the platform's own.
    eval_data: accuracy in float and quantized is measured on it.
    train_data, val_data: for a job that trains (train={...}).
    config: a job file, or a dict of its keys; **settings are keys too, and win: defaults={"weight": {"bits": 4}},
        method={"name": "adaround"}, equalize=True, seed=1 (docs/config.md).
    progress: bars by tqdm where it is installed; or a function (what, done, total); or False.
    """
    if platform is not None or plan is not None:
        settings["platform"] = platform if platform is not None else plan.platform  # type: ignore[union-attr]
    job = _job(config, settings)
    graph, request = _request(model, job, example_inputs)
    calib = data if data is not None else job.calib or None
    if calib is None:
        raise _C.Error("no data to calibrate on: give data=, an iterable of batches or a spec (docs/data.md)")
    request.plan = plan.to_json() if plan is not None else ""
    kept = []  # the library does not own them
    for place, given, limit in (("calib", calib, job.samples), ("eval", eval_data, 0), ("train", train_data, 0), ("validation", val_data, 0)):
        if given is not None:
            kept.append(dataset_of(given, graph, limit))
            setattr(request, place, kept[-1])
    with showing(progress) as show:
        return Result(_C.quantize(graph, request, job, show), _short(request.name))


def make_plan(model: Any, platform: Optional[str] = None, *, example_inputs: Optional[Sequence[torch.Tensor]] = None,
              config: Union[None, Path, Mapping[str, Any]] = None, **settings: Any) -> Plan:
    """The plan that `quantize` would carry out, given the same; it takes no data."""
    if platform is not None:
        settings["platform"] = platform
    job = _job(config, settings)
    graph, request = _request(model, job, example_inputs)
    request.stop_after = "plan"
    return Plan.from_json(_C.quantize(graph, request, job, None).plan)


def _request(model: Any, job: _C.Job, example_inputs: Optional[Sequence[torch.Tensor]]) -> tuple[_C.Graph, _C.Request]:
    request = _C.Request()
    graph, request.name = graph_of(model if model is not None else job.model, example_inputs, job.input_shapes)
    return graph, request


def _short(name: str) -> str:
    """For files: "fashion_cnn" of "models/fashion_cnn.onnx"."""
    return os.path.basename(name).split("?")[0].rsplit(".", 1)[0] or "model"
