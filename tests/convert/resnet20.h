// ResNet-20 on CIFAR-10 as the platform "onnxruntime" quantizes it.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "quench/calibrate.h"
#include "quench/data.h"
#include "quench/import.h"
#include "quench/prepare.h"
#include "support/data_file.h"

namespace quench {

struct ResNet20 {
  QuantizedModel model;
  at::Tensor images;  // of the test set
};

// Nothing if the files are not there.
inline std::optional<ResNet20> calibrated_resnet20(std::int64_t images) {
  const std::string model = data_file("models/resnet20_cifar10_bn.onnx");
  const std::string calibration = data_file("cifar10/data_batch_1.bin"), test = data_file("cifar10/test_batch.bin");
  if (model.empty() || calibration.empty() || test.empty()) return {};
  ResNet20 made{prepare_by_platform(import_model(model), "onnxruntime"), {}};
  calibrate(made.model, *open_dataset("cifar10:" + calibration + "?norm=imagenet&limit=256"));
  const auto data = open_dataset("cifar10:" + test + "?norm=imagenet&limit=" + std::to_string(images));
  LoadOptions load;
  load.batch_size = images;
  Loader loader(*data, load);
  made.images = loader.next()->inputs.tensor();
  return made;
}

}  // namespace quench
