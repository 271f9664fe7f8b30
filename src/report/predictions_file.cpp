// The predictions and the measurements file: a first line that names the format, then one line per image, or per item
// and metric; fields between tabs.
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
#include "quench/error.h"

namespace quench {
namespace {

constexpr const char* kFirstLine = "# quench predictions 1";
constexpr const char* kColumns = "# index\tname\tlabel\tprediction\tsecond\tlogit\tsecond_logit";
constexpr std::size_t kFields = 7;
constexpr const char* kMeasurementsFirstLine = "# quench measurements 1";
constexpr std::size_t kMeasurementFields = 4;

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

Prediction parse_line(std::string_view line) {
  const std::vector<std::string_view> fields = split(line);
  QUENCH_CHECK(fields.size() == kFields, "expected ", kFields, " fields between tabs, found ", fields.size());
  Prediction prediction;
  prediction.index = parse<std::int64_t>(fields[0]);
  prediction.name = unescaped(fields[1]);
  prediction.label = parse<std::int64_t>(fields[2]);
  prediction.first = parse<std::int64_t>(fields[3]);
  prediction.second = parse<std::int64_t>(fields[4]);
  prediction.first_logit = parse<double>(fields[5]);
  prediction.second_logit = parse<double>(fields[6]);
  return prediction;
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
void add_measurement(std::string_view line, EvalResult& result) {
  const std::vector<std::string_view> fields = split(line);
  QUENCH_CHECK(fields.size() == kMeasurementFields, "expected ", kMeasurementFields, " fields between tabs, found ",
               fields.size());
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

std::string first_line_of(const std::string& path) {
  std::ifstream in(path);
  QUENCH_CHECK(in, "cannot read '", path, "': ", std::strerror(errno));
  std::string line(std::strlen(kMeasurementsFirstLine) + 1, '\0');
  in.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(in.gcount()));
  return line.substr(0, line.find('\n'));
}

}  // namespace

ResultsFile kind_of_results(const std::string& path) {
  const std::string line = first_line_of(path);
  if (line == kFirstLine) return ResultsFile::kPredictions;
  return line == kMeasurementsFirstLine ? ResultsFile::kMeasurements : ResultsFile::kNeither;
}

void write_measurements(const std::string& path, const EvalResult& result) {
  std::string text = concat(kMeasurementsFirstLine, "\n# index\tname\tmetric\tstatistic\n");
  for (std::size_t i = 0; i < result.indices.size(); ++i)
    for (const MetricResult& metric : result.metrics)
      text += concat(result.indices[i], "\t", escaped(result.names[i]), "\t", metric.name, "\t",
                     joined(metric.items[i], " ", number_text), "\n");
  write_file_atomically(path, text);
}

EvalResult read_measurements(const std::string& path) {
  QUENCH_CHECK(kind_of_results(path) == ResultsFile::kMeasurements, "'", path,
               "' is not a measurements file: its first line must be '", kMeasurementsFirstLine, "'");
  std::ifstream in(path);
  EvalResult result;
  result.chosen = true;
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    with_context([&] { return concat("in line ", number, " of ", path); }, [&] { add_measurement(line, result); });
  }
  for (const MetricResult& metric : result.metrics)
    QUENCH_CHECK(static_cast<std::int64_t>(metric.items.size()) == result.items, "'", path,
                 "' is cut short: the metric '", metric.name, "' has ", metric.items.size(), " of ", result.items,
                 " items");
  return result;
}

void write_predictions(const std::string& path, const std::vector<Prediction>& predictions) {
  std::string text = concat(kFirstLine, "\n", kColumns, "\n");
  for (const Prediction& p : predictions) {
    text += concat(p.index, "\t", escaped(p.name), "\t", p.label, "\t", p.first, "\t", p.second, "\t",
                   number_text(p.first_logit), "\t", number_text(p.second_logit), "\n");
  }
  write_file_atomically(path, text);
}

std::vector<Prediction> read_predictions(const std::string& path) {
  std::ifstream in(path);
  QUENCH_CHECK(in, "cannot read the predictions '", path, "': ", std::strerror(errno));
  std::string line;
  std::getline(in, line);
  QUENCH_CHECK(line == kFirstLine, "'", path, "' is not a predictions file: its first line must be '", kFirstLine, "'");
  std::vector<Prediction> predictions;
  for (std::int64_t number = 2; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    with_context([&] { return concat("in line ", number, " of ", path); },
                 [&] { predictions.push_back(parse_line(line)); });
  }
  return predictions;
}

}  // namespace quench
