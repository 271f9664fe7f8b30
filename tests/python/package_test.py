"""The package as such: what it loads, which torch it takes, threads, Ctrl-C, the program."""
import _thread, ast, os, pathlib, subprocess, sys, threading, time, unittest

import quench
from demo import IMAGES, LABELS, MODEL, ROOT, Case


def python(code, **more):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, **more)


class Package(Case):
    def test_nothing_is_loaded_from_the_build_tree(self):
        maps = pathlib.Path("/proc/self/maps").read_text()
        self.assertIn("libquench.so.0", maps)
        for folder in ("build", ".deps"):
            self.assertNotIn(f"{ROOT / folder}/", maps)

    def test_another_torch_is_refused(self):
        (self.folder / "torch").mkdir()
        (self.folder / "torch/__init__.py").write_text("__version__ = '2.14.1+cpu'\n")
        done = python(f"import sys; sys.path.insert(0, {str(self.folder)!r}); import quench")
        self.assertIn("ImportError: this quench was built for torch 2.15.0, but torch 2.14.1+cpu is installed: "
                      "pip install torch==2.15.0", done.stderr)

    def test_without_torch_it_says_so(self):
        done = python("import sys; sys.modules['torch'] = None; import quench")
        self.assertIn("ImportError: quench needs torch 2.15.0, which is not installed: pip install torch==2.15.0", done.stderr)

    def test_the_types_of_the_bindings_are_all_declared(self):
        declared = ast.parse((pathlib.Path(quench.__file__).parent / "_C.pyi").read_text()).body
        for node in declared:
            if isinstance(node, ast.ClassDef):
                members = {name for name in vars(getattr(quench._C, node.name)) if not name.startswith("_")}
                written = {item.name if isinstance(item, ast.FunctionDef) else item.target.id for item in node.body
                           if isinstance(item, (ast.FunctionDef, ast.AnnAssign))}
                self.assertEqual({name for name in written if not name.startswith("_")}, members, node.name)
        named = {getattr(node, "name", "") for node in declared} | {"version"}
        self.assertEqual({name for name in vars(quench._C) if not name.startswith("_")} - named, set())

    def test_the_licences_of_what_comes_along_are_there(self):
        about, = pathlib.Path(quench.__file__).parents[1].glob("quench-*.dist-info")
        for library in (pathlib.Path(quench.__file__).parent / "lib").glob("lib*-*"):
            if "dnnl" not in library.name:
                stem = library.name.removeprefix("lib").partition("-")[0].rstrip("0123456789").replace("crypto", "ssl")
                self.assertTrue(list(about.glob(f"licenses/*{stem.removesuffix('-cpp')}*/copyright")), library.name)

    def test_a_plugin_that_is_missing_is_said(self):
        with self.assertRaisesRegex(quench.Error, "no_plugin.so"):
            quench.load_plugin(self.folder / "no_plugin.so")

    @unittest.skipUnless("QUENCH_PLUGIN" in os.environ, "needs the tests' plug-in (tests/plugin)")
    def test_a_plugin_adds_what_it_has(self):
        done = python("import os, quench, torch\nquench.load_plugin(os.environ['QUENCH_PLUGIN'])\n"
                      f"print(quench.quantize({MODEL!r}, [torch.randn(8, 1, 28, 28)], platform='toy_chip', progress=False).plan.platform)")
        self.assertEqual(done.stdout, "toy_chip\n", done.stderr)

    def test_the_program_comes_along(self):
        done = subprocess.run([pathlib.Path(sys.executable).with_name("quench"), "--version"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, f"quench {quench.__version__}"))

    def test_the_program_wants_the_same_torch(self):
        (self.folder / "torch").mkdir()
        (self.folder / "torch/__init__.py").write_text("raise SystemExit('it was imported')\n")
        (self.folder / "torch/version.py").write_text("__version__ = '2.14.1+cpu'\n")
        done = subprocess.run([pathlib.Path(sys.executable).with_name("quench"), "--version"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertEqual((done.returncode, done.stderr), (1, "this quench was built for torch 2.15.0, but torch 2.14.1+cpu is "
                                                             "installed: pip install torch==2.15.0\n"))

    def test_tqdm_is_not_needed(self):
        done = python(f"import sys; sys.modules['tqdm'] = sys.modules['tqdm.auto'] = None\nimport quench, torch\n"
                      f"quench.quantize({MODEL!r}, [torch.randn(8, 1, 28, 28)], platform='onnxruntime')")
        self.assertEqual(done.returncode, 0, done.stderr)


class Threads(Case):
    @classmethod
    def setUpClass(cls):
        cls.result = quench.quantize(MODEL, [IMAGES[:32]], platform="onnxruntime", progress=False)
        cls.data = [(IMAGES, LABELS)] * 3

    def test_other_threads_go_on_meanwhile(self):
        counted, done = [0], threading.Event()

        def count():
            while not done.is_set():
                counted[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        before = counted[0]
        self.result.evaluate(self.data, progress=False)
        made = counted[0] - before
        done.set()
        thread.join()
        self.assertGreater(made, 3000 / 32)  # a held lock would leave it a turn per batch at most

    def test_ctrl_c_ends_the_work(self):
        timer = threading.Timer(0.2, _thread.interrupt_main)
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            self.result.evaluate(self.data * 20, progress=False)
        timer.join()
        self.result.evaluate([(IMAGES[:32], LABELS[:32])], progress=False)


if __name__ == "__main__":
    unittest.main()
