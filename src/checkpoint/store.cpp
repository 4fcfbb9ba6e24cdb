// Saving, finding, loading and pruning checkpoints; the lock that keeps a second writer out.
#include "checkpoint/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "base/in_file.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/shown.hpp"

namespace plait::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kState = "state.json";
constexpr std::uint64_t kMaxStateBytes = 16 << 20;

std::string folder_of(std::int64_t step) { return fmt::format("step-{:09}", step); }

std::optional<std::int64_t> step_of(const std::string& folder) {
  constexpr std::string_view prefix = "step-";
  if (!folder.starts_with(prefix)) return std::nullopt;
  std::int64_t step = 0;
  std::from_chars(folder.data() + prefix.size(), folder.data() + folder.size(), step);
  return step >= 0 && folder_of(step) == folder ? std::optional(step) : std::nullopt;
}

StateFile read_state(const fs::path& folder) {
  const fs::path path = folder / kState;
  check_input_file(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) user_error("cannot open '{}': {}", path.string(), std::strerror(errno));
  std::string text;
  std::string piece(1 << 16, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxStateBytes) {
      user_error("{}: larger than {} bytes; this is not the state of a checkpoint", path.string(),
                 kMaxStateBytes);
    }
  }
  StateFile file = parse_state(text, path.string());
  for (const char* name : {kWeights, kOptimizer}) {
    if (!file.files.contains(name)) user_error("{}: does not list '{}'", path.string(), name);
  }
  const std::string expected = folder_of(file.state.step);
  if (folder.filename() != expected) {
    user_error("{}: holds step {}, which belongs into a folder '{}'", path.string(),
               file.state.step, expected);
  }
  return file;
}

void check_size(const fs::path& path, const FileRecord& record) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) user_error("cannot open '{}': {}", path.string(), error.message());
  if (bytes != record.bytes) {
    user_error("{}: damaged: it has {} bytes instead of {}", path.string(), bytes, record.bytes);
  }
}

std::vector<NamedTensor> read_tensors(const fs::path& path, const FileRecord& record) {
  check_size(path, record);
  Hash hash;
  SafetensorsFile file = read_safetensors(path, &hash);
  if (hash.hex() != record.xxh3) {
    user_error("{}: damaged: its hash is {} instead of {}", path.string(), hash.hex(),
               shown(record.xxh3));
  }
  return std::move(file.tensors);
}

FileRecord write_tensors(const AtomicFolder& folder, const char* name,
                         const SafetensorsWriter& writer) {
  FileSink sink = folder.create(name);
  writer.write(sink);
  sink.close();
  return {sink.bytes(), sink.hash()};
}

/// flock() on the directory itself: leaves no file, and goes with the process.
std::shared_ptr<void> lock_directory(const fs::path& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) user_error("cannot open '{}': {}", directory.string(), std::strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd);
    user_error("another run is writing checkpoints to '{}'; choose another folder or end that run",
               directory.string());
  }
  return {new int(fd), [](void* held) {
            ::close(*static_cast<int*>(held));
            delete static_cast<int*>(held);
          }};
}

std::optional<CheckpointEntry> best_of(const std::vector<CheckpointEntry>& entries) {
  std::optional<CheckpointEntry> best;
  for (const CheckpointEntry& entry : entries) {
    if (entry.metric && (!best || *entry.metric > *best->metric)) best = entry;
  }
  return best;
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path directory) : directory_(std::move(directory)) {}

CheckpointStore::CheckpointStore(fs::path directory, int keep_last)
    : directory_(std::move(directory)), keep_last_(keep_last) {
  if (keep_last < 1) user_error("keep_last is {}; at least 1 checkpoint must be kept", keep_last);
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error || !fs::is_directory(directory_)) {
    user_error("cannot create the folder '{}': {}", directory_.string(),
               error ? error.message() : "there is a file of that name");
  }
  const fs::path parent = fs::absolute(directory_).lexically_normal().parent_path();
  sync_directory(parent);
  lock_ = lock_directory(directory_);
  remove_leftovers(directory_);
}

