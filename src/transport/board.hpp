// Board: a small memory per member of a node that all members on that node can read at any time,
// and that outlives a member's sudden death: who was doing what. Each member writes its own piece
// only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace plait::transport {

class Board {
 public:
  virtual ~Board() = default;
  /// Ranks (of the whole job) whose pieces are here.
  virtual std::vector<int> members() const = 0;
  /// Zero at the beginning; 64-byte aligned. Accessed as atomics by its users.
  virtual std::span<std::byte> piece(int member) = 0;
  /// False when the process of that member is gone (a zombie counts as gone).
  virtual bool alive(int member) const = 0;
};

}  // namespace plait::transport
