// The predictions file: a first line that names the format, then one line per image, fields between tabs.
#include "quench/predictions_file.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/atomic_file.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr const char* kFirstLine = "# quench predictions 1";
constexpr const char* kColumns = "# index\tname\tlabel\tprediction\tsecond\tlogit\tsecond_logit";
constexpr std::size_t kFields = 7;

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

}  // namespace

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
