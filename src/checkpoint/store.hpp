// CheckpointStore: a directory of checkpoints, one folder per saved step ("step-000000120/" with
// weights.safetensors, optimizer.safetensors and state.json). A folder is there whole or not at
// all, whatever happens to the process or the disk. Knows nothing of models or training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "checkpoint/state.hpp"

namespace plait::checkpoint {

struct Checkpoint {
  std::vector<NamedTensor> weights = {};
  std::vector<NamedTensor> optimizer = {};
  RunState state = {};
};

struct CheckpointEntry {
  std::string folder;  // "step-000000120", within the store's directory
  std::int64_t step = 0;
  std::optional<double> metric = {};  // none, too, when state.json cannot be read
  std::string damage = {};            // why it cannot; "": it can
};

class CheckpointStore {
 public:
  /// For reading only: touches nothing. A directory that does not exist is an empty store.
  explicit CheckpointStore(std::filesystem::path directory);
  /// For writing: creates the directory, clears away what killed runs left, and locks it against
  /// other writers (UserError when another store has it) until the last copy of this store is gone.
  CheckpointStore(std::filesystem::path directory, int keep_last);

  /// When it returns, the checkpoint is on the disk, and older ones are gone but for the last
  /// `keep_last` and the best. A step that exists is replaced. Failure leaves the store as it was.
  void save(const Checkpoint& checkpoint);

  /// By step, ascending.
  std::vector<CheckpointEntry> list() const;
  std::optional<CheckpointEntry> latest() const;
  /// Highest metric; the first of equals; none when no checkpoint has a metric.
  std::optional<CheckpointEntry> best() const;

  /// The config that the run of the newest checkpoint had; "" where there is none.
  std::string latest_config() const;

  /// Verifies sizes and hashes. Damage is a UserError that names the file and the way out.
  Checkpoint load(const std::string& folder) const;

  std::filesystem::path path_of(const std::string& folder) const { return directory_ / folder; }

 private:
  void prune(const std::string& just_saved) const;
  std::string advice(const std::string& damaged) const;

  std::filesystem::path directory_;
  int keep_last_ = 0;  // 0: read only
  std::shared_ptr<void> lock_;
};

}  // namespace plait::checkpoint
