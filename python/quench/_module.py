"""The fake-quantized network as a torch.nn.Module."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch

from . import _C

if TYPE_CHECKING:
    from ._model import QuantizedModel


class QuantizedModule(torch.nn.Module):
    """Computes as the integers will, with gradients through the quantizers: a loop of your own can train it.

    Parameters are the network's, and what quantizers learn ("conv.weight_fake_quant.scale"). They are the very tensors that
    the library computes with, so any optimizer may change them in place. In training, quantizers that follow an observer
    do so, and BatchNorm takes the statistics of the batch; in evaluation neither does. quantize() folds every BatchNorm that it
    can into the layer before, so that most networks have none here. Gradients are of first order: there is no gradient of a gradient.
    """

    def __init__(self, core: _C.Model, name: str = "model") -> None:
        super().__init__()
        self.name = name
        self._core = _C.QatModule(core)
        self._held = []  # (name, the dict that has it, its key there, the tensor that the library computes with)
        for path, tensor in self._core.parameters:
            tensor.__class__ = torch.nn.Parameter  # the same tensor, which a copy of the usual kind would not be
            place, key = _place_of(self, path)._parameters, path.rpartition(".")[2]
            place[key] = tensor
            self._held.append((path, place, key, tensor))
        for path, tensor in self._core.buffers:
            _place_of(self, path)._buffers[path.rpartition(".")[2]] = tensor
        self.register_load_state_dict_post_hook(lambda module, _: module._follow_switches())
        self.eval()

    def forward(self, *inputs: torch.Tensor) -> Any:
        """A tensor, or a tuple of them if the network has several outputs."""
        for name, place, key, tensor in self._held:
            if place.get(key) is not tensor:
                raise RuntimeError(f"the parameter '{name}' was replaced by another tensor, which would have no effect: change it in "
                                   "place (copy_(), load_state_dict() without assign=True)")
        outputs = self._core.forward(list(inputs), self.training)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def model(self) -> QuantizedModel:
        """As it is now, with tensors of its own: to evaluate, deploy, convert or save."""
        from ._model import QuantizedModel
        return QuantizedModel(self._core.model(), self.name)

    def enable_observer(self) -> None:
        """Observers see what is computed in training (as in the beginning)."""
        self._core.enable_observer()

    def disable_observer(self) -> None:
        """Scales stay, or only learn."""
        self._core.disable_observer()

    def enable_fake_quant(self) -> None:
        """Quantizers quantize (as in the beginning)."""
        self._core.enable_fake_quant()

    def disable_fake_quant(self) -> None:
        """Quantizers let everything pass: the float network."""
        self._core.disable_fake_quant()

    def freeze_bn_stats(self) -> None:
        """A BatchNorm that was not folded keeps its statistics; gamma and beta still learn."""
        self._core.freeze_bn_stats()

    def update_bn_stats(self) -> None:
        """BatchNorm takes those of the batches again."""
        self._core.update_bn_stats()

    def __deepcopy__(self, memo: dict[int, Any]) -> QuantizedModule:
        copied = QuantizedModule(self._core.model(), self.name)
        copied.load_state_dict(self.state_dict())
        for own, other in zip((*self.parameters(), *self.buffers()), (*copied.parameters(), *copied.buffers())):
            other.data = other.data.to(own.device)
            other.requires_grad_(own.requires_grad)
        return copied.train(self.training)

    def _follow_switches(self) -> None:
        """Those of a state that was loaded."""
        observes, quantizes, norms_held, _ = self._buffers["switches"].tolist()  # type: ignore[union-attr]
        self.enable_observer() if observes else self.disable_observer()
        self.enable_fake_quant() if quantizes else self.disable_fake_quant()
        self.freeze_bn_stats() if norms_held else self.update_bn_stats()

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> QuantizedModule:
        # to(device) and its like: in place, since the library holds these tensors.
        with torch.no_grad():
            moved = [(tensor, fn(tensor.data)) for tensor in (*self.parameters(), *self.buffers())]
            for tensor, data in moved:
                if data.dtype != tensor.dtype:
                    raise TypeError(f"a quantized module computes in {tensor.dtype}: it cannot become {data.dtype}")
            for tensor, data in moved:
                grad, tensor.data = tensor.grad, data
                if grad is not None:
                    tensor.grad = fn(grad)
        return self


def _place_of(root: torch.nn.Module, path: str) -> torch.nn.Module:
    """The module that holds what has this dotted name; those on the way are made as needed. Straight into its dicts: a network
    may call its parts "model" or "type", which are attributes of every module here."""
    for part in path.split(".")[:-1]:
        root = root._modules.setdefault(part, torch.nn.Module())  # type: ignore[assignment]
    return root
