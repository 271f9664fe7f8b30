"""What a page says that a command prints, and what it printed."""
import re

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"


class Differs(Exception):
    pass


def _pattern(line, numbers_vary):
    """A line of a page: `...` in it stands for anything; with numbers_vary a number for any number and spaces for spaces."""
    parts = []
    for part in re.split(r"(\.\.\.)", line.rstrip()):
        if part == "...":
            parts.append(".*")
        elif numbers_vary:
            tokens = re.split(rf"({NUMBER}|\s+)", part)
            parts += [r"\s+" if t.isspace() else NUMBER if re.fullmatch(NUMBER, t) else re.escape(t) for t in tokens]
        else:
            parts.append(re.escape(part))
    return re.compile("".join(parts))


def excerpt(expected, said, numbers_vary, has_comments=False):
    """Each expected line is among the printed ones, in this order; `# ...` at its end explains it."""
    printed = iter(said.splitlines())
    if has_comments:
        expected = [re.sub(r"\s+# .*", "", line) for line in expected]
    for line in filter(str.strip, expected):
        pattern = _pattern(line, numbers_vary)
        if not any(pattern.fullmatch(one.rstrip()) for one in printed):
            raise Differs(f"nothing (more) that was printed matches\n{line}\nIt was:\n{said}")


def whole(expected, said, numbers_vary):
    """The expected lines are all that was printed; a line `...` stands for any number of lines."""
    pattern = ""
    for line in expected:
        pattern += r"(?:.*\n)*?" if line.strip() == "..." else _pattern(line, numbers_vary).pattern + r"[ \t]*\n"
    if said and not said.endswith("\n"):
        said += "\n"
    if not re.fullmatch(pattern, said):
        raise Differs("expected\n" + "\n".join(expected) + f"\nprinted\n{said}")


def dialogue(lines):
    """[(command, lines of output)] of a console block; a command goes on after a backslash."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (found[-1][0] + "\n" + line, [])
        elif found:
            found[-1][1].append(line)
        else:
            raise Differs("a console block begins with '$ COMMAND'")
    return found
