"""C++ blocks of pages as functions of one program:  snippets.py OUT.cpp with|without PAGE...

A block becomes a function that `docs_snippets PAGE:LINE` calls; one that holds a whole source file (namespace quench)
is compiled as it is. Compiler messages name the page and the line. Blocks that use LibTorch's modules are compiled
apart (`with`), because those headers take long.
"""
import pathlib, re, sys

import pages

TORCH = re.compile(r"torch::|EagerModel|prepare_qat|quench/(eager|qat|torch|zoo_net)\.h|make_quantizable|#include <torch/")

HEADERS = {"without": "", "with": """#include <torch/optim/sgd.h>
#include "quench/eager.h"
#include "quench/qat.h"
#include "quench/zoo_net.h"
"""}


def is_compiled(block):
    return block.language == "cpp" and not {"file", "not run"} & set(block.says)


def _line(block):
    return f'#line {block.line + 1} "{block.page}"\n'


def _function(block, number):
    code = [line if not line.startswith("#include") else "" for line in block.lines]  # the line numbers stay
    return (f"void snippet_{number}() {{\n{block.says.get('before', '')}\n{_line(block)}" + "\n".join(code)
            + f"\n{block.says.get('check', '')}\n}}\n")


def _whole_file(block, number):
    code = block.text if "namespace quench {" in block.text else (
        "namespace quench {\nnamespace {\n" + block.says.get("before", "") + "\n}\n" + _line(block) + block.text + "}\n")
    return f"{_line(block)}{code}\nnamespace {{ void snippet_{number}() {{ {block.says.get('check', '')} }} }}\n"


def source_of(blocks, which):
    includes = sorted({line for block in blocks for line in block.lines if line.startswith("#include")})
    functions, table = [], []
    for number, block in enumerate(blocks):
        whole = re.search(r"^(namespace quench \{|QUENCH_REGISTER_)", block.text, re.MULTILINE)
        functions.append(_whole_file(block, number) if whole else
                         "namespace {\n" + _function(block, number) + "}  // namespace\n")
        table.append(f'const int registered_{number} = add_snippet("{block.where}", snippet_{number});')
    return ('#include "docs/snippets.h"\n' + HEADERS[which] + "\n".join(includes) + "\n" + "\n".join(functions)
            + '#line 1 "the table of snippets"\nnamespace {\n' + "\n".join(table) + "\n}\n")


def main():
    out, which, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    root = pathlib.Path(__file__).resolve().parents[2]
    blocks = [block for name in names for block in pages.blocks_of(root / name, name) if is_compiled(block)]
    wanted = [block for block in blocks
              if bool(TORCH.search(block.text + block.says.get("before", ""))) == (which == "with")]
    text = source_of(wanted, which)
    path = pathlib.Path(out)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    try:
        main()
    except pages.PageError as error:
        sys.exit(str(error))
