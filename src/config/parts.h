// Readers of the parts that several layouts have in common.
#pragma once

#include "config/map_reader.h"
#include "quench/config.h"

namespace quench {

// bits, signed, symmetric, granularity, axis, group, narrow, pot, format, scheme, observer, fake_quant and options.
QuantSettings read_settings(MapReader map);
// Sets the observer with its options, checked against what it takes.
void set_observer(QuantSettings& settings, const Tree& place, const std::string& name, const Options& options);
void set_fake_quant(QuantSettings& settings, const Tree& place, const std::string& name, const Options& options);

// "cifar10:FILE?norm=imagenet", or {kind: cifar10, path: FILE, norm: imagenet, mean: [0.5, 0.5]}.
DatasetSpec read_spec(const Tree& tree, const std::string& path);

// `given` over the method's defaults (workflows 3.1); `place` is for messages.
MethodConfig make_method(const std::string& name, const Options& given, const Tree& place);

// Keeps the keys of a stage that is not built; those that are absent become known all the same.
void keep(JobConfig& job, JobStage stage, MapReader& map, const std::vector<std::string>& keys);
void note(JobConfig& job, const std::string& text);

}  // namespace quench
