"""What a quantized model can do: run, deploy, verify, convert, be saved, and be planned again."""
import unittest

import torch

import quench
from demo import IMAGES, LABELS, MODEL, Case


class Model(Case):
    @classmethod
    def setUpClass(cls):
        cls.result = quench.quantize(MODEL, [IMAGES[:64]], platform="onnxruntime", progress=False)

    def test_it_is_saved_and_loaded(self):
        for name, model in (("result", self.result), ("model", self.result.model)):
            file = self.folder / f"{name}.quench.onnx"
            model.save(file)
            loaded = quench.load(file)
            self.assertEqual((loaded.name, loaded.stage), (name, "calibrated"))
            self.assertTrue(torch.equal(loaded(IMAGES[:8]), self.result(IMAGES[:8])))
            self.assertEqual(loaded.plan, self.result.plan)

    def test_a_float_model_is_not_loaded(self):
        with self.assertRaisesRegex(quench.Error, "quench quantize"):
            quench.load(MODEL)

    def test_it_is_deployed(self):
        made = self.result.deploy(self.folder / "files", name="net")
        self.assertEqual(made.files["ship"], [str(self.folder / "files/net_qdq.onnx")])
        with self.assertRaisesRegex(quench.Error, "already exists"):
            self.result.deploy(self.folder / "files", name="net")
        self.result.deploy(self.folder / "files", name="net", force=True)

    def test_it_is_verified(self):
        found = self.result.verify([(IMAGES[:32], LABELS[:32])], progress=False)
        self.assertTrue(found, found.text)
        self.assertEqual(found.record["items"], 32)
        self.result.deploy(self.folder / "files")
        # What cannot be: two numbers are not closer than the same.
        self.assertFalse(quench.verify(self.folder / "files", [IMAGES[:32]], output_mean=0.0, output_largest=0.0, bound=0.0,
                                       layers=True, rule="away", progress=False))
        with self.assertRaisesRegex(TypeError, r"verify\(\) has no option 'layer'"):
            quench.verify(self.folder / "files", [IMAGES[:32]], layer=True)

    def test_it_is_converted(self):
        integers = self.result.convert()
        self.assertEqual(integers.stage, "converted")
        same = (integers(IMAGES).argmax(1) == self.result(IMAGES).argmax(1)).float().mean().item()
        self.assertGreater(same, 0.99)
        with self.assertRaisesRegex(quench.Error, "a converted model has no parameters to train"):
            integers.module()

    def test_two_names_of_a_model_do_not_run_at_once(self):
        self.assertIs(self.result.model._running, self.result._running)

    def test_inputs_are_checked(self):
        with self.assertRaisesRegex(quench.Error, "input"):
            self.result(IMAGES[:8], IMAGES[:8])


class Plans(Case):
    def test_it_says_what_is_quantized_and_why(self):
        plan = quench.quantize(MODEL, [IMAGES[:32]], platform="onnxruntime", progress=False).plan
        entry = plan["fc.weight"]
        self.assertEqual((entry.bits, entry.role, plan.platform), (8, "weight", "onnxruntime"))
        self.assertIn("fc", entry.reason)
        self.assertEqual(quench.Plan.from_json(plan.to_json()), plan)
        with self.assertRaisesRegex(KeyError, "the plan has no quantizer of 'nothing'"):
            plan["nothing"]

    def test_it_is_made_without_data(self):
        plan = quench.make_plan(MODEL, "onnxruntime", layers=[{"match": "fc", "float": True}])
        same = quench.quantize(MODEL, [IMAGES[:32]], platform="onnxruntime", progress=False, layers=[{"match": "fc", "float": True}])
        self.assertEqual(plan, same.plan)

    def test_an_edited_one_is_carried_out(self):
        settings = {role: {"bits": 8, "observer": "min_max", "fake_quant": "fixed"} for role in ("weight", "activation")}
        first = quench.quantize(MODEL, [IMAGES[:32]], platform="academic", progress=False, defaults=settings)
        plan = first.plan
        plan["stem.0.weight"].bits = 3
        plan.leave_float("fc.weight")
        second = quench.quantize(MODEL, [IMAGES[:32]], plan=plan, progress=False, defaults=settings)
        self.assertEqual(second.plan["stem.0.weight"].bits, 3)
        self.assertIn("fc.weight", [skip.name for skip in second.plan.skipped])
        self.assertFalse(torch.equal(first(IMAGES[:8]), second(IMAGES[:8])))


if __name__ == "__main__":
    unittest.main()
