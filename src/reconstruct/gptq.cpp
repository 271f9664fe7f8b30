#include "reconstruct/gptq.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "kernels/affine/affine.h"
#include "kernels/layout.h"
#include "quench/op.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

constexpr double kDamping = 0.01;        // of the mean of the diagonal, so that the matrix can be inverted
constexpr std::int64_t kItems = 256;     // that the second moments are taken of
constexpr std::int64_t kMost = 1 << 13;  // inputs of an output: their matrix has the square of that

using Ints = std::vector<std::int64_t>;

template <typename T>
T attribute(const Node& node, const char* name, T fallback) {
  const auto found = node.attrs.find(name);
  return found == node.attrs.end() ? std::move(fallback) : std::get<T>(found->second);
}

// Of a convolution over one axis: over two.
at::Tensor with_two_axes(const at::Tensor& x) { return x.dim() == 3 ? x.unsqueeze(2) : x; }

// A layer as products, one per group: its weight as [groups, outputs, inputs], and back.
class AsProducts {
 public:
  AsProducts(const Node& layer, const at::Tensor& weight) : layer_(layer), shape_(weight.sizes().vec()) {
    is_conv_ = layer.op() == "Conv" && (weight.dim() == 3 || weight.dim() == 4);
    is_matrix_ = (layer.op() == "Gemm" || layer.op() == "MatMul") && weight.dim() == 2 &&
                 attribute<std::int64_t>(layer, "transA", 0) == 0 && entry_of(layer).traits.weight_slot == 1;
    turned_ = is_matrix_ && attribute<std::int64_t>(layer, "transB", 0) == 0;
    if (is_conv_) groups_ = attribute<std::int64_t>(layer, "group", 1);
  }

  bool are_some() const { return is_conv_ || is_matrix_; }

  at::Tensor rows(const at::Tensor& weight) const {
    if (turned_) return weight.t().unsqueeze(0);
    return weight.reshape({groups_, weight.size(0) / groups_, -1});
  }
  at::Tensor back(const at::Tensor& rows) const { return turned_ ? rows[0].t().contiguous() : rows.reshape(shape_); }

  // What each input is in these samples: [groups, inputs, samples].
  at::Tensor inputs(const at::Tensor& x) const {
    if (is_matrix_) return x.reshape({-1, x.size(-1)}).t().unsqueeze(0);
    const bool has_one = shape_.size() == 3;
    const auto pair = [&](const char* name, std::int64_t fallback) {
      Ints values = attribute<Ints>(layer_, name, Ints(shape_.size() - 2, fallback));
      if (has_one) values.insert(values.begin(), 1);
      return values;
    };
    const Ints pads = attribute<Ints>(layer_, "pads", Ints(2 * (shape_.size() - 2), 0));
    const Ints around = has_one ? Ints{pads[0], pads[1]} : Ints{pads[1], pads[3], pads[0], pads[2]};
    const at::Tensor windows =
        at::im2col(with_two_axes(at::constant_pad_nd(x, around)), {has_one ? 1 : shape_[2], shape_.back()},
                   pair("dilations", 1), {0, 0}, pair("strides", 1));
    return windows.transpose(0, 1).reshape({groups_, windows.size(1) / groups_, -1});
  }

 private:
  const Node& layer_;
  const Ints shape_;
  bool is_conv_ = false, is_matrix_ = false, turned_ = false;
  std::int64_t groups_ = 1;
};

// The upper Cholesky factors of the inverses of the inputs' second moments.
at::Tensor dependence(UnitWork& work, const Node& layer, const AsProducts& products, const at::Tensor& rows) {
  at::Tensor moments = at::zeros({rows.size(0), rows.size(2), rows.size(2)}, rows.options().dtype(at::kDouble));
  const std::int64_t items = std::min(work.items(), kItems), batch = std::min(work.batch(), items);
  const std::string& name = layer.input(0)->name();
  for (std::int64_t first = 0; first + batch <= items; first += batch) {
    const at::Tensor these = at::arange(first, first + batch, at::kLong).to(at::Device(work.device()));
    const at::Tensor x = work.run(work.quantized_inputs(these), 0, {name}).at(name).tensor().detach();
    const at::Tensor inputs = products.inputs(x.to(at::kFloat));
    moments += inputs.matmul(inputs.transpose(1, 2));
  }
  at::Tensor diagonal = moments.diagonal(0, 1, 2);
  diagonal.add_(diagonal.mean(1, true) * kDamping + 1e-12);
  return at::linalg_cholesky(at::linalg_inv(moments), true).to(at::kFloat);
}

}  // namespace

std::optional<at::Tensor> gptq_rounding(UnitWork& work, const Node& quantizer) {
  const c10::AutoGradMode no_grad(false);
  const Node& layer = *quantizer.output().uses().front().node;
  const at::Tensor weight = quantizer.input(0)->tensor().to(at::Device(work.device()), at::kFloat);
  const FakeQuantSpec spec = fake_quant_spec(quantizer);
  const AsProducts products(layer, weight);
  if (!products.are_some() || !spec.scheme.is_int()) return std::nullopt;
  at::Tensor rows = products.rows(weight).clone();
  if (rows.size(2) > kMost) return std::nullopt;
  const at::Tensor upper = dependence(work, layer, products, rows);
  const QParams params = qparams_of(quantizer);
  const auto each = [&](const at::Tensor& values) {  // of the scheme, for every element
    const at::Tensor shaped = values.to(weight.device()).reshape(spec.scheme.scale_shape(weight.sizes().vec()));
    return products.rows(spread_scales(shaped, weight, spec.scheme).expand_as(weight));
  };
  const at::Tensor scales = each(at::tensor(params.scale));
  const at::Tensor zeros = each(at::tensor(params.zero_point, at::kFloat));
  QSchemeSpec by_row = spec.scheme.spec();
  by_row.granularity = Granularity::kChannel;
  by_row.axis = 0;
  const QScheme scheme(by_row);
  const at::Tensor result = at::empty_like(rows);
  const std::int64_t inputs = rows.size(2);
  for (std::int64_t j = 0; j < inputs; ++j) {
    const auto column = [&](const at::Tensor& all) { return all.select(2, j).reshape({-1}).contiguous(); };
    const at::Tensor wanted = column(rows), scale = column(scales), zero = column(zeros);
    const at::Tensor rounded = fake_quantize(wanted, {scale, zero, scheme, spec.by});
    result.select(2, j).copy_(rounded.view({rows.size(0), -1}));
    const at::Tensor left = upper.select(1, j).narrow(1, j, inputs - j).unsqueeze(1);  // [groups, 1, inputs left]
    const at::Tensor error = (wanted - rounded).view({rows.size(0), -1, 1}) / left.narrow(2, 0, 1);
    rows.narrow(2, j, inputs - j).sub_(error * left);
  }
  return products.back(result);
}

}  // namespace quench
