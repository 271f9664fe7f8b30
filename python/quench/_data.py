"""Whatever a user has as data -> a data set of the library. Tensors are not copied, unless they are on another device."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

import torch

from . import _C

Data = Union[str, Iterable[Any]]
_Inputs = list[tuple[str, int]]  # names and ranks (-1: not known) of a model's inputs
_LABELS = ("label", "labels", "target", "targets")  # in a dict, what is no input


def dataset_of(data: Data, graph: _C.Graph, limit: int = 0) -> _C.Dataset:
    """`data`: a spec of docs/data.md, or an iterable of batches or of single items: a tensor, an array, a tuple of those, or
    a dict by the names of inputs. What follows the inputs in a tuple is the target. At most `limit` items, if that is not 0.
    """
    if isinstance(data, str):
        return _C.open_data(data, graph, limit)
    if isinstance(data, Mapping):
        data = [data]  # one batch
    batches, items = [], 0
    for batch in data:
        inputs, labels, targets = _batch_of(batch, graph.inputs)
        rows = next(iter(inputs.values())).size(0)
        if limit and items + rows > limit:
            left = limit - items
            inputs, targets = ({name: t[:left] for name, t in part.items()} for part in (inputs, targets))
            labels, rows = labels[:left], left
        batches.append((inputs, labels, targets))
        items += rows
        if limit and items >= limit:
            break
    return _C.batches(batches)


def _tensor(value: Any) -> torch.Tensor:
    return torch.as_tensor(value).detach().cpu()


def _batch_of(batch: Any, inputs: _Inputs) -> tuple[dict[str, torch.Tensor], list[int], dict[str, torch.Tensor]]:
    """Inputs by name with their rows along the first axis, labels, other targets."""
    values, target = _split(batch, inputs)
    ranks = dict(inputs)
    tensors = {name: _tensor(value) for name, value in values.items()}
    single = any(ranks.get(name, -1) == tensor.dim() + 1 for name, tensor in tensors.items())
    if single:
        tensors = {name: tensor.unsqueeze(0) for name, tensor in tensors.items()}
    labels, targets = _target_of(target, single)
    return tensors, labels, targets


def _split(batch: Any, inputs: _Inputs) -> tuple[Mapping[str, Any], Any]:
    """What the model takes, and what it is held against (None: nothing)."""
    names = [name for name, _ in inputs]
    if isinstance(batch, Mapping):
        rest = [key for key in _LABELS if key in batch and key not in names]
        return {key: value for key, value in batch.items() if key not in _LABELS or key in names}, batch[rest[0]] if rest else None
    if not isinstance(batch, Sequence) or isinstance(batch, str):
        batch = (batch,)
    if len(batch) == 2 and isinstance(batch[0], Mapping):
        return _split(batch[0], inputs)[0], batch[1]
    if len(batch) not in (len(names), len(names) + 1):
        raise ValueError(f"the model has {len(names)} inputs ({', '.join(names)}), but a batch of the data has {len(batch)} "
                         "values; give those inputs in order, and a target behind them if there is one")
    return dict(zip(names, batch)), batch[len(names)] if len(batch) > len(names) else None


def _target_of(target: Optional[Any], single: bool) -> tuple[list[int], dict[str, torch.Tensor]]:
    """Class numbers, or tensors by name."""
    if target is None:
        return [], {}
    named = {k: _tensor(v) for k, v in target.items()} if isinstance(target, Mapping) else {"target": _tensor(target)}
    if single:
        named = {name: tensor.unsqueeze(0) for name, tensor in named.items()}
    only = next(iter(named.values()))
    is_class = len(named) == 1 and only.dim() == 1 and not only.is_floating_point() and only.dtype != torch.bool
    return (only.tolist(), {}) if is_class else ([], named)
