// Every operator on every element type that its newest version takes: it runs, gives the types that were inferred, and
// the numbers that it gives on int64 or double.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <sstream>

#include "deploy/onnx/op_versions.h"
#include "graph/tensor_types.h"
#include "ops/convert.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/op.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

// Inputs (x: data of the type in question; i: int64 zeros, f: float halves; [dims] or (elements); -: absent), then
// attributes. Operators that are not here get as many inputs x as they need at least.
constexpr const char* kTrials = R"(
MaxPool x kernel_shape=2,2
AveragePool x kernel_shape=2,2
LpPool x kernel_shape=2,2
MaxUnpool x i[1,4,2,2] kernel_shape=1,1
Conv x x[2,4,1,1]
ConvTranspose x x[4,2,1,1]
ConvInteger x x[2,4,1,1]
DeformConv x x[2,4,1,1] x[1,2,2,2]
CausalConvWithState x[2,4,4] x[4,1,2]
BatchNormalization x x[4] x[4] x[4] x[4]
InstanceNormalization x x[4] x[4]
GroupNormalization x x[4] x[4] num_groups=2
LayerNormalization x x[2]
RMSNormalization x x[2]
LRN x size=3
CumSum x i(1)
CumProd x i(1)
TopK x i(1)
OneHot x i(3) f[2]
Resize x - f(1,1,2,2)
Resize x - - i(1,4,3,3) mode=linear
GridSample x f[1,2,2,2]
AffineGrid x[1,2,3] i(1,1,2,2)
RoiAlign x x[1,4] i(0)
MaxRoiPool x[2,4,2,2] x[1,5] pooled_shape=2,2
Col2Im x[2,4,1] i(2,2) i(2,2)
DepthToSpace x blocksize=2
DepthToSpace x blocksize=2 mode=CRD
SpaceToDepth x blocksize=2
CenterCropPad x i(1,2,4,2)
Einsum x equation=abcd->dcba
Attention x x x
RotaryEmbedding x x[1,2,1] x[1,2,1]
LinearAttention x[2,4,4] x[2,4,4] x[2,4,4] q_num_heads=2 kv_num_heads=2 update_rule=linear
TensorScatter x x[1,4,1,2]
ScatterElements x i[1,4,2,2] x reduction=add
ScatterElements x i[1,4,2,2] x reduction=mul
ScatterElements x i[1,4,2,2] x reduction=max
ScatterND x i[1,1] x reduction=min
BitShift x x direction=LEFT
Mod x x fmod=1
Cast x to=11
CastLike x f[1]
NegativeLogLikelihoodLoss x i[1,2,2]
SoftmaxCrossEntropyLoss x i[1,2,2]
DFT x[1,4,2]
STFT x[1,8,1] i(2) - i(4)
Gemm x[2,4] x[4,2] x[2]
PRelu x x[4,1,1]
Clip x x[] x[]
Det x[2,2]
EyeLike x[2,3]
Trilu x i[]
LSTM x[2,1,2] x[1,8,2] x[1,8,2] hidden_size=2
GRU x[2,1,2] x[1,6,2] x[1,6,2] hidden_size=2
RNN x[2,1,2] x[1,2,2] x[1,2,2] hidden_size=2
MelWeightMatrix i(4) i(8) i(16) f(0) f(4)
QuantizeLinear x x[]
DequantizeLinear x f[]
BlackmanWindow x[1]
HammingWindow x[1]
HannWindow x[1]
TfIdfVectorizer x[4] mode=TF max_skip_count=0 min_gram_length=1 max_gram_length=1 ngram_counts=0,0 ngram_indexes=0,1 pool_int64s=1,2)";

// Tested elsewhere: bodies, sequences, operators on codes and those that only move elements (element_types_test.cpp);
// and results of chance.
bool is_left_out(const std::string& op, const OpEntry& entry) {
  static const std::set<std::string> ops = {"If",
                                            "Loop",
                                            "Scan",
                                            "Optional",
                                            "OptionalGetElement",
                                            "OptionalHasElement",
                                            "Expand",
                                            "Reshape",
                                            "Tile",
                                            "Pad",
                                            "Slice",
                                            "Split",
                                            "Squeeze",
                                            "Unsqueeze",
                                            "Gather",
                                            "GatherElements",
                                            "GatherND",
                                            "Concat",
                                            "Compress",
                                            "Where",
                                            "BitCast",
                                            "QLinearConv",
                                            "QLinearMatMul",
                                            "MatMulInteger",
                                            "Range",
                                            "ReverseSequence",
                                            "NonMaxSuppression",
                                            "ConstantOfShape",
                                            "ImageDecoder"};
  return ops.contains(op) || entry.traits.random || op.find("Sequence") != std::string::npos;
}

