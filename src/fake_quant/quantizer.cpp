// Quantizer: an algorithm, its tensors and its observer.
#include "quench/quantizer.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {
namespace {

const std::string kObserverPrefix = "observer.";

const at::Tensor& entry(const std::map<std::string, at::Tensor>& state, const std::string& name) {
  const auto at = state.find(name);
  QUENCH_CHECK(at != state.end(), "the state of the quantizer has no entry '", name, "'");
  return at->second;
}

// The tensor keeps its identity, which an optimizer holds, and takes the shape of the file.
void assign(at::Tensor& target, const at::Tensor& value) {
  target.set_data(value.detach().to(target.options().requires_grad(false)).clone());
}

}  // namespace

struct Quantizer::State {
  std::unique_ptr<FakeQuant> algorithm;
  std::vector<FakeQuantParam> params;
  FakeQuantTensors tensors;
  std::unique_ptr<Observer> observer;
};

Quantizer::Quantizer(FakeQuantSpec spec, const std::vector<std::int64_t>& sizes, std::unique_ptr<Observer> observer)
    : state_(std::make_unique<State>()) {
  state_->algorithm = make_fake_quant(spec);
  state_->params = params_of(state_->algorithm->spec());
  state_->tensors = make_tensors(state_->algorithm->spec(), sizes);
  state_->observer = std::move(observer);
  QUENCH_CHECK(!state_->observer || state_->observer->scheme() == spec.scheme, "the observer is for '",
               state_->observer->scheme().text(), "', the quantizer for '", spec.scheme.text(), "'");
}

Quantizer::~Quantizer() = default;
Quantizer::Quantizer(Quantizer&&) noexcept = default;

at::Tensor Quantizer::operator()(const at::Tensor& x, const RandomKey& key) {
  return run_fake_quant(*state_->algorithm, x, state_->tensors, {flags, state_->observer.get(), key, reconstructing});
}

void Quantizer::to(const std::string& device) {
  for (at::Tensor& tensor : state_->tensors.all) tensor.set_data(tensor.detach().to(c10::Device(device)));
}

void Quantizer::calibrated() {
  QUENCH_CHECK(state_->observer, "the quantizer has no observer");
  state_->algorithm->accept(state_->observer->qparams(), state_->tensors);
}

const FakeQuantSpec& Quantizer::spec() const { return state_->algorithm->spec(); }
Observer* Quantizer::observer() const { return state_->observer.get(); }
const FakeQuantTensors& Quantizer::tensors() const { return state_->tensors; }

std::map<std::string, at::Tensor> Quantizer::parameters() const {
  std::map<std::string, at::Tensor> result;
  for (std::size_t i = 0; i < state_->params.size(); ++i)
    if (state_->params[i].learnable) result[state_->params[i].name] = state_->tensors.all[i];
  return result;
}

std::map<std::string, at::Tensor> Quantizer::state() const {
  std::map<std::string, at::Tensor> result;
  for (std::size_t i = 0; i < state_->params.size(); ++i)
    result[state_->params[i].name] = state_->tensors.all[i].detach();
  result["flags"] = at::tensor({flags.observe, flags.quantize}, at::kByte);
  if (!state_->observer) return result;
  for (const auto& [name, tensor] : state_->observer->state()) result[kObserverPrefix + name] = tensor;
  return result;
}

void Quantizer::load(const std::map<std::string, at::Tensor>& state) {
  std::map<std::string, at::Tensor> observed;
  for (const auto& [name, tensor] : state)
    if (name.starts_with(kObserverPrefix)) observed[name.substr(kObserverPrefix.size())] = tensor;
  FakeQuantTensors loaded;  // all or none: checked before anything changes
  for (const FakeQuantParam& param : state_->params) loaded.all.push_back(entry(state, param.name).to(at::kFloat));
  check_values(spec(), loaded);
  const at::Tensor kept = entry(state, "flags");
  QUENCH_CHECK(kept.numel() == 2, "'flags' of a quantizer holds two numbers, not ", kept.numel());
  const at::Tensor bytes = kept.to(at::kByte).cpu().contiguous();
  if (state_->observer) state_->observer->load(observed);
  for (std::size_t i = 0; i < state_->params.size(); ++i) assign(state_->tensors.all[i], loaded.all[i]);
  flags = {bytes.data_ptr<std::uint8_t>()[0] != 0, bytes.data_ptr<std::uint8_t>()[1] != 0};
}

}  // namespace quench
