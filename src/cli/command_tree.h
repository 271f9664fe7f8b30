// The commands and their options as plain data, read from the parser: --help, the manual page and the completions have
// one source.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace quench {

struct OptionFacts {
  std::vector<std::string> names;  // "-o", "--output"; of a positional argument its only name
  std::string value;               // "FILE"; "" if it takes none
  std::string summary;
  bool positional = false, required = false, repeatable = false;

  // What can stand for the value, for completions: "files", "folders", "data" (a data spec), "commands", "list NAME"
  // (what `quench list NAME` lists), "words A B C", or "text": anything. The summary says it: an option that names
  // 'quench list NAME' takes one of these, and one whose summary, or its end after a colon, reads "a, b or c" one of
  // those.
  std::string kind;
};

struct CommandFacts {
  std::vector<std::string> names;  // the name, then the aliases
  std::string summary;
  std::vector<OptionFacts> options;
  bool has(const OptionFacts& option) const;  // one of the same names and meaning
};

CommandFacts facts_of(const CLI::App& command);              // without its sub-commands
std::vector<CommandFacts> commands_of(const CLI::App& app);  // in the order of --help

}  // namespace quench
