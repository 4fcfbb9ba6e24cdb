// The ends of Request and Incoming: what happens to a transfer whose owner goes away.
#include "transport/request.hpp"

#include "base/error.hpp"

namespace plait::transport {
namespace {

/// `exceptions`: how many were on their way when the owner was made.
void end(std::unique_ptr<Transfer>& transfer, int exceptions) noexcept {
  if (transfer == nullptr) return;
  try {
    if (std::uncaught_exceptions() > exceptions && !transfer->done()) {
      transfer->end_job("stopped with an error while a message was under way; see its own message");
    }
    transfer->wait();
  } catch (const Failure& failure) {
    transfer->end_job(failure.what());  // otherwise the error would be lost
  } catch (...) {                       // Aborted: the next wait of this member says so
  }
  transfer.reset();
}

/// A failed transfer is over; an aborted one is kept, so that its memory is guarded to the end.
void wait_for(std::unique_ptr<Transfer>& transfer) {
  try {
    transfer->wait();
  } catch (const Failure&) {
    transfer.reset();
    throw;
  }
}

}  // namespace

Request& Request::operator=(Request&& other) noexcept {
  if (this != &other) {
    end(transfer_, exceptions_);
    transfer_ = std::move(other.transfer_);
    exceptions_ = other.exceptions_;
  }
  return *this;
}

Request::~Request() { end(transfer_, exceptions_); }

void Request::wait() {
  if (transfer_ == nullptr) return;
  wait_for(transfer_);
  transfer_.reset();
}

Incoming& Incoming::operator=(Incoming&& other) noexcept {
  if (this != &other) {
    end(transfer_, exceptions_);
    transfer_ = std::move(other.transfer_);
    exceptions_ = other.exceptions_;
  }
  return *this;
}

Incoming::~Incoming() { end(transfer_, exceptions_); }

std::span<const std::byte> Incoming::wait() {
  if (transfer_ == nullptr) return {};
  wait_for(transfer_);
  return transfer_->bytes();
}

void Incoming::release() {
  wait();
  transfer_.reset();
}

}  // namespace plait::transport
