// The parts of mmrazor's layout.
#pragma once

#include "config/parts.h"

namespace quench {

// The six keys of a qconfig (docs/config.md 4); `complete`: all of them must be there.
struct MmrazorQConfig {
  QuantSettings weight, activation;
};
MmrazorQConfig read_qconfig(MapReader map, bool complete, JobConfig& job);

// AcademicQuantizer's per-layer choice: _global_ < object_type < module_name.
void read_qconfig_mapping(MapReader map, JobConfig& job);

void apply_global_qconfig(MapReader map, JobConfig& job);         // all six keys, as defaults of the job
void read_quantizer(MapReader map, JobConfig& job);               // model.quantizer
void read_deploy_config(MapReader map, JobConfig& job);           // deploy_cfg
void use_architecture(const Tree& architecture, JobConfig& job);  // with float_checkpoint: a model of the zoo
void read_training(MapReader& top, JobConfig& job);               // train_cfg and what belongs to it
void note_optimizer(const Tree& tree, JobConfig& job);            // that nothing names one, when all has been read
void note_half(MapReader& loop, JobConfig& job);                  // fp16

}  // namespace quench
