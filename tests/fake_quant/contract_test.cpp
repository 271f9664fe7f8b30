// What every fake quantizer promises (docs/numerics.md 5.0), over all registered names.
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "fake_quant/samples.h"
#include "support/expect_error.h"

namespace quench {
namespace {

class EveryFakeQuant : public testing::TestWithParam<std::string> {
 protected:
  FakeQuantSpec spec() const { return spec_for(GetParam()); }
  // Returns a different weight than it was given: some promises are about closeness.
  bool transforms() const { return GetParam() == "dorefa"; }
};

TEST_P(EveryFakeQuant, IsTheIdentityWithBothFlagsOff) {
  const at::Tensor x = sample({2, 3, 4, 5});
  Quantizer quantizer(spec(), x.sizes().vec());
  EXPECT_TRUE(quantizer(x).is_same(x));
}

TEST_P(EveryFakeQuant, OnlyObservesWhenToldSo) {
  const at::Tensor x = sample({2, 3, 4, 5});
  Quantizer quantizer(spec(), x.sizes().vec(), make_observer("min_max", spec().scheme));
  quantizer.flags.observe = true;
  const at::Tensor scale = quantizer.tensors().scale().detach().clone();
  EXPECT_TRUE(quantizer(x).is_same(x));
  EXPECT_TRUE(quantizer.observer()->seen());
  EXPECT_TRUE(at::equal(quantizer.tensors().scale(), scale));  // D17: not on every calibration batch
}

TEST_P(EveryFakeQuant, ObservesAndQuantizesAtOnceOnlyWhereTheObserverCan) {
  const at::Tensor x = sample({2, 3, 4, 5});
  Quantizer fine(spec(), x.sizes().vec(), make_observer("min_max", spec().scheme));
  fine.flags = {.observe = true, .quantize = true};
  EXPECT_TRUE(at::equal(fine(x), quantizing(spec(), x)(x)));
  Quantizer refused(spec(), x.sizes().vec(), make_observer("mse", spec().scheme));
  refused.flags = {.observe = true, .quantize = true};
  EXPECT_ERROR(refused(x), "observer 'mse'", "cannot observe and quantize at once");
}

TEST_P(EveryFakeQuant, NeedsAnObserverToObserve) {
  Quantizer quantizer(spec(), {4});
  quantizer.flags.observe = true;
  EXPECT_ERROR(quantizer(at::ones({4})), "needs an observer");
}

TEST_P(EveryFakeQuant, QuantizesNearly) {
  if (transforms()) return;
  const at::Tensor x = sample({2, 3, 8, 9});
  const at::Tensor y = quantizing(spec(), x)(x);
  EXPECT_GT((y - x).abs().max().item<float>(), 0.0F);
  // PACT clips at 6, which the sample does not reach; a logarithmic code is 1/16 octave wide: 4.4 %.
  EXPECT_LT((y - x).abs().max().item<float>(), 0.05F * x.abs().max().item<float>());
}

TEST_P(EveryFakeQuant, KeepsTypeAndLayout) {
  const at::Tensor x = sample({2, 3, 4, 5});
  Quantizer quantizer = quantizing(spec(), x);
  const at::Tensor y = quantizer(x);
  const at::Tensor last = quantizer(x.contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::equal(last, y));
  EXPECT_TRUE(at::equal(quantizer(at::cat({x, x}, 3).narrow(3, 0, 5)), y));
  EXPECT_TRUE(at::equal(quantizer(x.transpose(0, 3).contiguous().transpose(0, 3)), y));
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor narrow = quantizer(x.to(type));
    EXPECT_EQ(narrow.scalar_type(), type);
    EXPECT_TRUE(at::equal(narrow, quantizer(x.to(type).to(at::kFloat)).to(type)));
  }
  EXPECT_ERROR(quantizer(x.to(at::kDouble)), "takes float, half or bfloat16", "not Double");
  EXPECT_ERROR(quantizer(x.to(at::kInt)), "takes float, half or bfloat16", "not Int");
}

TEST_P(EveryFakeQuant, TakesEmptyAndSingleElements) {
  Quantizer quantizer = quantizing(spec(), at::full({1}, 0.7F));
  EXPECT_EQ(quantizer(at::empty({0})).numel(), 0);
  const at::Tensor y = quantizer(at::full({1}, 0.7F));
  EXPECT_EQ(y.numel(), 1);
  EXPECT_TRUE(std::isfinite(y.item<float>()));
}

// Several processes join after each share of a batch: one that has nothing to show must not be missing.
TEST_P(EveryFakeQuant, AnEmptyShareIsObservedToo) {
  const at::Tensor x = sample({2, 3, 4, 5}), none = x.narrow(0, 0, 0);
  Quantizer quantizer(spec(), x.sizes().vec(), make_observer("min_max", spec().scheme));
  quantizer.flags = {.observe = true, .quantize = true};
  std::vector<std::int64_t> seen_before;
  quantizer.observer()->share_batches(
      [&](const auto& before) { seen_before.push_back(before.at("batches").template item<std::int64_t>()); });
  for (const at::Tensor& share : {none, x, none}) EXPECT_EQ(quantizer(share).sizes(), share.sizes());
  quantizer.observer()->share_batches(nullptr);
  quantizer(x);
  EXPECT_EQ(seen_before, (std::vector<std::int64_t>{0, 0, 1}));
}

TEST_P(EveryFakeQuant, GivesZeroForAZeroRange) {
  const at::Tensor zeros = at::zeros({3, 4});
  EXPECT_TRUE(at::equal(quantizing(spec(), zeros)(zeros), zeros));
}

// A quantizer must not hide a NaN; an infinity is the nearest code. DoReFa divides by the greatest magnitude, so
// there a NaN is everywhere.
TEST_P(EveryFakeQuant, KeepsNanAndClampsInfinity) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const at::Tensor x = sample({8});
  Quantizer quantizer = quantizing(spec(), x);
  at::Tensor odd = x.clone();
  odd[1] = std::nanf("");
  odd[2] = kInf;
  odd[3] = -kInf;
  const at::Tensor y = quantizer(odd);
  EXPECT_TRUE(std::isnan(y[1].item<float>()));
  if (transforms()) return;
  EXPECT_TRUE(std::isfinite(y[2].item<float>()) && y[2].item<float>() > 0);
  EXPECT_TRUE(std::isfinite(y[3].item<float>()) && y[3].item<float>() <= 0);
  EXPECT_TRUE(at::equal(y.narrow(0, 4, 4), quantizer(x).narrow(0, 4, 4)));
}

