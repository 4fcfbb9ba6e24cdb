// Compares threads with the cores that this process may use.
#include "cli/thread_warning.hpp"

#include <algorithm>
#include <cstdint>

#include "cli/terminal.hpp"
#include "run/cores.hpp"

namespace plait::cli {

void warn_of_threads(int workers, int threads) {
  const int cores = run::usable_cores();
  if (std::int64_t{workers} * threads <= cores) return;
  const auto counted = [](int count, const char* word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
  };
  const int better = std::max(1, cores / workers);
  const std::string advice = better < threads ? fmt::format("; use --threads {}", better) : "";
  tell("plait: warning: {}{} on {}: slower than one thread per core{}\n",
       workers > 1 ? fmt::format("{} with ", counted(workers, "worker")) : "",
       counted(threads, "thread") + (workers > 1 ? " each" : ""), counted(cores, "core"), advice);
}

}  // namespace plait::cli
