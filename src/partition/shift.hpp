// Rows on their way from one part to another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "partition/chain.hpp"

namespace plait::partition {

struct Shift {
  std::size_t vertex = 0;
  std::int32_t to = 0;
  std::int32_t rows = 0;
};

/// Words that it adds.
std::int64_t words_of(const StageCost& cost, const Shift& shift);
/// Moves the vertex, or splits it where only some of its rows go: those that are read by `to`
/// rather than by their own part.
void apply_shift(LayerChain& chain, std::size_t stage, StageCost& cost, const Shift& shift);

/// Brings parts that are heavier than `cap` down to it through other parts: A gives rows to B, B
/// others to C. Where A and B have a class of rows in common, or read the same columns, that costs
/// next to nothing. Does nothing where rows weigh differently, or where there are more parts than
/// vertices.
void spill_over(LayerChain& chain, std::size_t stage, StageCost& cost, double cap);

}  // namespace plait::partition
