#include "cli/completion.h"
#include "core/joined.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr char kHead[] = R"bash(# bash completion for quench, made by `quench completion bash`.
# shellcheck shell=bash

)bash";

// bash splits words at '=' and ':' too: "--engine=integer" and "images:photos" are three words each.
constexpr char kFunctions[] = R"bash(
# What `quench list $1` lists, with the plug-ins of the line.
_quench_names() {
  local i plugins=()
  for ((i = 1; i < COMP_CWORD - 1; ++i)); do
    [[ ${COMP_WORDS[i]} != --plugin ]] || plugins+=(--plugin "${COMP_WORDS[i + 1]}")
  done
  "${COMP_WORDS[0]/#\~/$HOME}" list "$1" --plain "${plugins[@]}" 2> /dev/null
}

# Fills COMPREPLY with what can stand for a value of the kind $1 that begins with $2.
_quench_complete() {
  local words=
  case $1 in
    files) mapfile -t COMPREPLY < <(compgen -f -- "$2"); compopt -o filenames 2> /dev/null; return ;;
    folders) mapfile -t COMPREPLY < <(compgen -d -- "$2"); compopt -o filenames 2> /dev/null; return ;;
    data) words=$(_quench_names data | sed 's/$/:/'); compopt -o nospace 2> /dev/null ;;
    list\ *) words=$(_quench_names "${1#list }") ;;
    words\ *) words=${1#words } ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
}

_quench() {
  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} command='' kind='' i
  COMPREPLY=()
  if [[ $word == : || $option == : ]]; then
    _quench_complete files "${word#:}"  # the path of a data spec
    return
  fi
  [[ $option == = ]] && option=${COMP_WORDS[COMP_CWORD-2]}
  [[ $word == = ]] && word=''
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
    [[ -z $(_quench_value '' "${COMP_WORDS[i]}") ]] || ((++i))
  done
  [[ $option == -* ]] && kind=$(_quench_value "$command" "$option")
  if [[ -n $kind ]]; then
    _quench_complete "$kind" "$word"
  elif [[ $word == -* ]]; then
    _quench_complete "words $(_quench_options "$command")" "$word"
  else
    _quench_complete "$(_quench_value "$command" '')" "$word"
  fi
}

complete -F _quench quench
)bash";

// Patterns of a `case`: the command's names, each before the option's.
std::string patterns(const CommandFacts& command, const OptionFacts& option) {
  std::vector<std::string> all;
  for (const std::string& name : command.names)
    for (const std::string& own : option.positional ? std::vector<std::string>{""} : option.names)
      all.push_back(concat("'", name, " ", own, "'"));
  return joined(all, " | ");
}

std::string answer(const std::string& kind) {
  return kind == "commands" ? "_quench_value '' ''" : concat("echo '", kind, "'");
}

void add_values(std::string& text, const CommandFacts& command) {
  bool has_arguments = false;  // all positional arguments are completed as the first one is
  for (const OptionFacts& option : command.options) {
    if (option.kind.empty() || (option.positional && has_arguments)) continue;
    has_arguments = has_arguments || option.positional;
    text += concat("    ", patterns(command, option), ") ", answer(option.kind), " ;;\n");
  }
}

std::string options_line(const CommandFacts& command) {
  std::vector<std::string> names;
  for (const OptionFacts& option : command.options)
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  std::vector<std::string> quoted;
  for (const std::string& name : command.names) quoted.push_back("'" + name + "'");
  return concat("    ", joined(quoted, " | "), ") echo '", joined(names, " "), "' ;;\n");
}

}  // namespace

std::string bash_completion(const CommandFacts& program, const std::vector<CommandFacts>& commands) {
  CommandFacts before = program;  // before there is a command
  before.names = {""};
  std::vector<std::string> names;
  for (const CommandFacts& command : commands) names.insert(names.end(), command.names.begin(), command.names.end());

  std::string options = "_quench_options() {  # of the command $1\n  case $1 in\n" + options_line(before);
  std::string values =
      "_quench_value() {  # the kind of value of the command $1 and the option $2; '': what is no option\n"
      "  case \"$1 $2\" in\n";
  add_values(values, before);
  values += concat("    ' ') echo 'words ", joined(names, " "), "' ;;\n");
  for (const CommandFacts& command : commands) {
    options += options_line(command);
    add_values(values, command);
  }
  return kHead + options + "  esac\n}\n\n" + values + "  esac\n}\n" + kFunctions;
}

}  // namespace quench
