// Jobs of mpirun: how to start one here, its processes, and the fixture of their tests.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>

#include "cli/process.hpp"

namespace plait::cli {

/// "" where PATH has none.
inline std::string find_mpirun() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/mpirun";
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

/// More processes than cores, by root, beside other tests.
inline Words mpirun() {
  return {find_mpirun(), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"};
}

/// "-n N plait WORDS"; several of them with ":" between are one job.
inline Words ranks(int count, const Words& words) {
  return Words{"-n", std::to_string(count), PLAIT_BINARY} + words;
}

struct RankProcess {
  int rank = -1;
  ProcessEntry process;
};

/// The number that mpirun gave a process, -1 while it has none.
inline int rank_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  const std::string name = "OMPI_COMM_WORLD_RANK=";
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.starts_with(name)) return std::stoi(variable.substr(name.size()));
  }
  return -1;
}

/// The plait processes of the job, in any order.
inline std::vector<RankProcess> ranks_of(pid_t mpirun_pid) {
  std::vector<RankProcess> found;
  for (const ProcessEntry& child : children_of(mpirun_pid)) {
    std::error_code error;
    const auto program =
        std::filesystem::read_symlink("/proc/" + std::to_string(child.pid) + "/exe", error);
    if (program.filename() != std::filesystem::path(PLAIT_BINARY).filename()) continue;
    found.push_back({.rank = rank_of(child.pid), .process = child});
  }
  return found;
}

/// Small and quick, 10 steps per epoch, the last one smaller.
inline const Words kParallel{
    "train",         "--model",      "mlp:32", "--data",  "glyphs", "--train-limit",
    "600",           "--test-limit", "64",     "--batch", "64",     "--strategy",
    "data_parallel", "--threads",    "1",      "--pin",   "none",   "--json",
    "--quiet"};

class MpiTest : public ::testing::Test {
 protected:
  using Json = nlohmann::json;

  void SetUp() override {
    if (find_mpirun().empty()) GTEST_SKIP() << "there is no mpirun in PATH";
  }

  Process job(const Words& words) const {
    return {.command = mpirun() + words, .directory = folder_.path()};
  }

  /// The JSON object of a run that must succeed; nothing else may have been said.
  static Json result_of(const Ended& ended) {
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    EXPECT_EQ(std::ranges::count(ended.out, '\n'), 1) << ended.out;
    return Json::parse(ended.out, nullptr, false);
  }
  Json on_threads(const Words& words) const {
    return result_of(run_plait(folder_.path(), kParallel + words));
  }
  Json on_mpi(int count, const Words& words) const {
    return result_of(run(job(ranks(count, kParallel + words))));
  }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  void copy(const std::string& from, const std::string& to) const {
    std::filesystem::copy(path(from), path(to), std::filesystem::copy_options::recursive);
  }

  TempFolder folder_;
};

}  // namespace plait::cli
