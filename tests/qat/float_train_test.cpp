// The float trainer: same seed same bits, the loss goes down, the best weights
// are kept.
#include "qat/float_train.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "qat/augment.h"
#include "qat/quarters.h"
#include "quench/state_dict.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

FloatTrainOptions quick() {
  FloatTrainOptions options;
  options.epochs = 2;
  options.batch_size = 32;
  options.learning_rate = 0.05;
  options.shift = 1;
  options.seed = 3;
  return options;
}

std::shared_ptr<ZooNet> small() { return make_zoo_model("small_cnn", {.num_classes = 4, .seed = 1}); }

bool same(const TensorMap& a, const TensorMap& b) {
  for (const auto& [name, tensor] : a) {
    if (!at::equal(tensor, b.at(name))) return false;
  }
  return a.size() == b.size();
}

TEST(FloatTrain, TheSameSeedGivesTheSameBits) {
  const Quarters data(128, 1);
  auto a = small(), b = small(), c = small();
  FloatTrainOptions options = quick();
  options.flip = true;
  const auto first = train_float(*a, data, nullptr, options), second = train_float(*b, data, nullptr, options);
  EXPECT_TRUE(same(state_of(*a), state_of(*b)));
  EXPECT_EQ(first.epochs[1].loss, second.epochs[1].loss);
  options.seed = 4;
  train_float(*c, data, nullptr, options);
  EXPECT_FALSE(same(state_of(*a), state_of(*c)));
}

TEST(FloatTrain, TheLossGoesDownAndUnseenImagesAreRecognised) {
  const Quarters data(512, 1), unseen(200, 2);
  auto net = small();
  FloatTrainOptions options = quick();
  options.epochs = 3;
  options.label_smoothing = 0.05;
  std::vector<std::string> lines;
  options.progress = [&](const std::string& line) { lines.push_back(line); };
  const FloatTrainRecord record = train_float(*net, data, &unseen, options);
  EXPECT_LT(record.epochs.back().loss, 0.6 * record.epochs.front().loss);
  EXPECT_FALSE(net->is_training());
  const Accuracy accuracy = evaluate_float(*net, unseen);
  EXPECT_EQ(accuracy.images, 200);
  EXPECT_GT(accuracy.fraction(), 0.9);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with("epoch 1/3  loss ")) << lines[0];
  EXPECT_NE(lines[0].find("  validation "), std::string::npos) << lines[0];
}

TEST(FloatTrain, TheBestWeightsAreKeptInTheNetworkAndInTheCheckpoint) {
  const Quarters data(128, 1), unseen(100, 2);
  auto net = small();
  FloatTrainOptions options = quick();
  options.epochs = 3;
  options.checkpoint = (std::filesystem::temp_directory_path() / "quench_float_train_best.safetensors").string();
  const FloatTrainRecord record = train_float(*net, data, &unseen, options);
  double best = 0;
  for (const EpochRecord& epoch : record.epochs) best = std::max(best, epoch.validation);
  EXPECT_EQ(record.epochs[static_cast<std::size_t>(record.best_epoch)].validation, best);
  EXPECT_EQ(evaluate_float(*net, unseen).fraction(), best);
  EXPECT_TRUE(same(read_safetensors(options.checkpoint), state_of(*net)));
  std::filesystem::remove(options.checkpoint);
}

TEST(FloatTrain, TheGlobalGeneratorIsLeftAlone) {
  const Quarters data(64, 1);
  at::manual_seed(9);
  const at::Tensor expected = at::rand({3});
  at::manual_seed(9);
  auto net = small();
  train_float(*net, data, nullptr, quick());
  EXPECT_TRUE(at::equal(at::rand({3}), expected));
}

TEST(FloatTrain, TheRateRisesThenFallsAlongACosine) {
  FloatTrainOptions options;
  options.epochs = 10;
  options.learning_rate = 0.4;
  options.warmup_epochs = 1;
  EXPECT_DOUBLE_EQ(cosine_rate(options, 0, 100), 0.04);
  EXPECT_DOUBLE_EQ(cosine_rate(options, 9, 100), 0.4);
  EXPECT_DOUBLE_EQ(cosine_rate(options, 10, 100), 0.4);
  EXPECT_NEAR(cosine_rate(options, 55, 100), 0.2, 1e-12);
  EXPECT_NEAR(cosine_rate(options, 100, 100), 0.0, 1e-12);
}

void expect_error(const FloatTrainOptions& options, const std::string& part) {
  const Quarters data(64, 1);
  auto net = small();
  try {
    train_float(*net, data, nullptr, options);
    FAIL() << "no error; wanted: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(FloatTrain, NonsenseOptionsAreErrors) {
  FloatTrainOptions options = quick();
  options.epochs = 0;
  expect_error(options, "epochs is 0; at least 1 is needed");
  options = quick();
  options.batch_size = 65;
  expect_error(options, "the training set has 64 images, fewer than one batch of 65");
  options = quick();
  options.label_smoothing = 1;
  expect_error(options, "label_smoothing is 1; it lies between 0 and 1");
  options = quick();
  options.learning_rate = 1e30;
  options.warmup_epochs = 0;
  expect_error(options, "try a lower learning rate");
}

TEST(Augment, ShiftMovesEachImageByItself) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  at::Tensor images = at::zeros({64, 2, 9, 9});
  images.slice(2, 4, 5).slice(3, 4, 5).fill_(1);  // one bright pixel in the middle
  const at::Tensor shifted = random_shift(images, 2, generator);
  EXPECT_EQ(shifted.sum().item<float>(),
            128.0F);  // two pixels never reach the edge
  EXPECT_EQ(shifted.slice(2, 2, 7).slice(3, 2, 7).sum().item<float>(), 128.0F);
  EXPECT_TRUE(at::equal(shifted.select(1, 0), shifted.select(1, 1)));  // all channels alike
  EXPECT_GT(shifted.sum(0).count_nonzero().item<std::int64_t>(),
            20);  // many different places
  EXPECT_TRUE(at::equal(random_shift(images, 0, generator), images));
}

TEST(Augment, FlipMirrorsSomeImages) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  const at::Tensor images = at::rand({100, 1, 4, 4});
  const at::Tensor flipped = random_flip(images, generator);
  int mirrored = 0;
  for (int i = 0; i < 100; ++i) {
    const bool same_image = at::equal(flipped[i], images[i]);
    EXPECT_TRUE(same_image || at::equal(flipped[i], images[i].flip(2)));
    mirrored += same_image ? 0 : 1;
  }
  EXPECT_GT(mirrored, 30);
  EXPECT_LT(mirrored, 70);
}

}  // namespace
}  // namespace quench
