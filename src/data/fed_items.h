// Which items a run was fed, for errors: where the data itself is not finite, an item is the reason.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "data/feed.h"
#include "quench/error.h"

namespace quench {

// Throws, naming the item: a fused ReLU makes a zero of a NaN, so that nobody would see it in what is computed.
void check_no_nan(const Fed& fed);

// "on items 32 to 63", and the first of them that is not finite: "; item 'a.npy' has an infinity in its input 'x'".
std::string items_text(std::span<const Fed> batches);

// Runs `body`, which runs a model on these; its errors say on which items.
template <typename Body>
void naming_items(std::span<const Fed> batches, Body&& body) {
  for (const Fed& batch : batches) check_no_nan(batch);
  with_context([&] { return items_text(batches); }, std::forward<Body>(body));
}

}  // namespace quench
