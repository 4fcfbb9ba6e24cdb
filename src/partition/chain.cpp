// Counts of sources and readers per net and part, kept up to date by move(): the words that a move
// would add.
#include "partition/chain.hpp"

#include <algorithm>

#include "partition/assignment.hpp"

namespace plait::partition {

StageCost::StageCost(const LayerChain& chain, std::size_t stage)
    : stage_(&chain.stages[stage]), parts_(chain.parts), part_(chain.part[stage]) {
  const auto parts = static_cast<std::size_t>(parts_);
  const std::size_t nets = stage_->net_columns.size();
  to_send_.resize(nets * parts);
  pins_in_.assign(nets * parts, 0);
  benefit_.assign(stage_->vertices() * parts, 0);
  part_weight_.assign(parts, 0);
  for (std::size_t net = 0; net < nets; ++net) {
    std::fill_n(to_send_.begin() + static_cast<std::ptrdiff_t>(net * parts), parts,
                stage_->net_columns[net]);
    for (const std::int32_t vertex : stage_->pins[net]) {
      ++pins_in_[at(net, part_[static_cast<std::size_t>(vertex)])];
    }
  }
  for (std::size_t vertex = 0; vertex < stage_->vertices(); ++vertex) {
    part_weight_[static_cast<std::size_t>(part_[vertex])] += stage_->weight(vertex);
    mean_weight_ += static_cast<double>(stage_->weight(vertex)) / parts_;
  }
  if (stage > 0) count_sources(chain.stages[stage - 1], chain.part[stage - 1]);
  const bool last = stage + 1 == chain.stages.size() || chain.part[stage + 1].empty();
  if (!last) count_readers(chain.stages[stage + 1], chain.part[stage + 1]);
}

void StageCost::count_sources(const Stage& before, const Parts& part) {
  for (std::size_t column = 0; column < stage_->net_of_column.size(); ++column) {
    const std::int32_t net = stage_->net_of_column[column];
    if (net < 0) continue;
    const auto source = static_cast<std::size_t>(before.vertex_of_row[column]);
    --to_send_[at(static_cast<std::size_t>(net), part[source])];
  }
}

void StageCost::count_readers(const Stage& after, const Parts& part) {
  after_ = &after;
  read_after_.assign(after.net_columns.size() * static_cast<std::size_t>(parts_), 0);
  Lists readers;  // per net of the next stage: parts
  std::vector<std::int32_t> list;
  for (std::size_t net = 0; net < after.net_columns.size(); ++net) {
    list.clear();
    for (const std::int32_t vertex : after.pins[net]) {
      const std::int32_t reader = part[static_cast<std::size_t>(vertex)];
      char& read = read_after_[at(net, reader)];
      if (read == 0) list.push_back(reader);
      read = 1;
    }
    readers.push_back(list);
  }
  for (std::size_t row = 0; row < stage_->vertex_of_row.size(); ++row) {
    const std::int32_t net = after.net_of_column[row];
    if (net < 0) continue;
    const auto vertex = static_cast<std::size_t>(stage_->vertex_of_row[row]);
    for (const std::int32_t reader : readers[static_cast<std::size_t>(net)]) {
      ++benefit_[at(vertex, reader)];
    }
  }
}

std::int64_t StageCost::added(std::size_t vertex, std::int32_t to) const {
  const std::int32_t from = part_[vertex];
  std::int64_t words = benefit_[at(vertex, from)] - benefit_[at(vertex, to)];
  for (const std::int32_t net : stage_->nets[vertex]) {
    const std::size_t there = at(static_cast<std::size_t>(net), to);
    const std::size_t here = at(static_cast<std::size_t>(net), from);
    if (pins_in_[there] == 0) words += to_send_[there];
    if (pins_in_[here] == 1) words -= to_send_[here];
  }
  return words;
}

std::int64_t StageCost::added_by_piece(std::size_t vertex, std::int32_t to,
                                       std::int32_t rows) const {
  const std::int32_t change = benefit_[at(vertex, part_[vertex])] - benefit_[at(vertex, to)];
  std::int64_t words = std::int64_t{change} * rows / stage_->rows[vertex];
  for (const std::int32_t net : stage_->nets[vertex]) {
    const std::size_t there = at(static_cast<std::size_t>(net), to);
    if (pins_in_[there] == 0) words += to_send_[there];
  }
  return words;
}

void StageCost::move(std::size_t vertex, std::int32_t to) {
  const std::int32_t from = part_[vertex];
  for (const std::int32_t net : stage_->nets[vertex]) {
    --pins_in_[at(static_cast<std::size_t>(net), from)];
    ++pins_in_[at(static_cast<std::size_t>(net), to)];
  }
  part_weight_[static_cast<std::size_t>(from)] -= stage_->weight(vertex);
  part_weight_[static_cast<std::size_t>(to)] += stage_->weight(vertex);
  part_[vertex] = to;
}

void StageCost::rename() {
  const auto parts = static_cast<std::size_t>(parts_);
  std::vector<std::int64_t> cost(parts * parts, 0);  // per old and new name
  for (std::size_t net = 0; net < stage_->net_columns.size(); ++net) {
    for (std::int32_t old = 0; old < parts_; ++old) {
      if (pins_in_[at(net, old)] == 0) continue;
      for (std::int32_t name = 0; name < parts_; ++name) {
        cost[at(static_cast<std::size_t>(old), name)] += to_send_[at(net, name)];
      }
    }
  }
  for (std::size_t vertex = 0; vertex < stage_->vertices(); ++vertex) {
    for (std::int32_t name = 0; name < parts_; ++name) {
      cost[at(static_cast<std::size_t>(part_[vertex]), name)] -= benefit_[at(vertex, name)];
    }
  }
  const std::vector<std::int32_t> names = cheapest_assignment(cost, parts);
  for (std::size_t vertex = 0; vertex < stage_->vertices(); ++vertex) {
    const std::int32_t name = names[static_cast<std::size_t>(part_[vertex])];
    if (name != part_[vertex]) move(vertex, name);
  }
}

std::int64_t StageCost::words() const {
  std::int64_t words = 0;
  for (std::size_t i = 0; i < pins_in_.size(); ++i) {
    if (pins_in_[i] > 0) words += to_send_[i];
  }
  for (std::size_t vertex = 0; vertex < stage_->vertices(); ++vertex) {
    words -= benefit_[at(vertex, part_[vertex])];
  }
  return words;
}

std::int32_t StageCost::row_benefit(std::size_t row, std::int32_t part) const {
  if (after_ == nullptr || after_->net_of_column[row] < 0) return 0;
  return read_after_[at(static_cast<std::size_t>(after_->net_of_column[row]), part)];
}

}  // namespace plait::partition
