// Inbox: receives for envelopes from any process, always posted. Used by one thread.
#pragma once

#include <mpi.h>

#include <optional>
#include <span>
#include <vector>

#include "transport/mpi/envelope.hpp"

namespace plait::transport::mpi {

/// An envelope that has come; `bytes` are valid until the next call of the inbox.
struct Received {
  int from = 0;
  Envelope envelope{};
  std::span<const std::byte> bytes{};
};

class Inbox {
 public:
  explicit Inbox(MPI_Comm comm);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox() = default;

  /// The next, in the order of their sending as far as one sender is concerned.
  std::optional<Received> poll();
  /// Takes the receives back.
  void close();

 private:
  std::span<std::byte> buffer(std::size_t index);
  void post(std::size_t index);

  MPI_Comm comm_;
  std::vector<std::byte> buffers_;
  std::vector<MPI_Request> requests_;  ///< a ring; they match in the order of posting
  std::size_t next_ = 0;
  bool read_ = false;  ///< the one before next_ has been handed out and is not posted again
};

}  // namespace plait::transport::mpi