TEST_P(EveryFakeQuant, GivesGradientsToXAndToWhatLearns) {
  const at::Tensor x = sample({2, 3, 4, 5}).requires_grad_();
  Quantizer quantizer = quantizing(spec(), x.detach());
  (quantizer(x) * sample({2, 3, 4, 5}, 2)).sum().backward();
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
  EXPECT_GT(x.grad().abs().sum().item<float>(), 0.0F);
  for (const auto& [name, tensor] : quantizer.parameters()) {
    EXPECT_TRUE(tensor.requires_grad()) << name;
    if (GetParam() == "adaround") continue;  // alpha learns in the mode `soft`: its own test
    ASSERT_TRUE(tensor.grad().defined()) << name;
    EXPECT_TRUE(tensor.grad().isfinite().all().item<bool>()) << name;
  }
}

// A quantizer that two consumers share runs twice before its backward.
TEST_P(EveryFakeQuant, MayRunTwiceBeforeItsBackward) {
  const at::Tensor x = sample({2, 3, 4, 5}).requires_grad_();
  Quantizer quantizer = quantizing(spec(), x.detach());
  (quantizer(x) + quantizer(x)).sum().backward();
  const at::Tensor twice = x.grad().clone();
  x.mutable_grad() = at::Tensor();
  quantizer(x).sum().backward();
  EXPECT_TRUE(at::allclose(twice, x.grad() * 2));
}

