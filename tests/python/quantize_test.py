"""quench.quantize from every kind of model and of data."""
import pathlib, subprocess, sys, unittest

import numpy
import onnx
import torch
from torch.utils.data import DataLoader, TensorDataset

import quench
from demo import IMAGES, LABELS, MODEL, Case, small_net


def quantized(model, data, **more):
    return quench.quantize(model, data, platform="onnxruntime", progress=False, **more)


class Settings(Case):
    def test_bits_and_a_method_by_name(self):
        plan = quench.make_plan(MODEL, "academic", bits="w4a6", method="adaround")
        schemes = {entry.scheme.split()[0] for entry in plan if entry.role == "weight"}
        self.assertIn("int4", {scheme.lstrip("u") for scheme in schemes})
        with self.assertRaisesRegex(quench.Error, "did you mean 'adaround'"):
            quench.make_plan(MODEL, "academic", bits="w4a6", method="adaruond")
        self.assertRegex(repr(quantized(MODEL, [IMAGES[:16]]).model), "<QuantizedModel 'fashion_cnn' for onnxruntime, calibrated, 38")
        for bits in ("4", 4):
            with self.assertRaisesRegex(ValueError, "bits must look like 'w4a8'"):
                quantized(MODEL, [IMAGES[:16]], bits=bits)

    def test_data_under_a_wrong_name_is_an_error(self):
        with self.assertRaisesRegex(TypeError, "not DataLoader; did you mean eval_data="):
            quantized(MODEL, [IMAGES[:16]], eval=DataLoader(TensorDataset(IMAGES[:4], LABELS[:4])))


