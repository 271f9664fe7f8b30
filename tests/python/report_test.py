"""What is said about a result: warnings, the page, the plug-ins' part."""
import html, json, re, unittest, warnings

import torch

import quench
from demo import IMAGES, LABELS, MODEL, Case


def data_of(page):
    """What the page is told."""
    return json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.S)[1])


class Report(Case):
    @classmethod
    def setUpClass(cls):
        cls.result = quench.quantize(MODEL, [IMAGES[:64]], platform="onnxruntime", eval_data=[(IMAGES[:200], LABELS[:200])],
                                     progress=False)

    def test_the_page_has_the_record(self):
        file = self.folder / "page.html"
        report = self.result.report(file)
        self.assertEqual(file.read_text(encoding="utf-8"), report.html)
        run, = data_of(report.html)["runs"]
        self.assertEqual((run["name"], run["record"]), ("fashion_cnn", self.result.record))
        self.assertNotIn("activations", run)

    def test_data_adds_histograms_of_activations(self):
        told = []
        page = self.result.report(data=[IMAGES[:40]], progress=lambda *now: told.append(now)).html
        first = data_of(page)["runs"][0]["activations"]["tensors"][0]
        self.assertEqual(first["elements"], 32 * 28 * 28)
        self.assertIn("histograms", {what for what, _, _ in told})

    def test_a_notebook_shows_it_in_a_frame(self):
        report = self.result.report()
        frame = report._repr_html_()
        shown = html.unescape(re.match(r'<iframe srcdoc="([^"]*)"', frame)[1])
        self.assertEqual(shown.replace('<base href="about:srcdoc">', ""), report.html)
        self.assertEqual(shown.index('<head><base href="about:srcdoc">'), report.html.index("<head>"))
        self.assertIn(f"{self.result.record['quantized']['correct']} of 200", str(report))

    def test_layers_are_profiled(self):
        profile = self.result.record["profile"]
        self.assertEqual(profile["items"], 8)
        self.assertIn("Damage by layer", str(self.result.report()))
        without = quench.quantize(MODEL, [IMAGES[:32]], platform="onnxruntime", profile=0, progress=False)
        self.assertFalse(without.record.get("profile"))

    def test_warnings_are_pythons(self):
        with self.assertWarnsRegex(UserWarning, "every number in the first 8 items of the data is 1: scales") as caught:
            result = quench.quantize(MODEL, [torch.ones(16, 1, 28, 28)], platform="onnxruntime", progress=False)
        self.assertEqual(caught.filename, __file__)
        self.assertTrue(repr(result).startswith("WARNING     every number"), repr(result))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            quench.quantize(MODEL, [IMAGES[:16]], platform="onnxruntime", progress=False)


if __name__ == "__main__":
    unittest.main()
