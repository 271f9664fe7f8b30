// One step of quantization-aware training (forward, cross-entropy, backward, SGD with momentum) of ResNet-18 on
// 224x224 images over a float step of the same module in LibTorch. All take turns in this process; medians.
// The second ratio is that of the CPU time, which other programs on the machine disturb less (with --threads 1).
//   bench_qat_step [--rounds 7] [--batch 16] [--size 224] [--threads N] [--device cpu] [--bf16] [--capture]
//                  [--only PART_OF_A_NAME]
// --batch 2 --size 32 shows what a step costs beside its arithmetic.
// --capture: on a GPU all steps are captured as CUDA graphs, as those of `quench train` are; else none is.
// --bf16: the forward passes under LibTorch's autocast; the first line stays the float32 step.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "kernels/replay.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/pass.h"
#include "quench/prepare.h"
#include "quench/process.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

using namespace quench;

namespace {

struct Arguments {
  int rounds = 7;
  std::int64_t batch = 16, size = 224;
  std::string device = "cpu", only;
  bool bf16 = false, capture = false;
};

Arguments arguments;
at::Tensor images, labels;

class Autocast {
 public:
  explicit Autocast(bool on) : type_(c10::Device(arguments.device).type()) {
    at::autocast::set_autocast_dtype(type_, at::kBFloat16);
    at::autocast::set_autocast_enabled(type_, on);
  }
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(type_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType type_;
};

class Training {
 public:
  using Forward = std::function<at::Tensor(const at::Tensor&)>;
  Training(std::string name, std::vector<at::Tensor> parameters, Forward forward, bool bf16)
      : name(std::move(name)), parameters_(std::move(parameters)), forward_(std::move(forward)), bf16_(bf16) {
    for (at::Tensor& parameter : parameters_) {
      parameter.requires_grad_();
      momenta_.push_back(at::zeros_like(parameter.detach()));
    }
  }

  void step() {
    at::Tensor loss;
    {
      const Autocast autocast(bf16_);
      loss = at::cross_entropy_loss(forward_(images).to(at::kFloat), labels);
    }
    loss.backward();
    const c10::NoGradGuard no_grad;
    std::vector<at::Tensor> changed, gradients, momenta;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      changed.push_back(parameters_[i]);
      gradients.push_back(parameters_[i].grad());
      momenta.push_back(momenta_[i]);
    }
    at::_fused_sgd_(changed, gradients, momenta, /*weight_decay=*/1e-4, /*momentum=*/0.9, /*lr=*/1e-4,
                    /*dampening=*/0.0, /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false);
    for (at::Tensor& parameter : changed) parameter.mutable_grad() = at::Tensor();
  }

