// Milliseconds per iteration of reconstruction on ResNet-18's block 64x56x56 at batch 32, over a plain float step of
// the same block (forward, backward, Adam), taking turns in this process; with bf16 convolutions, over one in fp32. And
// the memory that a step asks of the system: what it allocates beyond blocks that malloc has kept.
//   bench_reconstruction [ROUNDS] [DEVICE] [brecq|qdrop|brecq_bf16|qdrop_bf16]
// Or, of ResNet-18 on so many images (256): seconds to fill all caches over a pass of the float network, and what the
// process holds at most, without and with a bound on caches.
//   bench_reconstruction caches [IMAGES]
// Or, on a GPU: iterations per second of blocks of ResNet-20 and of that block, captured over one launch per operator.
//   bench_reconstruction capture [DEVICE]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "quantize/stages.h"
#include "quench/calibrate.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/prepare.h"
#include "quench/process.h"
#include "quench/ptq_method.h"
#include "quench/quantizers.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"
#include "reconstruct/adam.h"
#include "reconstruct/learn_rounding.h"

using namespace quench;

namespace {

constexpr std::int64_t kBatch = 32, kChannels = 64, kSize = 56, kSteps = 20;
int rounds = 7;
std::vector<double> float_times, method_times, method_memory;  // of the turns, per step: milliseconds, MB

Graph block(std::int64_t channels = kChannels, std::int64_t size = kSize) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), channels, size, size}));
  Value* last = &x;
  for (const char* name : {"conv1", "conv2"}) {
    Value& weight = graph.add_constant(std::string(name) + ".weight", at::randn({channels, channels, 3, 3}) / 24);
    Value& bias = graph.add_constant(std::string(name) + ".bias", at::randn({channels}) / 8);
    Node& conv = graph.add("Conv", name, {last, &weight, &bias});
    conv.attrs["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
    last = &conv.output();
    if (name[4] == '1') last = &graph.add("Relu", "relu1", {last}).output();
  }
  Value& sum = graph.add("Add", "add", {last, &x}).output();
  graph.add_output(graph.add("Relu", "relu2", {&sum}).output());
  infer_shapes(graph);
  return graph;
}

double milliseconds_per_step(const std::function<void()>& step, std::int64_t steps) {
  const auto start = std::chrono::steady_clock::now();
  step();
  return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(steps);
}

// In MB, by the pages that were touched for the first time.
double memory_asked_for() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

class FloatBlock {
 public:
  explicit FloatBlock(const std::string& device)
      : weights_{parameter({kChannels, kChannels, 3, 3}, device), parameter({kChannels}, device),
                 parameter({kChannels, kChannels, 3, 3}, device), parameter({kChannels}, device)},
        adam_(weights_),
        rate_(at::full({}, 1e-3, at::Device(device))) {}
  void steps(const UnitWork& work) {
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const at::Tensor rows = work.draw(i);
      const at::Tensor x = work.float_inputs(rows).begin()->second.tensor(), wanted = work.target(rows);
      const at::Tensor h = at::conv2d(x, weights_[0], weights_[1], 1, 1).relu();
      const at::Tensor y = (at::conv2d(h, weights_[2], weights_[3], 1, 1) + x).relu();
      (y - wanted).square().mean().backward();
      adam_.step(rate_);
    }
  }

 private:
  static at::Tensor parameter(const std::vector<std::int64_t>& sizes, const std::string& device) {
    return (at::randn(sizes) / 24).to(at::Device(device)).requires_grad_();
  }
  Tensors weights_;
  Adam adam_;
  at::Tensor rate_;
};

// Takes turns with the float block. max_count is kSteps.
void learn_in_turns(UnitWork& work, UnitRecord& record, bool scales) {
  FloatBlock plain(work.device());
  for (int round = -1; round < rounds; ++round) {  // the first is for warming up
    const double fp = milliseconds_per_step([&] { plain.steps(work); }, kSteps);
    const double memory = memory_asked_for();
    const double own = milliseconds_per_step([&] { learn_rounding(work, record, scales); }, kSteps);
    if (round < 0) continue;
    method_memory.push_back((memory_asked_for() - memory) / kSteps);
    float_times.push_back(fp);
    method_times.push_back(own);
  }
}
void turns_with_scales(UnitWork& work, UnitRecord& record) { learn_in_turns(work, record, true); }

QUENCH_REGISTER_PTQ_METHOD("in_turns", turns_with_scales, "in turns with a float block", rounding_options(1.0, kSteps))

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

QuantConfig four_bits() {
  QuantConfig config;
  config.weight.bits = config.activation.bits = 4;
  config.weight.granularity = Granularity::kChannel;
  config.activation.is_signed = config.activation.symmetric = false;
  config.weight.observer = config.activation.observer = "min_max";
  config.weight.fake_quant = config.activation.fake_quant = "fixed";
  return config;
}

