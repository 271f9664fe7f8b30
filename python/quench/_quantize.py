"""The whole of quantization in one call."""
from __future__ import annotations

import json
import os
import pathlib
import re
import warnings
from typing import Any, Mapping, Optional, Sequence, Union

import torch

from . import _C
from ._data import Data, dataset_of
from ._graph import graph_of
from ._model import Path, QuantizedModel
from ._plan import Plan
from ._progress import Progress, showing
from ._report import Report


_HISTOGRAM_ITEMS = 32  # that the library looks at


class Result(QuantizedModel):
    """A quantized model with all that was learned on the way."""

    def __init__(self, core: _C.Quantized, name: str) -> None:
        super().__init__(core.model, name)
        self._result = core

    @property
    def model(self) -> QuantizedModel:
        """The model alone."""
        return QuantizedModel(self._core, self.name, self._running)

    @property
    def record(self) -> dict[str, Any]:
        """Scales, errors of layers, results, timings, versions: what `quench quantize` writes as record.json."""
        return json.loads(self._result.record)

    @property
    def plan(self) -> Plan:
        """As it fits the float model: to look at, or to edit and pass to `quantize` again."""
        return Plan.from_json(self._result.plan)

    def report(self, path: Optional[Path] = None, *, data: Optional[Data] = None, progress: Progress = True) -> Report:
        """For people: accuracy, damage by layer, what stayed float and why, sizes, time. Printed it is text, a notebook shows
        it as a page, which is written to `path` if there is one. `data` adds histograms of activations on 32 items of it."""
        items = None if data is None else dataset_of(data, self._core.graph, _HISTOGRAM_ITEMS)
        with showing(progress if data is not None else False) as show:
            report = Report(self._result.report, _C.html_report(self._result, self.name, items, show))
        if path is not None:
            pathlib.Path(path).write_text(report.html, encoding="utf-8")
        return report

    def summary(self) -> str:
        """The first part of the report; warnings come first."""
        return self._result.summary

    def save(self, path: Path) -> None:
        """As QuantizedModel.save; where it came from goes with it."""
        self._result.save(os.fspath(path))

    def __repr__(self) -> str:
        return self.summary()


def _bits(text: Any) -> list[str]:
    """"w4a8" as settings."""
    found = re.fullmatch(r"w(\d+)a(\d+)", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"bits must look like 'w4a8' (bits of weights, bits of activations), not {text!r}")
    return [f"defaults.weight.bits={found[1]}", f"defaults.activation.bits={found[2]}"]


def _as_json(key: str, value: Any) -> str:
    try:
        return json.dumps(value)
    except TypeError:
        data = f"; did you mean {key}_data=?" if key in ("eval", "train", "val") else ""
        raise TypeError(f"'{key}' is a key of a job, which takes numbers, texts, lists and dicts, not "
                        f"{type(value).__name__}{data}") from None


def _job(config: Union[None, Path, Mapping[str, Any]], settings: dict[str, Any]) -> _C.Job:
    """Settings win over the config."""
    bits = _bits(settings.pop("bits")) if "bits" in settings else []
    if isinstance(settings.get("method"), str):
        settings["method"] = {"name": settings["method"]}
    texts = {key: _as_json(key, value) for key, value in settings.items()}
    if config is None or isinstance(config, Mapping):
        return _C.read_job("", json.dumps({"version": 1, **(config or {}), **settings}), bits)
    return _C.read_job(os.fspath(config), "", [f"{key}={text}" for key, text in texts.items()] + bits)


def quantize(model: Any, data: Optional[Data] = None, platform: Optional[str] = None, *,
             example_inputs: Optional[Sequence[torch.Tensor]] = None, plan: Optional[Plan] = None,
             eval_data: Optional[Data] = None, train_data: Optional[Data] = None, val_data: Optional[Data] = None,
             config: Union[None, Path, Mapping[str, Any]] = None, profile: int = 8, progress: Progress = True,
             **settings: Any) -> Result:
    """Quantizes a float model for a platform. What makes the result useless is said by warnings.warn.

    model: a path (.onnx, .pt2, .pt, or "zoo:NAME"), an onnx.ModelProto, a torch.export.ExportedProgram, or a torch.nn.Module
        with example_inputs.
    data: what to calibrate on: an iterable of tensors, arrays, tuples or dicts (a DataLoader), or a spec of docs/data.md.
        Labels that come with it are not needed.
    platform: the target, `quench list platforms`.
    plan: an edited plan, instead of the platform's own.
    eval_data: accuracy in float and quantized is measured on it.
    train_data, val_data: for a job that trains (train={...}).
    config: a job file, or a dict of its keys; its `data` is taken where none is given here. **settings are keys too, and win: defaults={"weight": {"bits": 4}},
        method={"name": "adaround"} or its name alone, equalize=True, seed=1 (docs/config.md); bits="w4a8" is short for those of weights
        and activations.
    profile: errors of single layers are measured on so many items of `data`; 0: they are not.
    progress: bars by tqdm where it is installed; or a function (what, done, total); or False.
    """
    if platform is not None or plan is not None:
        settings["platform"] = platform if platform is not None else plan.platform  # type: ignore[union-attr]
    job = _job(config, settings)
    graph, request = _request(model, job, example_inputs)
    given = {"calib": data, "eval": eval_data, "train": train_data, "validation": val_data}
    used = {**job.data, **{place: one for place, one in given.items() if one is not None}}
    if "calib" not in used:
        raise _C.Error("no data to calibrate on: give data=, an iterable of batches or a spec (docs/data.md)")
    request.profile_items = profile
    request.plan = plan.to_json() if plan is not None else ""
    kept = []  # the library does not own them
    for place, one in used.items():
        kept.append(dataset_of(one, graph, job.samples if place == "calib" else 0))
        setattr(request, place, kept[-1])
    with showing(progress) as show:
        done = _C.quantize(graph, request, job, show)
    for warning in done.warnings:
        warnings.warn(warning, stacklevel=2)
    return Result(done, _C.name_of_model(request.name) or "model")


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
