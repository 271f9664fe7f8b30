// What every operator's entry must satisfy, whoever registers it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"
#include "ops/run_op.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

TEST(OpContract, EveryEntryIsComplete) {
  for (const auto& [name, entry] : OpRegistry::instance().entries()) {
    EXPECT_NE(entry.item.evaluate, nullptr) << name;
    EXPECT_NE(entry.item.shapes, nullptr) << name;
    EXPECT_FALSE(entry.summary.empty()) << name;
    const OpTraits& traits = entry.item.traits;
    EXPECT_TRUE(traits.weight_slot < 0 || traits.weight_axis) << name << " has a weight but no axis for it";
    EXPECT_TRUE(traits.range != RangeRule::kFixed || traits.fixed_min < traits.fixed_max) << name;
  }
}

// The result of an op on one float tensor; nothing if it needs more than that.
std::optional<at::Tensor> try_op(const std::string& name, const at::Tensor& x) {
  if (name == "Not") return std::nullopt;  // of bools alone
  try {
    CheckedOp run{name, {}};
    if (name == "MaxPool" || name == "AveragePool" || name == "LpPool")
      run.attrs = {{"kernel_shape", std::vector<std::int64_t>{2, 2}}};
    const RtValue y = run({x}).at(0);
    if (!y.is_tensor() || !y.tensor().is_floating_point() || y.tensor().numel() == 0) return std::nullopt;
    return y.tensor();
  } catch (const std::exception&) {
    return std::nullopt;  // more inputs or attributes are needed
  }
}

void expect_traits(const std::string& name, const OpTraits& traits, const at::Tensor& x, const at::Tensor& y) {
  constexpr double kSlack = 1e-6;
  const double low = y.min().item<double>(), high = y.max().item<double>();
  if (traits.non_negative || (traits.keeps_sign && x.min().item<double>() >= 0)) {
    EXPECT_GE(low, 0.0) << name;
  }
  if (traits.range == RangeRule::kFixed) {
    EXPECT_GE(low, traits.fixed_min - kSlack) << name;
    EXPECT_LE(high, traits.fixed_max + kSlack) << name;
  }
  if (traits.range == RangeRule::kPasses) {
    // A quantized range always holds zero, so an op may give zeros of its own.
    EXPECT_GE(low, std::min(x.min().item<double>(), 0.0) - kSlack) << name;
    EXPECT_LE(high, std::max(x.max().item<double>(), 0.0) + kSlack) << name;
  }
}

// Whether each element of y is one of x, or zero.
bool is_made_of(const at::Tensor& y, const at::Tensor& x) { return (at::isin(y, x) | (y == 0)).all().item<bool>(); }

// What an operator says of inputs that a model may hand it: nothing, or an Error; an InternalError gets out.
void run_on_nonsense(const std::string& name, const RtValue& first, const RtValue& others, std::size_t count) {
  std::vector<RtValue> inputs(count, others);
  if (count > 0) inputs[0] = first;
  try {
    run_op(name, inputs);
  } catch (const Error&) {
  } catch (const InternalError& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST(OpContract, NonsenseIsAnErrorOfTheModel) {
  const RtValue image = floats(std::vector<float>(32, 1.0F), {1, 2, 4, 4}), none;
  const RtValue list = RtValue::sequence({}, TypeInfo::tensor(DType::kFloat));
  for (const std::string& name : OpRegistry::instance().names()) {
    for (const RtValue& first : {image, RtValue(at::ones({})), floats({}), ints({}), list, none})
      for (const RtValue& others : {image, RtValue(at::ones({})), floats({}), ints({}), ints({-9, 7}), list, none})
        for (const std::size_t count : {0U, 1U, 2U, 3U, 5U}) run_on_nonsense(name, first, others, count);
  }
}

TEST(OpContract, TraitsAreTrueOfRandomInputs) {
  int tried = 0, moving = 0;
  for (const auto& [name, entry] : OpRegistry::instance().entries()) {
    for (const at::Tensor& x : {at::randn({2, 3, 4, 5}) * 3, at::rand({2, 3, 4, 5}), -at::rand({2, 3, 4, 5})}) {
      const std::optional<at::Tensor> y = try_op(name, x);
      if (!y || y->isnan().any().item<bool>()) continue;
      ++tried;
      expect_traits(name, entry.item.traits, x, *y);
      if (entry.item.traits.moves_codes) {
        EXPECT_TRUE(is_made_of(*y, x)) << name;
        ++moving;
      }
    }
  }
  EXPECT_GT(tried, 75);
  EXPECT_GT(moving, 25);
}

bool moves_codes_of(const std::string& op, const std::string& inputs, const std::string& attributes = "") {
  const Graph graph = parse_graph(concat("graph \"g\" {\n  input %x : float[1, 1, 2, 2]\n",
                                         "  const %pads : int64[8] = {0, 0, 1, 1, 0, 0, 1, 1}\n",
                                         "  const %zero : float[] = {0.0}\n  const %one : float[] = {1.0}\n",
                                         "  const %twice : float[4] = {1.0, 1.0, 2.0, 2.0}\n", "  %y = ", op,
                                         " \"node\" (", inputs, ") {", attributes, "}\n  output %y\n}"));
  return moves_codes(*graph.value("y").producer());
}

TEST(OpContract, SomeMoveCodesByTheirAttributes) {
  EXPECT_TRUE(moves_codes_of("Pad", "%x, %pads"));
  EXPECT_TRUE(moves_codes_of("Pad", "%x, %pads, %zero"));
  EXPECT_FALSE(moves_codes_of("Pad", "%x, %pads, %one"));
  EXPECT_TRUE(moves_codes_of("Pad", "%x, %pads, %one", "mode = \"edge\""));
  EXPECT_TRUE(moves_codes_of("Resize", "%x, _, %twice"));
  EXPECT_FALSE(moves_codes_of("Resize", "%x, _, %twice", "mode = \"linear\""));
  const std::string cropped = "coordinate_transformation_mode = \"tf_crop_and_resize\"";
  EXPECT_TRUE(moves_codes_of("Resize", "%x, _, %twice", cropped));
  EXPECT_FALSE(moves_codes_of("Resize", "%x, _, %twice", cropped + ", extrapolation_value = 1.0"));
  EXPECT_FALSE(moves_codes_of("Relu", "%x"));
}

}  // namespace
}  // namespace quench
