// The values one worker's program touches, numbered, each with its first and last use. Inside this
// room only: memory.cpp makes slots of them, the check asks what was written when.
#pragma once

#include <vector>

#include "plan/accesses.hpp"
#include "plan/moment.hpp"

namespace plait::plan {

/// All of `inner` lies in `outer`, whatever the size of the minibatch.
bool contains(const Samples& outer, const Samples& inner);
/// As a share of the minibatch `a` is smaller than `b`.
bool smaller(const Samples& a, const Samples& b);

struct ValueUse {
  Value value;
  Moment first{};  ///< of the first write
  Moment last{};   ///< of the last access
  int writer = 0;  ///< position of the task that writes first
  bool sent = false;
  bool received = false;
};

class ValueTable {
 public:
  void clear();
  /// Number of this very value; a new one where it is not there yet (then `is_new`).
  int intern(const Value& value, bool& is_new);
  /// The very value, else the smallest one with these samples among others; -1: none.
  int find(const Value& value);

  std::vector<ValueUse>& uses() { return uses_; }
  ValueUse& use(int number) { return uses_[static_cast<std::size_t>(number)]; }

 private:
  std::size_t probe(const Value& value) const;
  void grow();

  std::vector<ValueUse> uses_;
  std::vector<int> cells_;    ///< open addressing: number + 1, 0 is free
  std::vector<int> by_name_;  ///< numbers by (role, index); made when first wanted
};

}  // namespace plait::plan
