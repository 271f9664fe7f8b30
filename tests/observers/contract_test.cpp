// What every registered observer must do, whatever its rule.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <functional>

#include "observers/observing.h"
#include "observers/scaleless.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

class EveryObserver : public testing::TestWithParam<std::string> {
 protected:
  const ObserverEntry& entry() const { return ObserverRegistry::instance().get(GetParam()); }

  // What has no default (a NaN stands for it) is given; small histograms keep this quick.
  Options options() const {
    Options options;
    for (const OptionInfo& one : entry().options)
      if (one.name == "bins") options.set(one.name, 160.0);
    for (const OptionInfo& one : entry().options)
      if (const auto* number = std::get_if<double>(&one.fallback); number != nullptr && std::isnan(*number))
        options.set(one.name, 0.05);
    return options;
  }

  std::unique_ptr<Observer> make(const std::string& scheme) const { return observer_of(GetParam(), scheme, options()); }

  QParams of(const std::string& scheme, const std::vector<at::Tensor>& batches) const {
    return observed(GetParam(), scheme, batches, options());
  }

  // All that the entry says it takes; each fits a tensor {N, 8, 4, 4}.
  std::vector<std::string> schemes() const {
    std::vector<std::string> result;
    std::vector<std::string> shapes = {"tensor"};
    if (entry().per_channel)
      for (const char* more : {"channel:1", "group:-1:4", "group:1:4"}) shapes.emplace_back(more);
    for (const std::string& shape : shapes) {
      for (const char* format : {"int8 symmetric ", "int4 symmetric ", "uint8 symmetric "})
        result.push_back(format + shape);
      if (!entry().affine) continue;
      for (const char* format : {"uint8 affine ", "int4 affine ", "e4m3fn "}) result.push_back(format + shape);
      result.push_back("uint8 affine " + shape + " pot");
    }
    return result;
  }

  static void expect_legal(const QParams& params, const QScheme& scheme, const std::string& what) {
    ASSERT_EQ(params.scale.size(), params.zero_point.size());
    for (std::size_t i = 0; i < params.scale.size(); ++i) {
      EXPECT_TRUE(std::isfinite(params.scale[i]) && params.scale[i] > 0) << what << ": " << params.scale[i];
      if (!scheme.is_int()) continue;
      EXPECT_GE(params.zero_point[i], scheme.qmin()) << what;
      EXPECT_LE(params.zero_point[i], scheme.qmax()) << what;
      EXPECT_TRUE(!scheme.symmetric() || params.zero_point[i] == 0) << what;
    }
  }
};

std::vector<at::Tensor> batches_of(int count) {
  at::manual_seed(11);
  std::vector<at::Tensor> batches;
  for (int i = 0; i < count; ++i) batches.push_back(at::randn({3, 8, 4, 4}) * (1 + 0.2 * i) + 0.3);
  return batches;
}

TEST_P(EveryObserver, GivesOneLegalPairAScale) {
  for (const std::string& text : schemes()) {
    const QScheme scheme = QScheme::parse(text);
    const std::unique_ptr<Observer> observer = make(text);
    for (const at::Tensor& batch : batches_of(3)) observer->observe(batch);
    std::size_t entries = 1;
    for (const std::int64_t size : scheme.scale_shape({3, 8, 4, 4})) entries *= static_cast<std::size_t>(size);
    const QParams params = observer->qparams();
    EXPECT_EQ(params.scale.size(), entries) << text;
    EXPECT_EQ(observer->batches(), 3);
    expect_legal(params, scheme, text);
  }
}

TEST_P(EveryObserver, TakesDegenerateData) {
  at::manual_seed(12);
  const std::vector<std::pair<const char*, at::Tensor>> data = {
      {"zeros", at::zeros({2, 8, 4, 4})},
      {"constant", at::full({2, 8, 4, 4}, 3.25F)},
      {"negative constant", at::full({2, 8, 4, 4}, -0.001F)},
      {"negative", -at::rand({2, 8, 4, 4}) - 1},
      {"positive", at::rand({2, 8, 4, 4}) + 1},
      {"huge", at::randn({2, 8, 4, 4}) * 1e37},
      {"tiny", at::randn({2, 8, 4, 4}) * 1e-38},
      {"one outlier", at::cat({at::zeros({1, 8, 4, 4}), at::ones({1, 8, 4, 4}) * 1e9})}};
  for (const std::string& text : schemes())
    for (const auto& [name, x] : data) expect_legal(of(text, {x}), QScheme::parse(text), text + " of " + name);
  // Each after each: ranges that grow from nothing.
  for (const auto& [first, x] : data)
    for (const auto& [second, y] : data)
      expect_legal(of("int8 symmetric tensor", {x, y}), QScheme(), std::string(first) + " then " + second);
  expect_legal(of("int8 symmetric tensor", {at::full({1}, 0.7F)}), QScheme(), "one element");
  expect_legal(of("int8 symmetric tensor", {at::full({}, -0.7F)}), QScheme(), "a scalar");
}

