// Group: the members of a job, or of a part of it, and what they can say to each other. A group
// knows bytes, never layers. Threads (threads/) and MPI (mpi/) keep the same promises:
//   - messages from one member to another with one tag arrive in the order they were sent;
//   - a send never waits for its receive to be posted, and transfers advance while members compute;
//   - reductions sum in the order of the ranks in fp32: equal bits on every member and transport;
//   - when a member dies or calls abort(), every wait of every other member throws Aborted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "transport/request.hpp"

namespace plait::transport {

/// The job was ended by another member; what() says by which and why.
class Aborted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How floats travel: bf16 halves the bytes, sums are fp32 all the same.
enum class Wire { f32, bf16 };

struct Traffic {
  std::int64_t bytes = 0;  ///< sent by this member, reductions included
  std::int64_t messages = 0;
};

class Group {
 public:
  virtual ~Group() = default;
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Number of the node a member is on, counted from 0 over the whole job.
  virtual int node(int member) const = 0;

  /// Members with equal colour form a new group, ordered by (key, rank). Every member must call it.
  virtual std::unique_ptr<Group> split(int colour, int key) = 0;

  /// `bytes` must stay as they are until the request is done: at the latest when the receiver has
  /// taken them (irecv posted, Incoming released). Tags: 0 to 2^20 - 1.
  virtual Request isend(std::span<const std::byte> bytes, int to, int tag) = 0;
  /// The message must have exactly this size; Failure naming both sizes otherwise.
  virtual Request irecv(std::span<std::byte> bytes, int from, int tag) = 0;
  /// A message of `size` bytes to be read where it lies: on threads the sender's own memory, which
  /// the sender may touch again when the Incoming is gone.
  virtual Incoming ireceive(std::size_t size, int from, int tag) = 0;

  /// Blocking collectives; every member calls them in the same order.
  void all_reduce(std::span<float> values, Wire wire = Wire::f32);
  /// `all` = size() pieces of mine.size() bytes, in rank order.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all);
  void broadcast(std::span<std::byte> bytes, int root);
  void barrier();

  /// Ends the job: every other member's waits throw Aborted(reason). Any thread, any time; the
  /// first call counts.
  virtual void abort(const std::string& reason) = 0;

  /// Of this member, through this object.
  virtual Traffic traffic() const = 0;

 private:
  /// Tags of collectives lie above those of messages.
  int next_collective_tag();
  int collectives_ = 0;
};

}  // namespace plait::transport
