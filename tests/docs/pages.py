"""The code blocks of a Markdown page, with what hidden comments in front of them say about running them.

A block is fenced with ``` and names its language. Comments directly in front of it, `<!-- key: value -->`:

    setup: SHELL        runs before the block, in the page's folder
    before: C++         statements in front of a cpp block, in the same function
    check: C++          statements behind it
    instead: SHELL      runs in place of an sh block, which would install packages or build everything again
    replace: A => B     B is run where A stands in the block: fewer steps, a free port
    then: SHELL         runs after the block
    file: NAME          the block is written to this file
    needs: NAME         a runtime from tools/test-venv; without it the block cannot run here
                        (python-package, the default of python blocks: this project's own, from tools/build-wheel)
    output: exact       the block is part of what the block above printed: its lines occur there, in this order
    numbers: vary       measured numbers: any number will do where one stands
    checked: REASON     too long, or needs data that is not in the repository: only the programs and options are looked up
    compiled: REASON    a cpp block that is compiled, but cannot be run
    not run: REASON     cannot be run by a test

A comment `page checked: REASON` is `checked:` for all blocks of the page that say nothing else.

Languages: sh, console (commands after `$ `, with their output), cpp, cmake, yaml, json, python (all of a page in one
session); text is for what is not code: formulas, grammars, layouts of files.
"""
import pathlib, re

LANGUAGES = ("sh", "console", "cpp", "cmake", "yaml", "json", "python", "text")
KEYS = ("setup", "before", "check", "instead", "replace", "then", "file", "needs", "output", "numbers", "checked", "compiled", "not run",
        "page checked")
COMMAND = re.compile(r"^\s*(\$ )?(quench |cmake |make |ctest |python3? |bench/|build/|examples/|tools/|pip |export [A-Z])")


class PageError(Exception):
    pass


class Block:
    def __init__(self, page, line, language, says):
        self.page, self.line, self.language, self.says, self.lines = page, line, language, says, []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    @property
    def script(self):
        """The text as it is run."""
        text = self.text
        for pair in self.says["replace"].split("\n") if "replace" in self.says else []:
            old, arrow, new = pair.partition(" => ")
            if not arrow or old not in text:
                raise PageError(f"{self.where}: 'replace: {pair}' replaces nothing")
            text = text.replace(old, new)
        return text

    @property
    def where(self):
        return f"{self.page}:{self.line}"

    @property
    def is_code(self):
        return self.language != "text" or "output" in self.says


def _comment(page, number, text, says):
    key, colon, value = text.partition(":")
    key = key.strip()
    if key not in KEYS or not colon or not value.strip():
        raise PageError(f"{page}:{number}: '{key}' is not one of: {', '.join(k + ':' for k in KEYS)}")
    says[key] = says[key] + "\n" + value.strip() if key in says else value.strip()


def _check(block):
    if block.language not in LANGUAGES:
        raise PageError(f"{block.where}: a block in '{block.language}'; known: {', '.join(LANGUAGES)}")
    if block.language == "text" and "output" not in block.says and any(COMMAND.match(line) for line in block.lines):
        raise PageError(f"{block.where}: commands in a text block, which nothing runs; write sh or console")
    accounted = {"file", "output", "checked", "not run"} & set(block.says)
    if block.language == "python" and not accounted:
        block.says.setdefault("needs", "python-package")
    if block.language in ("yaml", "json", "cmake") and not accounted:
        raise PageError(f"{block.where}: nothing would run this {block.language}; give it 'file:' and use that file")
    return block


def blocks_of(path, name=None):
    """All blocks of a page, in order."""
    page = name or str(path)
    found, says, block, comment, indent_may_begin, for_all = [], {}, None, None, True, {}
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        if block is not None:
            if line.rstrip() == "```":
                found.append(_check(block))
                block, says = None, {}
            else:
                block.lines.append(line)
        elif comment is not None or line.startswith("<!--"):
            comment = line[4:] if comment is None else comment + "\n" + line
            if comment.rstrip().endswith("-->"):
                _comment(page, number, comment.rstrip()[:-3].strip(), says)
                comment = None
                if "page checked" in says:
                    for_all = {"checked": says.pop("page checked")}
        elif line.startswith("```"):
            block = Block(page, number, line[3:].strip(), says or dict(for_all))
        elif line.startswith("    ") and indent_may_begin and line.strip():
            raise PageError(f"{page}:{number}: an indented block, which nothing runs; fence it with ```")
        elif line.strip() and says:
            raise PageError(f"{page}:{number}: '{next(iter(says))}:' stands in front of no block")
        indent_may_begin = not line.strip()
    if block is not None or comment is not None:
        raise PageError(f"{page}: a block or comment does not end")
    return found


def all_pages(root):
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "examples").rglob("*.md"))]