TEST_P(EveryObserver, NothingObservedIsAnErrorWhereDataIsNeeded) {
  const std::unique_ptr<Observer> observer = make("int8 symmetric tensor");
  EXPECT_FALSE(observer->seen());
  if (!entry().needs_data) {
    expect_legal(observer->qparams(), observer->scheme(), "without data");
    return;
  }
  const std::string message = message_of([&] { observer->qparams(); });
  EXPECT_EQ(message, "nothing was observed\n  in observer '" + GetParam() + "'");
}

TEST_P(EveryObserver, IgnoresEmptyBatches) {
  for (const std::string& text : schemes()) {
    const std::vector<at::Tensor> batches = batches_of(2);
    const at::Tensor empty = at::empty({0, 8, 4, 4});
    EXPECT_EQ(of(text, {empty, batches[0], empty, batches[1], empty}), of(text, batches)) << text;
  }
}

TEST_P(EveryObserver, RefusesNaNAndInfinity) {
  for (const std::string& text : schemes()) {
    const std::unique_ptr<Observer> observer = make(text);
    const at::Tensor good = batches_of(1)[0];
    observer->observe(good);
    const QParams before = observer->qparams();
    for (const float bad : {std::nanf(""), kInf, -kInf}) {
      const at::Tensor x = good.clone();
      x[2][7][3][3] = bad;
      const std::string message = message_of([&] { observer->observe(x); });
      EXPECT_NE(message.find(std::isnan(bad) ? "the tensor holds NaN" : "the tensor holds an infinity"),
                std::string::npos)
          << message;
    }
    EXPECT_EQ(observer->qparams(), before) << "a refused batch leaves no trace";
    EXPECT_EQ(observer->batches(), 1);
  }
}

TEST_P(EveryObserver, RefusesIntegerData) {
  EXPECT_ERROR(make("int8 symmetric tensor")->observe(at::ones({3}, at::kInt)), "floating-point data", "not Int");
}

// D20: all state is restored, with its shape, and gives the same bits; also where the observation goes on.
TEST_P(EveryObserver, StateGivesTheSameBits) {
  const std::vector<at::Tensor> batches = batches_of(3);
  for (const std::string& text : schemes()) {
    const std::unique_ptr<Observer> first = make(text), second = make(text);
    first->observe(batches[0]);
    first->observe(batches[1]);
    second->observe(batches[2]);  // must be gone after load
    second->load(first->state());
    EXPECT_EQ(second->batches(), 2);
    EXPECT_EQ(second->scale_shape(), first->scale_shape());
    EXPECT_EQ(second->qparams(), first->qparams()) << text;
    first->observe(batches[2]);
    second->observe(batches[2]);
    EXPECT_EQ(second->qparams(), first->qparams()) << text;
  }
}

TEST_P(EveryObserver, StateOfNothingIsNothing) {
  const std::unique_ptr<Observer> first = make("int8 symmetric tensor"), second = make("int8 symmetric tensor");
  second->observe(at::randn({4}));
  second->load(first->state());
  EXPECT_FALSE(second->seen());
}

TEST_P(EveryObserver, RefusesAStateThatDoesNotFit) {
  const std::unique_ptr<Observer> observer = make("int8 symmetric tensor");
  EXPECT_NE(message_of([&] { observer->load({}); }).find("there is no entry 'batches'"), std::string::npos);
  observer->observe(at::randn({100}));
  for (const auto& [name, tensor] : observer->state()) {
    std::map<std::string, at::Tensor> state = observer->state();
    state.erase(name);
    EXPECT_ERROR(make("int8 symmetric tensor")->load(state), concat("no entry '", name, "'"), GetParam()) << name;
  }
}

