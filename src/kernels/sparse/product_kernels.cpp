// The products of kernels.hpp. A tile is up to 6 outputs of one class x a few vectors of samples,
// summed in registers: 8 to 12 sums hide the latency of fused multiply-add on two ports, and with
// the operands they fill the 16 registers of AVX2. Sums are over the inputs in order: they do not
// depend on the cut.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse/product_kernels.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <limits>

#include "kernels/sparse/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::sparse::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
constexpr float kNoCeiling = std::numeric_limits<float>::infinity();

/// Vectors of samples beside so many outputs.
constexpr int most_vectors(int outputs) {
  if (kLanes == 16) return 4;  // 32 registers
  return outputs == 1 ? 8 : outputs <= 3 ? 4 : 2;
}

/// One panel of a product.
struct Place {
  const WeightLayout& layout;
  const ProductArgs& args;
  const float* src;
  float* dst;
};

HWY_NOINLINE void tanh_in_place(float* values, std::int64_t size) {
  const Tag d;
  for (std::int64_t i = 0; i < size; i += kLanes) {
    hn::Store(hn::Tanh(d, hn::Load(d, values + i)), d, values + i);
  }
}

/// The outputs of a tile.
template <int outputs>
struct Outputs {
  float* dst[outputs];
  float bias[outputs];

  HWY_INLINE Outputs(const Place& place, const std::int32_t* members) {
    for (int r = 0; r < outputs; ++r) dst[r] = place.dst + members[r] * place.args.panels.width;
    const float* from = place.args.bias;
    for (int r = 0; r < outputs; ++r) bias[r] = from == nullptr ? 0.0F : from[members[r]];
  }
};

template <int outputs, int vectors>
HWY_INLINE void begin(const Outputs<outputs>& to, bool add, std::int64_t sample,
                      Vec (&sum)[outputs][vectors]) {
  const Tag d;
  if (add) {
    for (int r = 0; r < outputs; ++r) {
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Load(d, to.dst[r] + sample + v * kLanes);
    }
  } else {
    for (int r = 0; r < outputs; ++r) {
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Set(d, to.bias[r]);
    }
  }
}

template <int outputs, int vectors>
HWY_INLINE void store(const Outputs<outputs>& to, std::int64_t sample,
                      const Vec (&sum)[outputs][vectors]) {
  const Tag d;
  for (int r = 0; r < outputs; ++r) {
    for (int v = 0; v < vectors; ++v) hn::Store(sum[r][v], d, to.dst[r] + sample + v * kLanes);
  }
}

/// z to [0, ceiling]; a NaN stays one. The comparisons are for processors whose Max and Min may
/// lose it; those of x86 give their second operand then.
HWY_INLINE Vec clipped(Vec z, Vec ceiling) {
  const Vec zero = hn::Zero(Tag());
#if HWY_ARCH_X86
  return hn::Min(ceiling, hn::Max(zero, z));
#else
  z = hn::IfThenZeroElse(hn::Lt(z, zero), z);
  return hn::IfThenElse(hn::Gt(z, ceiling), ceiling, z);
#endif
}

/// Stores f(sum).
template <int outputs, int vectors>
HWY_INLINE void finish(const Outputs<outputs>& to, const Activation& activation,
                       std::int64_t sample, Vec (&sum)[outputs][vectors]) {
  const ActivationKind kind = activation.kind;
  if (kind == ActivationKind::relu || kind == ActivationKind::clip) {
    const bool clip = kind == ActivationKind::clip;
    const Vec ceiling = hn::Set(Tag(), clip ? activation.ceiling : kNoCeiling);
    for (int r = 0; r < outputs; ++r) {
      for (int v = 0; v < vectors; ++v) sum[r][v] = clipped(sum[r][v], ceiling);
    }
  }
  store(to, sample, sum);
  if (kind == ActivationKind::tanh) {
    for (int r = 0; r < outputs; ++r) tanh_in_place(to.dst[r] + sample, vectors * kLanes);
  }
}

/// g++ would keep one address per vector, and run out of registers.
HWY_INLINE const float* one_address(const float* p) {
#if HWY_COMPILER_GCC || HWY_COMPILER_CLANG
  asm("" : "+r"(p));
#endif
  return p;
}

/// Adds one input's samples, times the weights of the outputs, `stride` apart. What is fewer is
/// held in registers.
template <int outputs, int vectors>
HWY_INLINE void add_input(const float* src, const float* weights, std::int64_t stride,
                          Vec (&sum)[outputs][vectors]) {
  const Tag d;
  const float* from = one_address(src);
  if constexpr (outputs < vectors) {
    Vec w[outputs];
    HWY_UNROLL(3)
    for (int r = 0; r < outputs; ++r) w[r] = hn::Set(d, weights[r * stride]);
    HWY_UNROLL(8)
    for (int v = 0; v < vectors; ++v) {
      const Vec x = hn::Load(d, from + v * kLanes);
      HWY_UNROLL(3)
      for (int r = 0; r < outputs; ++r) sum[r][v] = hn::MulAdd(w[r], x, sum[r][v]);
    }
  } else {
    Vec x[vectors];
    HWY_UNROLL(4)
    for (int v = 0; v < vectors; ++v) x[v] = hn::Load(d, from + v * kLanes);
    HWY_UNROLL(6)
    for (int r = 0; r < outputs; ++r) {
      const Vec w = hn::Set(d, weights[r * stride]);
      HWY_UNROLL(4)
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(w, x[v], sum[r][v]);
    }
  }
}

/// Outputs are rows, inputs columns.
struct Rows {
  static const Classes& classes(const WeightLayout& layout) { return layout.rows; }

