// The settings that name files and folders. A run folder keeps relative ones as they were typed,
// with the folder they are relative to, so that the run can be read from any other folder.
#pragma once

#include <filesystem>

#include "cli/fields.hpp"

namespace plait::cli {

/// model, data, init, partition and profile.
bool names_files(const Field& field);

/// Whether a setting names a file relative to the working directory.
bool has_relative_paths(const session::TrainConfig& config);

/// Relative paths become absolute where `folder` has such a file and is not the working directory.
void resolve_paths(session::TrainConfig& config, const std::filesystem::path& folder);

/// Equal, or two spellings of one path.
bool same_files(const Field& field, const session::TrainConfig& a, const session::TrainConfig& b);

}  // namespace plait::cli
