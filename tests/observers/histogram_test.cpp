#include <gtest/gtest.h>

#include <cmath>

#include "observers/observing.h"

namespace quench {
namespace {

// torch.ao.quantization.HistogramObserver's search for one batch, written with tensors as torch has it.
struct TorchSearch {
  at::Tensor histogram;
  double min, max;
  int levels;
  std::int64_t bins() const { return histogram.numel(); }

  static at::Tensor norm(const at::Tensor& begin, const at::Tensor& end, const at::Tensor& density) {
    return density * (end * end * end - begin * begin * begin) / 3;
  }

  double error(std::int64_t start, std::int64_t last) const {
    const double width = (max - min) / static_cast<double>(bins());
    const double target = width * static_cast<double>(last - start + 1) / levels;
    const at::Tensor begin = (at::arange(bins(), at::kDouble) - static_cast<double>(start)) * width;
    const at::Tensor end = begin + width;
    const at::Tensor first = (begin / target).floor().clamp(0, levels - 1),
                     second = (end / target).floor().clamp(0, levels - 1);
    const at::Tensor density = histogram / width, half = at::full({bins()}, target / 2, at::kDouble);
    at::Tensor sum = norm(begin - (first + 0.5) * target, half, density);
    sum = sum + (second - first - 1) * norm(-half, half, density);
    return (sum + norm(-half, end - (second * target + target / 2), density)).sum().item<double>();
  }

  std::pair<float, float> run() const {
    const at::Tensor cumulated = histogram.cumsum(0);
    const auto* sums = cumulated.const_data_ptr<double>();
    const double total = histogram.sum().item<double>();
    double alpha = 0, beta = 1, least = INFINITY;
    std::int64_t start = 0, last = bins() - 1;
    while (alpha < beta) {
      const double next_alpha = alpha + 1e-5, next_beta = beta - 1e-5;
      std::int64_t l = start, r = last;
      while (l < last && sums[l] < next_alpha * total) ++l;
      while (r > start && sums[r] > next_beta * total) --r;
      std::int64_t next_start = start, next_last = last;
      if (l - start > last - r) {
        next_start = l;
        alpha = next_alpha;
      } else {
        next_last = r;
        beta = next_beta;
      }
      if (next_start == start && next_last == last) continue;
      const double found = error(next_start, next_last);
      if (found > least) break;
      least = found;
      start = next_start;
      last = next_last;
    }
    const double width = (max - min) / static_cast<double>(bins());
    return {static_cast<float>(min + width * static_cast<double>(start)),
            static_cast<float>(min + width * static_cast<double>(last + 1))};
  }
};

TEST(HistogramObserver, IsTorchsSearch) {
  at::manual_seed(1);
  const std::pair<const char*, int> cases[] = {
      {"uint8 affine tensor", 256}, {"int4 affine tensor", 16}, {"uint7 affine tensor", 128}};
  for (const auto& [scheme, levels] : cases)
    for (const double skew : {0.0, 1.5}) {
      const at::Tensor x = at::randn({20000}) * at::rand({20000}).pow(2) + skew;
      const auto min = x.min().item<float>(), max = x.max().item<float>();
      const TorchSearch search{at::histc(x, 2048, min, max).to(at::kDouble), min, max, levels};
      const auto [low, high] = search.run();
      const QParams wanted = qparams_of_range(QScheme::parse(scheme), {low}, {high});
      const QParams found = observed("histogram", scheme, {x}, {{"resample", 1.0}});
      EXPECT_FLOAT_EQ(found.scale[0], wanted.scale[0]) << scheme << " " << skew;
      EXPECT_EQ(found.zero_point, wanted.zero_point) << scheme << " " << skew;
    }
}

// D12: as many target bins as the scheme has levels.
TEST(HistogramObserver, FewerLevelsCutMore) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({50000});
  const auto reach = [&](const char* scheme) {
    return observed("histogram", scheme, {x}).scale[0] * static_cast<float>(QScheme::parse(scheme).levels());
  };
  EXPECT_LT(reach("uint3 affine tensor"), reach("uint5 affine tensor"));
  EXPECT_LT(reach("uint5 affine tensor"), reach("uint8 affine tensor"));
}

// D11: with float bounds the range of ReLU data is found; with torch 1.13's the counts above a whole number are lost.
TEST(HistogramObserver, FloatBoundsGiveASmallerError) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({200000}).relu() * 0.4;  // up to 1.8: counted over [0, 1] by torch 1.13
  const QScheme scheme = QScheme::parse("uint8 affine tensor");
  EXPECT_LT(error_of(x, observed("histogram", scheme.text(), {x}), scheme),
            error_of(x, observed("histogram", scheme.text(), {x}, {{"torch113", 1.0}}), scheme));
}

TEST(HistogramObserver, ExhaustiveIsNeverWorseOnTheHistogram) {
  // Two humps: the error rises between them, where the first search stops.
  at::manual_seed(4);
  const at::Tensor x = at::cat({at::randn({60000}) * 0.05, at::randn({60}) * 0.02 + 2, at::full({3}, 20.0F)});
  const QScheme scheme = QScheme::parse("uint4 affine tensor");
  const double first = error_of(x, observed("histogram", scheme.text(), {x}), scheme);
  const double all = error_of(x, observed("histogram", scheme.text(), {x}, {{"exhaustive", 1.0}}), scheme);
  EXPECT_LE(all, first * 1.001);  // judged on the histogram, measured on the data
}

TEST(HistogramObserver, ManyBatchesAreAlmostOne) {
  at::manual_seed(5);
  const at::Tensor x = at::randn({16, 4000});
  std::vector<at::Tensor> batches;
  for (int i = 0; i < 16; ++i) batches.push_back(x[i]);
  const QScheme scheme = QScheme::parse("int4 affine tensor");
  const double whole = error_of(x, observed("histogram", scheme.text(), {x}), scheme);
  EXPECT_NEAR(error_of(x, observed("histogram", scheme.text(), batches), scheme), whole, 0.02 * whole);
  EXPECT_NEAR(error_of(x, merged("histogram", scheme.text(), batches), scheme), whole, 0.02 * whole);
}

TEST(HistogramObserver, RefusesOptionsThatMakeNoSense) {
  EXPECT_NE(message_of([] { observer_of("histogram", "int8", {{"upsample_rate", 0.0}}); }).find("upsample_rate"),
            std::string::npos);
}

}  // namespace
}  // namespace quench
