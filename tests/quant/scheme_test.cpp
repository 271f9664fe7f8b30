#include <gtest/gtest.h>

#include "quench/error.h"
#include "quench/quant.h"
#include "support/expect_error.h"

namespace quench {
namespace {

std::string message_of(const QSchemeSpec& spec) {
  try {
    QScheme{spec};
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(QScheme, ComputesTheCodesOfEveryWidth) {
  for (int bits = 1; bits <= 16; ++bits) {
    const QScheme is_signed({.bits = bits}), is_unsigned({.bits = bits, .is_signed = false, .symmetric = false});
    EXPECT_EQ(is_signed.qmin(), -(1 << (bits - 1)));
    EXPECT_EQ(is_signed.qmax(), (1 << (bits - 1)) - 1);
    EXPECT_EQ(is_unsigned.qmin(), 0);
    EXPECT_EQ(is_unsigned.qmax(), (1 << bits) - 1);
    EXPECT_EQ(is_signed.levels(), 1 << bits);
  }
}

// D19: the width is what was asked for, not log2 of the levels.
TEST(QScheme, ANarrowRangeKeepsItsBits) {
  const QScheme scheme({.bits = 8, .narrow = true});
  EXPECT_EQ(scheme.qmin(), -127);
  EXPECT_EQ(scheme.qmax(), 127);
  EXPECT_EQ(scheme.levels(), 255);
  EXPECT_EQ(scheme.bits(), 8);
}

TEST(QScheme, TextIsReadBack) {
  for (const char* text :
       {"int8 symmetric tensor", "uint4 affine group:1:32", "int8 symmetric channel:0 narrow",
        "int8 symmetric tensor pot", "e4m3fn channel:-1", "e5m2 tensor", "log8 tensor", "uint16 symmetric tensor"})
    EXPECT_EQ(QScheme::parse(text).text(), text);
}

TEST(QScheme, SaysWhatIsWrong) {
  EXPECT_EQ(message_of({.bits = 17}), "bits must be 1 to 16, not 17");
  EXPECT_EQ(message_of({.bits = 0}), "bits must be 1 to 16, not 0");
  EXPECT_EQ(message_of({.is_signed = false, .narrow = true}),
            "a narrow range (-127..127) needs a signed symmetric scheme: set narrow to false");
  EXPECT_EQ(message_of({.bits = 1, .narrow = true}),
            "a narrow range needs at least 2 bits: with 1 bit one code is left");
  EXPECT_EQ(message_of({.format = Format::kE5M2, .bits = 4}), "an fp8 scheme has 8 bits, not 4");
  EXPECT_EQ(message_of({.format = Format::kE4M3Fn, .symmetric = false}), "an fp8 scheme is signed and symmetric");
  EXPECT_EQ(message_of({.format = Format::kLog, .narrow = true}), "a log scheme is neither narrow nor power-of-two");
  EXPECT_EQ(message_of({.granularity = Granularity::kToken}),
            "granularity 'token' is not built yet; known: tensor, channel, group");
  EXPECT_EQ(message_of({.granularity = Granularity::kGroup}), "granularity 'group' needs a positive group size, not 0");
  EXPECT_EQ(message_of({.group = 4}), "a group size of 4 needs granularity 'group'");
}

TEST(QScheme, SaysWhatIsWrongInItsText) {
  EXPECT_ERROR(QScheme::parse(""), "scheme ''", "must begin with intN");
  EXPECT_ERROR(QScheme::parse("float8"), "'float8'", "must begin with intN");
  EXPECT_ERROR(QScheme::parse("int8 symetric"), "'symetric'", "did you mean 'symmetric'");
  EXPECT_ERROR(QScheme::parse("int8x"), "'8x'", "not a number");
  EXPECT_ERROR(QScheme::parse("int99999999999999999999"), "'99999999999999999999'", "out of range");
  EXPECT_ERROR(QScheme::parse("int8 channel:z"), "'z'", "not a number");
}

TEST(QScheme, ReadsNothingIntoItsText) {
  const std::pair<const char*, const char*> rows[] = {
      {"int8 channel:4294967296", "axis 4294967296"},
      {"int8 channel:-2147483649", "axis -2147483649"},
      {"int8 channel:", "lacks a number"},
      {"int8 channel:0:4", "only 'group' has a group size"},
      {"int8 channel:0:0", "only 'group' has a group size"},
      {"int4 group:1:", "lacks a number"},
      {"int4 group:1:32:2", "'32:2'"},
      {"int4 group:1:32:", "lacks a number"},
      {"int4 group", "needs a positive group size"},
      {"int8 tensor:3", "has no axis"},
      {"int8 tensor:0", "has no axis"},
      {"int8 tensor:", "lacks a number"},
      {"int8 symmetric:1", "takes no number"},
      {"int8 narrow:1", "takes no number"},
      {"int8 symmetric affine", "symmetric or affine twice"},
      {"int8 affine affine", "symmetric or affine twice"},
      {"int8 channel:0 tensor", "granularity twice"},
      {"int8 tensor tensor", "granularity twice"},
      {"int8 narrow narrow", "narrow twice"},
      {"int8 pot pot", "pot twice"},
      {"int8 int8", "unknown word 'int8' in a scheme"},
  };
  for (const auto& [text, part] : rows) EXPECT_ERROR(QScheme::parse(text), part) << text;
}

TEST(QScheme, IsThatOfItsText) {
  for (const char* text : {"int8", "uint4 affine", "int8 channel", "int8 pot channel:-2 narrow", "int4 group:-1:32",
                           "e5m2 symmetric tensor", "log8", "e4m3fn pot", "int8 channel:2147483647"}) {
    const QScheme scheme = QScheme::parse(text);
    EXPECT_EQ(QScheme::parse(scheme.text()), scheme) << text;
  }
  EXPECT_EQ(QScheme({.axis = 3}), QScheme());
}

TEST(QScheme, GivesTheShapeOfItsScales) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(QScheme::parse("int8 tensor").scale_shape({4, 6}), Sizes({}));
  EXPECT_EQ(QScheme::parse("int8 channel:-1").scale_shape({4, 6}), Sizes({6}));
  EXPECT_EQ(QScheme::parse("int4 group:1:3").scale_shape({4, 6, 5}), Sizes({4, 2, 5}));
  EXPECT_ERROR(QScheme::parse("int4 group:1:4").scale_shape({4, 6}), "6 elements", "group size");
  EXPECT_ERROR(QScheme::parse("int8 channel:2").scale_shape({4, 6}), "axis 2", "out of range for rank 2");
}

}  // namespace
}  // namespace quench
