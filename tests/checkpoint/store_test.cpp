// The checkpoint store against damage, full disks, two writers and kill -9 at any moment.
#include "checkpoint/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "checkpoint/disk_limits.hpp"
#include "temp_folder.hpp"

namespace plait::checkpoint {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Every number in it follows from the step, so that a mixed-up one is seen.
Checkpoint make(std::int64_t step, std::optional<double> metric = {}, std::int64_t count = 100) {
  const auto fill = [&](const char* name, float offset) {
    NamedTensor named{name, tensor::Tensor(tensor::Shape{count})};
    for (std::int64_t i = 0; i < count; ++i) {
      named.tensor.floats()[static_cast<std::size_t>(i)] = static_cast<float>(step + i) + offset;
    }
    return named;
  };
  return {.weights = {fill("w", 0), fill("b", 0.5)},
          .optimizer = {fill("w.momentum", 0.25)},
          .state = {.step = step, .epoch = step / 10, .seed = 9, .metric = metric, .config = "c"}};
}

void expect_is(const Checkpoint& got, const Checkpoint& wanted) {
  EXPECT_EQ(got.state, wanted.state);
  const auto same = [](const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].name, b[i].name);
      EXPECT_TRUE(std::ranges::equal(a[i].tensor.floats(), b[i].tensor.floats()));
    }
  };
  same(got.weights, wanted.weights);
  same(got.optimizer, wanted.optimizer);
}

std::vector<std::int64_t> steps_in(const CheckpointStore& store) {
  std::vector<std::int64_t> steps;
  for (const CheckpointEntry& entry : store.list()) steps.push_back(entry.step);
  return steps;
}