Ints parse_list(const std::string& text) {
  Ints list;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) list.push_back(std::stoll(item));
  return list;
}

// 1, 2, 3, 1, ...: nothing overflows, no logarithm is of zero.
at::Tensor pattern(const Ints& shape) {
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return at::arange(count, at::kLong).remainder(3).add(1).reshape(shape);
}

bool is_complex(DType dtype) { return dtype == DType::kComplex64 || dtype == DType::kComplex128; }

RtValue data(const Ints& shape, DType dtype) {
  const at::Tensor numbers = pattern(shape);
  return is_complex(dtype) ? RtValue(numbers.to(scalar_type_of(dtype)))
                           : convert(RtValue(numbers.to(at::kFloat)), dtype);
}

// "x", "x[2,2]", "i(1,4)", "f[]", "-"
RtValue slot_value(const std::string& text, DType dtype) {
  if (text == "-") return {};
  const Ints numbers = text.size() > 1 ? parse_list(text.substr(2, text.size() - 3)) : Ints{1, 4, 2, 2};
  if (text[0] == 'x') return data(numbers, dtype);
  const bool lists = text.size() > 1 && text[1] == '(';
  const at::Tensor made = lists ? integer_tensor(numbers) : at::zeros(numbers, at::kLong);
  return text[0] == 'i' ? RtValue(made) : RtValue(made.to(at::kFloat) + (lists ? 0.0 : 0.5));
}

struct Trial {
  std::string op, text;
  std::vector<std::string> slots;
  std::map<std::string, Attr> attrs;
};

Trial parse_trial(const std::string& line) {
  std::istringstream words(line);
  Trial trial{"", line, {}, {}};
  words >> trial.op;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      trial.slots.push_back(word);
      continue;
    }
    const std::string value = word.substr(equals + 1);
    Attr& attr = trial.attrs[word.substr(0, equals)];
    if (value.find_first_not_of("0123456789,") != std::string::npos)
      attr = value;
    else if (value.find(',') != std::string::npos)
      attr = parse_list(value);
    else
      attr = static_cast<std::int64_t>(std::stoll(value));
  }
  return trial;
}

std::vector<Trial> all_trials() {
  std::vector<Trial> trials;
  std::set<std::string> special;
  std::istringstream lines(kTrials);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    trials.push_back(parse_trial(line));
    special.insert(trials.back().op);
  }
  for (const auto& [op, entry] : OpRegistry::instance().entries()) {
    const std::vector<OpVersion>* versions = versions_of(op);
    const OpVersion* version = versions ? version_at(*versions, kNewestOpset) : nullptr;
    if (!version || special.contains(op) || is_left_out(op, entry.item)) continue;
    trials.push_back({op, op, std::vector<std::string>(static_cast<std::size_t>(version->min_inputs), "x"), {}});
  }
  return trials;
}

// Complex data, where it is data, is multiplied by `factor`.
std::vector<RtValue> execute(const Trial& trial, DType dtype, const at::Tensor& factor = {}) {
  Graph graph;
  std::vector<Value*> inputs;
  std::vector<RtValue> feeds;
  for (const std::string& slot : trial.slots) {
    RtValue value = slot_value(slot, dtype);
    if (factor.defined() && slot[0] == 'x') value = value.tensor() * factor;
    inputs.push_back(value.is_none() ? nullptr : &graph.add_input(concat("in", inputs.size()), value.type()));
    if (!value.is_none()) feeds.push_back(value);
  }
  Node& node = graph.add(trial.op, "node", inputs, version_at(*versions_of(trial.op), kNewestOpset)->min_outputs);
  node.attrs = trial.attrs;
  for (Value* output : node.outputs()) graph.add_output(*output);
  infer_shapes(graph);
  std::vector<RtValue> results = Executor(graph).run(feeds);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(name_of(results[i].dtype()), std::string(name_of(graph.outputs()[i]->dtype()))) << trial.text;
  return results;
}

