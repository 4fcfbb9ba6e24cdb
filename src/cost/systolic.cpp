// The three products of every block with weights, tile by tile.
#include "cost/systolic.hpp"

#include <fmt/format.h>

#include <charconv>
#include <numeric>

#include "base/error.hpp"
#include "base/rounding.hpp"

namespace plait::cost {

namespace {

/// Of one group; several are computed one after the other.
struct Product {
  std::int64_t groups = 0;     ///< 0: nothing is multiplied
  std::int64_t positions = 0;  ///< of the result, per sample
  std::int64_t summed = 1;     ///< over so many numbers each
  std::int64_t outputs = 1;    ///< channels of the result
  std::int64_t inputs = 1;     ///< channels of the source
};

Product product_of(const plan::NetworkBlock& block, const tensor::Shape& src) {
  const std::vector<std::int64_t> extents =
      ops::weight_extents(block.spec.nodes.front().layer, src);
  if (extents.empty() || block.macs == 0) return {};
  const std::int64_t summed =
      std::accumulate(extents.begin() + 1, extents.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t groups = extents.size() > 2 ? src[0] / extents[1] : 1;
  return {.groups = groups,
          .positions = block.macs / (summed * extents[0]),
          .summed = summed,
          .outputs = extents[0] / groups,
          .inputs = extents[1]};
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
    for (int b = 0; b < network.size(); ++b) blocks_.push_back(blocks_of(network, shapes, b));
  }

  BlockSeconds block(int block, std::int64_t samples) const override {
    return seconds(blocks_[static_cast<std::size_t>(block)], samples);
  }
  BlockSeconds added(const plan::Network& network, int block, std::int64_t samples) const override {
    return seconds(blocks_of(network, plan::tensor_shapes(network), block), samples);
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

  static Block blocks_of(const plan::Network& network, const std::vector<tensor::Shape>& shapes,
                         int index) {
    const plan::NetworkBlock& block = network.blocks[static_cast<std::size_t>(index)];
    return {product_of(block, shapes[static_cast<std::size_t>(block.srcs.front())]),
            network.returns_gradient(index)};
  }

  BlockSeconds seconds(const Block& block, std::int64_t samples) const {
    const Product& of = block.product;
    if (of.groups == 0 || samples <= 0) return {};
    const std::int64_t positions = of.positions * samples;
    const std::int64_t window = of.summed / of.inputs;
    const auto clocks = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
      return static_cast<double>(of.groups * systolic_cycles(array_, m, k, n)) /
             array_.clocks_per_second;
    };
    return {.forward = clocks(positions, of.summed, of.outputs),
            .backward_data =
                block.returns_gradient ? clocks(positions, window * of.outputs, of.inputs) : 0,
            .backward_weights = clocks(of.summed, positions, of.outputs)};
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

std::int64_t systolic_cycles(const SystolicArray& array, std::int64_t m, std::int64_t k,
                             std::int64_t n) {
  return divide_up(m, array.rows) * divide_up(n, array.columns) *
         (k + array.rows + array.columns - 2);
}

std::unique_ptr<CostModel> make_systolic_cost(const plan::Network& network,
                                              const SystolicArray& array) {
  return std::make_unique<SystolicCost>(network, array);
}

}  // namespace plait::cost
