// LayerChain: all stages and the part of every vertex; StageCost: what one stage costs while the
// stages before and after it stay fixed.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/stage.hpp"

namespace plait::partition {

using Parts = std::vector<std::int32_t>;  ///< per vertex

struct LayerChain {
  std::vector<Stage> stages;
  std::vector<Parts> part;  ///< per stage; empty: not known yet
  int parts = 1;
  double tolerance = 0;
};

class StageCost {
 public:
  /// Reads the stages stage - 1, stage and, if its parts are known, stage + 1 of the chain.
  StageCost(const LayerChain& chain, std::size_t stage);

  /// Words that the move of a vertex to another part adds, in this stage and the next.
  std::int64_t added(std::size_t vertex, std::int32_t to) const;
  /// The same for a few rows of it, all but one or fewer.
  std::int64_t added_by_piece(std::size_t vertex, std::int32_t to, std::int32_t rows) const;
  void move(std::size_t vertex, std::int32_t to);
  /// Takes the best of all renamings of the parts.
  void rename();
  /// Words of this stage, and those of the next up to a constant.
  std::int64_t words() const;

  const Stage& stage() const { return *stage_; }
  const Parts& part() const { return part_; }
  int parts() const { return parts_; }
  std::int64_t part_weight(std::int32_t part) const {
    return part_weight_[static_cast<std::size_t>(part)];
  }
  double mean_weight() const { return mean_weight_; }
  /// Words that a row of the stage costs less in the next one if `part` owns it (0 or 1).
  std::int32_t row_benefit(std::size_t row, std::int32_t part) const;

 private:
  std::size_t at(std::size_t row, std::int32_t part) const {
    return row * static_cast<std::size_t>(parts_) + static_cast<std::size_t>(part);
  }
  void count_sources(const Stage& before, const Parts& part);
  void count_readers(const Stage& after, const Parts& part);

  const Stage* stage_;
  const Stage* after_ = nullptr;
  int parts_;
  Parts part_;
  std::vector<std::int32_t>
      to_send_;  // per net and part: columns that the part would have to be sent
  std::vector<std::int32_t> pins_in_;  // per net and part
  std::vector<std::int32_t>
      benefit_;                   // per vertex and part: rows that the part reads in the next stage
  std::vector<char> read_after_;  // per net of the next stage and part
  std::vector<std::int64_t> part_weight_;
  double mean_weight_ = 0;
};

}  // namespace plait::partition
