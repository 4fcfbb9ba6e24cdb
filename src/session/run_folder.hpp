// The folder of a run: config.toml, metrics.jsonl, checkpoints/ and, if wanted, tensorboard/.
// "none" writes nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/store.hpp"
#include "session/tensorboard.hpp"
#include "session/train.hpp"

namespace plait::session {

/// A line of metrics.jsonl.
nlohmann::ordered_json metrics_of(const EpochReport& report);

class RunFolder {
 public:
  /// `run_dir` as in TrainConfig; a new numbered folder below runs/ where it is empty. An existing
  /// folder with checkpoints is refused unless `resume`.
  RunFolder(const TrainConfig& config, const std::string& config_text);

  bool writes() const { return store_.has_value(); }
  const std::filesystem::path& path() const { return path_; }

  /// Writes a file beside config.toml; nothing where there is no text.
  void keep(const std::string& name, const std::string& text) const;

  /// The newest whole checkpoint of an earlier run in this folder.
  std::optional<checkpoint::Checkpoint> resume_point() const;
  /// "" before the first.
  std::string latest_checkpoint_path() const;
  void save(const checkpoint::Checkpoint& checkpoint);
  /// The run goes on from here: config.toml is that of now, and the metrics of steps after
  /// `after_step` (they will be computed again) are dropped. Damaged lines are left out; the file
  /// as it was is kept then, and the line that says so comes back ("": none).
  std::string begin(std::int64_t after_step);
  /// Event files that cannot be written are given up; the line that says so comes back ("": none).
  std::string write(const EpochReport& report);

 private:
  std::filesystem::path path_;
  std::string config_text_;
  std::optional<checkpoint::CheckpointStore> store_;
  std::ofstream metrics_;
  bool wants_tensorboard_ = false;
  std::optional<Tensorboard> tensorboard_;
};

}  // namespace plait::session
