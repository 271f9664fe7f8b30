// UnitWork over the streams of a reconstruction.
#pragma once

#include <functional>

#include "quench/ptq_method.h"
#include "reconstruct/rest_of_network.h"
#include "reconstruct/streams.h"

namespace quench {

struct WorkSettings {
  const Options& options;
  std::string device;
  std::uint64_t seed;
  std::int64_t batch;
  bool cached_on_device;
  std::function<std::unique_ptr<RowStore>(RestOfNetwork& rest)> find_sensitivity, find_prediction;
  std::function<std::unique_ptr<RestOfNetwork>()> find_rest;
  Executor& plain;      // the float network
  const Graph& before;  // the quantized one before any unit learned
  std::vector<std::string> ends;
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

class UnitAtWork : public UnitWork {
 public:
  // All must outlive it. `training` runs `graph`, recording for autograd.
  UnitAtWork(Graph& graph, const Unit& unit, const Streams& streams, Executor& training, WorkSettings settings);

  const Unit& unit() const override { return unit_; }
  const Options& options() const override { return settings_.options; }
  const std::string& device() const override { return settings_.device; }
  std::uint64_t seed() const override { return settings_.seed; }
  std::int64_t items() const override { return streams_.items(); }
  std::int64_t batch() const override { return settings_.batch; }
  at::Tensor draw(std::int64_t step) const override;
  at::Tensor draws(std::int64_t first, std::int64_t steps) const override;
  NamedValues float_inputs(const at::Tensor& rows) const override;
  NamedValues quantized_inputs(const at::Tensor& rows) const override;
  at::Tensor target(const at::Tensor& rows) const override;
  at::Tensor sensitivity(const at::Tensor& rows) override;
  at::Tensor prediction(const at::Tensor& rows) override;
  at::Tensor predict(const at::Tensor& output, const at::Tensor& rows) override;
  std::vector<Node*> weights() const override { return weights_; }
  std::vector<Node*> activations() const override { return activations_; }
  std::vector<Value*> biases() const override { return biases_; }
  void replace(const Value& value, const at::Tensor& by) override;
  at::Tensor run(const NamedValues& inputs, std::uint64_t step) override;
  NamedValues run(const NamedValues& inputs, std::uint64_t step, const std::vector<std::string>& values) override;
  NamedValues run_float(const NamedValues& inputs, const std::vector<std::string>& values) override;
  const std::vector<std::string>& ends() const override { return settings_.ends; }
  const Node& calibrated(const Node& quantizer) const override;
  void commit(Value& constant, const at::Tensor& by) override;
  void progress(std::int64_t done, std::int64_t total) override;
  bool stays_on_device() const override { return settings_.cached_on_device; }
  void count_by(const at::Tensor& counter) override;

  const std::string& note() const { return note_; }   // which layers learn nothing, and why
  std::map<std::string, at::Tensor> learned() const;  // constants that may have changed, by name
  double moved() const;                               // share of the weights whose code is not the calibrated one
  // Copies of the same before anything learns, weights rounded to their grids.
  std::map<std::string, at::Tensor> calibrated() const;

 private:
  RestOfNetwork& rest();
  void find_quantizers();
  bool is_excluded(const std::string& layer) const;
  void find_biases();
  void commit_weight(Node& quantizer, const at::Tensor& by);
  void check_quantizer_constant(const Value& constant, const at::Tensor& by) const;
  bool is_own_quantizer(const Node* node) const;
  void leave_out(const Node& layer, const std::string& why);

  Graph& graph_;
  const Unit& unit_;
  const Streams& streams_;
  Executor& training_;
  WorkSettings settings_;
  std::vector<Node*> weights_, activations_;
  std::vector<Value*> biases_;
  std::unique_ptr<RestOfNetwork> rest_;                 // null until it is asked for, as are
  std::unique_ptr<RowStore> sensitivity_, prediction_;  // these
  NamedValues replaced_;
  std::string note_;
  mutable std::int64_t epoch_ = -1;
  mutable std::vector<std::int64_t> order_;  // of the items in that epoch
};

}  // namespace quench
