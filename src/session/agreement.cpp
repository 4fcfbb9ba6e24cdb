// Gathers the exit codes and a hash of what must be equal on all processes; the first with an error
// reports it, the others leave quietly.
#include "session/agreement.hpp"

#include <unistd.h>

#include <array>
#include <vector>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace plait::session {

namespace {

/// As it travels.
struct Record {
  std::int64_t code = 0;  ///< 0: no error
  std::uint64_t hash = 0;
};

int code_of(const std::exception_ptr& error) {
  if (!error) return 0;
  try {
    std::rethrow_exception(error);
  } catch (const UserError&) {
    return 2;
  } catch (...) {
    return 1;
  }
}

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

[[noreturn]] void rethrow_named(const std::exception_ptr& error, int rank) {
  if (rank == 0) std::rethrow_exception(error);
  try {
    std::rethrow_exception(error);
  } catch (const UserError& problem) {
    throw problem.in(fmt::format("worker {} on {}", rank, host()));
  } catch (const std::exception& problem) {
    fail("worker {} on {}: {}", rank, host(), problem.what());
  }
}

}  // namespace

void agree(transport::Group& control, const Standing& standing) {
  Hash hash;
  hash.add(standing.text);
  const Record mine{code_of(standing.error), hash.value()};
  std::vector<Record> all(static_cast<std::size_t>(control.size()));
  control.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  const int rank = control.rank();
  for (int member = 0; member < control.size(); ++member) {
    const Record& record = all[static_cast<std::size_t>(member)];
    if (record.code == 0) continue;
    if (member == rank) rethrow_named(standing.error, rank);
    throw QuietExit{static_cast<int>(record.code)};
  }
  for (int member = 1; member < control.size(); ++member) {
    if (all[static_cast<std::size_t>(member)].hash == all.front().hash) continue;
    if (member == rank) {
      user_error(
          "worker {} on {} does not have the {} of worker 0; start every process with the same "
          "program and the same flags",
          rank, host(), standing.what);
    }
    throw QuietExit{2};
  }
}

}  // namespace plait::session
