// "PTQ and QAT in practice": PyTorch's notebook on eager quantization, cell by cell, in C++. Comments name its
// chapters. The last two, which the notebook leaves empty, train and measure on Fashion-MNIST: 600 of the embedded
// images to calibrate and train on, the other 400 to count on.
//
//   example_torch_practice examples/demo [STEPS [DATA]]
// STEPS of training per model (200). DATA (docs/data.md): images to train on instead; then all 1,000 are counted on.
#include <ATen/ATen.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/optim/sgd.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <numbers>

#include "quench/data.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/model_size.h"
#include "quench/pass.h"
#include "quench/qat.h"
#include "quench/state_dict.h"
#include "quench/torchvision.h"
#include "quench/zoo_net.h"

namespace nn = torch::nn;
using namespace quench;

namespace {

void chapter(const char* title) { std::cout << "\n== " << title << "\n"; }
at::Tensor random_input() { return at::randn({4, 1, 4, 4}); }

// "Define a simple float module."
struct M : nn::Module {
  M() : conv(register_module("conv", nn::Conv2d(1, 1, 1))), relu(register_module("relu", nn::ReLU())) {}
  virtual at::Tensor forward_impl(const at::Tensor& x) { return relu(conv(x)); }
  at::Tensor forward(const at::Tensor& x) { return forward_impl(x); }
  nn::Conv2d conv;
  nn::ReLU relu;
};

// "Define a quantizable module": the same between two stubs.
struct QM : M {
  QM()
      : quant(register_module("quant", std::make_shared<QuantStub>())),
        dequant(register_module("dequant", std::make_shared<DeQuantStub>())) {}
  at::Tensor forward(const at::Tensor& x) { return dequant->forward(forward_impl(quant->forward(x))); }
  std::shared_ptr<QuantStub> quant;
  std::shared_ptr<DeQuantStub> dequant;
};

// "A float module slightly more complex than M", quantizable.
struct QM2 : QM {
  QM2() : bn(register_module("bn", nn::BatchNorm2d(1))) {}
  at::Tensor forward_impl(const at::Tensor& x) override { return relu(bn(conv(x))); }
  nn::BatchNorm2d bn;
};

// "One flow for PTQ and QAT": the module knows its qconfig and what it fuses.
struct QM3 : QM2 {
  explicit QM3(bool is_qat, const std::string& backend = "fbgemm")
      : qconfig(is_qat ? get_default_qat_qconfig(backend) : get_default_qconfig(backend)) {
    train(is_qat);
  }
  // The notebook's lists, taken literally: for QAT the convolution stays alone. All three would train better.
  FuseLists fuse_model(bool is_qat) const {
    return is_qat ? FuseLists{{"bn", "relu"}} : FuseLists{{"conv", "bn", "relu"}};
  }
  QConfig qconfig;
};

// "Introduction to PTQ"
void ptq() {
  chapter("Introduction to PTQ");
  const auto model_fp32 = std::make_shared<QM>();
  model_fp32->eval();  // PTQ demands it
  const at::Tensor input_fp32 = random_input();
  std::cout << "activations and weights: " << model_fp32->forward(input_fp32).dtype() << ", "
            << model_fp32->conv->weight.dtype() << "\n";
  EagerModel model(model_fp32, {input_fp32});
  model.qconfig.set_global(get_default_qconfig("fbgemm"));
  const EagerModel fused = fuse_modules(model, {{"conv", "relu"}});
  std::cout << fused << "\n";
  PreparedModel prepared = prepare(fused);
  for (int i = 0; i < 10; ++i) prepared.forward(random_input());  // calibrate
  QuantizedModel model_int8 = convert(prepared);
  std::cout << print_converted(fused, model_int8) << "\n";
  const ConvertedWeight conv = weight(model_int8, "conv");
  std::cout << "weight: " << conv.dtype() << ", element_size " << conv.element_size() << "\n";
  for (const auto& node : model_int8.graph.nodes())
    std::cout << "after " << node->name() << ": " << name_of(node->output().dtype()) << "\n";
  std::cout << "result: " << model_int8.run({input_fp32})[0].tensor().dtype() << "\n";
}

void training_loop(QatModule& model) {
  torch::optim::SGD optimizer(model.parameters(), 0.01);
  for (int i = 0; i < 10; ++i) {
    optimizer.zero_grad();
    model.forward(random_input()).square().mean().backward();
    optimizer.step();
  }
}

// "Overview of QAT"
void qat() {
  chapter("Overview of QAT");
  const auto model_fp32 = std::make_shared<QM2>();
  model_fp32->train();  // QAT demands it
  EagerModel model(model_fp32, {random_input()});
  model.qconfig.set_global(get_default_qat_qconfig("fbgemm"));
  const EagerModel fused = fuse_modules_qat(model, {{"conv", "bn", "relu"}});
  const auto prepared = prepare_qat(fused);
  std::cout << *prepared << "\n";
  training_loop(*prepared);
  prepared->eval();
  std::cout << print_converted(fused, convert(*prepared)) << "\n";
}

// "One flow for PTQ and QAT": quantize and quantize_qat with a run_fn.
void unified() {
  chapter("One flow for PTQ and QAT");
  EagerModel ptq_model(std::make_shared<QM3>(false), {random_input()});
  fuse_model(ptq_model);
  std::cout << print_converted(quantize(ptq_model, [](PreparedModel& model) {
    for (int epoch = 0; epoch < 10; ++epoch) model.forward(random_input());
  }));
  EagerModel qat_model(std::make_shared<QM3>(true, "qnnpack"), {random_input()});
  fuse_model(qat_model);
  std::cout << print_converted(quantize_qat(qat_model, training_loop));
}

// What meets goes through a FloatFunctional, as in torchvision's QuantizableInvertedResidual.
struct Residual : QM2 {
  at::Tensor forward_impl(const at::Tensor& x) override { return skip_add->add(x, QM2::forward_impl(x)); }
  std::shared_ptr<FloatFunctional> skip_add = register_module("skip_add", std::make_shared<FloatFunctional>());
};

// "PTQ and QAT strategies": a submodule without a qconfig stays float, be it a layer or a sum.
void strategies() {
  chapter("Strategies");
  const auto module = std::make_shared<Residual>();
  module->eval();
  for (const std::string none : {"", "conv", "skip_add"}) {
    EagerModel model(module, {random_input()});
    model.qconfig.set_global(get_default_qconfig("fbgemm"));
    if (!none.empty()) model.qconfig.set_module_name(none, std::nullopt);
    PreparedModel prepared = prepare(model);
    prepared.forward(random_input());
    ConvertRecord record;
    convert(prepared, {}, &record);
    std::cout << (none.empty() ? "all quantized" : none + " left float") << ": " << prepared.plan().count(Role::kWeight)
              << " weights, " << record.layers << " layers on codes\n";
  }
}

// "Fusing modules for PTQ and QAT": torchvision's QuantizableMobileNetV2, with stubs, a FloatFunctional for each sum
// and a fuse_model of its own; on images of 32 x 32 to be quick.
void mobilenet_v2() {
  chapter("MobileNetV2");
  const auto net = zoo::mobilenet_v2("", {.num_classes = 10});  // or the name of a file with pretrained weights
  EagerModel model(net, {at::randn({2, 3, 32, 32})});
  model.qconfig.set_global(get_default_qat_qconfig("qnnpack"));
  fuse_model(model);  // for QAT, since the module is in training
  const auto q = prepare_qat(model);
  const at::Tensor x = at::randn({4, 3, 32, 32});
  q->forward(x).square().mean().backward();
  ConvertRecord record;
  QuantizedModel integers = convert(*q, {}, &record);
  std::cout << model.fused.size() << " fused, " << q->plan().count(Role::kWeight) << " weights quantized, "
            << record.layers << " layers compute on codes; output " << integers.run({x})[0].tensor().sizes() << "\n";
  // mobilenet_v2(quantize=True). With torchvision's file its weights and scales; without one it saw noise.
  QuantizedModel ready = zoo::mobilenet_v2("", zoo::quantized);
  std::cout << "ready-made: weight " << weight(ready, "features.18.0").dtype() << "; output "
            << ready.run({at::randn({1, 3, 224, 224})})[0].tensor().sizes() << "\n";
}

struct Images {
  at::Tensor x, labels;
};

Images read_images(const std::string& spec) {
  const auto data = open_dataset(spec);
  std::vector<at::Tensor> images;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    const Sample sample = data->get(i);
    images.push_back(sample.inputs.tensor());
    labels.push_back(sample.label);
  }
  return {at::stack(images), at::tensor(labels)};
}

