// A deployed Q/DQ file: as it is, as a graph with quantizers, and with its codes exposed.
#pragma once

#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/verify.h"

namespace quench {

struct Tap {
  std::string codes;      // the tensor in the file
  std::string quantizer;  // the output of the quantizer that stands for it in the simulation
};

struct DeployedModel {
  std::string path;
  Graph file;
  std::int64_t opset = 0;
  Graph simulated;                    // quantizers instead of QuantizeLinear and DequantizeLinear
  std::vector<Tap> taps;              // in order of the simulation
  std::vector<std::string> untapped;  // quantized tensors whose codes no array of NumPy can hold
  bool own_format = false;            // the runtime read it: what quantizes is not in the file's graph
};
// "; did you mean 'out/deploy'?" where someone named the folder above, the calibrated model or the reference; else "".
std::string or_did_you_mean(const std::string& file_or_folder);

// As that runtime reads it; the simulation has the biases of one that puts them into int32 by itself.
DeployedModel read_deployed(const std::string& path, const RuntimeEntry& runtime);

// Writes the file's graph with the codes of every tap among its outputs.
void write_tapped(const DeployedModel& model, const std::string& path);

// The simulation of a runtime that computes Conv + Add in one kernel: only the clipping of the
// quantizer between the two is left (OpenVINO, measured: it does not round there).
Graph without_fused_rounding(const Graph& simulated);

}  // namespace quench
