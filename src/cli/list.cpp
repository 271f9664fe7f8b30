// quench list: every name that can be asked for, with one line on each. docs/reference.md is its output.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/command.h"
#include "config/schema.h"
#include "quench/data.h"
#include "quench/deploy.h"
#include "quench/fake_quant.h"
#include "quench/metric.h"
#include "quench/observer.h"
#include "quench/op.h"
#include "quench/pass.h"
#include "quench/platform.h"
#include "quench/plugin.h"
#include "quench/ptq_method.h"
#include "quench/targets.h"
#include "quench/train_loop.h"
#include "quench/verify.h"
#include "quench/zoo.h"

namespace quench {
namespace {

struct Section {
  std::string key, title;
  std::map<std::string, std::string> items;  // name -> summary
};

template <typename Items>
Section section(const std::string& key, const std::string& title) {
  Section result{key, title, {}};
  for (const auto& [name, entry] : Items::instance().entries()) {
    const std::string plugin = plugin_of(entry.file);
    result.items[name] = entry.summary + (plugin.empty() ? "" : " [" + plugin + "]");
  }
  return result;
}

Section zoo_section() {
  Section result = section<ZooRegistry>("zoo", "Zoo models");
  for (auto& [name, summary] : result.items)
    if (ZooRegistry::instance().get(name).quantizable) summary += "; has a quantizable form";
  return result;
}

Section metric_section() {
  Section result = section<MetricRegistry>("metrics", "Metrics");
  for (auto& [name, summary] : result.items)
    summary += MetricRegistry::instance().get(name).better == MetricBetter::kHigher ? "; higher is better"
                                                                                    : "; lower is better";
  return result;
}

template <typename Item>
void add_options(Section& section) {
  for (const auto& [name, entry] : Registry<Item>::instance().entries())
    for (const OptionInfo& option : entry.item.options) {
      const std::string fallback = std::visit([](const auto& value) { return concat(value); }, option.fallback);
      section.items[concat(name, ".", option.name)] =
          option.summary + (fallback.empty() ? "" : concat(" (default: ", fallback, ")"));
    }
}

Section options_section() {
  Section result{"options", "Options of observers, fake quantizers, platforms, loops, exporters and metrics", {}};
  add_options<ObserverEntry>(result);
  add_options<FakeQuantEntry>(result);
  add_options<Platform>(result);
  add_options<TrainLoopEntry>(result);
  add_options<Exporter>(result);
  add_options<MetricEntry>(result);
  return result;
}

std::vector<Section> all_sections() {
  return {section<OpRegistry>("ops", "Operators"),
          section<PassRegistry>("passes", "Passes"),
          section<ObserverRegistry>("observers", "Observers"),
          section<FakeQuantRegistry>("fake-quantizers", "Fake quantizers"),
          section<PlatformRegistry>("platforms", "Platforms"),
          section<PtqMethodRegistry>("methods", "Reconstruction methods"),
          section<TrainLoopRegistry>("loops", "Training loops"),
          section<ExporterRegistry>("exporters", "Exporters"),
          section<RuntimeRegistry>("runtimes", "Runtimes"),
          section<DatasetRegistry>("data", "Kinds of data"),
          section<TargetRegistry>("targets", "Kinds of targets"),
          metric_section(),
          zoo_section(),
          {"keys", "Keys of a job file", config_keys()},
          options_section()};
}

std::vector<Section> chosen_sections(const std::string& key) {
  std::vector<Section> sections = all_sections();
  if (key.empty()) return sections;
  std::vector<std::string> keys;
  for (Section& one : sections) {
    if (one.key == key) return {std::move(one)};
    keys.push_back(one.key);
  }
  fail_unknown_name("list", key, keys);
}

void print_text(const std::vector<Section>& sections) {
  constexpr std::size_t kColumn = 34;
  for (const Section& one : sections) {
    std::string text = concat(one.title, " (", one.items.size(), ")\n");
    for (const auto& [name, summary] : one.items) {
      const std::size_t gap = name.size() + 2 < kColumn ? kColumn - name.size() : 2;
      text += concat("  ", name, std::string(gap, ' '), summary, "\n");
    }
    std::cout << text << "\n";
  }
}

void print_names(const std::vector<Section>& sections) {
  for (const Section& one : sections)
    for (const auto& [name, summary] : one.items) std::cout << name << "\n";
}

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

void print_markdown(const std::vector<Section>& sections) {
  std::cout << "# Reference\n\nMade by `quench list --markdown`; a test compares the two.\n";
  for (const Section& one : sections) {
    std::cout << "\n## " << one.title << "\n\n| name | what it is |\n|---|---|\n";
    for (const auto& [name, summary] : one.items) std::cout << "| `" << name << "` | " << cell(summary) << " |\n";
  }
}

Json json_of(const std::vector<Section>& sections) {
  Json object = Json::object();
  for (const Section& one : sections) object[one.key] = one.items;
  return object;
}

}  // namespace

void add_list(CLI::App& app, CommandLine& command_line) {
  struct Options {
    std::string key;
    bool markdown = false, plain = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App& command = add_command(app, command_line, "list",
                                  "operators, passes, observers, fake quantizers, platforms, methods, exporters, "
                                  "runtimes, kinds of data, metrics, zoo models, keys of job files");
  command.add_option("what", options->key,
                     "ops, passes, observers, fake-quantizers, platforms, methods, loops, exporters, runtimes, data, "
                     "targets, metrics, zoo, keys or options (default: all)");
  command.add_flag("--markdown", options->markdown, "as the tables of docs/reference.md");
  command.add_flag("--plain", options->plain, "only the names, one per line");
  command.callback([&command_line, options] {
    command_line.action = [&command_line, options] {
      const std::vector<Section> sections = chosen_sections(options->key);
      if (command_line.common.json)
        print_json(json_of(sections));
      else if (options->markdown)
        print_markdown(sections);
      else if (options->plain)
        print_names(sections);
      else
        print_text(sections);
    };
  });
}

}  // namespace quench
