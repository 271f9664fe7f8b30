#include "quench/registry.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace quench {
namespace {

// Levenshtein distance, case ignored.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same =
          std::tolower(static_cast<unsigned char>(a[i - 1])) == std::tolower(static_cast<unsigned char>(b[j - 1]));
      const std::size_t substituted = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

void fail_unknown_name(const char* kind, const std::string& name, const std::vector<std::string>& known) {
  constexpr std::size_t kListed = 20;
  std::string message = concat("unknown ", kind, " '", name, "'");
  const std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) message += concat("; did you mean '", nearest, "'?");
  if (known.size() <= kListed) {
    message += "; known: ";
    for (std::size_t i = 0; i < known.size(); ++i) message += (i == 0 ? "" : ", ") + known[i];
  }
  throw Error(message);
}

void abort_duplicate_name(const char* kind, const std::string& name, const char* first, const char* second) {
  std::fprintf(stderr, "quench: the %s '%s' is registered twice: in %s and in %s\n", kind, name.c_str(), first, second);
  std::abort();
}

}  // namespace quench
