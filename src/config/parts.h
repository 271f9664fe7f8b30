// Readers of the parts that several layouts have in common.
#pragma once

#include "config/map_reader.h"
#include "quench/config.h"

namespace quench {

// bits, signed, symmetric, granularity, axis, group, narrow, pot, format, scheme, observer, fake_quant and options.
// Applied over what `settings` already says.
void read_settings(MapReader map, QuantSettings& settings);
// Sets the observer with its options, checked against what it takes.
void set_observer(QuantSettings& settings, const Tree& place, const std::string& name, const Options& options);
void set_fake_quant(QuantSettings& settings, const Tree& place, const std::string& name, const Options& options);

// "cifar10:FILE?norm=imagenet", or {kind: cifar10, path: FILE, norm: imagenet, mean: [0.5, 0.5]}.
DatasetSpec read_spec(const Tree& tree, const std::string& path);

// A scheme as torch, MQBench and mmrazor say it: all of it, with their defaults.
struct TorchScheme {
  int bits = 8;
  bool symmetric = true, is_signed = true, per_channel = false, narrow = false, pot = false;
};
// Channels of activations are axis 1, those of weights the platform's; unsigned and symmetric means affine. Where this
// is not what the reference does, the job gets a note.
void set_torch_scheme(QuantSettings& settings, const TorchScheme& scheme, Role role, JobConfig& job);

void set_platform(JobConfig& job, const Tree& place, const std::string& name);

// `given` over the method's defaults; `place` is for messages.
MethodConfig make_method(const std::string& name, const Options& given, const Tree& place);

// Training: what is not said keeps its default (qat/train_fields.h has the keys).
void read_train(MapReader map, JobConfig& job);
// The loop under any of its names, with its options checked; `place` is for messages.
void set_train_loop(TrainOptions& options, const Tree& place, const std::string& name, const Options& given);
void write_train(class YamlWriter& out, const TrainOptions& options);

// Keeps the keys of a stage that is not built; those that are absent become known all the same.
void keep(JobConfig& job, JobStage stage, MapReader& map, const std::vector<std::string>& keys);
void note(JobConfig& job, const std::string& text);
// Keys that mean nothing here: accepted, and named in a note with the reason.
void skip(JobConfig& job, MapReader& map, const std::vector<std::string>& keys, const std::string& reason);
// map.finish() for the whole of another tool's layout: a key of our own schema has its place under 'quench'.
void finish_layout(MapReader& map);

}  // namespace quench
