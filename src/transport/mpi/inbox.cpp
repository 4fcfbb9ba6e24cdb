// A ring of posted receives for envelopes.
#include "transport/mpi/inbox.hpp"

#include <cstring>

#include "base/error.hpp"
#include "transport/mpi/check.hpp"

namespace plait::transport::mpi {
namespace {

constexpr std::size_t kDepth = 32;

}  // namespace

Inbox::Inbox(MPI_Comm comm)
    : comm_(comm), buffers_(kDepth * kEnvelopeBytes), requests_(kDepth, MPI_REQUEST_NULL) {
  for (std::size_t index = 0; index < kDepth; ++index) post(index);
}

std::span<std::byte> Inbox::buffer(std::size_t index) {
  return std::span(buffers_).subspan(index * kEnvelopeBytes, kEnvelopeBytes);
}

void Inbox::post(std::size_t index) {
  check(MPI_Irecv(buffer(index).data(), kEnvelopeBytes, MPI_BYTE, MPI_ANY_SOURCE, kEnvelopeTag,
                  comm_, &requests_[index]),
        "MPI_Irecv");
}

std::optional<Received> Inbox::poll() {
  if (read_) post((next_ + kDepth - 1) % kDepth);
  read_ = false;
  int arrived = 0;
  MPI_Status status;
  check(MPI_Test(&requests_[next_], &arrived, &status), "MPI_Test");
  if (arrived == 0) return std::nullopt;

  int count = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
  Received received{.from = status.MPI_SOURCE};
  if (count < static_cast<int>(sizeof(Envelope))) {
    fail("an MPI message of {} bytes from process {} was not sent by plait", count, received.from);
  }
  std::memcpy(&received.envelope, buffer(next_).data(), sizeof(Envelope));
  received.bytes = buffer(next_).subspan(sizeof(Envelope), count - sizeof(Envelope));
  next_ = (next_ + 1) % kDepth;
  read_ = true;
  return received;
}

void Inbox::close() {
  for (MPI_Request& request : requests_) {
    if (request == MPI_REQUEST_NULL) continue;
    check(MPI_Cancel(&request), "MPI_Cancel");
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  }
}

}  // namespace plait::transport::mpi
