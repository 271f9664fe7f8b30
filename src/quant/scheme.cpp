#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>

#include "quench/error.h"
#include "quench/quant.h"
#include "quench/registry.h"

namespace quench {
namespace {

constexpr int kMaxBits = 16;

void check_float(const QSchemeSpec& spec) {
  QUENCH_CHECK(spec.bits == 8, "an fp8 scheme has 8 bits, not ", spec.bits);
  QUENCH_CHECK(spec.is_signed && spec.symmetric, "an fp8 scheme is signed and symmetric");
  QUENCH_CHECK(!spec.narrow, "an fp8 scheme cannot be narrow: it has no integer codes");
}

void check_log(const QSchemeSpec& spec) {
  QUENCH_CHECK(spec.bits == 8 && spec.is_signed && spec.symmetric, "a log scheme is 8 bits, signed and symmetric");
  QUENCH_CHECK(spec.granularity == Granularity::kTensor, "a log scheme is per tensor");
  QUENCH_CHECK(!spec.narrow && !spec.power_of_two_scale, "a log scheme is neither narrow nor power-of-two");
}

void check_int(const QSchemeSpec& spec) {
  QUENCH_CHECK(spec.bits >= 1 && spec.bits <= kMaxBits, "bits must be 1 to ", kMaxBits, ", not ", spec.bits);
  QUENCH_CHECK(!spec.narrow || (spec.is_signed && spec.symmetric),
               "a narrow range (-127..127) needs a signed symmetric scheme: set narrow to false");
  QUENCH_CHECK(!spec.narrow || spec.bits >= 2, "a narrow range needs at least 2 bits: with 1 bit one code is left");
}

void check_granularity(const QSchemeSpec& spec) {
  QUENCH_CHECK(spec.granularity != Granularity::kToken && spec.granularity != Granularity::kBlock, "granularity '",
               spec.granularity == Granularity::kToken ? "token" : "block",
               "' is not built yet; known: tensor, channel, group");
  const bool grouped = spec.granularity == Granularity::kGroup;
  QUENCH_CHECK(!grouped || spec.group > 0, "granularity 'group' needs a positive group size, not ", spec.group);
  QUENCH_CHECK(grouped || spec.group == 0, "a group size of ", spec.group, " needs granularity 'group'");
}

std::string format_text(const QSchemeSpec& spec) {
  switch (spec.format) {
    case Format::kInt: return concat(spec.is_signed ? "int" : "uint", spec.bits);
    case Format::kE4M3Fn: return "e4m3fn";
    case Format::kE5M2: return "e5m2";
    case Format::kLog: return "log8";
  }
  return "";
}

std::int64_t read_number(const std::string& digits, const std::string& text) {
  std::size_t used = 0;
  std::int64_t number = 0;
  try {
    number = std::stoll(digits, &used);
  } catch (const std::out_of_range&) {
    fail("'", digits, "' in the scheme '", text, "' is out of range");
  } catch (const std::exception&) {
    used = 0;
  }
  QUENCH_CHECK(used > 0 && used == digits.size(), "'", digits, "' in the scheme '", text, "' is not a number");
  return number;
}

bool read_format(const std::string& word, const std::string& text, QSchemeSpec& spec) {
  if (word == "e4m3fn") spec.format = Format::kE4M3Fn;
  if (word == "e5m2") spec.format = Format::kE5M2;
  if (word == "log8") spec.format = Format::kLog;
  if (spec.format != Format::kInt) return true;
  const bool is_unsigned = word.starts_with("uint");
  if (!is_unsigned && !word.starts_with("int")) return false;
  spec.is_signed = !is_unsigned;
  const std::int64_t bits = read_number(word.substr(is_unsigned ? 4 : 3), text);
  spec.bits = bits < 0 || bits > kMaxBits ? kMaxBits + 1 : static_cast<int>(bits);
  return true;
}

int read_axis(const std::string& digits, const std::string& text) {
  const std::int64_t axis = read_number(digits, text);
  QUENCH_CHECK(axis >= std::numeric_limits<int>::min() && axis <= std::numeric_limits<int>::max(), "axis ", axis,
               " in the scheme '", text, "' is out of range");
  return static_cast<int>(axis);
}

// "tensor", "channel:0", "group:1:32"; "channel" alone is axis 0.
void read_granularity(const std::string& word, const std::string& text, QSchemeSpec& spec) {
  std::istringstream in(word);
  std::string name, axis, group;
  std::getline(in, name, ':');
  const bool has_axis = static_cast<bool>(std::getline(in, axis, ':'));
  const bool has_group = static_cast<bool>(std::getline(in, group));
  QUENCH_CHECK(!word.ends_with(':'), "'", word, "' in the scheme '", text, "' lacks a number");
  QUENCH_CHECK(name != "tensor" || !has_axis, "'", word, "' in the scheme '", text, "': a tensor has no axis");
  QUENCH_CHECK(name == "group" || !has_group, "'", word, "' in the scheme '", text, "': only 'group' has a group size");
  if (name == "tensor") spec.granularity = Granularity::kTensor;
  if (name == "channel") spec.granularity = Granularity::kChannel;
  if (name == "group") spec.granularity = Granularity::kGroup;
  if (name == "token") spec.granularity = Granularity::kToken;
  if (name == "block") spec.granularity = Granularity::kBlock;
  if (has_axis) spec.axis = read_axis(axis, text);
  if (has_group) spec.group = read_number(group, text);
}

// The kind of mutually exclusive words; a plain word is its own kind.
std::string kind_of_word(const std::string& name) {
  if (name == "symmetric" || name == "affine") return "symmetric or affine";
  if (name == "narrow" || name == "pot") return name;
  return "the granularity";
}

// `seen` holds the kinds of the words before.
void read_word(const std::string& word, const std::string& text, QSchemeSpec& spec, std::set<std::string>& seen) {
  static const std::vector<std::string> known = {"symmetric", "affine", "tensor", "channel", "group",
                                                 "token",     "block",  "narrow", "pot"};
  const std::string name = word.substr(0, word.find(':'));
  if (std::find(known.begin(), known.end(), name) == known.end()) fail_unknown_name("word in a scheme", word, known);
  QUENCH_CHECK(seen.insert(kind_of_word(name)).second, "the scheme '", text, "' says ", kind_of_word(name), " twice");
  QUENCH_CHECK(word == name || kind_of_word(name) == "the granularity", "'", name, "' in the scheme '", text,
               "' takes no number");
  if (name == "symmetric" || name == "affine")
    spec.symmetric = name == "symmetric";
  else if (name == "narrow")
    spec.narrow = true;
  else if (name == "pot")
    spec.power_of_two_scale = true;
  else
    read_granularity(word, text, spec);
}

}  // namespace

QScheme::QScheme(const QSchemeSpec& spec) : spec_(spec) {
  switch (spec.format) {
    case Format::kInt: check_int(spec); break;
    case Format::kE4M3Fn:
    case Format::kE5M2: check_float(spec); break;
    case Format::kLog: check_log(spec); break;
  }
  check_granularity(spec);
  if (per_tensor()) spec_.axis = 0;  // means nothing there, and two schemes of one text must be equal
}

QScheme QScheme::parse(const std::string& text) {
  std::istringstream in(text);
  QSchemeSpec spec;
  std::string word;
  QUENCH_CHECK(in >> word && read_format(word, text, spec), "the scheme '", text,
               "' must begin with intN, uintN, e4m3fn, e5m2 or log8");
  std::set<std::string> seen;
  while (in >> word) read_word(word, text, spec, seen);
  return with_context([&] { return concat("in the scheme '", text, "'"); }, [&] { return QScheme(spec); });
}

std::string QScheme::text() const {
  std::string result = format_text(spec_);
  if (is_int()) result += spec_.symmetric ? " symmetric" : " affine";
  if (spec_.granularity == Granularity::kTensor) result += " tensor";
  if (spec_.granularity == Granularity::kChannel) result += concat(" channel:", spec_.axis);
  if (spec_.granularity == Granularity::kGroup) result += concat(" group:", spec_.axis, ":", spec_.group);
  if (spec_.narrow) result += " narrow";
  if (spec_.power_of_two_scale) result += " pot";
  return result;
}

int QScheme::qmin() const {
  QUENCH_CHECK(is_int(), "the scheme '", text(), "' has no integer codes");
  if (!spec_.is_signed) return 0;
  return -(1 << (spec_.bits - 1)) + (spec_.narrow ? 1 : 0);
}

int QScheme::qmax() const {
  QUENCH_CHECK(is_int(), "the scheme '", text(), "' has no integer codes");
  return (1 << (spec_.is_signed ? spec_.bits - 1 : spec_.bits)) - 1;
}

float QScheme::largest() const {
  switch (spec_.format) {
    case Format::kInt: return static_cast<float>(std::max(qmax(), -qmin()));
    case Format::kE4M3Fn: return 448.0F;
    case Format::kE5M2: return 57344.0F;
    case Format::kLog: return 1.0F;
  }
  return 0.0F;
}

int QScheme::axis_of(int rank) const {
  const int axis = spec_.axis < 0 ? spec_.axis + rank : spec_.axis;
  QUENCH_CHECK(axis >= 0 && axis < rank, "axis ", spec_.axis, " of the scheme '", text(), "' is out of range for rank ",
               rank);
  return axis;
}

std::vector<std::int64_t> QScheme::scale_shape(const std::vector<std::int64_t>& sizes) const {
  if (per_tensor()) return {};
  const auto axis = static_cast<std::size_t>(axis_of(static_cast<int>(sizes.size())));
  if (spec_.granularity == Granularity::kChannel) return {sizes[axis]};
  QUENCH_CHECK(sizes[axis] % spec_.group == 0, "axis ", axis, " has ", sizes[axis],
               " elements, not a multiple of the group size of '", text(), "'");
  std::vector<std::int64_t> shape = sizes;
  shape[axis] /= spec_.group;
  return shape;
}

const char* name_of(Role role) {
  switch (role) {
    case Role::kWeight: return "weight";
    case Role::kActivation: return "activation";
    case Role::kBias: return "bias";
  }
  return "";
}

Role role_from_name(const std::string& name) {
  for (const Role role : {Role::kWeight, Role::kActivation, Role::kBias})
    if (name == name_of(role)) return role;
  fail_unknown_name("role", name, {"weight", "activation", "bias"});
}

const char* name_of(QuantizeBy by) { return by == QuantizeBy::kDivision ? "division" : "reciprocal"; }

QuantizeBy quantize_by_from_name(const std::string& name) {
  if (name == "division") return QuantizeBy::kDivision;
  if (name == "reciprocal") return QuantizeBy::kReciprocal;
  fail_unknown_name("way to quantize", name, {"division", "reciprocal"});
}

}  // namespace quench