// D20: all state comes back, with the shapes of the file.
TEST_P(EveryFakeQuant, SavesAndLoadsItsState) {
  const at::Tensor x = sample({2, 3, 4, 5});
  Quantizer quantizer = quantizing(spec(), x);
  Quantizer other(spec(), {1, 1, 1, 1}, make_observer("min_max", spec().scheme));
  const auto before = other.parameters();
  other.load(quantizer.state());
  EXPECT_TRUE(at::equal(other(x), quantizer(x)));
  EXPECT_EQ(other.flags.quantize, quantizer.flags.quantize);
  EXPECT_EQ(other.observer()->batches(), quantizer.observer()->batches());
  for (const auto& [name, tensor] : other.parameters()) EXPECT_TRUE(tensor.is_same(before.at(name))) << name;
  auto incomplete = quantizer.state();
  incomplete.erase("scale");
  EXPECT_ERROR(other.load(incomplete), "no entry 'scale'");
}

TEST_P(EveryFakeQuant, RefusesUnknownOptions) {
  FakeQuantSpec odd = spec();
  odd.options.set("no_such_option", 1.0);
  EXPECT_ERROR(make_fake_quant(odd), "unknown option 'no_such_option' of fake quantizer", GetParam());
}

TEST_P(EveryFakeQuant, RefusesRolesAndGranularitiesThatItHasNot) {
  const FakeQuantEntry& entry = FakeQuantRegistry::instance().get(GetParam());
  FakeQuantSpec odd = spec();
  odd.role = Role::kWeight;
  if (!entry.for_weights) {
    EXPECT_ERROR(make_fake_quant(odd), GetParam(), "for activations only");
  }
  odd.role = Role::kActivation;
  if (!entry.for_activations) {
    EXPECT_ERROR(make_fake_quant(odd), GetParam(), "for weights only");
  }
  odd = spec();
  odd.scheme = QScheme::parse("int8 symmetric channel:1");
  if (!entry.per_channel) {
    EXPECT_ERROR(make_fake_quant(odd), GetParam(), "per tensor only");
  }
}

// The schemes of these that the algorithm takes.
std::vector<FakeQuantSpec> all_that_fit(const std::string& algorithm, const std::vector<std::string>& schemes) {
  std::vector<FakeQuantSpec> result;
  for (const std::string& scheme : schemes) {
    try {
      result.push_back(spec_for(algorithm, {scheme}));
    } catch (const Error&) {
    }
  }
  return result;
}

FakeQuantSpec per_tensor(FakeQuantSpec spec) {
  QSchemeSpec scheme = spec.scheme.spec();
  scheme.granularity = Granularity::kTensor;
  scheme.group = 0;
  spec.scheme = QScheme(scheme);
  return spec;
}

// D22: zero points included, whatever the scheme.
TEST_P(EveryFakeQuant, WorksPerChannelAsOnEachChannelAlone) {
  const FakeQuantEntry& entry = FakeQuantRegistry::instance().get(GetParam());
  if (!entry.per_channel || transforms()) return;  // DoReFa's maximum is over the whole weight
  const at::Tensor x = sample({2, 3, 4, 5}) * at::tensor({1.0F, 4.0F, 0.1F}).reshape({1, 3, 1, 1}) + 0.3F;
  const auto specs =
      all_that_fit(GetParam(), {"int8 symmetric channel:1", "uint8 affine channel:1", "int3 affine channel:1"});
  ASSERT_FALSE(specs.empty());
  for (const FakeQuantSpec& spec : specs) {
    const at::Tensor y = quantizing(spec, x)(x);
    for (int c = 0; c < 3; ++c) {
      const at::Tensor one = x.narrow(1, c, 1).contiguous();
      EXPECT_TRUE(at::equal(quantizing(per_tensor(spec), one)(one), y.narrow(1, c, 1)))
          << spec.scheme.text() << " " << c;
    }
  }
}

TEST_P(EveryFakeQuant, WorksPerGroupAsOnEachGroupAlone) {
  const FakeQuantEntry& entry = FakeQuantRegistry::instance().get(GetParam());
  if (!entry.per_channel || transforms()) return;
  const at::Tensor x = sample({3, 8}) + 0.3F;
  for (const FakeQuantSpec& spec : all_that_fit(GetParam(), {"int8 symmetric group:1:4", "uint8 affine group:1:4"})) {
    const at::Tensor y = quantizing(spec, x)(x);
    for (int row = 0; row < 3; ++row)
      for (int group = 0; group < 2; ++group) {
        const at::Tensor one = x.narrow(0, row, 1).narrow(1, 4 * group, 4).contiguous();
        EXPECT_TRUE(at::equal(quantizing(per_tensor(spec), one)(one), y.narrow(0, row, 1).narrow(1, 4 * group, 4)));
      }
  }
}

