#include "cli/completion.h"
#include "core/joined.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr char kFunctions[] = R"zsh(#compdef quench
# zsh completion for quench, made by `quench completion zsh`.

# Sets `names` to what `quench list $1` lists, with the plug-ins of the command.
_quench_ask() {
  local i
  local -a plugins
  for ((i = 1; i < CURRENT - 1; ++i)); do
    [[ $words[i] == --plugin ]] && plugins+=(--plugin ${(Q)~words[i+1]})
  done
  names=(${(f)"$(${(Q)~program} list $1 --plain $plugins 2> /dev/null)"})
}

_quench_names() {
  local -a names
  _quench_ask $1
  compadd -a names
}

_quench_data() {
  local -a names
  if compset -P '*:'; then
    _files
  else
    _quench_ask data
    compadd -S : -a names
  fi
}

)zsh";

// Inside single quotes; `special` characters get a backslash for _arguments and _describe.
std::string quoted(const std::string& text, const std::string& special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) result += '\\';
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return result;
}

std::string action(const std::string& kind) {
  if (kind == "files") return "_files";
  if (kind == "folders") return "_files -/";
  if (kind == "commands") return "_quench_commands";
  if (kind == "data") return "_quench_data";
  if (kind.starts_with("list ")) return "_quench_names " + kind.substr(5);
  if (kind.starts_with("words ")) return "(" + quoted(kind.substr(6), ":") + ")";
  return " ";  // anything
}

// The specs of _arguments, one for each name of an option.
void add_specs(std::string& text, const OptionFacts& option) {
  const std::string value = option.kind.empty() ? "" : concat(":", quoted(option.value, ":"), ":", action(option.kind));
  if (option.positional) {
    text += concat(" \\\n        '", option.required ? "" : ":", value, "'");
    return;
  }
  const std::string others = option.repeatable ? "*" : concat("(", joined(option.names, " "), ")");
  for (const std::string& name : option.names) {
    const char* const equals = value.empty() ? "" : name.starts_with("--") ? "=" : "+";
    text += concat(" \\\n        '", others, name, equals, "[", quoted(option.summary, "[]:\\"), "]", value, "'");
  }
}

std::string all_specs(const CommandFacts& command) {
  std::string text;
  for (const OptionFacts& option : command.options) add_specs(text, option);
  return text;
}

}  // namespace

std::string zsh_completion(const CommandFacts& program, const std::vector<CommandFacts>& commands) {
  std::string names = "_quench_commands() {\n  local -a commands=(\n";
  std::string cases;
  for (const CommandFacts& command : commands) {
    for (const std::string& name : command.names)
      names += concat("    '", name, ":", quoted(command.summary, ":\\"), "'\n");
    cases += concat("    ", joined(command.names, " | "), ")\n      _arguments -s", all_specs(command), " ;;\n");
  }
  return concat(kFunctions, names, "  )\n  _describe command commands\n}\n\n",
                "_quench() {\n  local program=$words[1] curcontext=$curcontext state line\n  _arguments -C -s",
                all_specs(program), " \\\n        '1: :_quench_commands' '*:: :->command' && return\n",
                "  [[ $state == command ]] || return 1\n  case $words[1] in\n", cases, "  esac\n}\n\n",
                "if [[ $funcstack[1] == _quench ]]; then _quench \"$@\"; else compdef _quench quench; fi\n");
}

}  // namespace quench
