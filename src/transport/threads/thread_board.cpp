// A piece of memory per member, on cache lines of its own.
#include "transport/threads/thread_board.hpp"

#include <numeric>

#include "base/rounding.hpp"

namespace plait::transport::threads {

ThreadBoard::ThreadBoard(int members, std::size_t piece_bytes)
    : members_(members),
      piece_bytes_(piece_bytes),
      lines_per_piece_(divide_up(piece_bytes, sizeof(Line))),
      lines_(lines_per_piece_ * members) {}

std::vector<int> ThreadBoard::members() const {
  std::vector<int> all(members_);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::span<std::byte> ThreadBoard::piece(int member) {
  return std::as_writable_bytes(std::span(lines_))
      .subspan(member * lines_per_piece_ * sizeof(Line), piece_bytes_);
}

}  // namespace plait::transport::threads
