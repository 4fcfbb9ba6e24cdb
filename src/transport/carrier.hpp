// Carrier: what a transport must be able to do, for one member: move bytes to and from the other
// members of the whole job. MemberGroup makes groups out of it.
#pragma once

#include <compare>
#include <cstdint>

#include "transport/request.hpp"

namespace plait::transport {

/// Messages with equal labels arrive in the order they were sent. A channel belongs to one group;
/// `peer` is the other end, by its rank in the whole job.
struct Label {
  std::uint64_t channel = 0;
  int peer = 0;
  int tag = 0;
  auto operator<=>(const Label&) const = default;
};

/// The three transfers behave as Group::isend, irecv and ireceive.
class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual std::unique_ptr<Transfer> send(std::span<const std::byte> bytes, const Label& to) = 0;
  virtual std::unique_ptr<Transfer> receive(std::span<std::byte> bytes, const Label& from) = 0;
  virtual std::unique_ptr<Transfer> receive_in_place(std::size_t size, const Label& from) = 0;
  virtual int node(int member) const = 0;
  virtual void abort(const std::string& reason) = 0;
};

/// The text of the Failure when a message is not of the size that its receiver expects.
struct SizeMismatch {
  int from = 0;
  int to = 0;
  int tag = 0;
  std::size_t sent = 0;
  std::size_t expected = 0;
};
std::string to_string(const SizeMismatch& mismatch);

}  // namespace plait::transport
