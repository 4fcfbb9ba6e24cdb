// RunState: where a run stands, beside its weights; and state.json, the file that holds it together
// with the sizes and hashes of a checkpoint's other files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace plait::checkpoint {

struct RunState {
  std::int64_t step = 0;      // updates done
  std::int64_t epoch = 0;     // epochs done
  std::int64_t position = 0;  // samples done in the current epoch
  std::uint64_t seed = 0;
  std::optional<double> metric = {};  // higher is better; a value that is not finite counts as none
  std::optional<double> best_metric = {};
  std::map<std::string, std::string> extra = {};  // whatever else the run wants back
  std::string config = {};                        // everything resolved

  bool operator==(const RunState&) const = default;
};

struct FileRecord {
  std::uint64_t bytes = 0;
  std::string xxh3 = {};

  bool operator==(const FileRecord&) const = default;
};

struct StateFile {
  RunState state = {};
  std::map<std::string, FileRecord> files = {};
};

/// JSON text that ends with its own hash.
std::string print_state(const StateFile& file);

/// UserError on anything that print_state() would not have written.
StateFile parse_state(std::string_view text, const std::string& source);

}  // namespace plait::checkpoint