// Of one rounding to the type; of a sum of a few dozen terms of one size that many.
double epsilon_of(DType dtype) {
  return dtype == DType::kBfloat16 ? 0x1p-8 : dtype == DType::kFloat16 ? 0x1p-11 : 0x1p-24;
}

void expect_same_numbers(const RtValue& given, const RtValue& wide, const Trial& trial, DType dtype) {
  // The imaginary part of what went in is zero.
  const RtValue actual = is_complex(given.dtype()) ? RtValue(at::real(given.tensor())) : given;
  if (is_floating(actual.dtype()) && bits_of(actual.dtype()) >= 16) {
    const at::Tensor a = actual.tensor().to(at::kDouble), b = decode(wide).to(at::kDouble);
    const double bound = 64 * epsilon_of(dtype) * (1.0 + b.nan_to_num(0, 0, 0).abs().max().item<double>());
    EXPECT_TRUE(at::allclose(a, b, 0.0, bound, true)) << trial.text << " of " << name_of(dtype) << "\n"
                                                      << a << "\n"
                                                      << b;
  } else if (is_integer(actual.dtype()) || actual.dtype() == DType::kBool) {
    EXPECT_TRUE(bit_equal(actual.tensor(), convert(wide, actual.dtype()).tensor()))
        << trial.text << " of " << name_of(dtype) << "\n"
        << actual.tensor().to(at::kLong) << "\n"
        << wide.tensor();
  }
}

// No order among complex numbers: neither has NumPy the greater one.
bool makes_sense(const Trial& trial, DType dtype) {
  const bool orders = trial.text.find("=max") != std::string::npos || trial.text.find("=min") != std::string::npos;
  return !orders || !is_complex(dtype);
}

void check(const Trial& trial, const OpVersion& version, DType dtype) {
  const std::vector<RtValue> results = execute(trial, dtype);
  const DType wide = is_floating(dtype) || is_complex(dtype) ? DType::kDouble : DType::kInt64;
  if (dtype == DType::kBool || !version.takes_input(0, wide) || results.empty() || !results[0].is_tensor()) return;
  if (bits_of(dtype) < 8 || (is_floating(dtype) && bits_of(dtype) == 8)) return;  // not all of the pattern fits
  expect_same_numbers(results[0], execute(trial, wide)[0], trial, dtype);
}

// What is linear in its input treats both parts alike: on (1 + 2i) x it gives (1 + 2i) times what it gives on x.
TEST(OperatorTypes, LinearOperatorsKeepTheImaginaryPart) {
  for (const char* line : {"Resize x - - i(1,4,3,3) mode=linear", "Resize x - f(1,1,2,2)", "GridSample x f[1,2,2,2]",
                           "Col2Im x[2,4,1] i(2,2) i(2,2)", "DepthToSpace x blocksize=2 mode=CRD"}) {
    const Trial trial = parse_trial(line);
    const at::Tensor factor = at::complex(at::tensor(1.0), at::tensor(2.0));
    const at::Tensor expected = execute(trial, DType::kDouble)[0].tensor() * factor;
    EXPECT_TRUE(at::allclose(execute(trial, DType::kComplex128, factor)[0].tensor(), expected)) << line;
  }
}

TEST(OperatorTypes, EveryTypeOfTheNewestVersionRuns) {
  int count = 0;
  for (const Trial& trial : all_trials()) {
    const OpVersion& version = *version_at(*versions_of(trial.op), kNewestOpset);
    for (int number = 1; number < kDTypeCount; ++number) {
      const auto dtype = static_cast<DType>(number);
      if (dtype == DType::kString || !version.takes_input(0, dtype) || !makes_sense(trial, dtype)) continue;
      ++count;
      try {
        check(trial, version, dtype);
      } catch (const std::exception& error) {
        const std::string text = error.what();
        ADD_FAILURE() << trial.text << " of " << name_of(dtype) << ": " << text.substr(0, text.find('\n'));
      }
    }
  }
  std::cout << count << " pairs of operator and element type\n";
  EXPECT_GT(count, 800);
}

}  // namespace
}  // namespace quench
