// Spans: which items of which workers work on the gradient, or the running statistics, of a block.
// Inside this room only.
#pragma once

#include <algorithm>
#include <vector>

namespace plait::lower {

/// The first and the last item of a worker that work on something of a block.
struct Span {
  int worker = 0;
  int first = 0;
  int last = 0;
  int complete = -1;  ///< item behind which a gradient is the sum over all workers that share it
  int update = -1;    ///< item that follows from it
};
using Spans = std::vector<std::vector<Span>>;  ///< by block, then by worker

/// Null where the worker has none.
inline Span* find_span(Spans& spans, int block, int worker) {
  std::vector<Span>& of = spans[static_cast<std::size_t>(block)];
  const auto at = std::ranges::lower_bound(of, worker, {}, &Span::worker);
  return at != of.end() && at->worker == worker ? &*at : nullptr;
}

inline Span& span_of(Spans& spans, int block, int worker) {
  return *find_span(spans, block, worker);
}

/// Of one replica, ascending.
inline std::vector<int> workers_of(const Spans& spans, int block) {
  std::vector<int> workers;
  for (const Span& span : spans[static_cast<std::size_t>(block)]) workers.push_back(span.worker);
  return workers;
}

inline std::vector<int> blocks_in(const Spans& spans) {
  std::vector<int> blocks;
  for (std::size_t b = 0; b < spans.size(); ++b) {
    if (!spans[b].empty()) blocks.push_back(static_cast<int>(b));
  }
  return blocks;
}

/// In the order of the last item of any worker.
inline std::vector<int> blocks_by_end(const Spans& spans) {
  std::vector<int> blocks = blocks_in(spans);
  std::ranges::sort(blocks, {}, [&](int b) {
    return std::ranges::max(spans[static_cast<std::size_t>(b)], {}, &Span::last).last;
  });
  return blocks;
}

}  // namespace plait::lower
