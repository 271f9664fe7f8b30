#!/usr/bin/env python3
"""The runner of pages fails where a page is wrong: each case is a page and what must be said about it."""
import pathlib, sys, tempfile, unittest, unittest.mock

import commands, compare, pages, python_session, run_pages, snippets

FENCE = "```"


def page(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text(text.replace("~~~", FENCE))
        return pages.blocks_of(path, "page.md")


class Pages(unittest.TestCase):
    def refuses(self, text, message):
        with self.assertRaisesRegex(pages.PageError, message):
            page(text)

    def test_reads_blocks_with_what_stands_in_front_of_them(self):
        block, = page("# A\n\n<!-- setup: touch x\ntouch y -->\n<!-- numbers: vary -->\n~~~sh\nls\n~~~\n")
        self.assertEqual((block.language, block.text, block.line), ("sh", "ls\n", 6))
        self.assertEqual(block.says, {"setup": "touch x\ntouch y", "numbers": "vary"})

    def test_a_comment_about_the_page_holds_for_blocks_that_say_nothing(self):
        one, two = page("<!-- page checked: long -->\n\n~~~sh\na\n~~~\n\n<!-- then: b -->\n~~~sh\na\n~~~\n")
        self.assertEqual((one.says, two.says), ({"checked": "long"}, {"then": "b"}))

    def test_replaces(self):
        block, = page("<!-- replace: 20 => 2 -->\n~~~sh\nrun 20\n~~~\n")
        self.assertEqual(block.script, "run 2\n")
        block.says["replace"] = "30 => 2"
        with self.assertRaisesRegex(pages.PageError, "replaces nothing"):
            block.script

    def test_refuses_what_nothing_would_run(self):
        self.refuses("text\n\n    quench info\n", r"page.md:3: an indented block")
        self.refuses("~~~text\nquench info\n~~~\n", "commands in a text block")
        self.refuses("~~~perl\nprint 1\n~~~\n", "a block in 'perl'; known: sh")
        self.refuses("~~~\nls\n~~~\n", "a block in ''")
        self.refuses("~~~yaml\na: 1\n~~~\n", "nothing would run this yaml")
        self.refuses("<!-- skip: me -->\n", "'skip' is not one of")
        self.refuses("<!-- then: ls -->\ntext\n", "stands in front of no block")
        self.refuses("~~~sh\nls\n", "does not end")


class Python(unittest.TestCase):
    def test_only_a_missing_environment_is_no_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            tools = pathlib.Path(folder) / "tools"
            tools.mkdir()

            def outcome(venv, wheel):
                for name, script in (("python-venv", venv), ("build-wheel", wheel)):
                    (tools / name).write_text(f"#!/bin/sh\n{script}\n")
                    (tools / name).chmod(0o755)
                with unittest.mock.patch.object(run_pages, "ROOT", tools.parent):
                    return run_pages.package.__wrapped__()

            self.assertEqual(outcome("exit 1", "echo python"), "")
            self.assertEqual(outcome("exit 0", "echo python"), "python")
            with self.assertRaisesRegex(run_pages.Failure, "the Python package cannot be installed:\nno patchelf"):
                outcome("exit 0", "echo no patchelf >&2; exit 1")

    def test_blocks_share_a_session(self):
        with tempfile.TemporaryDirectory() as folder:
            session = python_session.Session(sys.executable, pathlib.Path(folder), {})
            self.addCleanup(session.end)
            self.assertEqual(session.run("a = 1\nprint(a)", 60), "1\n")
            self.assertEqual(session.run("print(a + 1)", 60), "2\n")
            with self.assertRaisesRegex(python_session.Ended, "(?s)raises:.*ZeroDivisionError"):
                session.run("a / 0", 60)
            with self.assertRaisesRegex(python_session.Ended, "takes longer than 0.1 s"):
                session.run("import time; time.sleep(1)", 0.1)

    def test_they_need_the_package_unless_they_are_files(self):
        one, two = page("~~~python\na\n~~~\n\n<!-- file: a.py -->\n~~~python\na\n~~~\n")
        self.assertEqual((one.says, two.says), ({"needs": "python-package"}, {"file": "a.py"}))


class Compare(unittest.TestCase):
    def test_whole_output(self):
        compare.whole(["a ... d", "...", "z"], "a b c d\nx\ny\nz\n", False)
        with self.assertRaisesRegex(compare.Differs, "expected"):
            compare.whole(["a"], "a\nb\n", False)
        with self.assertRaises(compare.Differs):
            compare.whole(["top-1 93.0 %"], "top-1 94.0 %\n", False)

    def test_numbers_may_vary_but_words_may_not(self):
        compare.whole(["top-1 93.0 %  (1,000 of 5)"], "top-1 4 % (2 of 3)\n", True)
        with self.assertRaises(compare.Differs):
            compare.whole(["top-1 93.0 %"], "top-5 93.0 percent\n", True)

    def test_excerpts_are_in_order(self):
        compare.excerpt(["a", "c"], "a\nb\nc\n", False)
        with self.assertRaisesRegex(compare.Differs, "matches\na"):
            compare.excerpt(["c", "a"], "a\nb\nc\n", False)
        compare.excerpt(["a: 1   # why"], "a: 1\n", False, has_comments=True)

    def test_dialogue(self):
        self.assertEqual(compare.dialogue(["$ a \\", "  b", "said", "$ c"]), [("a \\\n  b", ["said"]), ("c", [])])
        with self.assertRaisesRegex(compare.Differs, "begins with"):
            compare.dialogue(["said"])


class Story(run_pages.Story):
    def __init__(self, folder):
        self.folder, self.program, self.said, self.state = folder, folder / "program", "", folder / ".state"


class Stories(unittest.TestCase):
    def run_page(self, text):
        with tempfile.TemporaryDirectory() as folder:
            story = Story(pathlib.Path(folder))
            for block in page(text):
                run_pages.run_block(story, block, lambda runtime: False)
            return story.said

    def fails(self, text, message):
        with self.assertRaisesRegex((run_pages.Failure, compare.Differs), message):
            self.run_page(text)

    def test_variables_files_and_the_folder_live_on(self):
        said = self.run_page("<!-- file: a/f.yaml -->\n~~~yaml\nx: 1\n~~~\n\n~~~sh\nX=3; cd a\n~~~\n\n~~~sh\necho $X; cat f.yaml\n~~~\n")
        self.assertEqual(said, "3\nx: 1\n")

    def test_a_command_that_fails(self):
        self.fails("~~~sh\nfalse\necho on\n~~~\n", "exit code 1")
        self.fails("~~~sh\nno-such-program\n~~~\n", "exit code 127")
        self.fails("~~~sh\necho $UNSET\n~~~\n", "exit code 1")
        self.fails("~~~sh\nfalse | cat\n~~~\n", "exit code 1")
        self.fails("<!-- then: test -f made -->\n~~~sh\ntouch other\n~~~\n", "exit code 1")

    def test_another_output_than_the_page_says(self):
        self.run_page("~~~console\n$ echo a; false\na\n~~~\n")
        self.fails("~~~console\n$ echo a\nb\n~~~\n", "printed\na")
        self.fails("~~~sh\necho a\n~~~\n\n<!-- output: exact -->\n~~~text\nb\n~~~\n", "matches\nb")

    def test_a_snippet_that_is_missing(self):
        self.fails("~~~cpp\nf();\n~~~\n", "exit code 127")

    def test_blocks_that_are_not_run_say_so(self):
        blocks = page("<!-- not run: needs a GPU -->\n~~~sh\nfalse\n~~~\n\n<!-- needs: tvm -->\n~~~sh\nfalse\n~~~\n")
        self.assertEqual([run_pages.run_block(None, block, lambda runtime: False) for block in blocks], ["not run", "absent"])


class Commands(unittest.TestCase):
    def looks_up(self, line, message):
        with self.assertRaisesRegex(commands.Unknown, message):
            commands.check_line(line)

    def test_programs_and_options(self):
        commands.check_line("bench/fuzz onnx --seconds 3600; tools/figures   # --no-such")
        self.looks_up("bench/no_such_bench", "there is no bench/no_such_bench")
        self.looks_up("X=1 tools/figures --no-such", "tools/figures has no option --no-such")
        self.looks_up("build/release/no_such_program 2", "nothing builds")

    def test_options_of_quench(self):
        commands._help.cache_clear()
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "quench"
            program.write_text('#!/bin/sh\n[ "$1" = eval ] && echo "  --data SPEC  -o FILE"\n')
            program.chmod(0o755)
            commands.use(program)
            commands.check_line('quench eval m.onnx --data "images:val" -o x')
            self.looks_up("quench eval m.onnx --dta x", "'quench eval' has no option --dta")
            self.looks_up("quench evaluate m.onnx", "there is no command 'quench evaluate'")


class Snippets(unittest.TestCase):
    def test_a_function_with_the_page_s_line(self):
        blocks = page("<!-- before: int a = 1; -->\n~~~cpp\n#include <map>\nint b = a;\n~~~\n")
        source = snippets.source_of(blocks, "without")
        self.assertIn("#include <map>\n", source.split("void")[0])
        self.assertIn('int a = 1;\n#line 3 "page.md"\n\nint b = a;', source)
        self.assertIn('add_snippet("page.md:2"', source)

    def test_a_whole_file_stays_whole(self):
        source = snippets.source_of(page("~~~cpp\nnamespace quench {\nint f();\n}\n~~~\n"), "without")
        self.assertIn("namespace quench {\nint f();\n}\n", source)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    unittest.main()
