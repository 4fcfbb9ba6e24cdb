// Config files: TOML in, TOML out, and how file, flags and a run to be resumed become one
// TrainConfig.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "session/config.hpp"

namespace plait::cli {

/// A config, and which of its keys somebody has set on purpose.
struct GivenConfig {
  session::TrainConfig config;
  std::set<std::string, std::less<>> keys;
  std::string made_in{};  ///< what relative paths in a run's config.toml are relative to
};

/// UserError with file and line for an unknown key or a wrong type. Keys that the text does not
/// have stay as they are.
void parse_config(std::string_view text, const std::string& file, GivenConfig& into);
/// Relative paths of a run made in another folder are made absolute.
void read_config_file(const std::filesystem::path& path, GivenConfig& into);

/// Every field, grouped, with its help as a comment; parse_config reads the same config back.
/// `made_in`: the folder of relative paths; "" where there are none.
std::string write_config(const session::TrainConfig& config, const std::string& made_in = "");

/// UserError where a run's config.toml and its newest checkpoint disagree on what decides the bits;
/// files may be elsewhere by now.
void check_unchanged(const GivenConfig& run, const std::filesystem::path& file);

/// Key -> text as typed after the flag.
using FlagValues = std::map<std::string, std::string, std::less<>>;

/// defaults < `file` ("" for none) < flags; with resume also: config.toml of the run folder <
/// `file`, and a UserError when file or flags change what decides the bits.
session::TrainConfig resolve_config(const std::string& file, const FlagValues& flags);

}  // namespace plait::cli