void measure(const char* name, double prob, const std::string& device, bool bf16 = false) {
  for (std::vector<double>* values : {&float_times, &method_times, &method_memory}) values->clear();
  QuantizedModel model = prepare_by_platform(block(), "academic", four_bits());
  std::vector<at::Tensor> items;
  for (std::int64_t i = 0; i < 2 * kBatch; ++i) items.push_back(at::randn({kChannels, kSize, kSize}));
  const auto data = dataset_of(std::move(items));
  calibrate(model, *data);
  ReconstructOptions options;
  options.method = "in_turns";
  options.options =
      Options{{"prob", prob}, {"warm_up", 0.0}, {"batch", static_cast<double>(kBatch)}, {"bf16", double(bf16)}};
  options.device = device;
  reconstruct(model, *data, options);
  std::printf("%-11s %8.1f ms  float step %8.1f ms  ratio %.2f  new memory %.2f MB\n", name, median(method_times),
              median(float_times), median(method_times) / median(float_times), median(method_memory));
  std::fflush(stdout);
}

// Without what is done once: of a long and a short run, the difference.
double iterations_per_second(const QuantizedModel& model, const Dataset& data, ReconstructOptions options) {
  constexpr double kShort = 100, kLong = 1100;
  double seconds = 0;
  for (const double count : {kShort, kLong}) {
    QuantizedModel learned = model;
    options.options.set("max_count", count);
    const double took = reconstruct(learned, data, options).units.front().seconds;
    seconds = took - seconds;
  }
  return (kLong - kShort) / seconds;
}

void measure_capture(const std::string& device) {
  struct Shape {
    std::int64_t channels, size, batch;
  };
  for (const auto& [channels, size, batch] :
       {Shape{16, 32, 64}, Shape{32, 16, 64}, Shape{64, 8, 64}, Shape{64, 56, 32}}) {
    QuantizedModel model = prepare_by_platform(block(channels, size), "academic", four_bits());
    std::vector<at::Tensor> items;
    for (std::int64_t i = 0; i < 2 * batch; ++i) items.push_back(at::randn({channels, size, size}));
    const auto data = dataset_of(std::move(items));
    calibrate(model, *data);
    ReconstructOptions options;
    options.device = device;
    options.options = Options{{"batch", static_cast<double>(batch)}};
    const double captured = iterations_per_second(model, *data, options);
    options.options.set("capture", 0.0);
    const double eager = iterations_per_second(model, *data, options);
    std::printf("block %lldx%lldx%lld, batch %lld: %.0f iterations/s, launched one by one %.0f, ratio %.2f\n",
                static_cast<long long>(channels), static_cast<long long>(size), static_cast<long long>(size),
                static_cast<long long>(batch), captured, eager, captured / eager);
    std::fflush(stdout);
  }
}

QuantizedModel resnet18(const Dataset& data) {
  const auto net = make_zoo_model("resnet18");
  net->eval();
  QuantizedModel model =
      prepare_by_platform(from_module(*net, {at::randn({kBatch, 3, 224, 224})}), "academic", four_bits());
  calibrate(model, data);
  return model;
}

double float_pass_seconds(const Graph& graph, const Dataset& data) {
  Executor executor(graph);
  const std::string output = graph.outputs()[0]->name();
  double total = 0;
  Loader loader(data, {.batch_size = kBatch});
  while (const auto batch = loader.next()) {
    const NamedValues inputs = bind_inputs(graph, *batch);
    total += milliseconds_per_step([&] { executor.run(inputs, {output}); }, 1) / 1e3;
  }
  return total;
}

std::unique_ptr<Dataset> random_images(std::int64_t images) {
  std::vector<at::Tensor> items;
  for (std::int64_t i = 0; i < images; ++i) items.push_back(at::randn({3, 224, 224}));
  return dataset_of(std::move(items));
}

void measure_caches(std::int64_t images) {
  const auto data = random_images(images);
  const QuantizedModel model = resnet18(*random_images(kBatch));
  const Graph plain = without_quantizers(model.graph);
  float_pass_seconds(plain, *data);  // warms up
  for (const double bound : {0.1, 0.0}) {
    QuantizedModel learned = model;
    ReconstructOptions options;
    options.method = "brecq";
    options.options = Options{{"max_count", 1.0}, {"batch", static_cast<double>(kBatch)}, {"max_memory", bound}};
    const std::int64_t before = resident_bytes();
    reset_peak();
    const ReconstructionRecord record = reconstruct(learned, *data, options);
    const double pass = float_pass_seconds(plain, *data);
    std::printf(
        "caches bounded to %4.1f GB: filled in %.1f s, a float pass %.1f s, ratio %.2f; at most %.0f MB in memory, "
        "%.0f MB in files; the process held at most %.0f MB, %.0f of them before\n",
        bound, record.cache_seconds, pass, record.cache_seconds / pass, 1e-6 * static_cast<double>(record.memory_bytes),
        1e-6 * static_cast<double>(record.spilled_bytes), 1e-6 * static_cast<double>(peak_resident_bytes()),
        1e-6 * static_cast<double>(before));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string(argv[1]) == "caches") {
      measure_caches(argc > 2 ? std::stoll(argv[2]) : 256);
      return 0;
    }
    if (argc > 1 && std::string(argv[1]) == "capture") {
      measure_capture(argc > 2 ? argv[2] : "cuda");
      return 0;
    }
    if (argc > 1) rounds = std::stoi(argv[1]);
    const std::string device = argc > 2 ? argv[2] : "cpu";
    keep_large_blocks();
    at::manual_seed(0);
    for (const bool bf16 : {false, true})
      for (const std::string method : {"brecq", "qdrop"})
        if (const std::string name = method + (bf16 ? "_bf16" : ""); argc < 4 || name == argv[3])
          measure(name.c_str(), method == "brecq" ? 1.0 : 0.5, device, bf16);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