TEST(Store, SavesAndLoads) {
  const TempFolder folder;
  const auto directory = folder.path() / "deep" / "checkpoints";
  EXPECT_FALSE(CheckpointStore(directory).latest());
  EXPECT_FALSE(std::filesystem::exists(directory));
  CheckpointStore store(directory, 3);
  EXPECT_FALSE(store.latest());
  EXPECT_FALSE(store.best());
  store.save(make(120, 0.5));
  EXPECT_EQ(store.latest()->folder, "step-000000120");
  EXPECT_EQ(store.best()->step, 120);
  expect_is(CheckpointStore(directory).load("step-000000120"), make(120, 0.5));
  store.save(make(12'345'678'901));
  EXPECT_EQ(store.latest()->folder, "step-12345678901");
  expect_is(store.load(store.latest()->folder), make(12'345'678'901));
}

TEST(Store, KeepsTheLastAndTheFirstBest) {
  const TempFolder folder;
  CheckpointStore store(folder.path(), 2);
  store.save(make(10, 0.3));
  store.save(make(20, 0.9));
  store.save(make(30, 0.9));
  store.save(make(40, std::nan("")));
  EXPECT_THAT(steps_in(store), ElementsAre(20, 30, 40));
  store.save(make(50));
  store.save(make(60, 0.1));
  EXPECT_THAT(steps_in(store), ElementsAre(20, 50, 60));
  EXPECT_EQ(store.best()->step, 20);
  store.save(make(70, 0.95));
  store.save(make(80));
  EXPECT_THAT(steps_in(store), ElementsAre(70, 80));
  EXPECT_EQ(entries_in(folder.path()), 2u);
  // A run that went back: what it saves stays, whatever is above.
  store.save(make(15));
  EXPECT_THAT(steps_in(store), ElementsAre(15, 70, 80));
}

TEST(Store, ReplacesAStep) {
  const TempFolder folder;
  CheckpointStore store(folder.path(), 2);
  store.save(make(10, 0.1));
  store.save(make(10, 0.7, 50));
  expect_is(store.load("step-000000010"), make(10, 0.7, 50));
  EXPECT_EQ(entries_in(folder.path()), 1u);
}

TEST(Store, IgnoresWhatIsNotACheckpoint) {
  const TempFolder folder;
  CheckpointStore store(folder.path(), 2);
  store.save(make(10));
  for (const char* name : {"step-11", "step-0000000012", "step-00000001x", "notes"}) {
    std::filesystem::create_directory(folder.path() / name);
  }
  write_text(folder.path() / "step-000000013", "a file");
  EXPECT_THAT(steps_in(store), ElementsAre(10));
  EXPECT_THROW(store.load("step-000000099"), UserError);
  EXPECT_THROW(store.load("../x"), UserError);
}

TEST(Store, OneWriterAtATime) {
  const TempFolder folder;
  {
    const CheckpointStore store(folder.path(), 2);
    EXPECT_THROW(CheckpointStore(folder.path(), 2), UserError);
    EXPECT_NO_THROW(CheckpointStore(folder.path()).list());
  }
  EXPECT_NO_THROW(CheckpointStore(folder.path(), 2));
  EXPECT_THROW(CheckpointStore(folder.path(), 0), UserError);
  EXPECT_THROW(CheckpointStore(folder.path()).save(make(1)), Failure);
  write_text(folder.path() / "file", "");
  EXPECT_THROW(CheckpointStore(folder.path() / "file", 1), UserError);
}

TEST(Store, ClearsLeftoversWhenOpenedForWriting) {
  const TempFolder folder;
  CheckpointStore(folder.path(), 2).save(make(10));
  std::filesystem::create_directory(folder.path() / ".step-000000020.tmp-77-0");
  EXPECT_THAT(steps_in(CheckpointStore(folder.path())), ElementsAre(10));
  EXPECT_EQ(entries_in(folder.path()), 2u);
  const CheckpointStore store(folder.path(), 2);
  EXPECT_EQ(entries_in(folder.path()), 1u);
}

/// What load() says after `damage` was done to the latest of three checkpoints.
template <class Damage>
std::string said_after(const Damage& damage) {
  const TempFolder folder;
  CheckpointStore store(folder.path(), 3);
  for (const int step : {100, 110, 120}) store.save(make(step));
  damage(folder.path());
  EXPECT_EQ(store.latest()->step, 120);
  try {
    store.load("step-000000120");
  } catch (const UserError& error) {
    return error.what();
  }
  return "loaded";
}

TEST(Store, RefusesDamageAndTellsTheWayOut) {
  const auto flip = [](const std::filesystem::path& path, std::size_t from_end) {
    std::string text = read_text(path);
    text[text.size() - from_end] ^= 1;
    write_text(path, text);
  };
  const auto advises = [](const char* step) {
    return HasSubstr(std::string("step-000000120' to resume from ") + step);
  };
  for (const char* name : {"weights.safetensors", "optimizer.safetensors"}) {
    const std::string file = std::string("step-000000120/") + name;
    EXPECT_THAT(said_after([&](const auto& path) { flip(path / file, 1); }),
                AllOf(HasSubstr(file), HasSubstr("its hash is"), advises("step-000000110")));
    EXPECT_THAT(
        said_after([&](const auto& path) { flip(path / file, read_text(path / file).size()); }),
        AllOf(HasSubstr(file), advises("step-000000110")));
    EXPECT_THAT(
        said_after([&](const auto& path) { std::filesystem::resize_file(path / file, 20); }),
        AllOf(HasSubstr(file), HasSubstr("20 bytes instead of"), advises("step-000000110")));
    EXPECT_THAT(said_after([&](const auto& path) { std::filesystem::remove(path / file); }),
                AllOf(HasSubstr(file), HasSubstr("No such file"), advises("step-000000110")));
  }
  EXPECT_THAT(said_after([&](const auto& path) { flip(path / "step-000000120/state.json", 30); }),
              AllOf(HasSubstr("step-000000120/state.json"), advises("step-000000110")));
  EXPECT_THAT(said_after([&](const auto& path) {
                std::filesystem::remove(path / "step-000000120/state.json");
                std::filesystem::remove(path / "step-000000110/weights.safetensors");
              }),
              AllOf(HasSubstr("state.json"), advises("step-000000100")));
  EXPECT_THAT(said_after([&](const auto& path) {
                flip(path / "step-000000120/state.json", 30);
                std::filesystem::remove_all(path / "step-000000110");
                std::filesystem::remove_all(path / "step-000000100");
              }),
              HasSubstr("no earlier checkpoint is left"));
  EXPECT_THAT(said_after([&](const auto& path) {
                std::filesystem::remove_all(path / "step-000000120");
                std::filesystem::rename(path / "step-000000110", path / "step-000000120");
              }),
              AllOf(HasSubstr("holds step 110"), advises("step-000000100")));
}

/// In the child: saves into a full disk, then looks at what is left.
std::string save_too_much(const std::filesystem::path& directory) {
  try {
    CheckpointStore(directory, 2).save(make(20, {}, 1'000'000));
    return "saved";
  } catch (const UserError& error) {
    const CheckpointStore store(directory);
    expect_is(store.load(store.latest()->folder), make(10));
    return fmt::format("{} latest {} entries {}", error.what(), store.latest()->folder,
                       testing::Test::HasFailure() ? 99 : entries_in(directory));
  }
}

TEST(Store, FileSizeLimitLeavesTheOldCheckpoint) {
  const TempFolder folder;
  CheckpointStore(folder.path(), 2).save(make(10));
  const std::string message =
      message_in_child(FileSizeLimit{100'000}, [&] { return save_too_much(folder.path()); });
  EXPECT_THAT(message, AllOf(HasSubstr(folder.path() / "step-000000020/weights.safetensors"),
                             HasSubstr("File too large"), HasSubstr("bytes needed"),
                             HasSubstr("latest step-000000010 entries 1")));
  EXPECT_THAT(steps_in(CheckpointStore(folder.path())), ElementsAre(10));
}

TEST(Store, FullDiskLeavesTheOldCheckpoint) {
  const TempFolder folder;
  const std::string message = message_in_child(SmallDisk{folder.path(), "1m"}, [&] {
    CheckpointStore(folder.path(), 2).save(make(10));
    return save_too_much(folder.path());
  });
  if (message.starts_with("cannot: ")) GTEST_SKIP() << "no tmpfs may be mounted here: " << message;
  EXPECT_THAT(message, AllOf(HasSubstr(folder.path() / "step-000000020/weights.safetensors"),
                             HasSubstr("No space left on device"), HasSubstr("bytes needed"),
                             HasSubstr("latest step-000000010 entries 1")));
  EXPECT_EQ(entries_in(folder.path()), 0u);  // the mount was the child's own
}

TEST(Store, SurvivesBeingKilledAtAnyMoment) {
  const TempFolder folder;
  Rng rng(11, Purpose::test);
  std::int64_t latest = 0;
  int rounds_with_leftovers = 0;
  // A slow disk gets more rounds, so that some saves are finished.
  for (int round = 0; round < 25 || (latest < 5 && round < 200); ++round) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        CheckpointStore store(folder.path(), 2);
        for (std::int64_t step = latest + 1;; ++step) {
          store.save(make(step, 1.0 / static_cast<double>(step % 7 + 1), 3000));
          if (step % 3 == 0) store.save(make(step, 0.01, 3000));  // replaced
        }
      } catch (...) {
      }
      _exit(1);
    }
    usleep(3000 + rng.below(60'000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the child could not save, round " << round;

    const CheckpointStore store(folder.path());
    const std::vector<CheckpointEntry> entries = store.list();
    rounds_with_leftovers += entries_in(folder.path()) > entries.size() ? 1 : 0;
    const std::int64_t now = entries.empty() ? 0 : entries.back().step;
    EXPECT_GE(now, latest) << "round " << round;
    latest = std::max(latest, now);
    for (const CheckpointEntry& entry : entries) {
      ASSERT_NO_THROW({
        const Checkpoint loaded = store.load(entry.folder);
        expect_is(loaded, make(entry.step, loaded.state.metric, 3000));
      }) << "round "
         << round;
    }
  }
  EXPECT_GT(latest, 0);
  RecordProperty("steps", static_cast<int>(latest));
  RecordProperty("rounds_with_leftovers", rounds_with_leftovers);
}

}  // namespace
}  // namespace plait::checkpoint
