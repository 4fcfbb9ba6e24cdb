// Whether one task runs for every minibatch that another runs for.
#include "plan/when.hpp"

#include <initializer_list>

namespace plait::plan {

bool runs_whenever(const When& a, const When& b, int mode) {
  // The first minibatch of b that the loop reaches with all offsets done, and the next one. Where a
  // runs for both, b.every is a multiple of a.every, and a runs for all that follow.
  const std::int64_t behind = (std::int64_t{b.phase} - b.offset) % b.every;
  const std::int64_t first = behind < 0 ? behind + b.every : behind;
  for (const std::int64_t minibatch : {first, first + b.every}) {
    for (const std::int64_t last :
         {minibatch + 1, minibatch + 2}) {  // the last of its range, or not
      const MinibatchRange range{.first = 0, .last = last, .mode = mode};
      if (runs(b, minibatch + b.offset, range) && !runs(a, minibatch + a.offset, range)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace plait::plan
