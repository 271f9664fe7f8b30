// Kernels as functions of one element: map() for y = f(channel, a, b, ...), with sums where f has a state. What
// they read is a list of sources: memory, or random words made from the place.
#pragma once

#include "kernels/cuda/reduce.cuh"

namespace quench {

template <class T>
struct Memory {
  const T* from;
  template <int V>
  __device__ Pack<T, V> at(std::int64_t i) const {
    return load<V>(from, i);
  }
  bool is_aligned() const { return aligned(from); }
};
template <class T>
Memory(const T*) -> Memory<T>;

// PACT's clip: given, or in memory.
struct PactEnds {
  ClipRange given;
  const float* in_memory;
  __device__ ClipRange range() const { return in_memory ? ClipRange{__ldg(in_memory), __ldg(in_memory + 1)} : given; }
};

// QDrop's words. V is 1, or 4 with i a multiple of 4: then one call of Philox serves all four.
struct Coins {
  DropCoin coin;
  template <int V>
  __device__ Pack<std::uint32_t, V> at(std::int64_t i) const {
    const PhiloxWords four = drop_words(coin, static_cast<std::uint64_t>(i) / 4);
    Pack<std::uint32_t, V> words;
    if constexpr (V == 4) {
#pragma unroll
      for (int k = 0; k < 4; ++k) words.v[k] = four.word[k];
    } else {
      const int k = static_cast<int>(i & 3);
      const std::uint32_t low = k & 1 ? four.word[1] : four.word[0], high = k & 1 ? four.word[3] : four.word[2];
      words.v[0] = k & 2 ? high : low;
    }
    return words;
  }
  static bool is_aligned() { return true; }
};

// read<V>(i, use) calls use(pack of the first source, pack of the second, ...).
template <class... Source>
struct Sources {
  template <int V, class Use, class... Packs>
  __device__ void read(std::int64_t, const Use& use, const Packs&... packs) const {
    use(packs...);
  }
  static bool are_aligned() { return true; }
};
template <class First, class... Rest>
struct Sources<First, Rest...> {
  First first;
  Sources<Rest...> rest;
  template <int V, class Use, class... Packs>
  __device__ void read(std::int64_t i, const Use& use, const Packs&... packs) const {
    rest.template read<V>(i, use, packs..., first.template at<V>(i));
  }
  bool are_aligned() const { return first.is_aligned() && rest.are_aligned(); }
};

inline Sources<> sources() { return {}; }
template <class First, class... Rest>
Sources<First, Rest...> sources(const First& first, const Rest&... rest) {
  return {first, sources(rest...)};
}

template <class F, class Out, class From>
struct Map {
  F f;
  Out* to;
  From from;
  template <int V, class Walk>
  __device__ void run(Walk& walk, std::int64_t i) const {
    from.template read<V>(i, [&](const auto&... in) {
      Pack<Out, V> out;
#pragma unroll
      for (int k = 0; k < V; ++k, walk.next()) out.v[k] = f(walk.channel(), in.v[k]...);
      store<V>(to, i, out);
    });
  }
};

// to[i] = f(channel, source[i]...)
template <class F, class Out, class... Source>
void map(const AffineView& view, const F& f, Out* to, const Source&... source) {
  const auto from = sources(source...);
  each(view, Map<F, Out, decltype(from)>{f, to, from}, aligned(to) && from.are_aligned());
}

// As Op of reduce(): F has State, Part and part() besides.
template <class F, class From>
struct MapSum : F {
  static constexpr int kUnroll = 1, kBlocks = 4;
  float* to;
  From from;
  __device__ static Affine context(const AffineView& view, std::int64_t channel) { return affine_at(view, channel); }
  template <int V, class Lanes>
  __device__ void run(Lanes& lanes, std::int64_t i) const {
    from.template read<V>(i, [&](const auto&... in) {
      Pack<float, V> out;
#pragma unroll
      for (int k = 0; k < V; ++k) out.v[k] = (*this)(lanes.context(k), lanes.state(k), in.v[k]...);
      store<V>(to, i, out);
    });
  }
};

// to[i] = f(affine, state, source[i]...), and finish(channel, part) of all states of a channel.
template <class F, class Finish, class... Source>
void map_sum(const AffineView& view, const F& f, const Finish& finish, float* to, const Source&... source) {
  const auto from = sources(source...);
  reduce(view, MapSum<F, decltype(from)>{f, to, from}, aligned(to) && from.are_aligned(), finish);
}

}  // namespace quench