  template <int outputs, int vectors>
  static HWY_INLINE void add(const Place& place, const Tile& tile, const float* src,
                             Vec (&sum)[outputs][vectors]) {
    const std::int64_t width = place.args.panels.width;
    const std::int32_t* column = place.layout.column.data();
    const float* weights = place.args.weights + tile.weights + tile.lane;
    for (std::int64_t k = tile.begin; k < tile.end; ++k, weights += tile.class_size) {
      add_input(src + column[k] * width, weights, 1, sum);
    }
  }
};

/// Outputs are columns, inputs rows. The rows of a class are neighbours, and so are their weights.
struct Columns {
  static const Classes& classes(const WeightLayout& layout) { return layout.columns; }

  template <int outputs, int vectors>
  static HWY_INLINE void add(const Place& place, const Tile& tile, const float* src,
                             Vec (&sum)[outputs][vectors]) {
    const std::int64_t width = place.args.panels.width;
    const WeightLayout& layout = place.layout;
    const std::int32_t* row = layout.row.data();
    for (std::int64_t k = tile.begin; k < tile.end;) {
      const std::int64_t stride = layout.stride[static_cast<std::size_t>(k)];
      const float* weights =
          place.args.weights + layout.weight[static_cast<std::size_t>(k)] + tile.lane * stride;
      for (const std::int64_t end = k + stride; k < end; ++k, ++weights) {
        add_input(src + row[k] * width, weights, stride, sum);
      }
    }
  }

  /// Of one column, whose rows are mostly classes of one.
  template <int vectors>
  static HWY_INLINE void add(const Place& place, const Tile& tile, const float* src,
                             Vec (&sum)[1][vectors]) {
    const std::int64_t width = place.args.panels.width;
    const WeightLayout& layout = place.layout;
    const std::int32_t* row = layout.row.data();
    const std::int32_t* weight = layout.weight.data();
    const std::int32_t* stride = layout.stride.data();
    for (std::int64_t k = tile.begin; k < tile.end; ++k) {
      const float* at = place.args.weights + weight[k];
      if (tile.lane > 0) at += tile.lane * std::int64_t{stride[k]};
      add_input(src + row[k] * width, at, 0, sum);
    }
  }
};

/// `vectors` vectors of samples from `sample` on.
template <class Side, int outputs, int vectors>
HWY_INLINE void product(const Place& place, const Tile& tile, const Outputs<outputs>& to,
                        std::int64_t sample) {
  Vec sum[outputs][vectors];
  begin(to, place.args.add, sample, sum);
  Side::add(place, tile, place.src + sample, sum);
  finish(to, place.args.activation, sample, sum);
}

template <class Side, int outputs, int vectors>
HWY_INLINE void samples(const Place& place, const Tile& tile, const Outputs<outputs>& to,
                        std::int64_t sample) {
  const std::int64_t width = place.args.panels.width;
  for (; sample + vectors * kLanes <= width; sample += vectors * kLanes) {
    product<Side, outputs, vectors>(place, tile, to, sample);
  }
  if constexpr (vectors > 1 && vectors * kLanes > 16) {
    if (sample < width) samples<Side, outputs, vectors / 2>(place, tile, to, sample);
  }
}

template <class Side, int outputs>
HWY_INLINE void all_samples(const Place& place, const Tile& tile) {
  const Outputs<outputs> to(place, Side::classes(place.layout).member.data() + tile.member);
  samples<Side, outputs, most_vectors(outputs)>(place, tile, to, 0);
}

template <class Side>
void one_tile(const Place& place, const Tile& tile) {
  switch (tile.count) {
    case 1: return all_samples<Side, 1>(place, tile);
    case 2: return all_samples<Side, 2>(place, tile);
    case 3: return all_samples<Side, 3>(place, tile);
    case 4: return all_samples<Side, 4>(place, tile);
    case 5: return all_samples<Side, 5>(place, tile);
    case 6: return all_samples<Side, 6>(place, tile);
    default: return;
  }
}

template <class Side>
void all_tiles(const WeightLayout& layout, const Tiles& tiles, const ProductArgs& args,
               const TileRange& range) {
  const std::int64_t width = args.panels.width;
  const bool skip_empty = args.add && args.activation.kind == ActivationKind::none;
  for (std::int64_t panel = range.begin.panel; panel <= range.end.panel; ++panel) {
    const Place place{layout, args, args.src + panel * args.src_features * width,
                      args.dst + panel * args.dst_features * width};
    const auto count = static_cast<std::int64_t>(tiles.tile.size());
    const std::int64_t end = panel < range.end.panel ? count : range.end.tile;
    for (std::int64_t i = panel > range.begin.panel ? 0 : range.begin.tile; i < end; ++i) {
      const Tile& tile = tiles.tile[static_cast<std::size_t>(i)];
      if (skip_empty && tile.begin == tile.end) continue;
      one_tile<Side>(place, tile);
    }
  }
}

void multiply_range(const WeightLayout& layout, const ProductArgs& args, const TileRange& range) {
  all_tiles<Rows>(layout, layout.forward, args, range);
}

void transposed_range(const WeightLayout& layout, const ProductArgs& args, const TileRange& range) {
  all_tiles<Columns>(layout, layout.backward_data, args, range);
}

}  // namespace plait::kernels::sparse::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::sparse {

HWY_EXPORT(multiply_range);
HWY_EXPORT(transposed_range);

void multiply(const WeightLayout& layout, const ProductArgs& args, const TileRange& range) {
  HWY_DYNAMIC_DISPATCH(multiply_range)(layout, args, range);
}

void multiply_transposed(const WeightLayout& layout, const ProductArgs& args,
                         const TileRange& range) {
  HWY_DYNAMIC_DISPATCH(transposed_range)(layout, args, range);
}

}  // namespace plait::kernels::sparse
#endif
