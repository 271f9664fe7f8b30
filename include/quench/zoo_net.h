// ZooNet: what every network of the zoo is, a torch::nn::Module with one input and one output.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "quench/zoo.h"

namespace quench {

struct ZooNet : torch::nn::Module {
  virtual at::Tensor forward(at::Tensor x) = 0;
  // Chains of its own submodules, by name, that count as one layer each; fusible_modules collects those of all.
  virtual FuseLists fusible() const { return {}; }
  FuseLists fuse_model() const { return fusible_modules(*this); }  // quench::fuse_model (quench/eager.h) looks for it
};

}  // namespace quench
