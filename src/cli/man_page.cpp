#include "cli/man_page.h"

#include "core/joined.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr char kIntroduction[] = R"man(.SH DESCRIPTION
.B quench
takes a float network (ONNX, torch.export or TorchScript) to the files that a quantized runtime reads, and checks these
in the runtime itself.
A data set is a spec,
.IR KIND : PATH ? OPTION = VALUE &...
.B quench list
prints every name that can be asked for.
)man";

constexpr char kEnd[] = R"man(.SH EXIT STATUS
.TP
0
done
.TP
1
an error that the user can mend: a wrong option, a missing or broken file, data that does not fit the model
.TP
2
an internal error: a defect in quench
.TP
3
a check failed:
.B verify
or
.B compare
found differences beyond the bounds
.TP
130, 143
interrupted (Ctrl-C, SIGTERM); partial files are removed, older ones untouched
.SH ENVIRONMENT
.TP
.B NO_COLOR
if set and not empty: no colours, unless
.B \-\-color always
asks for them
.TP
.B QUENCH_PYTHON
the Python that runs the scripts of runtimes
.TP
.B QUENCH_VENV
the environment that
.B quench-runtimes
makes and
.B verify
looks for (default: quench/venv in
.BR XDG_DATA_HOME ,
which is ~/.local/share if it is not set)
.TP
.BR QUENCH_NODE ", " QUENCH_NODE_MODULES
the Node and the folder of packages for ONNX Runtime's WebAssembly build
.TP
.B QUENCH_RUNNERS
the folder of the scripts (default: the installed ones)
.SH EXAMPLES
.EX
quench inspect model.onnx
quench quantize model.onnx \-\-platform onnxruntime \-\-calib "images:photos?norm=imagenet" \-o out
quench\-runtimes onnxruntime
quench verify out/deploy \-\-data "images:photos?norm=imagenet"
.EE
)man";

// Text of a line: no character of it is a request or an escape.
std::string plain(const std::string& text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else
      result += c == '-' ? std::string("\\-") : c == '\'' ? std::string("\\(aq") : std::string(1, c);
  }
  return result;
}

std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + plain(text) + "\\fR"; }

std::string entry(const OptionFacts& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(option.positional ? italic(name) : bold(name));
  std::string head = joined(names, ", ");
  if (!option.value.empty() && !option.positional) head += " " + italic(option.value);
  return concat(".TP\n", head, "\n", plain(option.summary), option.required && !option.positional ? " (required)" : "",
                "\n");
}

std::string usage(const CommandFacts& command) {
  std::string text = bold("quench " + command.names[0]) + " [" + italic("options") + "]";
  for (const OptionFacts& option : command.options)
    if (option.positional) text += option.required ? " " + italic(option.value) : " [" + italic(option.value) + "]";
  return text;
}

std::string section(const CommandFacts& command, const CommandFacts& program) {
  std::string text = concat(".SS ", bold(command.names[0]), "\n", usage(command), "\n.PP\n", plain(command.summary));
  for (std::size_t i = 1; i < command.names.size(); ++i)
    text += concat(i == 1 ? "\n(also: " : ", ", bold(command.names[i]));
  text += command.names.size() > 1 ? ")\n" : "\n";
  for (const OptionFacts& option : command.options)
    if (!program.has(option)) text += entry(option);
  return text;
}

}  // namespace

std::string man_page(const CommandFacts& program, const std::vector<CommandFacts>& commands) {
  const std::string purpose = program.summary.substr(program.summary.find(": ") + 2);
  std::string text = concat(".\\\" Made by `quench help --man`.\n.TH QUENCH 1 \"\" \"quench ", QUENCH_VERSION,
                            "\" \"User Commands\"\n");
  text += concat(".SH NAME\nquench \\- ", plain(purpose), "\n.SH SYNOPSIS\n", bold("quench"), " ", italic("command"),
                 " [", italic("options"), "]\n", kIntroduction, ".SH OPTIONS\nOf every command:\n");
  for (const OptionFacts& option : program.options) text += entry(option);
  text += ".SH COMMANDS\n";
  for (const CommandFacts& command : commands) text += section(command, program);
  return text + kEnd;
}

}  // namespace quench
