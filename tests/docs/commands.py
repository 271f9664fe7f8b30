"""Whether the programs and options exist that a page names without running them."""
import functools, pathlib, re, shlex, subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
_program = None


class Unknown(Exception):
    pass


def use(program):
    global _program
    _program = program


@functools.cache
def _help(command):
    done = subprocess.run([_program, command, "--help"], capture_output=True, text=True)
    if done.returncode:
        raise Unknown(f"there is no command 'quench {command}'")
    return set(re.findall(r"--?[a-zA-Z][\w-]*", done.stdout))


def _options(words):
    return [re.match(r"-+[\w-]+", word).group(0) for word in words if re.match(r"--?[a-zA-Z][\w-]*", word)]


def check_quench(words):
    """`quench COMMAND --option ...`"""
    words = [word for word in words if word not in ("--json", "--quiet", "--threads", "--version", "--help")]
    if len(words) < 2 or not re.fullmatch(r"[a-z]+", words[1]):
        return
    known = _help(words[1])
    for option in _options(words[2:]):
        if option not in known:
            raise Unknown(f"'quench {words[1]}' has no option {option}")


def check_script(words):
    """A program of the repository, or one that is built from it; options must occur in its source."""
    path = ROOT / words[0]
    built = re.fullmatch(r"build/[\w-]+/(\w+)", words[0])
    if built:
        if not any(re.search(rf"\b{name}\b", _cmake_lists()) or name in _sources() for name in _names(built.group(1))):
            raise Unknown(f"nothing builds {words[0]}")
        return
    if not path.is_file():
        raise Unknown(f"there is no {words[0]}")
    source = path.read_text(errors="ignore")
    for option in _options(words[1:]):
        if option not in source:
            raise Unknown(f"{words[0]} has no option {option}")


def _names(target):
    return [target, target.removesuffix("_test"), target.removeprefix("example_"), target.removeprefix("bench_")]


@functools.cache
def _cmake_lists():
    return "\n".join(p.read_text() for p in [ROOT / "CMakeLists.txt", *ROOT.glob("*/CMakeLists.txt")])


@functools.cache
def _sources():
    return {p.stem for folder in ("examples", "bench") for p in (ROOT / folder).glob("*.cpp")}


def check_line(line):
    line = re.split(r"\s# |\s{2,}#", line)[0].strip()
    for part in re.split(r";\s*|&&|\|", line):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            words = part.split()
        while words and re.match(r"[A-Z_]+=", words[0]):
            words = words[1:]
        if words and words[0] == "quench":
            check_quench(words)
        elif words and re.match(r"(bench|examples|tools|build|tests)/", words[0]):
            check_script([word for word in words if word not in ("[", "]")])


def check(block):
    if block.language == "python":
        compile(block.text, block.where, "exec")
        return
    for line in block.text.replace("\\\n", " ").splitlines():
        check_line(line)


def check_spans(path, page):
    """Commands in running text: `quench list loops`. Returns what is wrong with them."""
    wrong, fenced = [], False
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        fenced ^= line.startswith("```")
        for span in [] if fenced else re.findall(r"`(quench [a-z]+[^`]*)`", line):
            try:
                check_quench(span.replace("\\|", "|").split())
            except Unknown as error:
                wrong.append(f"{page}:{number}: {error}")
    return wrong
