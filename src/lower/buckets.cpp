// Blocks into buckets of about equal bytes.
#include "lower/graph.hpp"

namespace plait::lower {

std::vector<plan::Bucket> gradient_buckets(const plan::Network& network,
                                           const std::vector<int>& blocks,
                                           std::int64_t bucket_bytes, int wire_bytes) {
  std::vector<plan::Bucket> buckets;
  plan::Bucket open{.payload = plan::Payload::gradient, .blocks = {}};
  std::int64_t bytes = 0;
  for (const int block : blocks) {
    const std::int64_t parameters = network.blocks[static_cast<std::size_t>(block)].parameters;
    if (parameters == 0) continue;
    open.blocks.push_back(block);
    bytes += parameters * wire_bytes;
    if (bytes < bucket_bytes) continue;
    buckets.push_back(std::move(open));
    open = {.payload = plan::Payload::gradient, .blocks = {}};
    bytes = 0;
  }
  if (!open.blocks.empty()) buckets.push_back(std::move(open));
  return buckets;
}

}  // namespace plait::lower
