// The activation quantizers of a unit while it is reconstructed: they drop at random (QDrop), and their scales learn.
// As long as an object lives; then they are what they were, with the scales that were learned.
#pragma once

#include <vector>

#include "quench/gradient.h"
#include "quench/quantizers.h"

namespace quench {

// Whether this quantizer's scale may learn: any positive number would do, and only these quantizers read it.
bool scale_may_learn(const Node& quantizer, const std::vector<Node*>& together);

class ScalesAtWork {
 public:
  // Scales of powers of two, and those that a quantizer elsewhere shares, do not learn.
  ScalesAtWork(const std::vector<Node*>& quantizers, double prob, bool learn);
  ~ScalesAtWork();
  ScalesAtWork(const ScalesAtWork&) = delete;
  ScalesAtWork& operator=(const ScalesAtWork&) = delete;

  const Tensors& tensors() const { return tensors_; }  // that learn
  void undo();                                         // what they learned

 private:
  struct Before {
    Node* node;
    FakeQuantSpec spec;
  };
  std::vector<Before> before_;
  Tensors tensors_, began_;
};

}  // namespace quench
