"""The fake-quantized network as a module: its tensors, its gradients, training it."""
import copy, json, os, subprocess, unittest

import numpy
import torch
from torch.nn.functional import cross_entropy

import quench
from demo import IMAGES, LABELS, MODEL, Case, small_net


def train(module, steps, batch=32, lr=0.01):
    """Losses of steps of plain SGD."""
    optimizer = torch.optim.SGD(module.parameters(), lr)
    module.train()
    losses = []
    for step in range(steps):
        at = step * batch % len(IMAGES)
        optimizer.zero_grad()
        loss = cross_entropy(module(IMAGES[at:at + batch]), LABELS[at:at + batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Module(Case):
    @classmethod
    def setUpClass(cls):
        cls.result = quench.quantize(MODEL, [IMAGES[:64]], platform="onnxruntime", progress=False)

    def test_it_computes_what_the_model_does(self):
        module = self.result.module()
        self.assertFalse(module.training)
        self.assertTrue(torch.equal(module(IMAGES[:16]), self.result(IMAGES[:16])))

    def test_its_parameters_are_those_that_compute(self):
        module = self.result.module()
        names = dict(module.named_parameters())
        for name in ("stem.0.weight", "stem.0.bias", "fc.weight", "fc.bias", "stem.0.weight_fake_quant.scale"):
            self.assertIsInstance(names[name], torch.nn.Parameter)
        before = self.result(IMAGES[:4])
        with torch.no_grad():
            names["fc.bias"] += 100
        self.assertGreater((module(IMAGES[:4]) - before).max().item(), 1)
        self.assertTrue(torch.equal(self.result(IMAGES[:4]), before))  # the model that it came from is another

    def test_a_parameter_that_is_replaced_is_an_error(self):
        module = self.result.module()
        module.load_state_dict({name: torch.zeros_like(one) if name == "fc.bias" else one.clone()
                                for name, one in module.state_dict().items()}, assign=True)
        with self.assertRaisesRegex(RuntimeError, "was replaced by another tensor.*change it in place"):
            module(IMAGES[:4])

    def test_gradients_reach_parameters_and_inputs(self):
        module, x = self.result.module(), IMAGES[:4].clone().requires_grad_()
        module(x).square().sum().backward()
        self.assertGreater(x.grad.abs().sum().item(), 0)
        for name, parameter in module.named_parameters():
            self.assertIsNotNone(parameter.grad, name)

    def test_training_lowers_the_loss(self):
        result = quench.quantize(small_net(), [IMAGES[:64]], platform="onnxruntime", example_inputs=(IMAGES[:2],), progress=False)
        module = result.module()
        losses = train(module, 60, lr=0.02)
        self.assertLess(sum(losses[-10:]), 0.6 * sum(losses[:10]))
        trained = module.eval().model()
        self.assertEqual(trained.stage, "trained")
        self.assertGreater(trained.evaluate([(IMAGES, LABELS)], progress=False)["top1"],
                           result.evaluate([(IMAGES, LABELS)], progress=False)["top1"] + 0.3)
        self.assertTrue(torch.equal(trained(IMAGES[:8]), module(IMAGES[:8])))
        trained.deploy(self.folder / "files")

    @unittest.skipUnless("QUENCH_TWIN" in os.environ, "needs the same loop in C++ (bench/python_twin.cpp)")
    def test_the_losses_are_those_of_the_same_loop_in_cpp(self):
        self.result.save(self.folder / "model.onnx")
        numpy.savez(self.folder / "data.npz", x=IMAGES.numpy(), y=LABELS.numpy())
        done = subprocess.run([os.environ["QUENCH_TWIN"], "train", self.folder / "model.onnx", self.folder / "data.npz", "20"],
                              capture_output=True, text=True, check=True)
        in_cpp = [json.loads(line)["loss"] for line in done.stdout.splitlines()]
        self.assertEqual(train(self.result.module(), 20), in_cpp)

    def test_its_state_is_saved_and_loaded(self):
        module = self.result.module()
        train(module, 3)
        other = self.result.module()
        other.load_state_dict(module.state_dict())
        self.assertTrue(torch.equal(other.eval()(IMAGES[:8]), module.eval()(IMAGES[:8])))

    def test_a_copy_is_another(self):
        module = self.result.module().train()
        train(module, 2)
        copied = copy.deepcopy(module)
        self.assertTrue(copied.training)
        self.assertTrue(torch.equal(copied.eval()(IMAGES[:8]), module.eval()(IMAGES[:8])))
        train(copied, 2)
        self.assertFalse(torch.equal(copied.eval()(IMAGES[:8]), module.eval()(IMAGES[:8])))

    def test_a_network_may_call_its_parts_what_it_likes(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = torch.nn.Conv2d(1, 8, 3, stride=2)
                self.name = torch.nn.Flatten()
                self.parts = torch.nn.ModuleDict({"head": torch.nn.Linear(8 * 13 * 13, 10)})
                self._core = torch.nn.Linear(10, 10)

            def forward(self, x):
                return self._core(self.parts["head"](self.name(self.model(x).relu())))

        result = quench.quantize(Net(), [IMAGES[:32]], platform="onnxruntime", example_inputs=(IMAGES[:2],), progress=False)
        module = result.module()
        names = dict(module.named_parameters())
        for name in ("model.weight", "parts.head.weight", "_core.bias"):
            self.assertIn(name, names)
        self.assertTrue(torch.equal(module(IMAGES[:8]), result(IMAGES[:8])))
        train(module, 2)
        self.assertTrue(torch.equal(module.eval().model()(IMAGES[:8]), module(IMAGES[:8])))
        module.load_state_dict(result.module().state_dict())
        self.assertTrue(torch.equal(module(IMAGES[:8]), result(IMAGES[:8])))

    def test_switches_go_along(self):
        module = self.result.module()
        module.disable_fake_quant()
        module.disable_observer()
        module.freeze_bn_stats()
        next(module.parameters()).requires_grad_(False)
        loaded = self.result.module()
        loaded.load_state_dict(module.state_dict())
        copied = copy.deepcopy(module)
        for other in (loaded, copied):
            self.assertEqual(other.state_dict()["switches"].tolist(), module.state_dict()["switches"].tolist())
            self.assertTrue(torch.equal(other(IMAGES[:8]), module(IMAGES[:8])))
            self.assertFalse(torch.equal(other(IMAGES[:8]), self.result(IMAGES[:8])))
        self.assertFalse(next(copied.parameters()).requires_grad)

    def test_gradients_move_along(self):
        module = self.result.module()
        module(IMAGES[:4]).sum().backward()
        before = module.get_parameter("fc.bias").grad.clone()
        module._apply(lambda tensor: tensor * 2)
        self.assertTrue(torch.equal(module.get_parameter("fc.bias").grad, before * 2))

    def test_its_type_stays(self):
        module = self.result.module()
        for change in (module.double, module.half, lambda: module.to(torch.bfloat16)):
            with self.assertRaisesRegex(TypeError, "a quantized module computes in torch.float32: it cannot become torch."):
                change()
        self.assertTrue(torch.equal(module.float()(IMAGES[:8]), self.result(IMAGES[:8])))

    def test_the_switches(self):
        module = self.result.module()
        quantized = module(IMAGES[:8])
        module.disable_fake_quant()
        self.assertFalse(torch.equal(module(IMAGES[:8]), quantized))
        module.enable_fake_quant()
        self.assertTrue(torch.equal(module(IMAGES[:8]), quantized))


if __name__ == "__main__":
    unittest.main()
