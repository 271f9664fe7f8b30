// The predictions file: a first line that names the format, then one line per item and metric; fields between tabs.
#include "quench/predictions_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/atomic_file.h"
#include "core/joined.h"
#include "measure/metrics/top_k.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr const char* kFirstLine = "# quench predictions 2";
constexpr const char* kColumns = "# index\tname\tmetric\tstatistic";
constexpr std::size_t kFields = 4, kLongestFirstLine = 64;
constexpr const char* kPredicting = "top1";  // the metric whose statistics say what was predicted
// Of labelled items apart from others.
constexpr const char* kOlderFormats[] = {"# quench predictions 1", "# quench measurements 1"};

// A name may hold anything that a file name may.
std::string escaped(const std::string& name) {
  std::string text;
  for (char c : name) {
    if (c == '\\')
      text += "\\\\";
    else if (c == '\t')
      text += "\\t";
    else if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      name += text[i];
      continue;
    }
    ++i;
    name += text[i] == 't' ? '\t' : text[i] == 'n' ? '\n' : text[i];
  }
  return name;
}

// The shortest digits that read back as the same number.
std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end.ptr};
}

template <typename Number>
Number parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  QUENCH_CHECK(error == std::errc() && end == text.data() + text.size(), "'", text, "' is not a number");
  return number;
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0;;) {
    const std::size_t tab = line.find('\t', begin);
    fields.push_back(line.substr(begin, tab - begin));
    if (tab == std::string_view::npos) return fields;
    begin = tab + 1;
  }
}

ItemStatistic parse_statistic(std::string_view text) {
  ItemStatistic statistic;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    statistic.push_back(parse<double>(text.substr(0, space)));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return statistic;
}

// All metrics of an item stand together.
void add_line(std::string_view line, EvalResult& result) {
  const std::vector<std::string_view> fields = split(line);
  QUENCH_CHECK(fields.size() == kFields, "expected ", kFields, " fields between tabs, found ", fields.size());
  const auto index = parse<std::int64_t>(fields[0]);
  if (result.indices.empty() || result.indices.back() != index) {
    result.indices.push_back(index);
    result.names.push_back(unescaped(fields[1]));
    ++result.items;
  }
  const std::string name(fields[2]);
  auto metric = std::find_if(result.metrics.begin(), result.metrics.end(),
                             [&](const MetricResult& one) { return one.name == name; });
  if (metric == result.metrics.end()) {
    result.metrics.emplace_back().name = name;
    metric = result.metrics.end() - 1;
  }
  metric->items.push_back(parse_statistic(fields[3]));
  QUENCH_CHECK(static_cast<std::int64_t>(metric->items.size()) == result.items, "the metric '", name,
               "' lacks an item, or has one twice");
}

// What the lines of top1 say; those of data without labels are nothing else.
void take_predictions(EvalResult& result) {
  for (auto metric = result.metrics.begin(); metric != result.metrics.end(); ++metric) {
    if (metric->name != kPredicting) continue;
    for (std::size_t i = 0; i < metric->items.size(); ++i)
      result.predictions.push_back(prediction_of(result.indices[i], result.names[i], metric->items[i]));
    const bool labelled = std::any_of(result.predictions.begin(), result.predictions.end(),
                                      [](const Prediction& one) { return one.label >= 0; });
    if (!labelled) result.metrics.erase(metric);
    return;
  }
}

// Of any file: no more than a first line of ours can have.
std::string first_line_of(const std::string& path) {
  std::ifstream in(path);
  QUENCH_CHECK(in, "cannot read '", path, "': ", std::strerror(errno));
  std::string line(kLongestFirstLine, '\0');
  in.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(in.gcount()));
  return line.substr(0, line.find('\n'));
}

bool is_older(const std::string& first_line) {
  return std::find(std::begin(kOlderFormats), std::end(kOlderFormats), first_line) != std::end(kOlderFormats);
}

}  // namespace

bool is_predictions_file(const std::string& path) {
  const std::string line = first_line_of(path);
  return line == kFirstLine || is_older(line);
}

void write_predictions(const std::string& path, const EvalResult& result) {
  std::string text = concat(kFirstLine, "\n", kColumns, "\n");
  const auto add = [&](std::size_t i, const std::string& metric, const ItemStatistic& statistic) {
    text += concat(result.indices[i], "\t", escaped(result.names[i]), "\t", metric, "\t",
                   joined(statistic, " ", number_text), "\n");
  };
  for (std::size_t i = 0; i < result.indices.size(); ++i) {
    for (const MetricResult& metric : result.metrics) add(i, metric.name, metric.items[i]);
    if (result.metrics.empty()) add(i, kPredicting, statistic_of(result.predictions[i]));
  }
  write_file_atomically(path, text);
}

EvalResult read_predictions(const std::string& path) {
  const std::string first = first_line_of(path);
  QUENCH_CHECK(!is_older(first), "'", path, "' is of an older format (", first.substr(2), "; this is ",
               std::string(kFirstLine).substr(2), "): write it again with this version of quench");
  QUENCH_CHECK(first == kFirstLine, "'", path, "' is not a predictions file: its first line must be '", kFirstLine,
               "'");
  std::ifstream in(path);
  EvalResult result;
  result.chosen = true;
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    with_context([&] { return concat("in line ", number, " of ", path); }, [&] { add_line(line, result); });
  }
  for (const MetricResult& metric : result.metrics)
    QUENCH_CHECK(static_cast<std::int64_t>(metric.items.size()) == result.items, "'", path,
                 "' is cut short: the metric '", metric.name, "' has ", metric.items.size(), " of ", result.items,
                 " items");
  with_context([&] { return concat("in ", path); }, [&] { take_predictions(result); });
  return result;
}

}  // namespace quench
