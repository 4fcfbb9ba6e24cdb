// The protocol on MPI: small messages travel in their envelope, large ones in parts on a tag of
// their own.
#include "transport/mpi/wires.hpp"

#include <cstring>

#include "base/error.hpp"
#include "transport/mpi/check.hpp"

namespace plait::transport::mpi {
namespace {

/// How many tags for large messages there are, at most a million.
int count_slots(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &found), "MPI_Comm_get_attr");
  const int largest = found != 0 ? *static_cast<int*>(value) : 32767;  // the least MPI allows
  return std::min(largest, 1 << 20) - kFirstSlotTag + 1;
}

/// Calls use(begin, length, ...) for the parts of a large message.
template <class Use>
void for_parts(std::size_t bytes, Use use) {
  for (int part = 0; part < parts_of(bytes); ++part) {
    const std::size_t begin = part * kPartBytes;
    use(begin, static_cast<int>(std::min(kPartBytes, bytes - begin)));
  }
}

}  // namespace

Wires::Wires(MPI_Comm comm) : comm_(comm), slots_(count_slots(comm)), inbox_(comm) {
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  slots_to_.resize(size_);
}

void Wires::begin(const OperationPtr& operation) {
  operation->sends ? begin_send(operation) : begin_receive(operation);
}

void Wires::send_envelope(int to, const Envelope& envelope, Bytes bytes) {
  const std::size_t size = sizeof(Envelope) + bytes.size();
  auto buffer = std::make_unique_for_overwrite<std::byte[]>(size);
  std::memcpy(buffer.get(), &envelope, sizeof(Envelope));
  if (!bytes.empty()) std::memcpy(buffer.get() + sizeof(Envelope), bytes.data(), bytes.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(
      MPI_Isend(buffer.get(), static_cast<int>(size), MPI_BYTE, to, kEnvelopeTag, comm_, &request),
      "MPI_Isend");
  pending_.add(request, Part{.buffer = std::move(buffer)});
}

int Wires::take_slot(int to) {
  Slots& slots = slots_to_[to];
  if (!slots.free.empty()) {
    const int slot = slots.free.back();
    slots.free.pop_back();
    return slot;
  }
  if (slots.used == slots_) {
    fail("more than {} messages of over {} bytes are under way from member {} to member {}", slots_,
         kSmallBytes, rank_, to);
  }
  return slots.used++;
}

void Wires::begin_send(const OperationPtr& operation) {
  const auto& [channel, to, tag] = operation->label;
  const Bytes bytes = operation->out;
  Envelope envelope{.tag = tag, .channel = channel, .size = bytes.size()};
  if (bytes.size() <= kSmallBytes) {
    send_envelope(to, envelope, bytes);
    finished_.push_back(operation);
    return;
  }
  envelope.slot = operation->slot = take_slot(to);
  send_envelope(to, envelope, {});
  for_parts(bytes.size(), [&](std::size_t begin, int length) {
    // Synchronous: complete when received, so that the slot is free again.
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Issend(bytes.data() + begin, length, MPI_BYTE, operation->label.peer,
                     kFirstSlotTag + operation->slot, comm_, &request),
          "MPI_Issend");
    ++operation->parts;
    pending_.add(request, Part{.operation = operation});
  });
}

void Wires::begin_receive(const OperationPtr& operation) {
  const auto early = matcher_.expect(operation->label, operation);
  if (!early) return;
  const Envelope envelope{.size = (*early)->size, .slot = (*early)->slot};
  deliver(operation, envelope, (*early)->bytes);
}

void Wires::deliver(const OperationPtr& operation, const Envelope& envelope, Bytes bytes) {
  const std::span<std::byte> in = operation->in;
  const int from = operation->label.peer;
  if (envelope.size != in.size()) {
    operation->error = to_string(SizeMismatch{.from = from,
                                              .to = rank_,
                                              .tag = operation->label.tag,
                                              .sent = envelope.size,
                                              .expected = in.size()});
    discard(from, envelope);
    finished_.push_back(operation);
    return;
  }
  if (envelope.slot < 0) {
    if (!in.empty()) std::memcpy(in.data(), bytes.data(), in.size());
    finished_.push_back(operation);
    return;
  }
  for_parts(in.size(), [&](std::size_t begin, int length) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(in.data() + begin, length, MPI_BYTE, from, kFirstSlotTag + envelope.slot, comm_,
                    &request),
          "MPI_Irecv");
    ++operation->parts;
    pending_.add(request, Part{.operation = operation});
  });
}

/// Receives it and throws it away, so that the sender is done with it. (Open MPI 4.1 does not
/// survive a receive that is too short.)
void Wires::discard(int from, const Envelope& envelope) {
  if (envelope.slot < 0) return;
  for_parts(envelope.size, [&](std::size_t, int length) {
    auto buffer = std::make_unique_for_overwrite<std::byte[]>(length);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(buffer.get(), length, MPI_BYTE, from, kFirstSlotTag + envelope.slot, comm_,
                    &request),
          "MPI_Irecv");
    pending_.add(request, Part{.buffer = std::move(buffer)});
  });
}

void Wires::handle(const Received& received) {
  const Envelope& envelope = received.envelope;
  if (envelope.kind == EnvelopeKind::abort) {
    abort_heard_ =
        std::string(reinterpret_cast<const char*>(received.bytes.data()), received.bytes.size());
    return;
  }
  const Label label{.channel = envelope.channel, .peer = received.from, .tag = envelope.tag};
  auto early = std::make_shared<Early>(Early{.size = envelope.size, .slot = envelope.slot});
  if (const auto operation = matcher_.arrive(label, early)) {
    deliver(*operation, envelope, received.bytes);
  } else {
    early->bytes.assign(received.bytes.begin(), received.bytes.end());
  }
}

void Wires::complete(Part& part) {
  if (part.operation == nullptr || --part.operation->parts > 0) return;
  if (part.operation->sends) {
    slots_to_[part.operation->label.peer].free.push_back(part.operation->slot);
  }
  finished_.push_back(std::move(part.operation));
}

bool Wires::progress() {
  constexpr int kMost = 64;  // then the other things get their turn
  bool moved = false;
  for (int i = 0; i < kMost; ++i) {
    const std::optional<Received> received = inbox_.poll();
    if (!received) break;
    handle(*received);
    moved = true;
  }
  for (Part& part : pending_.completed()) {
    complete(part);
    moved = true;
  }
  return moved;
}

std::vector<OperationPtr> Wires::finished() { return std::exchange(finished_, {}); }

void Wires::tell_abort(const std::string& reason) {
  const std::string told = reason.substr(0, kSmallBytes);
  for (int member = 0; member < size_; ++member) {
    if (member == rank_) continue;
    send_envelope(member, Envelope{.kind = EnvelopeKind::abort, .size = told.size()},
                  std::as_bytes(std::span(told)));
  }
}

}  // namespace plait::transport::mpi
