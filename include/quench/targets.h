// Targets: what the outputs of an item are held against where one class is not enough: boxes, a mask, a text, arrays.
// Any data takes them: "images:val?norm=imagenet&targets=coco:instances.json" (docs/data.md). A kind is one file that
// registers a TargetEntry; a plug-in may add more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "quench/data.h"

namespace quench {

class Targets {
 public:
  virtual ~Targets() = default;
  virtual std::int64_t size() const { return -1; }  // where there is one per item in order; -1: they go by name
  // Called from several threads. Throws where the item has none.
  virtual NamedValues get(std::int64_t index, const Sample& sample) const = 0;
};

struct TargetEntry {
  static constexpr const char* kKind = "kind of targets";
  std::unique_ptr<Targets> (*open)(const std::string& path) = nullptr;
};
using TargetRegistry = Registry<TargetEntry>;

}  // namespace quench

// QUENCH_REGISTER_TARGETS("coco", open_coco, "COCO's instances: boxes with categories")
#define QUENCH_REGISTER_TARGETS(name, function, summary) \
  QUENCH_REGISTER_ITEM(::quench::TargetEntry, name, summary, {function})