void CheckpointStore::save(const Checkpoint& checkpoint) {
  if (keep_last_ == 0) fail("'{}' was opened for reading only", directory_.string());
  if (checkpoint.state.step < 0) fail("step {} cannot be saved", checkpoint.state.step);
  const SafetensorsWriter weights(checkpoint.weights);
  const SafetensorsWriter optimizer(checkpoint.optimizer);
  StateFile state{.state = checkpoint.state, .files = {}};
  const std::uint64_t bytes = weights.bytes() + optimizer.bytes() + print_state(state).size();

  const std::string name = folder_of(checkpoint.state.step);
  {
    AtomicFolder folder(path_of(name), bytes);
    state.files[kWeights] = write_tensors(folder, kWeights, weights);
    state.files[kOptimizer] = write_tensors(folder, kOptimizer, optimizer);
    FileSink sink = folder.create(kState);
    sink.write(print_state(state));
    sink.close();
    folder.commit();
  }
  prune(name);
}

std::vector<CheckpointEntry> CheckpointStore::list() const {
  std::vector<CheckpointEntry> entries;
  std::error_code error;
  for (fs::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    const std::string folder = it->path().filename().string();
    const std::optional<std::int64_t> step = step_of(folder);
    std::error_code ignored;
    if (!step || !it->is_directory(ignored)) continue;
    CheckpointEntry entry{.folder = folder, .step = *step, .metric = {}, .damage = {}};
    try {
      entry.metric = read_state(it->path()).state.metric;
    } catch (const UserError& unreadable) {
      if (!fs::exists(it->path(), ignored)) continue;  // a run under way has just let it go
      entry.damage = unreadable.what();
    }
    entries.push_back(std::move(entry));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    user_error("cannot list the checkpoints in '{}': {}", directory_.string(), error.message());
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  return entries;
}

std::optional<CheckpointEntry> CheckpointStore::latest() const {
  const std::vector<CheckpointEntry> entries = list();
  return entries.empty() ? std::nullopt : std::optional(entries.back());
}

std::optional<CheckpointEntry> CheckpointStore::best() const { return best_of(list()); }

std::string CheckpointStore::latest_config() const {
  const std::optional<CheckpointEntry> entry = latest();
  return entry && entry->damage.empty() ? read_state(path_of(entry->folder)).state.config : "";
}

Checkpoint CheckpointStore::load(const std::string& folder) const {
  const fs::path path = path_of(folder);
  if (!step_of(folder) || !fs::is_directory(path)) {
    user_error("there is no checkpoint {} in '{}'", shown(folder), directory_.string());
  }
  try {
    StateFile file = read_state(path);
    return {.weights = read_tensors(path / kWeights, file.files[kWeights]),
            .optimizer = read_tensors(path / kOptimizer, file.files[kOptimizer]),
            .state = std::move(file.state)};
  } catch (const UserError& error) {
    user_error("{}; {}", error.what(), advice(folder));
  }
}

void CheckpointStore::prune(const std::string& just_saved) const {
  const std::vector<CheckpointEntry> entries = list();
  const std::optional<CheckpointEntry> champion = best_of(entries);
  const auto keep = static_cast<std::size_t>(keep_last_);
  const std::size_t old = entries.size() - std::min(entries.size(), keep);
  for (std::size_t i = 0; i < old; ++i) {
    const std::string& folder = entries[i].folder;
    // A run resumed from an earlier step saves below later ones: never drop what was just written.
    if (folder != just_saved && !(champion && champion->folder == folder)) {
      remove_folder(path_of(folder));
    }
  }
}

std::string CheckpointStore::advice(const std::string& damaged) const {
  std::string earlier;
  for (const CheckpointEntry& entry : list()) {
    if (entry.step >= step_of(damaged)) break;
    try {
      StateFile file = read_state(path_of(entry.folder));
      for (const auto& [name, record] : file.files)
        check_size(path_of(entry.folder) / name, record);
      earlier = entry.folder;
    } catch (const UserError&) {
    }
  }
  const std::string folder = path_of(damaged).string();
  return earlier.empty() ? fmt::format("delete '{}'; no earlier checkpoint is left", folder)
                         : fmt::format("delete '{}' to resume from {}", folder, earlier);
}

}  // namespace plait::checkpoint
