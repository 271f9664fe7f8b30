#include "reconstruct/unit_loss.h"

#include <gtest/gtest.h>

#include "quench/executor.h"
#include "reconstruct/learn_rounding.h"
#include "reconstruct/nets.h"
#include "support/expect_error.h"

namespace quench {
namespace {

at::Tensor divergence(const at::Tensor& y, const at::Tensor& wanted) {
  return (wanted.softmax(1) * (wanted.log_softmax(1) - y.log_softmax(1))).sum(1).mean();
}

TEST(UnitLoss, TheDivergencesGradientIsThatOfItsFormula) {
  const at::Tensor y = at::randn({3, 5}).requires_grad_(), wanted = at::randn({3, 5});
  divergence(y, wanted).backward();
  EXPECT_TRUE(at::allclose(divergence_gradient(y, wanted), y.grad(), 1e-4, 1e-6));
}

int looked = 0;

// What the rest of the float network makes of the float output is its prediction; of another one it is another.
void look(UnitWork& work, UnitRecord&) {
  const at::Tensor rows = work.draw(3), wanted = work.prediction(rows);
  EXPECT_EQ(wanted.sizes(), (std::vector<std::int64_t>{4, 10}));
  EXPECT_TRUE(at::allclose(work.predict(work.target(rows), rows), wanted, 1e-5, 1e-5)) << work.unit().name;
  const at::Tensor other = (work.target(rows) * 1.5).requires_grad_();
  const at::Tensor y = work.predict(other, rows);
  EXPECT_FALSE(at::allclose(y, wanted, 1e-2, 1e-2)) << work.unit().name;
  y.sum().backward();
  EXPECT_GT(other.grad().abs().max().item<double>(), 0);
  ++looked;
}
QUENCH_REGISTER_PTQ_METHOD("look_at_predictions", look, "for a test", {}, "block")

TEST(UnitLoss, TheRestOfTheNetworkPredicts) {
  const auto data = random_images(12);
  QuantizedModel model = calibrated_net(*data);
  ReconstructOptions options;
  options.method = "look_at_predictions";
  options.options = Options{{"batch", 4.0}};
  looked = 0;
  reconstruct(model, *data, options);
  EXPECT_EQ(looked, 4);
}

// The gradient that arrives at the unit's output is that of the squared error and of the weighed divergence.
void send_back(UnitWork& work, UnitRecord&) {
  const RoundingSettings settings(work.options());
  const at::Tensor rows = work.draw(0), wanted = work.target(rows);
  UnitLoss loss(settings, work, rows);
  const at::Tensor y = (wanted + at::randn_like(wanted)).requires_grad_(), again = y.detach().requires_grad_();
  loss.backward(y, rows, 1.0);
  const at::Tensor squared = (again - wanted).square().sum(1).mean();
  (squared + 7 * divergence(work.predict(again, rows), work.prediction(rows))).backward();
  EXPECT_TRUE(at::allclose(y.grad(), again.grad(), 1e-4, 1e-6)) << work.unit().name;
  ++looked;
}
QUENCH_REGISTER_PTQ_METHOD("send_back", send_back, "for a test", rounding_options(1.0, 10), "block")

TEST(UnitLoss, SendsBackWhatThePredictionAdds) {
  const auto data = random_images(12);
  QuantizedModel model = calibrated_net(*data);
  ReconstructOptions options;
  options.method = "send_back";
  options.options = Options{{"batch", 4.0}, {"prediction", 7.0}};
  looked = 0;
  reconstruct(model, *data, options);
  EXPECT_EQ(looked, 4);
}

TEST(UnitLoss, APredictionIsOfLogits) {
  const auto data = random_images(8);
  Graph graph = residual_net();
  graph.add_output(graph.value("stem.relu"));
  QuantizedModel model = prepare_by_platform(graph, "academic", few_bits(4));
  calibrate(model, *data);
  ReconstructOptions options;
  options.options = Options{{"max_count", 2.0}, {"prediction", 1.0}};
  EXPECT_ERROR(reconstruct(model, *data, options), "this one has 2 float outputs");
  EXPECT_ERROR(units_of_method(graph, "qdrop", options.options), "this one has 2 float outputs");
  Graph maps = residual_net();
  maps.clear_outputs();
  maps.add_output(maps.value("stem.relu"));
  EXPECT_ERROR(units_of_method(maps, "qdrop", options.options), "'stem.relu' with 4 axes");
}

}  // namespace
}  // namespace quench
