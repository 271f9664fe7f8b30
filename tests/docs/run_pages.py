#!/usr/bin/env python3
"""Runs the code blocks of pages, page by page, each page in a folder of its own:

    run_pages.py [--build DIR] [--snippets PROGRAM] [PAGE...]        (default: README.md and docs/)

pages.py says what a page can say about its blocks. In the folder lie links to the repository's examples/, tools/, bench/
and build/, and the small models and data of fixtures.py. Prints the share of blocks that were run; exit code 1 if one
fails or nothing accounts for it.
"""
import argparse, collections, functools, os, pathlib, subprocess, sys, tempfile, time

import commands, compare, fixtures, pages, python_session, snippets

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 300  # seconds a block may take
BUILD = ROOT / "build/release"  # or --build


class Failure(Exception):
    pass


class Story:
    """One page: its folder, and what its blocks leave behind (variables, the current folder, files, output)."""

    def __init__(self, folder, build, program, keep):
        self.folder, self.program, self.said, self.session = folder, program, "", None
        self.state = folder / ".state"
        fixtures.make(folder, ROOT, build, program, keep)

    def shell(self, script, fails=False):
        """Runs it, with the variables and in the folder where the last one ended; returns what it printed."""
        wrapped = (f"[ -f {self.state} ] && . {self.state}; set -a; set -{'' if fails else 'e'}uo pipefail\n{script}\n"
                   f"{{ export -p; printf 'cd %q\\n' \"$PWD\"; }} > {self.state}\n")
        try:
            done = subprocess.run(["bash", "-c", wrapped], cwd=self.folder, env=self.environment(), text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            raise Failure(f"takes longer than {LIMIT} s")
        if done.returncode and not fails:
            raise Failure(f"ends with exit code {done.returncode}:\n{done.stdout}")
        return done.stdout

    def environment(self):
        return {**os.environ, "PATH": f"{self.folder / '.bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1",
                "PYTHONPATH": "", "HOME": str(self.folder), "TMPDIR": str(self.folder)}

    def run(self, block):
        says = block.says
        if "setup" in says:
            self.shell(says["setup"])
        if "file" in says:
            (self.folder / says["file"]).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / says["file"]).write_text(block.text)
        elif "output" in says:
            compare.excerpt(block.lines, self.said, "numbers" in says, block.language == "yaml")
        else:
            getattr(self, "run_" + block.language)(block)
        if "then" in says:
            self.shell(says["then"])

    def run_sh(self, block):
        self.said = self.shell(block.says.get("instead", block.script))

    def run_console(self, block):
        for command, expected in compare.dialogue(block.lines):
            self.said = self.shell(command, fails=True)
            compare.whole(expected, self.said, "numbers" in block.says)

    def run_cpp(self, block):
        self.said = self.shell(f"{self.program} {block.where}")

    def run_python(self, block):
        self.session = self.session or python_session.Session(package(), self.folder, self.environment())
        try:
            self.said = self.session.run(block.script, LIMIT)
        except python_session.Ended as error:
            raise Failure(str(error))

    def end(self):
        if self.session:
            self.session.end()


@functools.cache
def package():
    """The python that the Python package is installed for; "" if there is no environment to install it into."""
    if subprocess.run([ROOT / "tools/python-venv"], capture_output=True).returncode:
        return ""
    done = subprocess.run([ROOT / "tools/build-wheel", "--no-build", "--install", "--build", BUILD], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"the Python package cannot be installed:\n{done.stderr}")
    return done.stdout.strip()


def run_block(story, block, has):
    """What became of it: run, checked, compiled, not run, absent (a runtime that is not here)."""
    if "not run" in block.says:
        return "not run"
    if "checked" in block.says:
        commands.check(block)
        return "checked"
    if "compiled" in block.says:
        return "compiled"
    if block.says.get("needs") and not has(block.says["needs"]):
        return "absent"
    story.run(block)
    return "run"


def run_page(name, options, has, counts, notes):
    blocks = pages.blocks_of(ROOT / name, name)
    failed = commands.check_spans(ROOT / name, name)
    with tempfile.TemporaryDirectory() as folder:
        story = None
        for block in blocks:
            if not block.is_code:
                counts["text"] += 1
                continue
            story = story or Story(pathlib.Path(folder).resolve(), options.build, options.snippets, options.keep)
            begin = time.time()
            try:
                outcome = run_block(story, block, has)
            except (Failure, compare.Differs, commands.Unknown) as error:
                outcome, failed = "failed", failed + [f"{block.where}: {error}"]
            counts[outcome] += 1
            if outcome in ("checked", "compiled", "not run", "absent"):
                notes[outcome, block.says.get(outcome) or f"without {block.says['needs']}"].append(block.where)
            if options.verbose:
                print(f"{block.where}: {block.language}: {outcome}, {time.time() - begin:.1f} s", flush=True)
        if story:
            story.end()
    return failed


def runtimes():
    """Whether a runtime is there or can be installed; asked once for each."""
    known = {}

    def has(name):
        if name not in known:
            known[name] = bool(package()) if name == "python-package" else subprocess.run(
                [ROOT / "tools/test-venv", name], capture_output=True).returncode == 0
        return known[name]
    return has


def report(counts, notes):
    code = sum(n for what, n in counts.items() if what != "text")
    for (outcome, reason), places in notes.items():
        print(f"{outcome}: {len(places)} ({reason}): {', '.join(places)}")
    share = 100 * counts["run"] / max(1, code)
    print(f"{code} blocks of code: {counts['run']} are run ({share:.1f} %), {counts['checked']} looked up (programs, "
          f"options), {counts['compiled']} compiled, {counts['not run']} not run, "
          f"{counts['absent']} without their runtime, {counts['failed']} failed; {counts['text']} of text")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--snippets", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("pages", nargs="*")
    options = parser.parse_args()
    global BUILD
    BUILD = options.build = options.build.resolve()
    options.snippets = (options.snippets or options.build / "docs_snippets").resolve()
    commands.use(options.build / "quench")
    names = options.pages or [str(path.relative_to(ROOT)) for path in pages.all_pages(ROOT)]
    counts, notes, failed, has = collections.Counter(), collections.defaultdict(list), [], runtimes()
    with tempfile.TemporaryDirectory() as keep:
        options.keep = pathlib.Path(keep)
        for name in names:
            try:
                failed += run_page(name, options, has, counts, notes)
            except pages.PageError as error:
                failed.append(str(error))
    report(counts, notes)
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
