// Fused loops of the other fake quantizers: DSQ, PACT, AdaRound, QDrop. As kernels/affine/affine.h: CPU and CUDA, any
// dense layout, each with a plain twin.
#pragma once

#include "kernels/affine/affine.h"
#include "quench/random_key.h"

namespace quench {

// DSQ (docs/numerics.md 5.8). alpha in (0, 1) shapes the gradient only: quant/dsq.h.
at::Tensor dsq_forward(const at::Tensor& x, const AffineArgs& args);
at::Tensor dsq_backward(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double alpha);
at::Tensor dsq_forward_ref(const at::Tensor& x, const AffineArgs& args);
at::Tensor dsq_backward_ref(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double alpha);

// PACT (docs/numerics.md 5.5), per tensor: clip to [low, high], then the affine op.
struct PactClip {
  float low, high;
  const at::Tensor* on_device = nullptr;  // {low, high} in the memory of a GPU, instead
};
at::Tensor pact_forward(const at::Tensor& x, PactClip clip, const AffineArgs& args);
// dx; the sums of dy above and below the clip as `high` and `low` (float32, 0-d).
void pact_backward(const at::Tensor& dy, const at::Tensor& x, PactClip clip, const AffineArgs& args, at::Tensor& dx,
                   at::Tensor& above, at::Tensor& below);
at::Tensor pact_forward_ref(const at::Tensor& x, PactClip clip, const AffineArgs& args);
void pact_backward_ref(const at::Tensor& dy, const at::Tensor& x, PactClip clip, const AffineArgs& args, at::Tensor& dx,
                       at::Tensor& above, at::Tensor& below);

// AdaRound's soft rounding (docs/numerics.md 5.10): alpha has the weight's shape.
at::Tensor adaround_forward(const at::Tensor& w, const at::Tensor& alpha, const AffineArgs& args);
at::Tensor adaround_backward(const at::Tensor& dy, const at::Tensor& w, const at::Tensor& alpha,
                             const AffineArgs& args);  // the gradient of alpha
at::Tensor adaround_forward_ref(const at::Tensor& w, const at::Tensor& alpha, const AffineArgs& args);
at::Tensor adaround_backward_ref(const at::Tensor& dy, const at::Tensor& w, const at::Tensor& alpha,
                                 const AffineArgs& args);

// QDrop (docs/numerics.md 5.11): each element is quantized with probability `prob`, decided by Philox on its place in
// memory; the backward pass makes the same numbers again, so that nothing is kept.
at::Tensor qdrop_forward(const at::Tensor& x, const AffineArgs& args, double prob, const RandomKey& key);
void qdrop_backward(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double prob,
                    const RandomKey& key, at::Tensor& dx, at::Tensor& ds);
at::Tensor qdrop_forward_ref(const at::Tensor& x, const AffineArgs& args, double prob, const RandomKey& key);
void qdrop_backward_ref(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double prob,
                        const RandomKey& key, at::Tensor& dx, at::Tensor& ds);

}  // namespace quench
