// What training makes smaller, by its formula.
#include "qat/loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "qat/quarters_net.h"

namespace quench {
namespace {

struct Given {
  Batch batch = *Loader(items(), {.batch_size = 6}).next();
  at::Tensor logits = at::linspace(-3, 3, 24).reshape({6, 4}).cos() * 2, teacher = logits.flip(1);
};

double loss_of(const Given& given, const TrainOptions& options, bool taught) {
  const at::Tensor none;
  return training_loss({given.logits, taught ? given.teacher : none, given.batch, items()}, options).item<double>();
}

// A share e of each label goes to all K classes: -(1 - e) log p_label - e / K sum log p.
TEST(Loss, LabelsAreSmoothed) {
  const Given given;
  TrainOptions options;
  options.label_smoothing = 0.2;
  const at::Tensor log_p = given.logits.log_softmax(1).to(at::kDouble);
  double wanted = 0;
  for (std::int64_t i = 0; i < 6; ++i)
    wanted -= 0.8 * log_p[i][given.batch.labels[static_cast<std::size_t>(i)]].item<double>() +
              0.2 / 4 * log_p[i].sum().item<double>();
  EXPECT_NEAR(loss_of(given, options, false), wanted / 6, 1e-6);
}

// (1 - w) of the labels' loss, w of T^2 KL(teacher || student) at temperature T, a mean over the items.
TEST(Loss, ATeacherHasItsShare) {
  const Given given;
  TrainOptions options;
  const double labels = loss_of(given, options, false);
  options.distill.weight = 0.75;
  options.distill.temperature = 3;
  const at::Tensor p = (given.teacher / 3).softmax(1).to(at::kDouble),
                   q = (given.logits / 3).softmax(1).to(at::kDouble);
  const double far = (p * (p.log() - q.log())).sum().item<double>() / 6 * 9;
  EXPECT_NEAR(loss_of(given, options, true), 0.25 * labels + 0.75 * far, 1e-5);
  options.distill.weight = 1;
  EXPECT_NEAR(loss_of(given, options, true), far, 1e-5);
}

}  // namespace
}  // namespace quench
