// The weight gradient of kernels.hpp. A tile is up to 4 rows of one class x a few of its columns;
// its sums over the samples of a panel are vectors in registers, added up across at the end and
// then to diff_weights, panel after panel: so one panel of src stays in cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse/gradient_kernels.cpp"
#include <hwy/foreach_target.h>
// after foreach_target, by Highway's rule
#include <hwy/highway.h>

#include "kernels/sparse/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace plait::kernels::sparse::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

/// Columns beside so many rows: 8 to 12 sums.
constexpr int most_columns(int rows) { return rows == 1 ? 8 : rows == 4 ? 3 : 4; }

/// One tile in one panel.
struct Place {
  const WeightLayout& layout;
  const GradientArgs& args;
  const Tile& tile;
  const float* src;
  const float* delta;
  bool add;  ///< to what earlier panels left
};

/// to[0..3] (+)= the sums over the lanes of a, b, c and e.
#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void store_across(Vec a, Vec b, Vec c, Vec e, bool add, float* to) {
  const float sums[] = {a.raw, b.raw, c.raw, e.raw};
  for (int i = 0; i < 4; ++i) to[i] = (add ? to[i] : 0.0F) + sums[i];
}

#else

/// Adds the blocks of four lanes.
template <class D>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4> > fold(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

HWY_INLINE void store_across(Vec a, Vec b, Vec c, Vec e, bool add, float* to) {
  const Tag d;
  const hn::FixedTag<float, 4> quad;
  const hn::RepartitionToWide<Tag> wide;
  const auto ab =
      hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce =
      hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const Vec low = hn::BitCast(d, hn::InterleaveLower(wide, ab, ce));
  const Vec high = hn::BitCast(d, hn::InterleaveUpper(wide, ab, ce));
  const auto sums = fold(d, hn::Add(low, high));
  hn::StoreU(add ? hn::Add(hn::LoadU(quad, to), sums) : sums, quad, to);
}

#endif

/// The sums are column after column, those of a column side by side.
template <int rows, int columns>
HWY_INLINE void store(const Place& place, const Vec (&sum)[columns * rows], std::int64_t column) {
  const std::int64_t stride = place.tile.class_size;
  float* to = place.args.diff_weights + place.tile.weights + column * stride + place.tile.lane;
  constexpr int size = columns * rows;
  const auto across = [&](int i, bool add, float* result) HWY_ATTR {
    const auto at = [&](int k) HWY_ATTR { return k < size ? sum[k] : hn::Zero(Tag()); };
    store_across(at(i), at(i + 1), at(i + 2), at(i + 3), add, result);
  };
  if constexpr (rows == 4) {
    for (int c = 0; c < columns; ++c) across(4 * c, place.add, to + c * stride);
  } else {
    float sums[size + 3];
    for (int i = 0; i < size; i += 4) across(i, false, sums + i);
    for (int i = 0; i < size; ++i) {
      float& result = to[i / rows * stride + i % rows];
      result = (place.add ? result : 0.0F) + sums[i];
    }
  }
}

template <int rows, int columns>
HWY_INLINE void block(const Place& place, const float* const (&delta)[rows], std::int64_t column) {
  const Tag d;
  const std::int64_t width = place.args.panels.width;
  const std::int32_t* list = place.layout.column.data() + place.tile.begin + column;
  const float* src[columns];
  for (int c = 0; c < columns; ++c) src[c] = place.src + list[c] * width;
  Vec sum[columns * rows];
  HWY_UNROLL(12)
  for (int i = 0; i < columns * rows; ++i) sum[i] = hn::Zero(d);
  for (std::int64_t n = 0; n < width; n += kLanes) {
    if constexpr (rows == 1) {
      const Vec g = hn::Load(d, delta[0] + n);
      HWY_UNROLL(8)
      for (int c = 0; c < columns; ++c) sum[c] = hn::MulAdd(g, hn::Load(d, src[c] + n), sum[c]);
    } else {
      Vec x[columns];
      HWY_UNROLL(4)
      for (int c = 0; c < columns; ++c) x[c] = hn::Load(d, src[c] + n);
      HWY_UNROLL(4)
      for (int r = 0; r < rows; ++r) {
        const Vec g = hn::Load(d, delta[r] + n);
        HWY_UNROLL(4)
        for (int c = 0; c < columns; ++c) {
          sum[c * rows + r] = hn::MulAdd(g, x[c], sum[c * rows + r]);
        }
      }
    }
  }
  store<rows, columns>(place, sum, column);
}

template <int rows, int columns = most_columns(rows)>
HWY_INLINE void blocks(const Place& place, const float* const (&delta)[rows], std::int64_t column) {
  const std::int64_t count = place.tile.end - place.tile.begin;
  for (; column + columns <= count; column += columns) {
    block<rows, columns>(place, delta, column);
  }
  if constexpr (columns > 1) {
    if (column < count) blocks<rows, columns - 1>(place, delta, column);
  }
}

template <int rows>
void row_tile(const Place& place) {
  const Tag d;
  const std::int64_t width = place.args.panels.width;
  const float* delta[rows];
  for (int r = 0; r < rows; ++r) {
    const std::int64_t row =
        place.layout.rows.member[static_cast<std::size_t>(place.tile.member + r)];
    delta[r] = place.delta + row * width;
    if (place.args.diff_bias == nullptr) continue;
    Vec sum = hn::Zero(d);
    for (std::int64_t n = 0; n < width; n += kLanes) sum = hn::Add(sum, hn::Load(d, delta[r] + n));
    float& result = place.args.diff_bias[row];
    result = (place.add ? result : 0.0F) + hn::GetLane(hn::SumOfLanes(d, sum));
  }
  blocks<rows>(place, delta, 0);
}

void gradient_range(const WeightLayout& layout, const GradientArgs& args, std::int64_t begin,
                    std::int64_t end) {
  for (std::int64_t panel = 0; panel < args.panels.count; ++panel) {
    const float* src = args.src + panel * args.src_features * args.panels.width;
    const float* delta = args.delta + panel * args.dst_features * args.panels.width;
    for (std::int64_t i = begin; i < end; ++i) {
      const Tile& tile = layout.gradient.tile[static_cast<std::size_t>(i)];
      const Place place{layout, args, tile, src, delta, panel > 0};
      switch (tile.count) {
        case 1: row_tile<1>(place); break;
        case 2: row_tile<2>(place); break;
        case 3: row_tile<3>(place); break;
        default: row_tile<4>(place); break;
      }
    }
  }
}

}  // namespace plait::kernels::sparse::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::kernels::sparse {

HWY_EXPORT(gradient_range);

void sum_gradient(const WeightLayout& layout, const GradientArgs& args, std::int64_t begin_tile,
                  std::int64_t end_tile) {
  HWY_DYNAMIC_DISPATCH(gradient_range)(layout, args, begin_tile, end_tile);
}

}  // namespace plait::kernels::sparse
#endif
