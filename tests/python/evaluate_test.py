"""evaluate(), by metrics of the library and by functions."""
import gc, unittest, unittest.mock, weakref

import torch
from torch.utils.data import DataLoader, TensorDataset

import quench
from demo import IMAGES, LABELS, MODEL, Case


class Evaluate(Case):
    @classmethod
    def setUpClass(cls):
        cls.result = quench.quantize(MODEL, [IMAGES[:32]], platform="onnxruntime", progress=False)
        cls.data = [(IMAGES[:200], LABELS[:200])]

    def test_top1_is_what_counting_gives(self):
        right = (self.result(IMAGES[:200]).argmax(1) == LABELS[:200]).float().mean().item()
        found = self.result.evaluate(self.data, progress=False)
        self.assertAlmostEqual(found["top1"], right, places=6)
        self.assertEqual((found.items, sorted(found.metrics)), (200, ["top1", "top5"]))
        self.assertLess(found.metrics["top1"].low, right)

    def test_a_function_gets_each_output_and_its_target(self):
        def margin(output, target):
            self.assertEqual((tuple(output.shape), type(target)), ((10,), int))
            return output[target] - output.mean()

        found = self.result.evaluate(self.data, [margin, "top1"], progress=False)
        logits = self.result(IMAGES[:200])
        expected = (logits[torch.arange(200), LABELS[:200]] - logits.mean(1)).mean().item()
        self.assertAlmostEqual(found["margin"], expected, delta=1e-3)  # a code more or less
        self.assertIn("top1", found.metrics)

    def test_targets_may_be_tensors(self):
        wanted = torch.randn(200, 10)
        found = self.result.evaluate([(IMAGES[:200], wanted)], lambda output, target: (output - target).abs().mean(),
                                     progress=False)
        expected = (self.result(IMAGES[:200]) - wanted).abs().mean().item()
        self.assertAlmostEqual(found["<lambda>"], expected, delta=1e-3)  # a code more or less
        by_name = self.result.evaluate([(IMAGES[:200], wanted)], "mse:to=target", progress=False)
        self.assertAlmostEqual(by_name["mse:to=target"], (self.result(IMAGES[:200]) - wanted).square().mean().item(),
                               delta=1e-2)

    def test_what_a_function_raises_comes_out(self):
        def broken(output, target):
            raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            self.result.evaluate(self.data, broken, progress=False)
        self.result.evaluate(self.data, progress=False)  # nothing is left of it

    def test_a_loader_is_read_as_it_goes(self):
        alive = []

        class Images(torch.utils.data.Dataset):
            def __len__(self):
                return 200

            def __getitem__(self, index):
                image = IMAGES[index].clone()
                alive.append(weakref.ref(image))
                return image, LABELS[index]

        seen = []
        loader = DataLoader(Images(), batch_size=8)
        streamed = self.result.evaluate(loader, progress=lambda what, done, total: seen.append((len(alive), done)))
        self.assertEqual(streamed["top1"], self.result.evaluate(self.data, progress=False)["top1"])
        self.assertLess(seen[0][0], 200)  # not all was read when the first batch was done
        self.assertFalse([image for image in alive if image() is not None])

    def test_what_a_loader_raises_comes_out(self):
        class Broken(torch.utils.data.Dataset):
            def __init__(self, at):
                self.at = at

            def __len__(self):
                return 100

            def __getitem__(self, index):
                if index >= self.at:
                    raise LookupError(f"no item {index}")
                return IMAGES[index], LABELS[index]

        for at in (0, 60):
            with self.assertRaisesRegex(LookupError, f"no item {at}"):
                self.result.evaluate(DataLoader(Broken(at), batch_size=10), progress=False)

    def test_a_function_cannot_change_what_others_measure(self):
        data = [(IMAGES[:32], LABELS[:32])]
        alone = self.result.evaluate(data, "top1", progress=False)
        both = self.result.evaluate(data, [lambda output, _: output.fill_(0).sum(), "top1"], progress=False)
        self.assertEqual(both["top1"], alone["top1"])

    def test_data_without_targets_measures_nothing(self):
        with self.assertRaisesRegex(quench.Error, "the data has no targets"):
            self.result.evaluate([IMAGES[:8]], progress=False)

    def test_batches_of_a_loader_that_do_not_fit_are_errors(self):
        data = TensorDataset(IMAGES[:8], LABELS[:8])
        def read(collate):
            return self.result.evaluate(DataLoader(data, 4, collate_fn=collate), progress=False)
        seen = []
        def labelled_first(batch):
            seen.append(batch)
            images, labels = torch.utils.data.default_collate(batch)
            return (images, labels) if len(seen) == 1 else images
        for collate, message in ((lambda batch: {}, "has no inputs"), (labelled_first, "other targets than the first"),
                                 (lambda batch: torch.utils.data.default_collate(batch * 3), "promised 8 items, but gives more")):
            with self.assertRaisesRegex((quench.Error, ValueError), message):
                read(collate)

    def test_nothing_is_left_of_a_loader(self):
        class Images(torch.utils.data.Dataset):
            def __len__(self):
                return 40

            def __getitem__(self, index):
                return IMAGES[index], LABELS[index]

        gc.disable()
        self.addCleanup(gc.enable)
        made, iterate = [], DataLoader.__iter__

        def noted(loader):
            made.append(weakref.ref(found := iterate(loader)))
            return found

        with unittest.mock.patch.object(DataLoader, "__iter__", noted):
            self.result.evaluate(DataLoader(Images(), batch_size=8), progress=False)
            with self.assertRaises(ValueError):
                self.result.evaluate(DataLoader(Images(), batch_size=8, collate_fn=lambda rows: (1, 2, 3)), progress=False)
        self.assertEqual(len(made), 2)
        self.assertFalse([one for one in made if one() is not None])

    def test_metrics_have_names_of_their_own(self):
        found = self.result.evaluate(self.data, [lambda output, target: 1, lambda output, target: 2.5], progress=False)
        self.assertEqual((found["<lambda>"], found["<lambda> 2"]), (1, 2.5))

    def test_a_function_must_return_a_number(self):
        def forgetful(output, target):
            return value

        for value, text in ((None, "None"), ("0.5", "'0.5'"), (torch.ones(2), r"tensor\(\[1., 1.\]\)")):
            with self.assertRaisesRegex(TypeError, f"the metric 'forgetful' must return a number for each item, not {text}"):
                self.result.evaluate(self.data, forgetful, progress=False)

    def test_a_float_model_is_measured_too(self):
        record = quench.quantize(MODEL, [IMAGES[:32]], platform="onnxruntime", eval_data=self.data, progress=False).record
        self.assertEqual(quench.evaluate(MODEL, self.data, progress=False)["top1"], record["float"]["top1"])

    def test_progress_is_told(self):
        seen = []
        self.result.evaluate(self.data, progress=lambda *told: seen.append(told))
        self.assertEqual(seen[-1], ("evaluating", 200, 200))

    def test_errors(self):
        with self.assertRaisesRegex(quench.Error, "needs labels, which the data does not have"):
            self.result.evaluate([IMAGES[:8]], "top1", progress=False)
        with self.assertRaisesRegex(quench.Error, "unknown metric 'top_1'"):
            self.result.evaluate(self.data, "top_1", progress=False)


if __name__ == "__main__":
    unittest.main()
