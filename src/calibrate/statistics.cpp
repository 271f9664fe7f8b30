#include "calibrate/statistics.h"

#include <ATen/ATen.h>
#include <charconv>

#include <algorithm>
#include <filesystem>

#include "calibrate/float_run.h"
#include "core/hash.h"
#include "data/batch_size.h"
#include "data/content.h"
#include "kernels/parallel.h"
#include "quench/error.h"
#include "quench/safetensors.h"

namespace quench {
namespace {

constexpr const char* kRun = "run";  // items and batches of the pass

std::string item_text(const Dataset& data, std::int64_t index) {
  try {
    const Sample sample = data.get(index);
    return sample.name + content_text(sample.inputs.values());
  } catch (const Error&) {
    return "broken";
  }
}

// Over every item, the shared inputs and the feedback: a set that differs in any of them is a different set.
std::string data_text(const Dataset& data) {
  std::vector<std::string> items(static_cast<std::size_t>(data.size()));
  in_parallel(data.size(), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t index = first; index < last; ++index)
      items[static_cast<std::size_t>(index)] = item_text(data, index);
  });
  const Feedback feedback = data.feedback();
  std::string text = concat(data.size(), content_text(data.shared()), " ", feedback.sequence);
  for (const auto& [input, output] : feedback.states) text += concat(" ", input, ":", output);
  for (const std::string& item : items) text += "\n" + item;
  return text;
}

// Graph and weights (by checksum), except for what quantizing added.
std::string model_text(const Graph& graph) {
  Graph plain = without_quantizers(graph);
  plain.metadata.clear();
  for (const auto& node : plain.nodes()) node->metadata.clear();
  return to_text(plain, {.data = false});
}

std::string number_text(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};  // all of its digits
}

std::string options_text(const Options& options) {
  std::string text;
  for (const auto& [name, value] : options.values()) {
    const auto* number = std::get_if<double>(&value);
    text += concat(" ", name, "=", number ? number_text(*number) : std::get<std::string>(value));
  }
  return text;
}

// Which elements share a statistic.
std::string grouping_text(const QScheme& scheme) {
  if (scheme.per_tensor()) return "tensor";
  return concat("axis ", scheme.axis(), " group ", scheme.group());
}

// DoReFa and the like show their observer something other than the value.
std::string transform_text(const FakeQuant& algorithm) {
  const at::Tensor probe = at::zeros({1});
  return algorithm.transform(probe).is_same(probe) ? "" : ", for " + algorithm.spec().algorithm;
}

std::string statistic_text(const Observer& observer) {
  const std::string& kind = observer.kind();
  const Options& options = observer.options();
  const std::string grouping = grouping_text(observer.scheme());
  const auto bins = [&] { return concat(" of ", options.number("bins"), " bins, ", grouping); };
  if (kind == "min_max") return "range, " + grouping;
  if (kind == "kl") return "grid of magnitudes" + bins();
  const bool is_grid = kind == "percentile" || (kind == "mse" && options.word("on") == "histogram") ||
                       (kind == "histogram" && !observer.by_batch());
  if (is_grid) return "grid" + bins();
  // The batches' ranges are averaged: of the scheme, only which elements belong together matters.
  if (kind == "ema_min_max" || kind == "ema_quantile") return kind + options_text(options) + ", " + grouping;
  return kind + options_text(options) + ", " + observer.scheme().text();  // it may search on the scheme's own grid
}

std::string key_of(const ObservedQuantizer& one) { return one.value().name() + "|" + statistic_of(one) + "|"; }

// The entries under a prefix, without it.
TensorMap part_of(const TensorMap& all, const std::string& prefix) {
  TensorMap found;
  for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at)
    found[at->first.substr(prefix.size())] = at->second;
  return found;
}

}  // namespace

std::string statistic_of(const ObservedQuantizer& quantizer) {
  return statistic_text(*quantizer.observer) + transform_text(*quantizer.algorithm);
}

KeptStatistics::KeptStatistics(const Graph& graph, const Dataset& data, const CalibrationOptions& options) {
  QUENCH_CHECK(!options.on_quantized,
               "statistics are kept for float activations only: quantized ones depend on every quantizer; "
               "leave out either 'statistics' or 'on_quantized'");
  const std::int64_t batch = choose_batch(graph, &data, options.batch);
  const std::string key = concat(model_text(graph), "\n", data_text(data), "\n", batch, " ", options.batches);
  path_ = (std::filesystem::path(options.statistics) / (hash_text(stable_hash(key)) + ".safetensors")).string();
}

bool KeptStatistics::load(const Observing& observing, CalibrationRecord& record) const {
  if (!std::filesystem::exists(path_)) return false;
  const TensorMap all = read_safetensors(path_);
  const auto is_kept = [&](const ObservedQuantizer& one) {
    return !one.from_data || !part_of(all, key_of(one)).empty();
  };
  const auto& quantizers = observing.quantizers();
  if (!std::all_of(quantizers.begin(), quantizers.end(), is_kept)) return false;
  with_context([&] { return concat("in the statistics '", path_, "' (remove the file to observe again)"); },
               [&] {
                 const auto run = all.find(kRun);
                 QUENCH_CHECK(run != all.end() && run->second.numel() == 2 && run->second.scalar_type() == at::kLong,
                              "it does not say how much was seen");
                 record.items = run->second.data_ptr<std::int64_t>()[0];
                 record.batches = run->second.data_ptr<std::int64_t>()[1];
                 for (const ObservedQuantizer& one : quantizers)
                   if (one.from_data) one.observer->load(part_of(all, key_of(one)));
               });
  return true;
}

void KeptStatistics::save(const Observing& observing, const CalibrationRecord& record) const {
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  TensorMap all;
  if (std::filesystem::exists(path_)) all = read_safetensors(path_);
  all[kRun] = at::tensor({record.items, record.batches}, at::kLong);
  for (const ObservedQuantizer& one : observing.quantizers()) {
    if (!one.from_data) continue;
    for (const auto& [name, tensor] : one.observer->state()) all[key_of(one) + name] = tensor;
  }
  write_safetensors(path_, all, {{"quench.format", "1"}});
}

}  // namespace quench
