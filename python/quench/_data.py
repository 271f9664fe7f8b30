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


class Streamed:
    """`data` as a data set that holds one batch at a time, where it can be: for a single pass, in order."""

    def __init__(self, data: Data, graph: _C.Graph) -> None:
        self._error: Optional[BaseException] = None
        self._inputs = graph.inputs
        size = _items(data)
        if size is None:
            self.dataset = dataset_of(data, graph)
        else:
            self._batches = iter(data)
            try:
                self.dataset = _C.stream(size, self._next)
            except _C.Error:
                self._raise_own()
                raise

    def _next(self) -> Optional[tuple[dict[str, torch.Tensor], list[int], dict[str, torch.Tensor]]]:
        self._raise_own()  # the first one counts
        try:
            return _batch_of(next(self._batches), self._inputs)
        except StopIteration:
            return None
        except BaseException as error:
            self._error = error
            raise

    def __enter__(self) -> _C.Dataset:
        return self.dataset

    def __exit__(self, kind: object, raised: object, trace: object) -> None:
        self._raise_own()

    def _raise_own(self) -> None:
        """What reading the data raised, rather than that it could not be read."""
        if self._error is not None:
            raise self._error from None


def _items(data: Data) -> Optional[int]:
    """How many a DataLoader will give; None where that is not certain."""
    if not isinstance(data, torch.utils.data.DataLoader) or isinstance(data.dataset, torch.utils.data.IterableDataset):
        return None
    if type(data.batch_sampler) is not torch.utils.data.BatchSampler or data.drop_last:
        return None
    return len(data.sampler)  # type: ignore[arg-type]


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
