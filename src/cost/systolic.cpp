// The three products of every block with weights, tile by tile.
#include "cost/systolic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace plait::cost {

namespace {

/// Of one group; several are computed one after the other. Numbers are as exact as doubles are.
struct Product {
  double groups = 0;        ///< 0: nothing is multiplied
  double positions = 0;     ///< of the result, per sample
  double summed = 1;        ///< over so many numbers each
  double outputs = 1;       ///< channels of the result
  double inputs = 1;        ///< channels of the source
  bool transposed = false;  ///< its forward is the backward_data of these numbers, and vice versa
};

Product product_of(const ops::Operation& layer, const tensor::Shape& src,
                   const tensor::Shape& dst) {
  if (const auto* transposed = std::get_if<ops::TransposedConvolution>(&layer)) {
    Product product = product_of(transposed->transposed(src[0]), dst, src);
    product.transposed = true;
    return product;
  }
  const std::vector<std::int64_t> extents = ops::weight_extents(layer, src);
  const std::int64_t macs = ops::macs_of(layer, src, dst);
  if (extents.empty() || macs == 0) return {};
  double summed = 1;
  for (const std::int64_t extent : std::span(extents).subspan(1)) {
    summed *= static_cast<double>(extent);
  }
  const auto channels = static_cast<double>(extents[0]);
  const auto inputs = static_cast<double>(extents[1]);
  const auto elements = static_cast<double>(dst.elements());
  if (static_cast<double>(macs) != elements * summed) {
    user_error("a systolic array multiplies dense matrices, and {} is none; use `cost` analytic",
               ops::text_of(layer));
  }
  const double groups = extents.size() > 2 ? static_cast<double>(src[0]) / inputs : 1;
  return {.groups = groups,
          .positions = elements / channels,
          .summed = summed,
          .outputs = channels / groups,
          .inputs = inputs};
}

class SystolicCost final : public CostModel {
 public:
  SystolicCost(const plan::Network& network, const SystolicArray& array) : array_(array) {
    for (const plan::NetworkBlock& block : network.blocks) {
      if (!block.spec.nodes.empty()) continue;
      user_error("costs of a systolic array need the layers of '{}', which are not known",
                 block.name);
    }
    const std::vector<tensor::Shape> shapes = plan::tensor_shapes(network);
    for (int b = 0; b < network.size(); ++b) blocks_.push_back(block_of(network, shapes, b));
    if (std::ranges::all_of(blocks_, [](const Block& one) { return one.product.groups == 0; })) {
      user_error("a systolic array has nothing to do: no layer of {} multiplies", network.name);
    }
  }

  BlockSeconds block(int block, std::int64_t samples) const override {
    return seconds(blocks_[static_cast<std::size_t>(block)], samples);
  }
  BlockSeconds added(const plan::Network& network, int block, std::int64_t samples) const override {
    return seconds(block_of(network, plan::tensor_shapes(network), block), samples);
  }
  double loss(std::int64_t) const override { return 0; }
  double load(std::int64_t) const override { return 0; }
  double sum(std::int64_t, int) const override { return 0; }
  double contention(int) const override { return 1; }
  std::string source() const override {
    return fmt::format("clock cycles of a systolic array of {} x {}", array_.rows, array_.columns);
  }

 private:
  struct Block {
    Product product{};
    bool returns_gradient = false;
  };

  static Block block_of(const plan::Network& network, const std::vector<tensor::Shape>& shapes,
                        int index) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(index)];
    const tensor::Shape& src = shapes[static_cast<std::size_t>(block.srcs.front())];
    const ops::Operation& layer = block.spec.nodes.front().layer;
    // Behind the first layer of a block nothing changes shapes (graph/fuse).
    return {product_of(layer, src, shapes[static_cast<std::size_t>(block.dst)]),
            network.returns_gradient(index)};
  }

  BlockSeconds seconds(const Block& block, std::int64_t samples) const {
    const Product& of = block.product;
    if (of.groups == 0 || samples <= 0) return {};
    const double positions = of.positions * static_cast<double>(samples);
    const double window = of.summed / of.inputs;
    const auto clocks = [&](double m, double k, double n) {
      return of.groups * systolic_cycles(array_, m, k, n) / array_.clocks_per_second;
    };
    BlockSeconds seconds{.forward = clocks(positions, of.summed, of.outputs),
                         .backward_data = clocks(positions, window * of.outputs, of.inputs),
                         .backward_weights = clocks(of.summed, positions, of.outputs)};
    if (of.transposed) std::swap(seconds.forward, seconds.backward_data);
    if (!block.returns_gradient) seconds.backward_data = 0;
    return seconds;
  }

  SystolicArray array_;
  std::vector<Block> blocks_;
};

}  // namespace

SystolicArray parse_systolic_array(std::string_view text, std::string_view field) {
  constexpr std::int64_t kMost = 1 << 16;
  SystolicArray array;
  const char* const end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, array.rows);
  const bool has_cross = rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x';
  const auto columns =
      has_cross ? std::from_chars(rows.ptr + 1, end, array.columns) : std::from_chars_result{};
  const auto fits = [](std::int64_t extent) { return extent >= 1 && extent <= kMost; };
  if (!has_cross || columns.ec != std::errc() || columns.ptr != end || !fits(array.rows) ||
      !fits(array.columns)) {
    setting_error(field, fmt::format("systolic:{}", text.substr(0, 40)),
                  "is no array of ROWSxCOLUMNS, 1 to {} each, like systolic:128x128", kMost);
  }
  return array;
}

double systolic_cycles(const SystolicArray& array, double m, double k, double n) {
  const auto rows = static_cast<double>(array.rows);
  const auto columns = static_cast<double>(array.columns);
  return std::ceil(m / rows) * std::ceil(n / columns) * (k + rows + columns - 2);
}

std::unique_ptr<CostModel> make_systolic_cost(const plan::Network& network,
                                              const SystolicArray& array) {
  return std::make_unique<SystolicCost>(network, array);
}

}  // namespace plait::cost