// D20: the shapes of the file, not those that the quantizer was made with.
TEST_P(EveryFakeQuant, TakesTheShapesOfTheFile) {
  for (const FakeQuantSpec& spec : all_that_fit(GetParam(), {"int8 symmetric channel:1", "uint8 affine channel:1"})) {
    const at::Tensor x = sample({2, 3, 4, 5});
    Quantizer quantizer = quantizing(spec, x), other(spec, {2, 7, 4, 5}, make_observer("min_max", spec.scheme));
    other.load(quantizer.state());
    EXPECT_EQ(other.tensors().scale().numel(), 3);
    EXPECT_TRUE(at::equal(other(x), quantizer(x)));
  }
}

TEST_P(EveryFakeQuant, GivesHalfItsGradientToo) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor x = sample({2, 3, 4, 5}).to(type).requires_grad_(), dy = sample({2, 3, 4, 5}, 2).to(type);
    const at::Tensor wide = x.detach().to(at::kFloat).requires_grad_();
    Quantizer quantizer = quantizing(spec(), wide.detach());
    quantizer(x).backward(dy);
    quantizer(wide).backward(dy.to(at::kFloat));
    EXPECT_EQ(x.grad().scalar_type(), type);
    EXPECT_TRUE(at::equal(x.grad(), wide.grad().to(type)));
  }
}

// A convolution under autocast hands bfloat16 on: what comes in goes out in its type, computed in float32.
TEST_P(EveryFakeQuant, WorksUnderAutocast) {
  const at::Tensor x = sample({2, 3, 8, 8}), weight = sample({3, 3, 3, 3}, 2);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor y = at::conv2d(x, weight);
  Quantizer quantizer = quantizing(spec(), y.to(at::kFloat));
  const at::Tensor z = quantizer(y);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_EQ(z.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(z, quantizer(y.to(at::kFloat)).to(at::kBFloat16)));
}

TEST_P(EveryFakeQuant, KeepsTheLayoutOfItsInput) {
  const at::Tensor x = sample({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  Quantizer quantizer = quantizing(spec(), x.detach());
  const at::Tensor y = quantizer(x);
  EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST_P(EveryFakeQuant, DeploysTheScaleThatItUses) {
  const at::Tensor x = sample({2, 3, 4, 5});
  Quantizer quantizer = quantizing(spec(), x);
  const QParams deployed = make_fake_quant(spec())->deployed(quantizer.tensors());
  if (!spec().scheme.is_int() || transforms()) return;
  const at::Tensor y = quantizer(x), steps = y / deployed.scale.at(0);
  EXPECT_LE((steps - steps.round()).abs().max().item<float>(), 1e-4F);  // 128 steps, each good to 2^-23
}

TEST_P(EveryFakeQuant, RefusesTensorsThatMakeNoSense) {
  const at::Tensor x = sample({2, 3, 4, 5});
  Quantizer quantizer = quantizing(spec(), x);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    auto state = quantizer.state();
    state["scale"] = at::full({}, bad);
    EXPECT_ERROR(quantizer.load(state), "'scale' holds a NaN or an infinity");
  }
  auto state = quantizer.state();
  state["scale"] = at::ones({5});
  quantizer.load(state);
  EXPECT_ERROR(quantizer(x), "'scale' has the shape [5]", "must be []");
  if (FakeQuantRegistry::instance().get(GetParam()).learns_scale) return;
  state["scale"] = at::zeros({});
  EXPECT_ERROR(quantizer.load(state), "scale is 0", "must be positive");
}

INSTANTIATE_TEST_SUITE_P(All, EveryFakeQuant, testing::ValuesIn(FakeQuantRegistry::instance().names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace quench
