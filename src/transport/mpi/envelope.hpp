// What goes over MPI. Every message begins with an envelope on kEnvelopeTag; envelopes from one
// process to another keep their order, and the matching is ours, so that groups need no
// communicators and tags need no room in MPI's (which may be as small as 15 bits). A small message
// travels inside its envelope. A larger one follows in parts on a tag of its own, its slot, which
// no other message between the two processes uses until it has been received.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rounding.hpp"

namespace plait::transport::mpi {

enum class EnvelopeKind : std::int32_t { message, abort };

struct Envelope {
  EnvelopeKind kind = EnvelopeKind::message;
  std::int32_t tag = 0;
  std::uint64_t channel = 0;
  std::uint64_t size = 0;
  std::int32_t slot = -1;  ///< -1: the bytes follow in this envelope
  std::int32_t unused = 0;
};

constexpr int kEnvelopeTag = 0;
constexpr int kFirstSlotTag = 1;
/// With its bytes; below the size up to which MPIs send without a handshake.
constexpr std::size_t kEnvelopeBytes = 3584;
constexpr std::size_t kSmallBytes = kEnvelopeBytes - sizeof(Envelope);
constexpr std::size_t kPartBytes = std::size_t{4} << 20U;

inline int parts_of(std::size_t bytes) {
  return static_cast<int>(std::max<std::size_t>(1, divide_up(bytes, kPartBytes)));
}

}  // namespace plait::transport::mpi
