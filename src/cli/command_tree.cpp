#include "cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

namespace quench {
namespace {

std::string up_to(const std::string& text, const std::string& mark) { return text.substr(0, text.find(mark)); }

// The pieces of "a, b or c".
std::vector<std::string> pieces_of(std::string text) {
  std::vector<std::string> pieces;
  if (const std::size_t last = text.rfind(" or "); last != std::string::npos) text.replace(last, 4, ", ");
  for (std::size_t at = 0; at != std::string::npos;) {
    const std::size_t comma = text.find(", ", at);
    pieces.push_back(text.substr(at, comma - at));
    at = comma == std::string::npos ? comma : comma + 2;
  }
  return pieces;
}

// " a b c" if the summary is such a list. "cuda:N" stands for many and is left out.
std::string words_in(const std::string& summary, bool positional) {
  std::string text = up_to(summary, " (");
  if (const std::size_t colon = text.rfind(": "); colon != std::string::npos && !positional)
    text = text.substr(colon + 2);
  const std::vector<std::string> pieces = pieces_of(text);
  std::string words;
  for (const std::string& piece : pieces) {
    if (piece.empty() || piece.find(' ') != std::string::npos) return "";
    if (std::none_of(piece.begin(), piece.end(), [](unsigned char c) { return std::isupper(c); })) words += " " + piece;
  }
  return pieces.size() > 1 ? words : "";
}

std::string kind_of(const CLI::Option& option, const OptionFacts& facts) {
  const std::string type = option.get_type_name();  // "NAME:{float,integer}": what is checked follows
  if (const std::size_t brace = type.find(":{"); brace != std::string::npos) {
    std::string words = type.substr(brace + 2, type.find('}') - brace - 2);
    std::replace(words.begin(), words.end(), ',', ' ');
    return "words " + words;
  }
  const std::string mark = "'quench list ";
  if (const std::size_t at = facts.summary.find(mark); at != std::string::npos && facts.value == "NAME")
    return "list " + up_to(facts.summary.substr(at + mark.size()), "'");
  if (facts.value == "SPEC") return "data";
  if (facts.value == "command" && facts.positional) return "commands";
  if (facts.value == "FOLDER" || facts.value == "DIR") return "folders";
  if (facts.value.starts_with("FILE") || facts.value == "A B") return "files";
  const std::string words = words_in(facts.summary, facts.positional);
  if (!words.empty()) return "words" + words;
  return facts.positional ? "files" : "text";
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  facts.summary = option.get_description();
  facts.required = option.get_required();
  facts.positional = !option.nonpositional();
  if (facts.positional) facts.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (option.get_items_expected_max() == 0) return facts;
  facts.repeatable = option.get_expected_max() > 1;
  facts.value = facts.positional ? option.get_name(true) : up_to(option.get_type_name(), ":");
  facts.kind = kind_of(option, facts);
  return facts;
}

}  // namespace

bool CommandFacts::has(const OptionFacts& option) const {
  return std::any_of(options.begin(), options.end(), [&](const OptionFacts& own) {
    return own.names == option.names && own.summary == option.summary;
  });
}

CommandFacts facts_of(const CLI::App& command) {
  CommandFacts facts;
  facts.names.push_back(command.get_name());
  facts.names.insert(facts.names.end(), command.get_aliases().begin(), command.get_aliases().end());
  facts.summary = command.get_description();
  for (const CLI::Option* option : command.get_options())
    if (!option->get_group().empty()) facts.options.push_back(facts_of(*option));  // "" hides an option
  return facts;
}

std::vector<CommandFacts> commands_of(const CLI::App& app) {
  std::vector<CommandFacts> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(facts_of(*command));
  return commands;
}

}  // namespace quench
