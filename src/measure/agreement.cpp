#include "quench/agreement.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <limits>

#include "core/counted.h"
#include "core/decimals.h"
#include "data/feed.h"
#include "measure/fast_run.h"
#include "quench/error.h"
#include "quench/paired_test.h"

namespace quench {
namespace {

constexpr std::int64_t kBatch = 4;  // of an open batch: the scores of a language model are large
constexpr double kLeastShare = 0.75, kLeastSqnr = 10.0;
constexpr double kLeastSqnrOfScores = 3.0;  // below it half of what the scores hold is noise

struct Powers {
  double signal = 0.0, noise = 0.0;
  double sqnr() const {
    if (noise == 0) return std::numeric_limits<double>::infinity();
    return 10 * std::log10(signal / noise);
  }
};

void add(const at::Tensor& exact, const at::Tensor& quantized, Powers& powers, AgreementRecord& record) {
  if (exact.sizes() != quantized.sizes()) return;  // its length depends on the data: there is nothing to compare
  const at::Tensor x = exact.to(at::kDouble), y = quantized.to(at::kDouble);
  powers.signal += x.square().sum().item<double>();
  powers.noise += (x - y).square().sum().item<double>();
  if (x.dim() < 2 || x.dim() > 3 || x.size(-1) < 2) return;  // no scores of classes
  const at::Tensor same = x.argmax(-1) == y.argmax(-1);
  record.rows += same.numel();
  record.same += same.sum().item<std::int64_t>();
}

// Without the copies that pad a batch, if the first dim is that of the items.
at::Tensor real(const at::Tensor& output, std::int64_t fed, std::int64_t items) {
  return output.dim() > 0 && output.size(0) == fed ? output.narrow(0, 0, items) : output;
}

}  // namespace

bool AgreementRecord::fallen_apart() const {
  if (rows > 0) return wilson_interval(same, rows).high < kLeastShare || !(sqnr >= kLeastSqnrOfScores);
  return items > 0 && !(sqnr >= kLeastSqnr);
}

AgreementRecord agreement(const Graph& plain, const Graph& quantized, const Dataset& data,
                          const AgreementOptions& options) {
  const c10::AutoGradMode no_grad(false);
  FeedOptions how;
  how.otherwise = kBatch;
  how.workers = options.workers;
  how.skip_broken = options.skip_broken;
  Feed feed(plain, data, how);
  FastRun first(plain, options.device), second(quantized, options.device);
  AgreementRecord record;
  Powers powers;
  if (!plain.outputs()[0]->type().is_tensor()) return record;  // a sequence: nothing to compare
  while (record.items < options.items) {
    const std::optional<Fed> batch = feed.next();
    if (!batch) break;
    const auto output = [&](FastRun& network) {
      return real(network.run(batch->inputs).tensor(), batch->rows, batch->items).cpu();
    };
    add(output(first), output(second), powers, record);
    record.items += batch->items;
  }
  record.sqnr = powers.sqnr();
  return record;
}

std::string agreement_text(const AgreementRecord& record, const std::string& item) {
  const std::string sqnr = concat("SQNR of the output ", decimals(record.sqnr, 1), " dB");
  if (record.rows == 0) return concat(sqnr, " on ", counted(record.items, item));
  return concat(record.same, " of ", record.rows, " predictions on ", counted(record.items, item), " match float (",
                sqnr, ")");
}

}  // namespace quench
