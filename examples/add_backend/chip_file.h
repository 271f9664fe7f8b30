// The chip's own file beside the model: one line for each quantized tensor, "name scale zero_point quant_min quant_max
// round_mode". deploy.cpp writes it, runtime.cpp reads it.
#pragma once

#include <string>
#include <vector>

struct ChipTensor {
  std::string name;
  double scale = 1.0;
  int zero_point = 0, quant_min = 0, quant_max = 0;
  std::string round_mode;
};

inline const std::string kModelEnding = "_chip.onnx", kTableEnding = "_chip.txt";
inline const std::string kRoundMode = "half_up";

// Beside the model file N_chip.onnx.
std::vector<ChipTensor> read_table(const std::string& model_file);
