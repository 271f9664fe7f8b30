// A tree of modules as PyTorch prints it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace torch::nn {
class Module;
}

namespace quench {

struct ModuleText {
  std::string type;       // "Conv2d"
  std::string arguments;  // "3, 16, kernel_size=(3, 3), stride=(1, 1)"
  std::vector<std::pair<std::string, ModuleText>> children = {};
  std::map<std::string, std::string> modules = {};  // of the outermost: where nodes not named after a module belong

  ModuleText* find(const std::string& path);       // "layer1.0.conv"; null if there is none
  ModuleText* find_node(const std::string& node);  // the module that it belongs to
  ModuleText* find_type(const std::string& type);  // the first without parts; null if there is none
  std::string text(const std::string& indentation = "") const;
};

std::string short_type(std::string type);  // "torch::nn::Conv2dImpl" -> "Conv2d"

// LibTorch's own print in Python's spelling: "kernel_size=(3, 3)", "affine=True".
ModuleText module_text(const torch::nn::Module& module);

// The first module of the list becomes the fused one ("ConvBnReLU2d"), with the others as its parts; they become
// Identity. A BatchNorm is folded unless it trains.
void fuse_text(ModuleText& root, const std::vector<std::string>& names, bool is_training);

}  // namespace quench
