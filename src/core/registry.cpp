#include "quench/registry.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace quench {
namespace {

// What two spellings of one name share: case, '_' and '-' do not matter.
std::string plain(const std::string& name) {
  std::string text;
  for (const unsigned char c : name)
    if (c != '_' && c != '-' && c != ' ') text += static_cast<char>(std::tolower(c));
  return text;
}

// Levenshtein distance in which two swapped neighbours count as one mistake.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> least(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) least[i][0] = i;
  std::iota(least[0].begin(), least[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  return least[a.size()][b.size()];
}

// "onnxrt" of "onnxruntime": its letters in their order, the first one first.
bool abbreviates(const std::string& name, const std::string& candidate) {
  if (name.empty() || candidate.empty() || name[0] != candidate[0]) return false;
  std::size_t at = 0;
  for (const char c : candidate) at += at < name.size() && name[at] == c ? 1 : 0;
  return at == name.size();
}

// How far a candidate is from what was written; less is nearer, nothing if it is not near. Mistyped comes before cut
// short or cut out, that before abbreviated.
std::optional<std::size_t> distance_of(const std::string& name, const std::string& candidate) {
  constexpr std::size_t kPart = 1000, kAbbreviation = 2000, kShortestPart = 3;
  const std::size_t distance = edit_distance(name, candidate);
  const std::size_t mistyped = name.size() < kShortestPart + 1 ? 1 : std::max<std::size_t>(2, name.size() / 3);
  if (distance <= mistyped) return distance;
  if (name.size() < kShortestPart) return std::nullopt;
  const bool is_part = candidate.find(name) != std::string::npos ||
                       (candidate.size() > kShortestPart && name.find(candidate) != std::string::npos);
  if (is_part) return kPart + distance;
  if (abbreviates(name, candidate)) return kAbbreviation + distance;
  return std::nullopt;
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  std::optional<std::size_t> least;
  for (const std::string& candidate : candidates) {
    const std::optional<std::size_t> distance = distance_of(plain(name), plain(candidate));
    if (!distance || (least && *distance >= *least)) continue;
    best = candidate;
    least = distance;
  }
  return best;
}

void fail_unknown_name(const char* kind, const std::string& name, const std::vector<std::string>& known) {
  constexpr std::size_t kListed = 60, kShown = 6;  // more than kListed: a few from all over
  std::string message = concat("unknown ", kind, " '", name, "'");
  const std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) message += concat("; did you mean '", nearest, "'?");
  std::string list;
  if (known.empty()) {
    list = "there are none";
  } else if (known.size() <= kListed) {
    list = "known: ";
    for (std::size_t i = 0; i < known.size(); ++i) list += (i == 0 ? "" : ", ") + known[i];
  } else {
    list = concat("there are ", known.size(), ", such as ");
    for (std::size_t i = 0; i < kShown; ++i) list += (i == 0 ? "'" : ", '") + known[i * known.size() / kShown] + "'";
  }
  throw Error(nearest.empty() ? concat(message, "; ", list) : concat(message, " (", list, ")"));
}

void abort_duplicate_name(const char* kind, const std::string& name, const char* first, const char* second) {
  std::fprintf(stderr, "quench: the %s '%s' is registered twice: in %s and in %s\n", kind, name.c_str(), first, second);
  std::abort();
}

}  // namespace quench
