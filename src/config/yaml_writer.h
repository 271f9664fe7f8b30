// Writes YAML key by key; what says nothing is left out.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <vector>

#include "quench/options.h"

namespace quench {

class YamlWriter {
 public:
  YamlWriter() { out_.SetDoublePrecision(17); }

  template <typename T>
  void put(const char* key, const T& value) {
    out_ << YAML::Key << key << YAML::Value << value;
  }
  // Quoted: a word must not come back as a number.
  void put_text(const std::string& key, const std::string& text) {
    out_ << YAML::Key << key << YAML::Value << YAML::DoubleQuoted << text;
  }
  void put_some(const char* key, const std::string& text) {
    if (!text.empty()) put_text(key, text);
  }
  void put_some(const char* key, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    out_ << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const std::string& text : texts) out_ << YAML::DoubleQuoted << text;
    out_ << YAML::EndSeq;
  }
  template <typename T>
  void put_some(const char* key, const std::vector<T>& list) {
    if (list.empty()) return;
    out_ << YAML::Key << key << YAML::Value << YAML::Flow << list;
  }
  void put_some(const char* key, const Options& options) {
    if (options.values().empty()) return;
    begin(key, true);
    put_all(options);
    end();
  }
  void put_all(const Options& options) {
    for (const auto& [name, value] : options.values())
      if (const auto* number = std::get_if<double>(&value))
        put(name.c_str(), *number);
      else
        put_text(name, std::get<std::string>(value));
  }
  template <typename T>
  void put_some(const char* key, const std::optional<T>& value) {
    if (value) put(key, *value);
  }

  void begin(const char* key, bool flow = false) {
    out_ << YAML::Key << key << YAML::Value;
    begin(flow);
  }
  void begin(bool flow = false) {
    if (flow) out_ << YAML::Flow;
    out_ << YAML::BeginMap;
  }
  void end() { out_ << YAML::EndMap; }
  void begin_list(const char* key) { out_ << YAML::Key << key << YAML::Value << YAML::BeginSeq; }
  void end_list() { out_ << YAML::EndSeq; }

  std::string text() const { return std::string(out_.c_str()) + "\n"; }

 private:
  YAML::Emitter out_;
};

}  // namespace quench
