// run_members: a thread for each member, and one exception out of all that they may throw.
#include <fmt/format.h>

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/threads.hpp"

namespace plait::transport {
namespace {

/// The exception to be rethrown: the first, but Aborted only if there is no other.
class FirstError {
 public:
  void add(std::exception_ptr error, bool aborted) {
    const std::scoped_lock lock(mutex_);
    if (error_ != nullptr && (aborted || !aborted_)) return;
    error_ = std::move(error);
    aborted_ = aborted;
  }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  bool aborted_ = false;
};

void run_member(ThreadWorld& world, int rank, const std::function<void(int)>& body,
                FirstError& first) {
  try {
    body(rank);
  } catch (const Aborted&) {
    first.add(std::current_exception(), true);
    world.abort(fmt::format("member {} was aborted", rank));
  } catch (const std::exception& error) {
    first.add(std::current_exception(), false);
    world.abort(fmt::format("member {}: {}", rank, error.what()));
  } catch (...) {
    first.add(std::current_exception(), false);
    world.abort(fmt::format("member {}: an unknown exception", rank));
  }
}

}  // namespace

void run_members(ThreadWorld& world, const std::function<void(int rank)>& body) {
  FirstError first;
  {
    std::vector<std::jthread> members;
    try {
      for (int rank = 0; rank < world.size(); ++rank) {
        members.emplace_back([&, rank] { run_member(world, rank, body, first); });
      }
    } catch (const std::exception& error) {  // no more threads to be had
      first.add(std::current_exception(), false);
      world.abort(fmt::format("starting member {}: {}", members.size(), error.what()));
    }
  }
  first.rethrow();
}

}  // namespace plait::transport
