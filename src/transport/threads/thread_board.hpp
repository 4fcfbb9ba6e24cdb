// ThreadBoard: members are threads of one process, so the board is its plain memory, and who reads
// it lives.
#pragma once

#include <vector>

#include "transport/board.hpp"

namespace plait::transport::threads {

class ThreadBoard final : public Board {
 public:
  ThreadBoard(int members, std::size_t piece_bytes);
  std::vector<int> members() const override;
  std::span<std::byte> piece(int member) override;
  bool alive(int /*member*/) const override { return true; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  int members_;
  std::size_t piece_bytes_;
  std::size_t lines_per_piece_;
  std::vector<Line> lines_;
};

}  // namespace plait::transport::threads
