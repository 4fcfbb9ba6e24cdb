// The settings that name files and folders. A run folder keeps relative ones as they were typed,
// with the folder they are relative to, so that the run can be read from any other folder.
#pragma once

#include <filesystem>

#include "cli/fields.hpp"

namespace plait {

/// model, data, init, partition and profile.
bool names_files(const Field& field);

/// Whether a setting names a file relative to the working directory.
bool has_relative_paths(const TrainConfig& config);

/// Relative paths become absolute where `folder` has such a file and is not the working directory.
void resolve_paths(TrainConfig& config, const std::filesystem::path& folder);

/// Equal, or two spellings of one path.
bool same_files(const Field& field, const TrainConfig& a, const TrainConfig& b);

}  // namespace plait