  void timed_step(bool counts) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    if (!replay_) replay_ = std::make_unique<Replay>(arguments.capture ? arguments.device : "cpu", [this] { step(); });
    replay_->run();
    if (arguments.device != "cpu") parameters_[0].flatten()[0].item<float>();  // waits for the device
    if (!counts) return;
    times.push_back(1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    cpu_times.push_back(1e3 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
  }

  std::string refusal() const { return replay_ ? replay_->refusal() : ""; }

  std::string name;
  std::vector<double> times, cpu_times;  // in milliseconds

 private:
  std::vector<at::Tensor> parameters_, momenta_;
  Forward forward_;
  bool bf16_;
  std::unique_ptr<Replay> replay_;  // made when this object moves no more
};

std::shared_ptr<ZooNet> network() {
  auto net = make_zoo_model("resnet18");
  for (at::Tensor& parameter : net->parameters())
    if (parameter.dim() == 4) parameter.set_data(parameter.detach().contiguous(at::MemoryFormat::ChannelsLast));
  return net;
}

Training module_training(const std::string& name, bool bf16) {
  const auto net = network();
  net->to(c10::Device(arguments.device));
  return {name, net->parameters(), [net](const at::Tensor& x) { return net->forward(x); }, bf16};
}

// Runs the graph, and keeps the module whose tensors it shares. Up to here all was on the CPU.
Training graph_training(const std::string& name, const std::shared_ptr<ZooNet>& net, Graph graph) {
  const auto running = std::make_shared<Graph>(std::move(graph));
  const c10::Device device(arguments.device);
  for (const Value* constant : running->constants())
    if (constant->tensor().is_floating_point())
      at::Tensor(constant->tensor()).set_data(constant->tensor().detach().to(device));
  std::vector<at::Tensor> parameters;
  for (const Value* parameter : running->parameters()) parameters.push_back(parameter->tensor());
  ExecOptions options;
  options.training = options.grad = options.channels_last = true;
  options.device = arguments.device;
  const auto executor = std::make_shared<Executor>(*running, options);
  return {name, parameters,
          [net, running, executor](const at::Tensor& x) { return executor->run({RtValue(x)})[0].tensor(); },
          arguments.bf16};
}

Graph float_graph(const std::shared_ptr<ZooNet>& net) {
  return from_module(*net, {at::zeros({2, 3, arguments.size, arguments.size})});
}

Training float_graph_training() {
  const auto net = network();
  Graph graph = float_graph(net);
  run_passes(graph, cleanup_passes());
  return graph_training("float graph", net, std::move(graph));
}

QuantConfig config_of(const std::string& platform, const std::string& fake_quant) {
  QuantConfig config;
  config.platform = platform;
  config.weight.fake_quant = config.activation.fake_quant = fake_quant;
  config.weight.observer = config.activation.observer = "min_max";
  if (platform != "academic") return config;
  config.weight.bits = config.activation.bits = 8;
  config.weight.granularity = Granularity::kChannel;
  config.activation.is_signed = config.activation.symmetric = false;
  return config;
}

Training quantized_training(const std::string& platform, const std::string& fake_quant) {
  const auto net = network();
  QuantizedModel model =
      prepare(float_graph(net), config_of(platform, fake_quant), {.norm = NormMode::kLive, .plan = {}});
  enable_calibration(model);
  forward(model, {RtValue(images.slice(0, 0, std::min<std::int64_t>(arguments.batch, 4)).cpu())});
  enable_quantization(model);
  run_passes(model.graph, training_passes());
  return graph_training(platform + " " + fake_quant, net, std::move(model.graph));
}

std::vector<Training> trainings() {
  std::vector<Training> all;
  all.push_back(module_training("float module", false));
  if (arguments.bf16) all.push_back(module_training("bf16 module", true));
  all.push_back(float_graph_training());
  for (const char* platform : {"academic", "tensorrt", "onnxruntime"})
    for (const char* fake_quant : {"fixed", "lsq", "dsq"}) {
      const std::string name = concat(platform, " ", fake_quant);
      if (name.find(arguments.only) != std::string::npos) all.push_back(quantized_training(platform, fake_quant));
    }
  return all;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--bf16" || option == "--capture") {
      (option == "--bf16" ? arguments.bf16 : arguments.capture) = true;
      continue;
    }
    QUENCH_CHECK(i + 1 < argc, "'", option, "' needs a value, or is unknown");
    const std::string value = argv[++i];
    if (option == "--rounds")
      arguments.rounds = std::stoi(value);
    else if (option == "--batch")
      arguments.batch = std::stoll(value);
    else if (option == "--size")
      arguments.size = std::stoll(value);
    else if (option == "--threads")
      set_threads(std::stoi(value));
    else if (option == "--device")
      arguments.device = value;
    else if (option == "--only")
      arguments.only = value;
    else
      fail("unknown option '", option,
           "'; known: --rounds, --batch, --size, --threads, --device, --bf16, --capture, --only");
  }
}

void measure() {
  const c10::Device device(arguments.device);
  images = at::randn({arguments.batch, 3, arguments.size, arguments.size})
               .contiguous(at::MemoryFormat::ChannelsLast)
               .to(device);
  labels = at::randint(1000, {arguments.batch}).to(device);
  std::vector<Training> all = trainings();
  const int warm_up = arguments.capture ? 5 : 1;
  for (int round = -warm_up; round < arguments.rounds; ++round)
    for (Training& one : all) one.timed_step(round >= 0);
  const double reference = median(all.front().times), cpu_reference = median(all.front().cpu_times);
  std::printf("ResNet-18, batch %lld, %s%s%s, %d threads, %d rounds\n", static_cast<long long>(arguments.batch),
              arguments.device.c_str(), arguments.bf16 ? ", bf16 autocast" : "", arguments.capture ? ", captured" : "",
              at::get_num_threads(), arguments.rounds);
  for (const Training& one : all)
    if (!one.refusal().empty()) std::printf("%s was not captured: %s\n", one.name.c_str(), one.refusal().c_str());
  for (const Training& one : all)
    std::printf("%-20s %9.1f ms  ratio %.3f  CPU %9.1f ms  ratio %.3f\n", one.name.c_str(), median(one.times),
                median(one.times) / reference, median(one.cpu_times), median(one.cpu_times) / cpu_reference);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    parse(argc, argv);
    keep_large_blocks();
    const std::string quirk = avoid_cpu_quirks();
    if (!quirk.empty()) std::printf("%s\n", quirk.c_str());
    at::manual_seed(0);
    measure();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
