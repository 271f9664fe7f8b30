// The plan as YAML, docs/formats.md. Written by hand so that an entry takes few lines; read with yaml-cpp.
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "quench/error.h"
#include "quench/plan.h"
#include "quench/registry.h"

namespace quench {
namespace {

void emit(YAML::Emitter& out, const Options& options) {
  out << YAML::Flow << YAML::BeginMap;
  for (const auto& [name, value] : options.values()) {
    out << YAML::Key << name << YAML::Value;
    if (const auto* number = std::get_if<double>(&value))
      out << *number;
    else
      out << YAML::DoubleQuoted << std::get<std::string>(value);
  }
  out << YAML::EndMap;
}

void emit_choice(YAML::Emitter& out, const char* key, const std::string& name, const Options& options) {
  out << YAML::Key << key << YAML::Value << name;
  if (options.values().empty()) return;
  out << YAML::Key << std::string(key) + "_options" << YAML::Value;
  emit(out, options);
}

void emit(YAML::Emitter& out, const PlanEntry& entry) {
  out << YAML::BeginMap << YAML::Key << "value" << YAML::Value << entry.value;
  out << YAML::Key << "role" << YAML::Value << name_of(entry.role);
  if (entry.derived_from.empty()) {
    out << YAML::Key << "scheme" << YAML::Value << entry.scheme.text();
    emit_choice(out, "observer", entry.observer, entry.observer_options);
    emit_choice(out, "fake_quant", entry.fake_quant, entry.fake_quant_options);
  } else {
    out << YAML::Key << "scheme" << YAML::Value << "int32";
    out << YAML::Key << "derived_from" << YAML::Value << YAML::Flow << entry.derived_from;
  }
  if (!entry.shared_with.empty()) out << YAML::Key << "shared_with" << YAML::Value << entry.shared_with;
  out << YAML::Key << "rule" << YAML::Value << entry.rule << YAML::EndMap;
}

std::string text_at(const YAML::Node& node, const std::string& key) {
  QUENCH_CHECK(node.IsScalar(), "'", key, "' must be a plain text");
  return node.Scalar();
}

Options options_at(const YAML::Node& node, const std::string& key) {
  QUENCH_CHECK(node.IsMap(), "'", key, "' must be a map of options");
  Options options;
  for (const auto& item : node) {
    const std::string name = text_at(item.first, key);
    double number = 0;
    // A quoted text is a word even where it reads as a number.
    if (item.second.Tag() != "!" && YAML::convert<double>::decode(item.second, number))
      options.set(name, number);
    else
      options.set(name, text_at(item.second, name));
  }
  return options;
}

void read_scheme(const YAML::Node& node, PlanEntry& entry) {
  const std::string text = text_at(node, "scheme");
  QUENCH_CHECK(text.find("channel") == std::string::npos || text.find("channel:") != std::string::npos, "the scheme '",
               text, "' does not give the axis of the channels (such as 'channel:0')");
  if (text != "int32") entry.scheme = QScheme::parse(text);
}

void read_field(const std::string& key, const YAML::Node& node, PlanEntry& entry) {
  static const std::vector<std::string> known = {
      "value",       "role",         "scheme", "observer", "fake_quant", "observer_options", "fake_quant_options",
      "shared_with", "derived_from", "rule"};
  if (key == "value")
    entry.value = text_at(node, key);
  else if (key == "role")
    entry.role = role_from_name(text_at(node, key));
  else if (key == "scheme")
    read_scheme(node, entry);
  else if (key == "observer")
    entry.observer = text_at(node, key);
  else if (key == "fake_quant")
    entry.fake_quant = text_at(node, key);
  else if (key == "observer_options")
    entry.observer_options = options_at(node, key);
  else if (key == "fake_quant_options")
    entry.fake_quant_options = options_at(node, key);
  else if (key == "shared_with")
    entry.shared_with = text_at(node, key);
  else if (key == "rule")
    entry.rule = text_at(node, key);
  else if (key == "derived_from") {
    QUENCH_CHECK(node.IsSequence() && node.size() == 2, "'derived_from' must list an activation and a weight");
    for (const YAML::Node& item : node) entry.derived_from.push_back(text_at(item, key));
  } else
    fail_unknown_name("key of a plan entry", key, known);
}

PlanEntry read_entry(const YAML::Node& node) {
  return with_context([&] { return concat("at line ", node.Mark().line + 1); },
                      [&] {
                        QUENCH_CHECK(node.IsMap(), "an entry must be a map");
                        PlanEntry entry;
                        for (const auto& item : node) read_field(text_at(item.first, "key"), item.second, entry);
                        QUENCH_CHECK(!entry.value.empty(), "an entry has no 'value'");
                        QUENCH_CHECK(node["scheme"], "the entry of '", entry.value, "' has no 'scheme'");
                        const bool is_int32 = node["scheme"].Scalar() == "int32";
                        QUENCH_CHECK(is_int32 == !entry.derived_from.empty(), "the entry of '", entry.value,
                                     "': int32 and 'derived_from' belong together");
                        return entry;
                      });
}

PlanSkip read_skip(const YAML::Node& node) {
  QUENCH_CHECK(node.IsMap() && node["value"] && node["reason"] && node.size() == 2, "at line ", node.Mark().line + 1,
               ": an entry of 'float' must have 'value' and 'reason'");
  return {text_at(node["value"], "value"), text_at(node["reason"], "reason")};
}

void check_sharing(const QuantPlan& plan) {
  for (const PlanEntry& entry : plan.entries) {
    if (entry.shared_with.empty()) continue;
    const PlanEntry* leader = plan.find(entry.shared_with);
    QUENCH_CHECK(leader, "'", entry.value, "' shares the scale of '", entry.shared_with, "', which has no entry");
    QUENCH_CHECK(leader->shared_with.empty(), "'", entry.value, "' shares the scale of '", entry.shared_with,
                 "', which itself shares another's");
    QUENCH_CHECK(leader->scheme == entry.scheme, "'", entry.value, "' (", entry.scheme.text(),
                 ") shares the scale of '", entry.shared_with, "' (", leader->scheme.text(),
                 "): the schemes must be equal");
  }
}

QuantPlan read_plan(const std::string& text) {
  const YAML::Node root = YAML::Load(text);
  QUENCH_CHECK(root.IsMap(), "a plan must be a map with 'platform' and 'quantized'");
  static const std::vector<std::string> known = {"version", "platform", "parity", "quantize", "quantized", "float"};
  for (const auto& item : root) {
    const std::string key = text_at(item.first, "key");
    if (std::find(known.begin(), known.end(), key) == known.end()) fail_unknown_name("key of a plan", key, known);
  }
  QUENCH_CHECK(root["version"] && text_at(root["version"], "version") == "1", "'version' must be 1");
  QUENCH_CHECK(root["platform"] && root["quantized"], "a plan must have 'platform' and 'quantized'");
  QUENCH_CHECK(root["quantized"].IsSequence(), "'quantized' must be a list of entries");
  QUENCH_CHECK(!root["float"] || root["float"].IsSequence(), "'float' must be a list of entries");
  QuantPlan plan;
  plan.platform = text_at(root["platform"], "platform");
  if (root["parity"]) plan.parity = root["parity"].as<bool>();
  if (root["quantize"]) plan.by = quantize_by_from_name(text_at(root["quantize"], "quantize"));
  for (const YAML::Node& node : root["quantized"]) plan.entries.push_back(read_entry(node));
  if (root["float"])
    for (const YAML::Node& node : root["float"]) plan.skipped.push_back(read_skip(node));
  check_sharing(plan);
  return plan;
}

}  // namespace

std::string to_yaml(const QuantPlan& plan) {
  YAML::Emitter out;
  out.SetDoublePrecision(17);
  out << YAML::BeginMap << YAML::Key << "version" << YAML::Value << 1;
  out << YAML::Key << "platform" << YAML::Value << plan.platform;
  out << YAML::Key << "parity" << YAML::Value << plan.parity;
  out << YAML::Key << "quantize" << YAML::Value << name_of(plan.by);
  out << YAML::Key << "quantized" << YAML::Value << YAML::BeginSeq;
  for (const PlanEntry& entry : plan.entries) emit(out, entry);
  out << YAML::EndSeq << YAML::Key << "float" << YAML::Value << YAML::BeginSeq;
  for (const PlanSkip& skip : plan.skipped)
    out << YAML::BeginMap << YAML::Key << "value" << YAML::Value << skip.value << YAML::Key << "reason" << YAML::Value
        << skip.reason << YAML::EndMap;
  out << YAML::EndSeq << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

QuantPlan plan_from_yaml(const std::string& text, const std::string& name) {
  return with_context([&] { return name.empty() ? "in the plan" : "in the plan " + name; },
                      [&] { return read_plan(text); });
}

}  // namespace quench