// What a file may say of counts and shapes; and a load that failed leaves nothing behind.
TEST_P(EveryObserver, RefusesAStateThatLies) {
  for (const std::string& text : schemes()) {
    const std::unique_ptr<Observer> observer = make(text), other = make(text);
    observer->observe(batches_of(1)[0]);
    const auto refuses = [&](const std::string& name, const at::Tensor& tensor, const char* part) {
      std::map<std::string, at::Tensor> state = observer->state();
      if (!state.contains(name)) return;
      state[name] = tensor;
      EXPECT_ERROR(other->load(state), part, GetParam()) << text << " " << name;
      EXPECT_FALSE(other->seen());
    };
    refuses("batches", at::full({}, -1, at::kLong), "'batches' must be one count");
    refuses("batches", at::full({}, std::numeric_limits<std::int64_t>::max(), at::kLong),
            "'batches' must be one count");
    refuses("batches", at::empty({0}, at::kLong), "'batches' must be one count");
    refuses("shape", at::tensor({-1, -1}, at::kLong), "scales of the shape [-1 x -1]");
    refuses("shape", at::tensor({std::int64_t{1} << 62, std::int64_t{1} << 62}, at::kLong),
            "scales of the shape [4611686018427387904");
    for (const auto& [name, part] : {std::pair{"min", "a range is nan"}, std::pair{"low", "a range is nan"},
                                     std::pair{"counts", "'counts' holds nan"}}) {
      std::map<std::string, at::Tensor> state = observer->state();
      if (state.contains(name)) refuses(name, at::full_like(state[name], std::nan("")), part);
    }
    std::map<std::string, at::Tensor> half = observer->state();
    const std::string last = half.rbegin()->first == "shape" ? "min" : half.rbegin()->first;
    half.erase(last);
    if (half.size() < observer->state().size()) {
      EXPECT_ERROR(other->load(half), concat("no entry '", last, "'"));
    }
    other->observe(batches_of(1)[0]);
    EXPECT_EQ(other->qparams(), observer->qparams()) << text;
  }
}

// D31: every observer forgets.
TEST_P(EveryObserver, ResetForgets) {
  for (const std::string& text : schemes()) {
    const std::vector<at::Tensor> batches = batches_of(2);
    const std::unique_ptr<Observer> observer = make(text);
    observer->observe(batches[1] * 100);
    observer->reset();
    EXPECT_FALSE(observer->seen());
    observer->observe(batches[0]);
    EXPECT_EQ(observer->qparams(), of(text, {batches[0]})) << text;
  }
}

TEST_P(EveryObserver, MergesWithNothing) {
  for (const std::string& text : schemes()) {
    const std::unique_ptr<Observer> full = make(text), empty = make(text), other = make(text);
    for (const at::Tensor& batch : batches_of(2)) full->observe(batch);
    const QParams params = full->qparams();
    full->merge(*empty);
    EXPECT_EQ(full->qparams(), params) << text;
    other->merge(*full);
    EXPECT_EQ(other->qparams(), params) << text;
    EXPECT_EQ(other->batches(), 2);
  }
}

TEST_P(EveryObserver, MergesWithItsEqualToItself) {
  for (const std::string& text : schemes()) {
    const std::unique_ptr<Observer> first = make(text), second = make(text);
    for (const at::Tensor& batch : batches_of(2)) {
      first->observe(batch);
      second->observe(batch);
    }
    const QParams params = first->qparams();
    first->merge(*second);
    EXPECT_EQ(first->batches(), 4);
    // The unbiased deviation of n values twice is less than that of n by 1 / (4 n); an entry has at least 8 here.
    const QParams both = first->qparams();
    for (std::size_t i = 0; i < params.scale.size(); ++i)
      EXPECT_NEAR(both.scale[i], params.scale[i], params.scale[i] * 0.04) << text;
  }
}

TEST_P(EveryObserver, RefusesToMergeWithAnother) {
  const std::unique_ptr<Observer> observer = make("int8 symmetric tensor");
  EXPECT_NE(message_of([&] { observer->merge(*make("int4 symmetric tensor")); }).find("cannot merge"),
            std::string::npos);
  const std::string other = GetParam() == "min_max" ? "lsq" : "min_max";
  EXPECT_NE(message_of([&] { observer->merge(*observer_of(other, "int8 symmetric tensor")); }).find("cannot merge"),
            std::string::npos);
}

TEST_P(EveryObserver, HalfPrecisionIsTakenAsFloat) {
  for (const std::string& text : schemes())
    for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kDouble}) {
      const at::Tensor x = batches_of(1)[0].to(type);
      EXPECT_EQ(of(text, {x}), of(text, {x.to(at::kFloat)})) << text;
    }
}

// Sums may differ in their last bits with the order of the elements.
void expect_nearly(const QParams& found, const QParams& wanted, const std::string& what) {
  ASSERT_EQ(found.scale.size(), wanted.scale.size()) << what;
  EXPECT_EQ(found.zero_point, wanted.zero_point) << what;
  for (std::size_t i = 0; i < found.scale.size(); ++i)
    EXPECT_NEAR(found.scale[i], wanted.scale[i], wanted.scale[i] * 1.2e-7) << what;
}

TEST_P(EveryObserver, LayoutMakesNoDifference) {
  for (const std::string& text : schemes()) {
    const at::Tensor x = batches_of(1)[0];
    const QParams wanted = of(text, {x});
    expect_nearly(of(text, {x.contiguous(at::MemoryFormat::ChannelsLast)}), wanted, text + " channels-last");
    expect_nearly(of(text, {x.permute({3, 1, 0, 2}).contiguous().permute({2, 1, 3, 0})}), wanted, text + " permuted");
    const at::Tensor wide = at::zeros({3, 8, 4, 8});
    wide.slice(3, 0, 8, 2).copy_(x);
    expect_nearly(of(text, {wide.slice(3, 0, 8, 2)}), wanted, text + " strided");
  }
}