class Models(Case):
    def test_a_path_a_proto_and_its_bytes_are_the_same(self):
        expected = quantized(MODEL, [IMAGES[:32]])(IMAGES[:8])
        proto = onnx.load(MODEL)
        for model in (proto, proto.SerializeToString()):
            self.assertTrue(torch.equal(quantized(model, [IMAGES[:32]])(IMAGES[:8]), expected))

    def test_a_module_and_its_exported_program_are_the_same(self):
        net = small_net()
        part = next(net.children()).eval()
        from_module = quantized(net, [IMAGES[:32]], example_inputs=(IMAGES[:1],))
        self.assertTrue(net.training)  # as it was
        self.assertFalse(part.training)
        batch = torch.export.Dim("batch")
        program = torch.export.export(net.eval(), (IMAGES[:2],), dynamic_shapes=({0: batch},))
        from_program = quantized(program, [IMAGES[:32]])
        got = from_module(IMAGES[:8])
        self.assertTrue(torch.equal(from_program(IMAGES[:8]), got))
        with torch.no_grad():
            self.assertLess((got - net(IMAGES[:8])).abs().max().item(), 0.1)
        self.assertEqual(from_module.record["model"], "Sequential")

    def test_a_module_needs_examples(self):
        with self.assertRaisesRegex(TypeError, r"a torch.nn.Module needs example_inputs=\(tensor, ...\)"):
            quantized(small_net(), [IMAGES[:32]])

    def test_only_the_batch_of_examples_may_change(self):
        class Masked(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(6, 4)

            def forward(self, x, mask):
                return self.linear(x * mask)

        x, mask = torch.randn(8, 5, 6), torch.ones(1, 5, 6)
        from quench import _graph
        graph, _ = _graph.graph_of(Masked(), (x, mask))
        model = quench.quantize(Masked(), [(x[:1], mask)], platform="onnxruntime", example_inputs=(x, mask), progress=False)
        self.assertEqual(model(x[:3], mask).shape, (3, 5, 4))
        self.assertEqual(graph.inputs, [("x", 3), ("mask", 3)])

    def test_a_model_of_the_zoo_has_its_name(self):
        result = quantized("zoo:resnet20_cifar", [torch.randn(4, 3, 32, 32)])
        self.assertEqual(result.name, "resnet20_cifar")

    def test_other_objects_are_refused(self):
        with self.assertRaisesRegex(TypeError, "the model must be a path, an onnx.ModelProto .* not int"):
            quantized(3, [IMAGES[:32]])


class Datas(Case):
    def test_all_kinds_are_the_same(self):
        x, y = IMAGES[:64], LABELS[:64]
        kinds = {"batches": [x[:32], x[32:]], "arrays": [x.numpy()], "tuples": [(x, y)], "lists": [[x, y]],
                 "named": [{"input": x, "labels": y}], "one dict": {"input": x}, "named pair": [({"input": x}, y)],
                 "loader": DataLoader(TensorDataset(x, y), batch_size=16), "items": TensorDataset(x, y), "tensor": x,
                 "generator": (x[i:i + 8] for i in range(0, 64, 8)), "doubles": [x.double()]}
        expected = quantized(MODEL, [x])
        self.assertEqual(expected.record["calibration"]["items"], 64)
        for name, data in kinds.items():
            with self.subTest(name):
                got = quantized(MODEL, data)
                self.assertTrue(torch.equal(got(IMAGES[:8]), expected(IMAGES[:8])))

    def test_the_limit_is_kept(self):
        endless = (IMAGES[:24] for _ in iter(int, 1))
        record = quantized(MODEL, endless, calibration={"samples": 40}).record
        self.assertEqual(record["calibration"]["items"], 40)

    def test_tensors_are_not_copied(self):
        from quench import _data
        inputs, labels, _ = _data._batch_of((IMAGES[:4], LABELS[:4]), [("input", 4)])
        self.assertEqual(inputs["input"].data_ptr(), IMAGES.data_ptr())
        self.assertEqual(labels, LABELS[:4].tolist())

    def test_an_iterator_may_fill_one_array_again(self):
        def refilled():
            array = numpy.empty((16, 1, 28, 28), numpy.float32)
            for at in range(0, 64, 16):
                array[:] = IMAGES[at:at + 16].numpy()
                yield array

        expected = quantized(MODEL, [IMAGES[:64]])
        self.assertTrue(torch.equal(quantized(MODEL, refilled())(IMAGES[:8]), expected(IMAGES[:8])))

    def test_what_does_not_fit_is_said(self):
        cases = [(ValueError, r"the model has 1 inputs \(input\), but a batch of the data has 3 values", [(IMAGES, LABELS, 1)]),
                 (quench.Error, "the data gives no items", iter(())),
                 (quench.Error, "batch 1 of the data has 8 items, but 7 labels", [IMAGES[:4], (IMAGES[:8], LABELS[:7])]),
                 (quench.Error, "no data to calibrate on", None),
                 (TypeError, "the data must be an iterable of batches or of items, or a spec .* not int", 3),
                 (ValueError, "'input' of the data is a single number", [3.0]),
                 (ValueError, "a batch of the data has no inputs; the model takes input", [{}]),
                 (quench.Error, "other", [{"input": IMAGES[:8], "other": IMAGES[:8]}])]
        for kind, text, data in cases:
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                quantized(MODEL, data)


class Jobs(Case):
    def test_the_bytes_are_those_of_the_program(self):
        numpy.savez(self.folder / "calib.npz", input=IMAGES[:96].numpy())
        subprocess.run([pathlib.Path(sys.executable).with_name("quench"), "--quiet", "quantize", MODEL, "--platform", "onnxruntime", "--calib",
                        f"npz:{self.folder}/calib.npz", "-o", self.folder / "program"], check=True, stdout=subprocess.DEVNULL)
        result = quantized(MODEL, DataLoader(IMAGES[:96], batch_size=10))
        result.deploy(self.folder / "python")
        for name in ("fashion_cnn_qdq.onnx", "fashion_cnn_quantizers.onnx"):
            written = (self.folder / "program/deploy" / name).read_bytes()
            self.assertEqual((self.folder / "python" / name).read_bytes(), written, name)
        loaded = quench.load(self.folder / "program/fashion_cnn.quench.onnx")
        self.assertTrue(torch.equal(loaded(IMAGES[:8]), result(IMAGES[:8])))

    def test_settings_are_keys_of_a_job(self):
        four = quantized(MODEL, [IMAGES[:32]], layers=[{"match": "fc", "float": True}], seed=5)
        self.assertEqual(four.record["seed"], 5)
        self.assertNotIn("fc.weight", [entry.name for entry in four.plan])
        with self.assertRaisesRegex(quench.Error, "unknown key 'equalise'.*equalize"):
            quantized(MODEL, [IMAGES[:32]], equalise=True)

    def test_a_config_file_is_laid_under_them(self):
        job = self.folder / "job.yaml"
        job.write_text("version: 1\nplatform: tensorrt\nseed: 3\n")
        result = quench.quantize(MODEL, [IMAGES[:32]], config=job, seed=4, progress=False)
        self.assertEqual((result.record["seed"], result.plan.platform), (4, "tensorrt"))

    def test_the_data_of_a_config_is_used(self):
        numpy.savez(self.folder / "data.npz", input=IMAGES[:64].numpy(), label=LABELS[:64].numpy())
        spec = f"npz:{self.folder}/data.npz?labels=label"
        job = self.folder / "job.yaml"
        job.write_text(f"version: 1\nplatform: onnxruntime\ndata: {{calib: '{spec}&limit=32', eval: '{spec}'}}\n")
        record = quench.quantize(MODEL, config=job, progress=False).record
        self.assertEqual((record["calibration"]["items"], record["quantized"]["items"]), (32, 64))
        record = quench.quantize(MODEL, config=job, eval_data=[(IMAGES[:10], LABELS[:10])], progress=False).record
        self.assertEqual(record["quantized"]["items"], 10)  # what is given wins
        job.write_text(f"version: 1\nplatform: onnxruntime\ndata: {{train: '{spec}', val: '{spec}'}}\ntrain: {{epochs: 1, batch: 32}}\n")
        self.assertEqual(quench.quantize(MODEL, [IMAGES[:32]], config=job, progress=False).stage, "trained")

    def test_a_job_may_train(self):
        data = [(IMAGES[:512], LABELS[:512])]
        told = []
        result = quench.quantize(small_net(), [IMAGES[:64]], platform="onnxruntime", example_inputs=(IMAGES[:2],), train_data=data,
                                 val_data=[(IMAGES[512:], LABELS[512:])], progress=lambda what, *_: told.append(what),
                                 train={"epochs": 2, "batch": 32, "optimizer": {"lr": 0.02}})
        self.assertEqual(result.stage, "trained")
        self.assertIn("training", told)
        trained = result.record["training"]
        self.assertGreater(trained["epochs"][-1]["validation"], trained["validation_at_start"] + 0.3)

    def test_errors_have_the_librarys_text(self):
        with self.assertRaisesRegex(quench.Error, "the file cannot be opened: No such file or directory\n  while importing no.onnx"):
            quantized("no.onnx", [IMAGES[:32]])
        with self.assertRaisesRegex(quench.Error, "no platform: give one"):
            quench.quantize(MODEL, [IMAGES[:32]], progress=False)

    def test_a_report_says_what_the_record_does(self):
        result = quantized(MODEL, [IMAGES[:64]], eval_data=[(IMAGES[:200], LABELS[:200])])
        correct = result.record["quantized"]["correct"]
        self.assertIn(f"{correct} of 200", str(result.report()))
        self.assertIn(f"{correct} of 200", repr(result))


if __name__ == "__main__":
    unittest.main()
