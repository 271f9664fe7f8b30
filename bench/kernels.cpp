// The fused loops against memory: each kernel against a copy of the same tensor and against LibTorch's own operator
// if there is one. bench_kernels THREADS [ROUNDS] [--cuda]; bench/kernels runs it.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/affine/affine.h"
#include "kernels/affine/learned.h"
#include "kernels/simd/simd.h"
#include "kernels/statistics/statistics.h"
#include "quench/process.h"

namespace {

using at::Tensor;
using quench::AffineArgs;
using quench::QScheme;
using Work = std::function<void()>;

// `tensors`: how many tensors of the size of x are read and written, once each.
struct Row {
  std::string name;
  double tensors;
  Work ours;
  Work torch;          // empty: LibTorch has none
  bool reads = false;  // and writes next to nothing
};

struct Data {
  explicit Data(at::Device device) {
    at::manual_seed(0);
    x = at::randn({device.is_cuda() ? 128 : 16, 64, 112, 112}, device);  // more than any cache holds
    dy = at::randn_like(x);
    last = x.contiguous(at::MemoryFormat::ChannelsLast);
    last_dy = dy.contiguous(at::MemoryFormat::ChannelsLast);
    scale = at::full({1}, 0.02, x.options());
    zero = at::zeros({1}, x.options());
    scales = at::full({64}, 0.02, x.options());
    zeros = at::zeros({64}, x.options());
    int_zeros = at::zeros({64}, x.options().dtype(at::kInt));
    group_scales = at::full(group.scale_shape(x.sizes().vec()), 0.02, x.options());
    group_zeros = at::zeros_like(group_scales);
  }
  Tensor x, dy, last, last_dy, scale, zero, scales, zeros, int_zeros, group_scales, group_zeros;
  QScheme tensor = QScheme::parse("int8 symmetric tensor"), channel = QScheme::parse("int8 symmetric channel:1"),
          group = QScheme::parse("int8 symmetric group:3:16");
  AffineArgs whole{scale, zero, tensor}, each{scales, zeros, channel}, grouped{group_scales, group_zeros, group};
  Tensor out, dx, ds, dz;
};

void add_affine(std::vector<Row>& rows, Data& d) {
  rows.push_back({"fake_quantize, tensor", 2, [&] { d.out = fake_quantize(d.x, d.whole); },
                  [&] { d.out = at::fake_quantize_per_tensor_affine(d.x, 0.02, 0, -128, 127); }});
  rows.push_back({"fake_quantize, channel", 2, [&] { d.out = fake_quantize(d.x, d.each); },
                  [&] { d.out = at::fake_quantize_per_channel_affine(d.x, d.scales, d.int_zeros, 1, -128, 127); }});
  rows.push_back({"  channels last", 2, [&] { d.out = fake_quantize(d.last, d.each); },
                  [&] { d.out = at::fake_quantize_per_channel_affine(d.last, d.scales, d.int_zeros, 1, -128, 127); }});
  rows.push_back({"  groups of 16", 2.125, [&] { d.out = fake_quantize(d.x, d.grouped); }, {}});
  rows.push_back({"fake_quantize + mask", 2.25, [&] { fake_quantize_masked(d.x, d.whole, d.out, d.dx); },
                  [&] { at::fake_quantize_per_tensor_affine_cachemask(d.x, 0.02, 0, -128, 127); }});
  rows.push_back({"quantize_codes", 2, [&] { d.out = quantize_codes(d.x, d.whole); }, {}});
  rows.push_back(
      {"lsq_backward, tensor", 3, [&] { lsq_backward(d.dy, d.x, d.whole, d.dx, d.ds, d.dz); },
       [&] { at::_fake_quantize_learnable_per_tensor_affine_backward(d.dy, d.x, d.scale, d.zero, -128, 127); }});
  rows.push_back(
      {"lsq_backward, channel", 3, [&] { lsq_backward(d.dy, d.x, d.each, d.dx, d.ds, d.dz); },
       [&] { at::_fake_quantize_learnable_per_channel_affine_backward(d.dy, d.x, d.scales, d.zeros, 1, -128, 127); }});
  rows.push_back({"  channels last", 3, [&] { lsq_backward(d.last_dy, d.last, d.each, d.dx, d.ds, d.dz); },
                  [&] {
                    at::_fake_quantize_learnable_per_channel_affine_backward(d.last_dy, d.last, d.scales, d.zeros, 1,
                                                                             -128, 127);
                  }});
  rows.push_back({"  groups of 16", 3.25, [&] { lsq_backward(d.dy, d.x, d.grouped, d.dx, d.ds, d.dz); }, {}});
}

void add_learned(std::vector<Row>& rows, Data& d) {
  const quench::RandomKey key{1, 2, 3};
  const quench::PactClip clip{-2.0F, 2.0F};
  rows.push_back({"dsq_backward", 3, [&] { d.dx = dsq_backward(d.dy, d.x, d.whole, 0.4); }, {}});
  rows.push_back({"pact_forward", 2, [=, &d] { d.out = pact_forward(d.x, clip, d.whole); }, {}});
  rows.push_back({"pact_backward", 3, [=, &d] { pact_backward(d.dy, d.x, clip, d.whole, d.dx, d.ds, d.dz); }, {}});
  rows.push_back({"adaround_forward", 3, [&] { d.out = adaround_forward(d.x, d.dy, d.whole); }, {}});
  // dy stands in for alpha: two tensors read.
  rows.push_back({"adaround_backward", 3, [&] { d.dx = adaround_backward(d.dy, d.x, d.dy, d.whole); }, {}});
  rows.push_back({"qdrop_forward", 2, [=, &d] { d.out = qdrop_forward(d.x, d.whole, 0.5, key); }, {}});
  rows.push_back({"qdrop_backward", 3, [=, &d] { qdrop_backward(d.dy, d.x, d.whole, 0.5, key, d.dx, d.ds); }, {}});
}

// What observers do. `tensors` counts reading alone: a copy reads and writes, so "of copy" may pass 1.
void add_statistics(std::vector<Row>& rows, Data& d) {
  const auto add = [&](const char* name, const Work& ours, const Work& torch = {}) {
    rows.push_back({name, 1, ours, torch, true});
  };
  add("min_max, tensor", [&] { min_max(d.x, d.tensor, d.ds, d.dz); }, [&] { at::aminmax(d.x); });
  add(
      "min_max, channel", [&] { min_max(d.x, d.channel, d.ds, d.dz); },
      [&] { at::amin(d.x, {0, 2, 3}), at::amax(d.x, {0, 2, 3}); });
  add(
      "  channels last", [&] { min_max(d.last, d.channel, d.ds, d.dz); },
      [&] { at::amin(d.last, {0, 2, 3}), at::amax(d.last, {0, 2, 3}); });
  add("  groups of 16", [&] { min_max(d.x, d.group, d.ds, d.dz); });
  add(
      "moments, tensor", [&] { moments(d.x, d.tensor, d.ds, d.dz, d.out); },
      [&] { at::std_mean(d.x, true), at::mean(at::abs(d.x)); });
  add("moments, channel", [&] { moments(d.x, d.channel, d.ds, d.dz, d.out); });
  add("  channels last", [&] { moments(d.last, d.channel, d.ds, d.dz, d.out); });
  const Tensor low = at::full({1}, -5.5, d.x.options()), high = -low, lows = low.expand({64}),
               highs = high.expand({64});
  add(
      "histogram, tensor", [=, &d] { quench::histogram(d.x, {d.tensor, low, high, 2048, false}); },
      [&] { at::histc(d.x, 2048, -5.5, 5.5); });
  const Tensor positive = d.x.relu();
  add("  half zeros", [=, &d] { quench::histogram(positive, {d.tensor, low, high, 2048, false}); });
  add("histogram, channel", [=, &d] { quench::histogram(d.x, {d.channel, lows, highs, 2048, false}); });
  add("  channels last", [=, &d] { quench::histogram(d.last, {d.channel, lows, highs, 2048, false}); });
}

void add_searches(std::vector<Row>& rows, Data& d) {
  const std::vector<float> least{-5.5F}, greatest{5.5F};
  for (const double p : {2.0, 2.4})
    rows.push_back({p == 2.0 ? "search, 95 on tensor" : "  p = 2.4",
                    1,
                    [=, &d] { quench::search_range(d.x, {d.tensor, least, greatest, p, 95}); },
                    {}});
  rows.push_back({"step_errors, 5", 1, [&] { step_errors(d.x, quench::StepErrorArgs{.first = 2, .count = 5}); }, {}});
  if (d.x.is_cuda()) return;  // a histogram is searched on the CPU
  const QScheme affine = QScheme::parse("uint8 affine tensor");
  const Tensor low = at::full({1}, -5.5), counts = quench::histogram(d.x, {d.tensor, low, -low, 2048, false});
  for (const double p : {2.0, 2.4})
    rows.push_back({p == 2.0 ? "search, histogram" : "  p = 2.4",
                    1,
                    [=] { quench::search_histogram({counts, least, greatest}, {affine, least, greatest, p, 95}); },
                    {}});
}

// On CUDA several launches in a row, so that the wait at the end does not count.
double milliseconds(const Work& work, bool cuda) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto wait = [&] {
    if (cuda) at::zeros({1}, at::kCUDA).item();
  };
  const int repeats = cuda ? 20 : 1;
  wait();
  const auto start = now();
  for (int k = 0; k < repeats; ++k) work();
  wait();
  return std::chrono::duration<double, std::milli>(now() - start).count() / repeats;
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

constexpr int kWarm = 5;  // rounds until the allocator has settled

// Kernel, copy, a sum (the least that reads all) and LibTorch's operator take turns, so that a noisy neighbour meets
// all of them.
void measure(const Row& row, Data& d, int rounds) {
  const bool cuda = d.x.is_cuda();
  std::vector<double> ours, copies, reads, torch;
  Tensor copy = at::empty_like(d.x);
  for (int round = 0; round < rounds + kWarm; ++round) {
    const double a = milliseconds(row.ours, cuda), b = milliseconds([&] { copy.copy_(d.x); }, cuda),
                 c = row.reads ? milliseconds([&] { at::sum(d.x); }, cuda) : 0.0,
                 e = row.torch ? milliseconds(row.torch, cuda) : 0.0;
    if (round < kWarm) continue;
    ours.push_back(a);
    copies.push_back(b);
    reads.push_back(c);
    torch.push_back(e);
  }
  const double bytes = 4.0 * static_cast<double>(d.x.numel());
  const double speed = row.tensors * bytes / median(ours) / 1e6, copy_speed = 2.0 * bytes / median(copies) / 1e6;
  std::printf("%-24s%9.3f%9.3f%9.1f%8.2f", row.name.c_str(), *std::min_element(ours.begin(), ours.end()), median(ours),
              speed, speed / copy_speed);
  if (row.reads)
    std::printf("%8.2f", median(reads) / median(ours));
  else
    std::printf("%8s", "-");
  std::printf("%10.3f", median(copies));
  if (row.torch)
    std::printf("%10.3f%8.2f\n", median(torch), median(torch) / median(ours));
  else
    std::printf("%10s%8s\n", "-", "-");
}

void measure_all(bool cuda, int threads, int rounds) {
  Data data(cuda ? at::kCUDA : at::kCPU);
  std::vector<Row> rows;
  add_affine(rows, data);
  add_learned(rows, data);
  add_statistics(rows, data);
  add_searches(rows, data);
  std::printf("%dx64x112x112 float32, %s\n", cuda ? 128 : 16,
              cuda ? "CUDA" : (std::to_string(threads) + " threads, " + quench::kernel_isa()).c_str());
  std::printf("%-24s%9s%9s%9s%8s%8s%10s%10s%8s\n", "kernel", "best ms", "ms", "GB/s", "of copy", "of sum", "copy ms",
              "torch ms", "faster");
  for (const Row& row : rows) measure(row, data, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const bool cuda = argc > 1 && std::strcmp(argv[argc - 1], "--cuda") == 0;
  const int numbers = argc - 1 - (cuda ? 1 : 0);
  const int threads = numbers > 0 ? std::atoi(argv[1]) : 0, rounds = numbers > 1 ? std::atoi(argv[2]) : 15;
  if (numbers > 2 || threads < 1 || rounds < 1) {
    std::fprintf(stderr, "usage: %s THREADS [ROUNDS] [--cuda]; both numbers are at least 1\n", argv[0]);
    return 1;
  }
  quench::keep_large_blocks();
  at::set_num_threads(threads);
  const c10::InferenceMode no_grad;
  measure_all(cuda, threads, rounds);
  return 0;
}
