#include "quench/registry.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace quench {
namespace {

const std::vector<std::string> kPlatforms = {"academic", "onnx_qnn", "onnxruntime",  "openvino",    "ort",
                                             "snpe",     "tensorrt", "tensorrt_nlp", "tensorrt_qdq"};

// Once a bug: 'onnxrt' suggested nothing.
TEST(NearestName, FindsWhatWasMistypedCutShortOrAbbreviated) {
  EXPECT_EQ(nearest_name("onnxrt", kPlatforms), "onnxruntime");
  EXPECT_EQ(nearest_name("onnxruntme", kPlatforms), "onnxruntime");
  EXPECT_EQ(nearest_name("runtime", kPlatforms), "onnxruntime");
  EXPECT_EQ(nearest_name("vino", kPlatforms), "openvino");
  EXPECT_EQ(nearest_name("TensorRT-QDQ", kPlatforms), "tensorrt_qdq");
  EXPECT_EQ(nearest_name("nvidia_tensorrt", kPlatforms), "tensorrt");
  EXPECT_EQ(nearest_name("snp", kPlatforms), "snpe");
  EXPECT_EQ(nearest_name("lqs", {"lsq_plus", "lsq"}), "lsq");
  EXPECT_EQ(nearest_name("keras", kPlatforms), "");
  EXPECT_EQ(nearest_name("xy", kPlatforms), "");
}

TEST(FailUnknownName, ListsWhatIsKnown) {
  try {
    fail_unknown_name("platform", "keras", kPlatforms);
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find("unknown platform 'keras'; known: academic, onnx_qnn"), 0U) << error.message();
  }
}

// Of hundreds of names, such as those of a graph's values, a few show what they look like.
TEST(FailUnknownName, ShowsAFewOfMany) {
  std::vector<std::string> many;
  for (int i = 0; i < 120; ++i) many.push_back("v" + std::to_string(i));
  try {
    fail_unknown_name("value", "zebra", many);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "unknown value 'zebra'; there are 120, such as 'v0', 'v20', 'v40', 'v60', 'v80', 'v100'");
  }
}

// "key of 'train'": the name stands behind the noun, and what it belongs to behind the name.
TEST(FailUnknownName, PutsTheNameBehindItsNoun) {
  EXPECT_ERROR(fail_unknown_name("key of 'train'", "lop", {"loop"}),
               "unknown key 'lop' of 'train'; did you mean 'loop'? (known: loop)");
  EXPECT_ERROR(fail_unknown_name("layer in 'units'", "q", {"conv"}), "unknown layer 'q' in 'units'; known: conv");
  EXPECT_ERROR(fail_unknown_name("input (as=)", "q", {"picture"}), "unknown input 'q' (as=); known: picture");
  EXPECT_ERROR(fail_unknown_name("kind of data", "q", {"images"}), "unknown kind of data 'q'; known: images");
}

TEST(FailUnknownName, SaysWhenNothingIsKnown) {
  try {
    fail_unknown_name("runtime", "x", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "unknown runtime 'x'; there are none");
  }
}

}  // namespace
}  // namespace quench
