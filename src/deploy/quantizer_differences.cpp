#include "deploy/quantizer_differences.h"

#include <ATen/ATen.h>

#include <cmath>
#include <map>
#include <set>

#include "convert/quantized.h"
#include "deploy/forms/strip.h"
#include "kernels/layout.h"
#include "passes/rewrite.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/pass.h"
#include "quench/rt_value.h"

namespace quench {
namespace {

// A scale that was written as the ends of a range comes back with the rounding of two float32 ends: 2^-22 of it.
constexpr double kScale = 1.0 / (1 << 20);
// The ends themselves: of 2^16 codes 2^-8 of a step.
constexpr double kEnds = 1.0 / (1 << 7);

// What a node reads, or what the graph gives: a place that model and file both have.
struct Place {
  std::string reader;
  int slot = 0;
  bool operator<(const Place& other) const { return std::tie(reader, slot) < std::tie(other.reader, other.slot); }
};

std::string text(const Place& place) {
  return place.slot < 0 ? concat("output '", place.reader, "'")
                        : concat("input ", place.slot, " of '", place.reader, "'");
}

bool only_names(const Node& node) { return node.op() == "Identity"; }

// What directly follows the place: a quantizer (or a DequantizeLinear that could not become one), or null.
const Node* quantizer_at(const Value* value) {
  while (value && value->producer() && only_names(*value->producer())) value = value->producer()->input(0);
  const Node* node = value ? value->producer() : nullptr;
  return is_quantizer(node) || (node && node->op() == "DequantizeLinear") ? node : nullptr;
}

bool is_part_of_quantizer(const Node& node) {
  return is_quantizer(&node) || is_bias_quantizer(&node) || only_names(node) || node.op() == "QuantizeLinear" ||
         node.op() == "DequantizeLinear";
}

std::map<Place, const Value*> places_of(const Graph& graph) {
  std::map<Place, const Value*> places;
  for (const auto& node : graph.nodes()) {
    if (is_part_of_quantizer(*node)) continue;
    for (std::size_t slot = 0; slot < node->inputs().size(); ++slot)
      if (const Value* value = node->inputs()[slot])
        places[{node->name() + " " + node->op(), static_cast<int>(slot)}] = value;
  }
  for (const Value* output : graph.outputs()) places[{output->name(), -1}] = output;
  return places;
}

bool is_float(DType dtype) { return dtype == DType::kFloat || dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

// The values of all float constants at places, whatever quantizes them.
std::map<Place, at::Tensor> constants_of(const Graph& graph, const std::map<Place, const Value*>& places) {
  std::map<Place, at::Tensor> found;
  std::vector<std::string> names;
  for (const auto& [place, value] : places) {
    if (!is_float(value->dtype())) continue;
    if (value->is_constant())
      found[place] = value->tensor();
    else if (is_made_of_constants(*value))
      names.push_back(value->name());
  }
  if (names.empty()) return found;
  const NamedValues values = Executor(graph).run({}, names);
  for (const auto& [place, value] : places)
    if (const auto at = values.find(value->name()); at != values.end()) found[place] = at->second.tensor();
  return found;
}

std::vector<double> scales_of(const Node& quantizer) {
  const at::Tensor scale = quantizer.input(1)->tensor().to(at::kDouble).reshape(-1).contiguous();
  return {scale.const_data_ptr<double>(), scale.const_data_ptr<double>() + scale.numel()};
}

// In steps of the model's.
struct Ends {
  double low, high;
};
Ends ends_of(const QType& type, std::size_t channel, double step) {
  const double scale = type.params.scale[channel];
  const double zero = type.params.zero_point[channel];
  return {(type.scheme.qmin() - zero) * scale / step, (type.scheme.qmax() - zero) * scale / step};
}

// "" if they are the same.
std::string scale_difference(const std::vector<double>& model, const std::vector<double>& file) {
  if (model.size() != file.size()) return concat("has ", model.size(), " scales, and ", file.size(), " in the file");
  for (std::size_t i = 0; i < model.size(); ++i)
    if (!(std::abs(model[i] - file[i]) <= kScale * model[i]))
      return concat("has the scale ", model[i], ", and ", file[i], " in the file");
  return "";
}

// Bare pairs cannot keep a narrow range off its lowest code (docs/formats.md): one step is allowed there.
std::string range_difference(const QType& model, const QType& file) {
  for (std::size_t c = 0; c < model.params.scale.size(); ++c) {
    const double step = model.params.scale[c];
    const Ends a = ends_of(model, c, step), b = ends_of(file, c, step);
    const double lower = a.low - b.low;
    const bool bare = model.scheme.is_signed() && model.scheme.narrow() && std::abs(lower - 1) <= kEnds;
    if ((!(std::abs(lower) <= kEnds) && !bare) || !(std::abs(a.high - b.high) <= kEnds))
      return concat("spans ", a.low * step, " to ", a.high * step, ", and ", b.low * step, " to ", b.high * step,
                    " in the file");
  }
  return "";
}

std::string quantizer_difference(const Node& model, const Node& file) {
  const QType ours = qtype_of(model);
  if (!is_quantizer(&file)) {  // float8, or blocks of what no dims are known
    const std::vector<double> scales(ours.params.scale.begin(), ours.params.scale.end());
    return file.input(1) && file.input(1)->is_constant() ? scale_difference(scales, scales_of(file)) : "";
  }
  const QType theirs = qtype_of(file);
  if (ours.scheme.format() != theirs.scheme.format())
    return concat("is '", ours.scheme.text(), "', and '", theirs.scheme.text(), "' in the file");
  const auto doubles = [](const std::vector<float>& all) { return std::vector<double>(all.begin(), all.end()); };
  const std::string scales = scale_difference(doubles(ours.params.scale), doubles(theirs.params.scale));
  if (!scales.empty() || !ours.scheme.is_int() || model.input(0)->is_constant()) return scales;
  return range_difference(ours, theirs);
}

// Of each element: of a quantized one in its own steps, else in the precision of what the file holds.
at::Tensor tolerance_of(const Node* quantizer, const at::Tensor& model, const at::Tensor& file) {
  if (is_quantizer(quantizer) && fake_quant_spec(*quantizer).scheme.is_int()) {
    const QType type = qtype_of(*quantizer);
    const at::Tensor steps =
        at::tensor(type.params.scale, at::kDouble).reshape(type.scheme.scale_shape(model.sizes().vec()));
    return (spread_scales(steps, model, type.scheme) * kEnds).expand(model.sizes()).reshape(-1);
  }
  const double largest = at::where(model.isfinite(), model, at::zeros_like(model)).abs().max().item<double>();
  const int bits = file.scalar_type() == at::kHalf ? 10 : file.scalar_type() == at::kBFloat16 ? 7 : 20;
  return at::tensor(std::ldexp(largest, -bits), at::kDouble);
}

std::string constant_difference(const Node* quantizer, const at::Tensor& model, const at::Tensor& file) {
  if (model.numel() == 0 && file.numel() == 0) return "";
  if (model.numel() != file.numel())
    return concat("has ", model.numel(), " elements, and ", file.numel(), " in the file");
  const at::Tensor a = model.to(at::kDouble).reshape(-1), b = file.to(at::kDouble).reshape(-1);
  // Equal infinities, and NaN in both, are the same; NaN in one of them is not.
  const at::Tensor same = a.eq(b).logical_or(a.isnan().logical_and(b.isnan()));
  const at::Tensor apart = at::where(same, at::zeros_like(a), (a - b).abs());
  const auto different = apart.le(tolerance_of(quantizer, model, file)).logical_not().sum().item<std::int64_t>();
  return different == 0 ? ""
                        : concat("differs in ", different, " of ", model.numel(), " elements, at most by ",
                                 apart.max().item<double>());
}

class Comparison {
 public:
  Comparison(const Graph& model, const Graph& file)
      : model_(model), file_(file), in_model_(places_of(model)), in_file_(places_of(file)) {}

  QuantizerComparison run() {
    for (const auto& [place, value] : in_model_)
      if (const auto at = in_file_.find(place); at != in_file_.end()) compare(place, *value, *at->second);
    compare_constants();
    compare_bodies();
    for (const Node* quantizer : quantizers_of(model_)) {
      ++result_.quantizers;
      if (!seen_.contains(quantizer)) compare_by_name(*quantizer);
    }
    return result_;
  }

 private:
  void differ(const std::string& name, const std::string& what) {
    if (named_.insert(name).second) result_.differences.push_back(concat("'", name, "' ", what));
  }

  void compare(const Place& place, const Value& ours, const Value& theirs) {
    const Node *model = quantizer_at(&ours), *file = quantizer_at(&theirs);
    if (model) seen_.insert(model);
    if (model && file) {
      const std::string difference = quantizer_difference(*model, *file);
      if (!difference.empty()) differ(model->input(0)->name(), difference);
    } else if (model && !model->input(0)->is_constant()) {
      differ(model->input(0)->name(), concat("is quantized, but not in the file (", text(place), ")"));
    } else if (file && is_quantizer(file) && !file->input(0)->is_constant()) {
      differ(ours.name(), concat("is not quantized, but is in the file (", text(place), ")"));
    }
  }

  // What has no place in the file: its readers are gone.
  void compare_by_name(const Node& quantizer) {
    const std::string& name = quantizer.input(0)->name();
    for (const Node* other : quantizers_of(file_))
      if (other->input(0)->name() == name) {
        const std::string difference = quantizer_difference(quantizer, *other);
        if (!difference.empty()) differ(name, difference);
        return;
      }
    if (!quantizer.input(0)->is_constant()) differ(name, "is quantized, but not in the file");
  }

  void compare_constants() {
    const std::map<Place, at::Tensor> ours = constants_of(model_, in_model_), theirs = constants_of(file_, in_file_);
    for (const auto& [place, tensor] : ours) {
      const auto at = theirs.find(place);
      if (at == theirs.end()) continue;
      const Value& value = *in_model_.at(place);
      const Node* quantizer = quantizer_at(&value);
      const std::string difference = constant_difference(quantizer, tensor, at->second);
      if (!difference.empty()) differ(quantizer ? quantizer->input(0)->name() : value.name(), difference);
    }
  }

  // Of If, Loop and Scan: what is in them is compared like everything else.
  void compare_bodies() {
    for (const auto& node : model_.nodes()) {
      const Node* other = file_.find_node(node->name());
      if (!other || other->op() != node->op()) continue;
      for (const auto& [name, attr] : node->attrs) {
        const auto at = other->attrs.find(name);
        const auto* ours = std::get_if<GraphPtr>(&attr);
        const auto* theirs = at == other->attrs.end() ? nullptr : std::get_if<GraphPtr>(&at->second);
        if (!ours || !theirs) continue;
        const QuantizerComparison inside = Comparison(**ours, **theirs).run();
        result_.quantizers += inside.quantizers;
        for (const std::string& text : inside.differences)
          result_.differences.push_back(concat(text, " (inside ", node->where(), ")"));
      }
    }
  }

  const Graph &model_, &file_;
  std::map<Place, const Value*> in_model_, in_file_;
  std::set<const Node*> seen_;
  std::set<std::string> named_;
  QuantizerComparison result_;
};

}  // namespace

Graph with_quantizers(Graph file) {
  run_passes(file, {"infer_shapes", "fold_constants", "eliminate_dropout", "eliminate_identity", "qdq_to_fake_quant"});
  return file;
}

QuantizerComparison compare_quantizers(const Graph& model, const Graph& file) {
  Graph plain(model), other(file);
  drop_empty_pads(plain);
  drop_empty_pads(other);
  return Comparison(plain, other).run();
}

void align_quantizers(const Graph& model, Graph& file) {
  const std::map<Place, const Value*> places = places_of(file);
  for (const auto& [place, value] : places_of(model)) {
    const Node* quantizer = quantizer_at(value);
    const auto at = places.find(place);
    const Node* other = at == places.end() ? nullptr : quantizer_at(at->second);
    if (!is_quantizer(quantizer) || !is_quantizer(other)) continue;
    const FakeQuantSpec ours = fake_quant_spec(*quantizer);
    FakeQuantSpec theirs = fake_quant_spec(*other);
    const QScheme found = theirs.scheme;
    theirs.by = ours.by;
    if (ours.scheme.is_int() && ours.scheme.narrow() && found.is_int() && found.is_signed() && !found.narrow() &&
        ours.scheme.bits() == found.bits())
      theirs.scheme = ours.scheme;
    set_fake_quant_spec(*file.find_node(other->name()), theirs);
  }
}

}  // namespace quench