TEST_P(EveryObserver, LeavesGradientsAlone) {
  const at::Tensor x = at::randn({4, 4}).set_requires_grad(true);
  const std::unique_ptr<Observer> observer = make("int8 symmetric tensor");
  observer->observe(x);
  for (const auto& [name, tensor] : observer->state()) EXPECT_FALSE(tensor.requires_grad()) << name;
}

// D18: channels of activations lie on axis 1; the batch and the image may change, the channels may not.
TEST_P(EveryObserver, ChannelsOfActivationsAreOnTheirAxis) {
  if (!entry().per_channel) {
    EXPECT_NE(message_of([&] { make("int8 symmetric channel:1"); }).find("works per tensor only"), std::string::npos);
    return;
  }
  const std::unique_ptr<Observer> observer = make("int8 symmetric channel:1");
  at::manual_seed(13);
  observer->observe(at::randn({5, 3, 6, 6}));
  observer->observe(at::randn({2, 3, 4, 7}));
  EXPECT_EQ(observer->qparams().scale.size(), 3U);
  EXPECT_NE(message_of([&] {
              observer->observe(at::randn({5, 4, 6, 6}));
            }).find("scales of the shape [4] after batches with [3]"),
            std::string::npos);
}

TEST_P(EveryObserver, RefusesUnknownOptions) {
  EXPECT_ERROR(observer_of(GetParam(), "int8 symmetric tensor", {{"no_such_option", 1.0}}),
               "unknown option 'no_such_option' of observer", GetParam());
}

// What does not say that it goes by batches depends on the set of values alone, whatever batches it comes in and in
// which order: to the bit where it counts, in the last bits where it adds.
TEST_P(EveryObserver, TheCutAndTheOrderMakeNoDifference) {
  at::manual_seed(14);
  const at::Tensor spread = at::pow(4, at::randn({96, 1, 1, 1}));
  const at::Tensor all = at::randn({96, 8, 4, 4}) * spread + 0.2;
  for (const std::string& text : schemes()) {
    if (make(text)->by_batch() || text.find("group") != std::string::npos) continue;  // groups: one per batch row
    const QParams whole = of(text, {all});
    for (const std::int64_t batch : {1, 8, 32}) {
      const at::Tensor shuffled = all.index({at::randperm(96)});
      const QParams cut = of(text, shuffled.split(batch));
      if (GetParam() == "lsq" || GetParam() == "lsq_plus" || GetParam() == "clip_std")
        expect_nearly(cut, whole, text);
      else
        EXPECT_EQ(cut, whole) << text << " in batches of " << batch;
    }
  }
}

// A padded batch counts up to its last real item.
TEST_P(EveryObserver, CopiesThatFillUpABatchDoNotCount) {
  at::manual_seed(15);
  const at::Tensor items = at::randn({5, 8, 4, 4});
  const at::Tensor filled = at::cat({items, items.narrow(0, 4, 1).repeat({3, 1, 1, 1})});
  for (const std::string& text : schemes()) {
    if (text.find("group") != std::string::npos) continue;
    const std::unique_ptr<Observer> observer = make(text);
    observer->count_items(5, 8);
    observer->observe(filled);
    EXPECT_EQ(observer->qparams(), of(text, {items})) << text;
    observer->observe(at::full({3, 8, 4, 4}, 1000.0F));  // whose items cannot be told apart
    EXPECT_EQ(observer->qparams(), of(text, {items})) << text;
    observer->count_items(0, 0);
    observer->observe(at::full({3, 8, 4, 4}, 1000.0F));
    EXPECT_EQ(observer->batches(), 2) << text;
  }
}

// D17: asking changes nothing, so that it may be asked once at the end or never.
TEST_P(EveryObserver, AskingChangesNothing) {
  const std::vector<at::Tensor> batches = batches_of(3);
  const std::unique_ptr<Observer> asked = make("int8 symmetric tensor");
  for (const at::Tensor& batch : batches) {
    asked->observe(batch);
    asked->qparams();
  }
  EXPECT_EQ(asked->qparams(), of("int8 symmetric tensor", batches));
}

// Those that find a scale: the others have tests of their own.
std::vector<std::string> finding_scales() {
  std::vector<std::string> names = ObserverRegistry::instance().names();
  std::erase_if(names, [](const std::string& name) {
    const ObserverEntry& entry = ObserverRegistry::instance().get(name);
    return entry.options.empty() && dynamic_cast<ScalelessObserver*>(observer_of(name, "int8 symmetric tensor").get());
  });
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryObserver, testing::ValuesIn(finding_scales()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace quench
