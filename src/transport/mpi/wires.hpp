// Wires: all that calls MPI between the beginning and the end of a job: envelopes out and in,
// matching, the parts of large messages. Used by one thread; it never blocks.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "transport/matcher.hpp"
#include "transport/mpi/inbox.hpp"
#include "transport/mpi/pending.hpp"

namespace plait::transport::mpi {

class Wires {
 public:
  explicit Wires(MPI_Comm comm);

  void begin(const OperationPtr& operation);
  /// Moves what can be moved; true if anything did.
  bool progress();
  /// Operations that are finished since the last call.
  std::vector<OperationPtr> finished();
  /// Nothing is under way that a call of progress() could help.
  bool idle() const { return pending_.empty() && matcher_.expects_nothing(); }
  bool all_sent() const { return pending_.empty(); }

  void tell_abort(const std::string& reason);
  /// The reason that another process has sent.
  const std::optional<std::string>& abort_heard() const { return abort_heard_; }
  /// After an abort: takes back receives that have not begun; quiet() says when nothing is left but
  /// sends of large messages, which may never be received.
  void cancel_receives() { pending_.cancel_receives(); }
  bool quiet() const { return pending_.only_large_sends(); }
  /// At the regular end, when no process sends any more.
  void close() { inbox_.close(); }

 private:
  /// A message that has come before its receive.
  struct Early {
    std::uint64_t size = 0;
    int slot = -1;
    std::vector<std::byte> bytes{};
  };
  /// Numbers of the slots to one process.
  struct Slots {
    std::vector<int> free;
    int used = 0;
  };
  using Bytes = std::span<const std::byte>;

  void begin_send(const OperationPtr& operation);
  void begin_receive(const OperationPtr& operation);
  void handle(const Received& received);
  void deliver(const OperationPtr& operation, const Envelope& envelope, Bytes bytes);
  void discard(int from, const Envelope& envelope);
  void send_envelope(int to, const Envelope& envelope, Bytes bytes);
  int take_slot(int to);
  void complete(Part& part);

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
  int slots_ = 0;
  Inbox inbox_;
  Pending pending_;
  Matcher<std::shared_ptr<Early>, OperationPtr> matcher_;
  std::vector<Slots> slots_to_;
  std::vector<OperationPtr> finished_;
  std::optional<std::string> abort_heard_;
};

}  // namespace plait::transport::mpi
