// Pieces: several arrays of floats seen as one.
#pragma once

#include <span>
#include <vector>

namespace plait::transport {

struct IndexRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

class Pieces {
 public:
  explicit Pieces(std::vector<std::span<float>> pieces);

  std::size_t size() const { return starts_.back(); }
  /// Whether the range lies in one piece; true for an empty range.
  bool in_one(IndexRange range) const;
  /// Only where in_one().
  std::span<float> part(IndexRange range) const;
  void read(IndexRange range, float* to) const;
  void write(IndexRange range, const float* from) const;

 private:
  std::size_t piece_at(std::size_t index) const;
  template <class Visit>
  void visit(IndexRange range, Visit visit) const;

  std::vector<std::span<float>> pieces_;  ///< none empty
  std::vector<std::size_t> starts_;       ///< of each piece, and the end
};

/// Shard `member` of n values over `members`: contiguous, in rank order, as equal as possible in
/// units of 16 values (the last unit may be short).
IndexRange shard_of(std::size_t n, int members, int member);

}  // namespace plait::transport
