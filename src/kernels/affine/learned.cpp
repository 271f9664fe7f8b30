#include "kernels/affine/learned.h"

#include <ATen/ATen.h>

#include "kernels/affine/bfloat16.h"
#include "kernels/job.h"
#include "quench/error.h"

namespace quench {
namespace {

const float* in(const at::Tensor& x) { return x.const_data_ptr<float>(); }
float* out(const at::Tensor& x) { return x.mutable_data_ptr<float>(); }

const Kernels& loops_of(const Job& job, bool plain) {
  QUENCH_CHECK(!plain || job.x().is_cpu(), "the plain loops run on the CPU");
  return plain ? ref_kernels() : job.kernels();
}

at::Tensor dsq_backward_by(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double alpha,
                           bool plain) {
  QUENCH_CHECK(alpha > 0.0 && alpha < 1.0, "DSQ's alpha must lie between 0 and 1, not ", alpha);
  const Job job(x, args);
  const at::Tensor gradient = job.like_x(dy), dx = job.empty();
  loops_of(job, plain).dsq_backward(job.view(), dsq_shape(alpha), in(gradient), in(job.x()), out(dx));
  return job.result(dx);
}

AffineView with_clip(const Job& job, const PactClip& clip) {
  AffineView view = job.view();
  if (clip.on_device) view.clip = clip.on_device->const_data_ptr<float>();
  return view;
}

at::Tensor pact_forward_by(const at::Tensor& x, PactClip clip, const AffineArgs& args, bool plain) {
  QUENCH_CHECK(args.scale.numel() == 1 && args.zero_point.numel() == 1, "PACT is per tensor");
  const Job job(x, args);
  const at::Tensor y = job.empty();
  loops_of(job, plain).pact_forward(with_clip(job, clip), {clip.low, clip.high}, in(job.x()), out(y));
  return job.result(y);
}

struct PactResults {
  at::Tensor &dx, &above, &below;
};

void pact_backward_by(const at::Tensor& dy, const at::Tensor& x, PactClip clip, const AffineArgs& args,
                      const PactResults& results, bool plain) {
  QUENCH_CHECK(args.scale.numel() == 1 && args.zero_point.numel() == 1, "PACT is per tensor");
  const Job job(x, args);
  const at::Tensor gradient = job.like_x(dy), dx = job.empty(), sums = at::empty({2}, dx.options());
  loops_of(job, plain)
      .pact_backward(with_clip(job, clip), {clip.low, clip.high}, in(gradient), in(job.x()), out(dx), out(sums));
  results.dx = job.result(dx);
  results.above = sums.select(0, 0).clone();
  results.below = sums.select(0, 1).clone();
}

at::Tensor adaround_forward_by(const at::Tensor& w, const at::Tensor& alpha, const AffineArgs& args, bool plain) {
  const Job job(w, args);
  const at::Tensor soft = job.like_x(alpha), y = job.empty();
  loops_of(job, plain).adaround_forward(job.view(), in(job.x()), in(soft), out(y));
  return job.result(y);
}

at::Tensor adaround_backward_by(const at::Tensor& dy, const at::Tensor& w, const at::Tensor& alpha,
                                const AffineArgs& args, bool plain) {
  const Job job(w, args);
  const at::Tensor gradient = job.like_x(dy), soft = job.like_x(alpha), dalpha = job.empty();
  loops_of(job, plain).adaround_backward(job.view(), in(gradient), in(job.x()), in(soft), out(dalpha));
  return job.result(dalpha);
}

DropCoin coin_of(double prob, const RandomKey& key) {
  QUENCH_CHECK(prob >= 0.0 && prob <= 1.0, "the probability of QDrop must lie between 0 and 1, not ", prob);
  DropCoin coin = drop_coin(key.seed, key.node, key.step, prob);
  coin.counter = key.counter;
  return coin;
}

at::Tensor qdrop_forward_by(const at::Tensor& x, const AffineArgs& args, const DropCoin& coin, bool plain) {
  const Job job(x, args);
  const at::Tensor y = job.empty();
  loops_of(job, plain).qdrop_forward(job.view(), coin, in(job.x()), out(y));
  return job.result(y);
}

struct QdropResults {
  at::Tensor &dx, &ds;
};

void qdrop_backward_by(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, const DropCoin& coin,
                       const QdropResults& results, bool plain) {
  const Job job(x, args);
  const at::Tensor gradient = job.like_x(dy), dx = job.empty(), ds = job.sums();
  loops_of(job, plain).qdrop_backward(job.view(), coin, in(gradient), in(job.x()), out(dx), out(ds));
  results.dx = job.result(dx);
  results.ds = job.scale_sums(ds);
}

}  // namespace

// DSQ is soft in the gradient only: quant/dsq.h.
at::Tensor dsq_forward(const at::Tensor& x, const AffineArgs& args) { return fake_quantize(x, args); }
at::Tensor dsq_forward_ref(const at::Tensor& x, const AffineArgs& args) { return fake_quantize_ref(x, args); }
at::Tensor dsq_backward(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double alpha) {
  return has_bfloat16_loops(x, args) ? dsq_backward_bfloat16(dy, x, args, alpha)
                                     : dsq_backward_by(dy, x, args, alpha, false);
}
at::Tensor dsq_backward_ref(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double alpha) {
  return dsq_backward_by(dy, x, args, alpha, true);
}

at::Tensor pact_forward(const at::Tensor& x, PactClip clip, const AffineArgs& args) {
  return pact_forward_by(x, clip, args, false);
}
at::Tensor pact_forward_ref(const at::Tensor& x, PactClip clip, const AffineArgs& args) {
  return pact_forward_by(x, clip, args, true);
}
void pact_backward(const at::Tensor& dy, const at::Tensor& x, PactClip clip, const AffineArgs& args, at::Tensor& dx,
                   at::Tensor& above, at::Tensor& below) {
  pact_backward_by(dy, x, clip, args, {dx, above, below}, false);
}
void pact_backward_ref(const at::Tensor& dy, const at::Tensor& x, PactClip clip, const AffineArgs& args, at::Tensor& dx,
                       at::Tensor& above, at::Tensor& below) {
  pact_backward_by(dy, x, clip, args, {dx, above, below}, true);
}

at::Tensor adaround_forward(const at::Tensor& w, const at::Tensor& alpha, const AffineArgs& args) {
  return adaround_forward_by(w, alpha, args, false);
}
at::Tensor adaround_forward_ref(const at::Tensor& w, const at::Tensor& alpha, const AffineArgs& args) {
  return adaround_forward_by(w, alpha, args, true);
}
at::Tensor adaround_backward(const at::Tensor& dy, const at::Tensor& w, const at::Tensor& alpha,
                             const AffineArgs& args) {
  return adaround_backward_by(dy, w, alpha, args, false);
}
at::Tensor adaround_backward_ref(const at::Tensor& dy, const at::Tensor& w, const at::Tensor& alpha,
                                 const AffineArgs& args) {
  return adaround_backward_by(dy, w, alpha, args, true);
}

at::Tensor qdrop_forward(const at::Tensor& x, const AffineArgs& args, double prob, const RandomKey& key) {
  return qdrop_forward_by(x, args, coin_of(prob, key), false);
}
at::Tensor qdrop_forward_ref(const at::Tensor& x, const AffineArgs& args, double prob, const RandomKey& key) {
  return qdrop_forward_by(x, args, coin_of(prob, key), true);
}
void qdrop_backward(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double prob,
                    const RandomKey& key, at::Tensor& dx, at::Tensor& ds) {
  qdrop_backward_by(dy, x, args, coin_of(prob, key), {dx, ds}, false);
}
void qdrop_backward_ref(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double prob,
                        const RandomKey& key, at::Tensor& dx, at::Tensor& ds) {
  qdrop_backward_by(dy, x, args, coin_of(prob, key), {dx, ds}, true);
}

}  // namespace quench
