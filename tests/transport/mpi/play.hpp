// Plays: jobs that end badly, each started as a job of its own (a second mpirun) because nothing
// can follow them in a process. Members leave files in a folder; the one who started the play reads
// them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plait::transport::play {

struct Play {
  std::string name;
  int least_members = 1;
  int exit_code = 0;                  ///< of mpirun; -1: any but 0
  std::vector<std::string> leaves{};  ///< texts that must be in the files of ...
  bool every_member = true;           ///< ... each member, or of member 0 only
};
std::vector<Play> plays();

/// The part of this process in the play. Its files go to `folder`.
int act(const std::string& name, const std::filesystem::path& folder);

/// Starts `play` with this binary and `members` processes. What went wrong; empty: nothing.
std::string stage(const Play& play, int members);

}  // namespace plait::transport::play
