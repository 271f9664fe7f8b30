// Weights into modules: by name, all or none, with the nearest names in the errors.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/state_dict.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

TensorMap copy_of(const TensorMap& tensors) {
  TensorMap result;
  for (const auto& [name, tensor] : tensors) result[name] = tensor.detach().clone();
  return result;
}

std::string error_of(ZooNet& net, const TensorMap& tensors) {
  try {
    load_state(net, tensors);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "the message is: " << text;
}

TEST(LoadState, MakesTwoModulesAlike) {
  auto from = make_zoo_model("small_cnn", {.seed = 1}), to = make_zoo_model("small_cnn", {.seed = 2});
  set_training(*from, true);
  zoo_forward(*from, at::rand({4, 1, 28, 28}));  // moves the running statistics
  const StateReport report = load_state(*to, state_of(*from));
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  const TensorMap a = state_of(*from), b = state_of(*to);
  for (const auto& [name, tensor] : a) {
    EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
    EXPECT_FALSE(tensor.is_alias_of(b.at(name))) << name;
  }
}

TEST(LoadState, DropsThePrefixOfDataParallel) {
  auto from = make_zoo_model("small_cnn", {.seed = 1}), to = make_zoo_model("small_cnn", {.seed = 2});
  TensorMap prefixed;
  for (const auto& [name, tensor] : state_of(*from)) prefixed["module." + name] = tensor;
  load_state(*to, prefixed);
  EXPECT_TRUE(at::equal(state_of(*to).at("fc.weight"), state_of(*from).at("fc.weight")));
}

TEST(LoadState, NamesWhatIsMissingAndWhatIsUnexpected) {
  auto net = make_zoo_model("small_cnn");
  TensorMap tensors = copy_of(state_of(*net));
  tensors["block1.bn1.scale"] = tensors.at("block1.bn1.weight");
  tensors.erase("block1.bn1.weight");
  tensors.erase("block1.bn1.num_batches_tracked");  // old checkpoints have none
  const std::string text = error_of(*net, tensors);
  expect_part(text, "the weights do not fit the module: missing 'block1.bn1.weight' (nearest: ");
  expect_part(text, "; unexpected 'block1.bn1.scale' (nearest: ");
  const StateReport report = load_state(*net, tensors, {.strict = false});
  EXPECT_EQ(report.missing, std::vector<std::string>{"block1.bn1.weight"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"block1.bn1.scale"});
}

TEST(LoadState, AShapeThatDiffersIsAnErrorAndNothingIsWritten) {
  auto net = make_zoo_model("small_cnn");
  const TensorMap before = copy_of(state_of(*net));
  TensorMap tensors = copy_of(before);
  for (auto& [name, tensor] : tensors) tensor.add_(1);
  tensors["stem.0.weight"] = at::zeros({16, 3, 3, 3});
  expect_part(error_of(*net, tensors),
              "'stem.0.weight' has shape [16, 3, 3, 3] in the weights and [16, 1, 3, 3] in the module");
  for (const auto& [name, tensor] : state_of(*net)) EXPECT_TRUE(at::equal(tensor, before.at(name))) << name;
}

TEST(LoadState, ConvertsHalfAndRefusesComplex) {
  auto net = make_zoo_model("small_cnn");
  TensorMap tensors = copy_of(state_of(*net));
  tensors["fc.bias"] = at::arange(10).to(at::kHalf);
  load_state(*net, tensors);
  EXPECT_TRUE(at::equal(state_of(*net).at("fc.bias"), at::arange(10).to(at::kFloat)));
  tensors["fc.bias"] = at::zeros({10}, at::kComplexFloat);
  expect_part(error_of(*net, tensors), "'fc.bias' is ComplexFloat in the weights and Float in the module");
}

}  // namespace
}  // namespace quench
