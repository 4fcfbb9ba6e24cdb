// The message of a receive whose size differs from what was sent.
#include "transport/carrier.hpp"

#include "base/error.hpp"
#include "transport/tags.hpp"

namespace plait::transport {

std::string to_string(const SizeMismatch& mismatch) {
  const std::string where = mismatch.tag < kFirstCollectiveTag
                                ? fmt::format("with tag {}", mismatch.tag)
                                : "in a collective operation";
  return fmt::format("member {} sent {} bytes to member {} {}, who expects {} bytes", mismatch.from,
                     mismatch.sent, mismatch.to, where, mismatch.expected);
}

}  // namespace plait::transport
