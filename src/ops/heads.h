// How the attention operators lay out their heads.
#pragma once

#include <cstdint>

namespace at {
class Tensor;
}

namespace quench {

class Node;

// [B, S, heads * size] -> [B, heads, S, size], if the attribute gives the heads; four dims stay.
at::Tensor split_heads(const Node& node, const at::Tensor& x, const char* attr);
at::Tensor merge_heads(const at::Tensor& x);  // the way back

// How many of the query heads read the same key head; throws if they do not share evenly.
std::int64_t query_heads_per_key(const Node& node, std::int64_t query_heads, std::int64_t key_heads);

}  // namespace quench
