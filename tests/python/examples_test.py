"""examples/python: the script, and the notebook's cells in order."""
import ast, contextlib, io, json, os, subprocess, sys, unittest

from demo import ROOT, Case

EXAMPLES = ROOT / "examples/python"


def cells(notebook):
    """The code of its cells; the value of a last expression is printed, as a notebook shows it."""
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        if isinstance(tree.body[-1], ast.Expr):
            shown = ast.Call(ast.Name("print", ast.Load()), [tree.body[-1].value], [])
            tree.body[-1] = ast.Expr(shown)
        yield compile(ast.fix_missing_locations(tree), notebook.name, "exec")


class Examples(Case):
    def test_the_script(self):
        done = subprocess.run([sys.executable, EXAMPLES / "quickstart.py"], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("float       top-1 93.", "fashion_cnn_qdq.onnx", "passed", "trained: Evaluation(top1=0.9"):
            self.assertIn(text, done.stdout)

    def test_the_notebook(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(EXAMPLES)
        said, names = io.StringIO(), {}
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            for code in cells(EXAMPLES / "quickstart.ipynb"):
                exec(code, names)
        for text in ("quantized   top-1 93.", "weight", "Damage by layer", "Evaluation(confidence=0.", "passed", "Evaluation(top1=0.9"):
            self.assertIn(text, said.getvalue())


if __name__ == "__main__":
    unittest.main()
