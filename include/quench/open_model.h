// A model as users name it: a file (quench/import.h), or a network of the zoo with its weights.
//   "resnet18.onnx"
//   "zoo:resnet18?weights=resnet18.pth&num_classes=10&size=32"      (also in_channels, seed)
#pragma once

#include <string>

#include "quench/import.h"

namespace quench {

Graph open_model(const std::string& text, const ImportOptions& options = {});

std::string name_of_model(const std::string& text);  // for files that are made from it: "resnet18"
std::string file_of_model(const std::string& text);  // the model's, or that of its weights; "" if there is none

}  // namespace quench
