"""Whatever a user has as data -> a data set of the library. Tensors of a list are not copied, unless they are on another device;
what an iterator gives is, since it may fill the same array again."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import torch

from . import _C

Data = Union[str, Iterable[Any]]
_Batch = tuple[dict[str, torch.Tensor], list[int], dict[str, torch.Tensor]]  # inputs, labels, other targets
_Inputs = list[tuple[str, int]]  # names and ranks (-1: not known) of a model's inputs
_END = object()
_LABELS = ("label", "labels", "target", "targets")  # in a dict, what is no input


def dataset_of(data: Data, graph: _C.Graph, limit: int = 0) -> _C.Dataset:
    """`data`: a spec of docs/data.md, or an iterable of batches or of single items: a tensor, an array, a tuple of those, or
    a dict by the names of inputs. What follows the inputs in a tuple is the target. At most `limit` items, if that is not 0.
    """
    if isinstance(data, str):
        return _C.open_data(data, graph, limit)
    if isinstance(data, Mapping):
        data = [data]  # one batch
    are_kept = isinstance(data, (list, tuple, torch.Tensor))
    batches, items = [], 0
    for batch in _iterator_of(data):
        inputs, labels, targets = _batch_of(batch, graph.inputs)
        rows = next(iter(inputs.values())).size(0)
        if limit and items + rows > limit:
            left = limit - items
            inputs, targets = ({name: t[:left] for name, t in part.items()} for part in (inputs, targets))
            labels, rows = labels[:left], left
        found = (inputs, labels, targets)
        batches.append(found if are_kept else _copied(found))
        items += rows
        if limit and items >= limit:
            break
    return _C.batches(batches)


class Streamed:
    """`data` as a data set that holds one batch at a time, where it can be: for a single pass, in order."""

    def __init__(self, data: Data, graph: _C.Graph) -> None:
        self.dataset: Optional[_C.Dataset] = None
        self._batches: Optional[Iterator[Any]] = None
        self._error: Optional[BaseException] = None
        self._inputs = graph.inputs
        size = _items(data)
        if size is None:
            self.dataset = dataset_of(data, graph)
        else:
            self._batches = iter(data)
            try:
                self.dataset = _C.stream(size, self._next)
            except BaseException:
                self._close()
                raise

    def _next(self) -> Optional[_Batch]:
        if self._error is not None:
            raise self._error  # the first one counts
        try:
            batch = next(self._batches, _END)  # type: ignore[arg-type]
            return None if batch is _END else _copied(_batch_of(batch, self._inputs))
        except BaseException as error:
            self._error = error
            raise

    def __enter__(self) -> _C.Dataset:
        return self.dataset  # type: ignore[return-value]

    def __exit__(self, kind: object, raised: object, trace: object) -> None:
        self._close()

    def _close(self) -> None:
        """Lets go of the data, whose workers end, for the data set holds this object. Raises what reading raised, rather than
        that it could not be read."""
        error, self._error = self._error, None
        self.dataset = self._batches = None
        try:
            if error is not None:
                raise error from None
        finally:
            del error


def _items(data: Data) -> Optional[int]:
    """How many a DataLoader will give; None where that is not certain."""
    if not isinstance(data, torch.utils.data.DataLoader) or isinstance(data.dataset, torch.utils.data.IterableDataset):
        return None
    if type(data.batch_sampler) is not torch.utils.data.BatchSampler or data.drop_last:
        return None
    return len(data.sampler)  # type: ignore[arg-type]


def _iterator_of(data: Data) -> Iterator[Any]:
    try:
        return iter(data)
    except TypeError:
        raise TypeError("the data must be an iterable of batches or of items, or a spec (docs/data.md), not "
                        f"{type(data).__name__}") from None


def _copied(batch: _Batch) -> _Batch:
    inputs, labels, targets = batch
    return {name: t.clone() for name, t in inputs.items()}, labels, {name: t.clone() for name, t in targets.items()}


def _tensor(value: Any) -> torch.Tensor:
    return torch.as_tensor(value).detach().cpu()


def _batch_of(batch: Any, inputs: _Inputs) -> _Batch:
    """Inputs by name with their rows along the first axis, labels, other targets."""
    values, target = _split(batch, inputs)
    ranks = dict(inputs)
    tensors = {name: _tensor(value) for name, value in values.items()}
    single = any(ranks.get(name, -1) == tensor.dim() + 1 for name, tensor in tensors.items())
    if single:
        tensors = {name: tensor.unsqueeze(0) for name, tensor in tensors.items()}
    if not tensors:
        raise ValueError(f"a batch of the data has no inputs; the model takes {', '.join(ranks)}")
    for name, tensor in tensors.items():
        if tensor.dim() == 0:
            raise ValueError(f"'{name}' of the data is a single number, not a tensor with items along its first axis")
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
