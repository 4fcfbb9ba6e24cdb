// Request: a message under way. Incoming: one that will be read where it lies. Both are move-only
// and wait in their destructors, so no buffer can be freed under a transfer. An exception that
// passes one still under way ends the job (as Group::abort), or its other end would wait for ever.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace plait::transport {

/// What a transport implements. wait() may throw; done() never waits, and is true as well when
/// wait() would throw. The destructor comes after wait(), whether it threw or not, and blocks only
/// as long as the caller's memory is in use.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void wait() = 0;
  virtual bool done() = 0;
  /// Of a receive that is done(): now_seconds() of its last byte.
  virtual double arrived_at() { return 0; }
  /// Of an Incoming, after wait().
  virtual std::span<const std::byte> bytes() const { return {}; }
  /// As Group::abort, with the name of this member before the reason.
  virtual void end_job(const std::string& reason) noexcept = 0;
};

class Request {
 public:
  Request() = default;
  explicit Request(std::unique_ptr<Transfer> transfer) : transfer_(std::move(transfer)) {}
  Request(Request&&) noexcept = default;
  Request& operator=(Request&& other) noexcept;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  /// Rethrows what the transfer met. Waiting twice, or for nothing, is allowed.
  void wait();
  bool done() const { return transfer_ == nullptr || transfer_->done(); }
  /// Of a receive that is done and was not waited for: when its last byte came. Otherwise 0.
  double arrived_at() const { return transfer_ == nullptr ? 0 : transfer_->arrived_at(); }

 private:
  std::unique_ptr<Transfer> transfer_;
  int exceptions_ = std::uncaught_exceptions();
};

class Incoming {
 public:
  Incoming() = default;
  explicit Incoming(std::unique_ptr<Transfer> transfer) : transfer_(std::move(transfer)) {}
  Incoming(Incoming&&) noexcept = default;
  Incoming& operator=(Incoming&& other) noexcept;
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  ~Incoming();

  /// Waits, then the message; valid until this object is released or gone.
  std::span<const std::byte> wait();
  bool done() const { return transfer_ == nullptr || transfer_->done(); }
  /// As of a Request.
  double arrived_at() const { return transfer_ == nullptr ? 0 : transfer_->arrived_at(); }
  /// Gives the memory back to its sender.
  void release();

 private:
  std::unique_ptr<Transfer> transfer_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace plait::transport
