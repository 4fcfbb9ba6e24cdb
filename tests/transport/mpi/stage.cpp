// How a play is put on: a second mpirun, out of the sight of the first.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "temp_folder.hpp"
#include "transport/mpi/play.hpp"

extern char** environ;

namespace plait::transport::play {
namespace {

namespace fs = std::filesystem;

/// Without what a launcher left for its children.
std::vector<std::string> clean_environment() {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    bool foreign = false;
    for (const char* prefix : {"OMPI_", "ORTE_", "PMIX_", "PMI_"}) {
      foreign = foreign || text.starts_with(prefix);
    }
    if (!foreign) kept.push_back(text);
  }
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// The exit code; its output goes to `output`.
int run(std::vector<std::string> command, const fs::path& output) {
  std::vector<std::string> environment = clean_environment();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);  // the first mpirun's pipes
  pid_t child = 0;
  const int code = posix_spawnp(&child, command[0].c_str(), &actions, nullptr,
                                pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return 127;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string verdict(const Play& play, int members, int code, const fs::path& folder) {
  if (play.exit_code >= 0 ? code != play.exit_code : code == 0) {
    return fmt::format("mpirun returned {}", code);
  }
  for (int member = 0; member < (play.every_member ? members : 1); ++member) {
    // The one who throws leaves nothing.
    if (play.name == "throw" && member == members - 1 && members > 1) continue;
    const std::string text = read(folder / fmt::format("member-{}", member));
    for (const std::string& expected : play.leaves) {
      if (text.find(expected) == std::string::npos) {
        return fmt::format("member {} says '{}', not '{}'", member, text, expected);
      }
    }
  }
  return "";
}

}  // namespace

std::string stage(const Play& play, int members) {
  const TempFolder temporary;
  const fs::path& folder = temporary.path();
  const fs::path output = folder / "output";
  const int code = run(
      {"timeout", "-k", "5", "60", "mpirun", "-n", std::to_string(members), "--allow-run-as-root",
       "--oversubscribe", fs::read_symlink("/proc/self/exe"), "--play", play.name, folder},
      output);
  std::string wrong = verdict(play, members, code, folder);
  if (!wrong.empty()) wrong = fmt::format("{}\n{}", wrong, read(output));
  return wrong;
}

}  // namespace plait::transport::play
