"""How good a model is on data."""
from __future__ import annotations

import collections
import json
from dataclasses import dataclass
from typing import Any, Callable, Optional, Sequence, Union

import torch

from . import _C
from ._data import Data, Streamed
from ._graph import graph_of
from ._progress import Progress, showing

# The name of one of the library's ("top5", "mse:output=logits"), or a function (output, target) -> number of one item.
Metric = Union[str, Callable[[Any, Any], Any]]


@dataclass(frozen=True)
class MetricValue:
    """One metric's result, with its 95 % interval where there is one."""

    name: str
    value: float
    low: Optional[float] = None
    high: Optional[float] = None
    unit: str = ""


class Evaluation:
    """Metrics by name: `evaluation["top1"]` is a number. `record` is all that `quench eval --json` prints."""

    def __init__(self, record: dict[str, Any], names: list[str]) -> None:
        self.record = record
        self.metrics: dict[str, MetricValue] = {}
        for at, found in enumerate(record.get("metrics", [])):
            name = names[at] if names else found["name"]
            self.metrics[name] = MetricValue(name, found["value"], found.get("low"), found.get("high"), found["unit"])

    @property
    def items(self) -> int:
        """How many were measured."""
        return self.record["items"]

    def __getitem__(self, name: str) -> float:
        return self.metrics[name].value

    def __repr__(self) -> str:
        return f"Evaluation({', '.join(f'{m.name}={m.value:.6g}' for m in self.metrics.values())}; {self.items} items)"


def _unique(names: list[str]) -> list[str]:
    """Two lambdas are "<lambda>" and "<lambda> 2"."""
    seen: collections.Counter[str] = collections.Counter()
    for at, name in enumerate(names):
        seen[name] += 1
        names[at] = name if seen[name] == 1 else f"{name} {seen[name]}"
    return names


def _checked(function: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], float]:
    def measure(output: Any, target: Any) -> float:
        value = function(output.clone() if isinstance(output, torch.Tensor) else output, target)  # other metrics read it too
        if not isinstance(value, str):
            try:
                return float(value)
            except (TypeError, ValueError, RuntimeError):
                pass
        raise TypeError(f"the metric '{name}' must return a number for each item, not {value!r}")
    return measure


def evaluate_graph(graph: _C.Graph, data: Data, metric: Union[None, Metric, list[Metric]], progress: Progress) -> Evaluation:
    """By the metrics of the data's kind, unless others are named."""
    wanted = [] if metric is None else list(metric) if isinstance(metric, (list, tuple)) else [metric]
    names = _unique([getattr(one, "__name__", type(one).__name__) if callable(one) else one for one in wanted])
    functions, texts = [], []
    for one, name in zip(wanted, names):
        texts.append(f"python:function={len(functions)}" if callable(one) else one)
        if callable(one):
            functions.append(_checked(one, name))
    with showing(progress) as show, Streamed(data, graph) as dataset:
        found = Evaluation(json.loads(_C.evaluate(graph, dataset, texts, functions, show)), names)
    if not found.metrics:
        raise _C.Error("nothing was measured, for the data has no targets: give (input, target), or a metric that needs none")
    return found


def evaluate(model: Any, data: Data, metric: Union[None, Metric, list[Metric]] = None, *,
             example_inputs: Optional[Sequence[torch.Tensor]] = None, progress: Progress = True) -> Evaluation:
    """How good a float model is, given as to `quantize`: by top-1 and top-5 for class labels, unless `metric` names others or
    is a function (output, target) -> number of one item, of which the mean is taken."""
    return evaluate_graph(graph_of(model, example_inputs)[0], data, metric, progress)