using Network = QuantWrapper<ZooNet>;

// small_cnn with the weights of the demo, which was trained on Fashion-MNIST.
std::shared_ptr<Network> trained_network(const std::string& folder) {
  const Graph file = import_onnx(folder + "/fashion_cnn.onnx");
  TensorMap weights;
  for (const Value* constant : file.constants()) weights.emplace(constant->name(), constant->tensor());
  const auto net = make_zoo_model("small_cnn");
  load_state(*net, weights, {.strict = false});
  const auto wrapped = std::make_shared<Network>(net);
  wrapped->eval();
  return wrapped;
}

template <typename Forward>
at::Tensor predictions(const Images& images, const Forward& forward) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> classes;
  for (const at::Tensor& x : images.x.split(100)) classes.push_back(forward(x).argmax(1));
  return at::cat(classes);
}

double percent(const at::Tensor& which) { return 100 * which.to(at::kDouble).mean().item<double>(); }

// Milliseconds for one image: the median of a few runs.
template <typename Forward>
double latency(const Images& images, const Forward& forward) {
  const at::NoGradGuard no_grad;
  const at::Tensor image = images.x.narrow(0, 0, 1);
  std::vector<double> times(25);
  for (double& time : times) {
    const auto start = std::chrono::steady_clock::now();
    forward(image);
    time = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// First and last layer have 8 bits, as in the papers on low bits: their qconfig says what differs, and no more.
EagerModel model_of(const std::shared_ptr<Network>& net, QConfig qconfig, int bits) {
  QConfig eight{qconfig.backend, {}, {}};
  eight.weight.bits = eight.activation.bits = 8;
  qconfig.weight.bits = qconfig.activation.bits = bits;
  EagerModel model(net, {at::zeros({1, 1, 28, 28})});
  model.qconfig.set_global(qconfig);
  if (bits < 8)
    model.qconfig.set_object_type("quench.QuantStub", eight)
        .set_module_name("module.stem", eight)
        .set_module_name("module.fc", eight);
  return model;
}

struct Result {
  double top1 = 0.0, equal = 0.0;  // of the simulation; predictions that it shares with the integers
};
Result show(const char* what, const Images& test, QuantizedModel simulated) {
  QuantizedModel integers = convert(simulated);
  const auto run = [&](const at::Tensor& x) { return integers.run({x})[0].tensor(); };
  const at::Tensor one = predictions(test, [&](const at::Tensor& x) { return simulated.run({x})[0].tensor(); });
  const at::Tensor two = predictions(test, run);
  Graph deployed = simulated.graph;
  run_passes(deployed, {"fold_live_norms", "eliminate_dead"});
  const WeightSize size = weight_size(without_quantizers(deployed), simulated.plan);
  std::printf("%-22s top-1 %6.2f %%   integers %6.2f %%   equal predictions %6.2f %%   %6.1f kB   %5.2f ms\n", what,
              percent(one == test.labels), percent(two == test.labels), percent(one == two),
              static_cast<double>(size.quantized_bytes) / 1e3, latency(test, run));
  return {percent(one == test.labels), percent(one == two)};
}

// "PTQ in practice"
Result ptq_practice(const std::shared_ptr<Network>& net, const Images& train, const Images& test, int bits) {
  PreparedModel prepared = prepare(model_of(net, get_default_qconfig("onnxruntime"), bits));
  for (const at::Tensor& x : train.x.narrow(0, 0, 600).split(100)) prepared.forward(x);
  prepared.finish();
  return show(concat("PTQ, ", bits, " bits").c_str(), test, prepared.model());
}

// "QAT in practice": the user's own loop. Scales of weights and activations learn too (LSQ, LSQ+).
Result qat_practice(const std::shared_ptr<Network>& net, const Images& train, const Images& test, int bits, int steps) {
  QConfig qconfig = get_default_qat_qconfig("onnxruntime");
  qconfig.weight.fake_quant = qconfig.weight.observer = "lsq";
  qconfig.activation.fake_quant = qconfig.activation.observer = "lsq_plus";
  qconfig.weight.observer_options = qconfig.activation.observer_options = {};
  net->train();
  const auto q = prepare_qat(model_of(net, qconfig, bits));
  const double rate = bits > 2 ? 0.002 : 0.02;  // what is near its goal already should stay there
  using SGD = torch::optim::SGDOptions;
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(q->network_parameters(), std::make_unique<SGD>(SGD(rate).momentum(0.9).weight_decay(1e-4)));
  groups.emplace_back(q->quantizer_parameters(), std::make_unique<SGD>(SGD(rate / 10).momentum(0.9)));  // no decay
  torch::optim::SGD optimizer(groups, SGD(rate));
  for (int step = 0; step < steps; ++step) {
    const double annealed = rate / 2 * (1 + std::cos(std::numbers::pi * step / steps));
    optimizer.param_groups()[0].options().set_lr(annealed);
    optimizer.param_groups()[1].options().set_lr(annealed / 10);
    if (2 * step == steps) q->freeze_bn_stats();
    const at::Tensor rows = at::randint(train.x.size(0), {64});
    optimizer.zero_grad();
    at::cross_entropy_loss(q->forward(train.x.index_select(0, rows)), train.labels.index_select(0, rows)).backward();
    optimizer.step();
  }
  q->eval();
  return show(concat("QAT, ", bits, " bits").c_str(), test, q->model());
}

int practice(const std::string& folder, int steps, const std::string& data) {
  const std::string embedded = concat("idx:", folder, "/images.gz?labels=", folder, "/labels.gz&norm=mnist");
  const Images train = read_images(data.empty() ? embedded + "&limit=600" : data);
  const Images test = read_images(data.empty() ? embedded + "&offset=600" : embedded);
  const auto net = trained_network(folder);
  at::manual_seed(0);  // the same images in the same order, whatever the chapters before drew
  chapter("PTQ in practice");
  const auto forward = [&](const at::Tensor& x) { return net->forward(x); };
  std::printf("%-22s top-1 %6.2f %%   %5.2f ms\n", "float", percent(predictions(test, forward) == test.labels),
              latency(test, forward));
  std::vector<Result> all;
  for (const int bits : {8, 4, 2}) all.push_back(ptq_practice(net, train, test, bits));
  chapter("QAT in practice");
  for (const int bits : {4, 2}) all.push_back(qat_practice(trained_network(folder), train, test, bits, steps));
  double equal = 0;
  for (const Result& result : all) equal += result.equal / static_cast<double>(all.size());
  const bool training_helps = all.back().top1 > all[2].top1 + 20;  // at 2 bits
  return equal >= 99.9 && training_helps ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  at::manual_seed(0);
  std::cout << "torch: " << TORCH_VERSION << "\n";
  ptq();
  qat();
  unified();
  strategies();
  mobilenet_v2();
  return practice(argv[1], argc > 2 ? std::stoi(argv[2]) : 200, argc > 3 ? argv[3] : "");
}
