// The settings of a training run (session/config.hpp) as flags and as TOML keys.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/toml_value.hpp"
#include "session/config.hpp"

namespace plait::cli {

using Field = Setting<session::TrainConfig>;

/// In the order of the help, grouped.
std::span<const Field> fields();
/// Null when there is none.
const Field* find_field(std::string_view key);
std::vector<std::string> field_keys();

/// "--weight-decay".
std::string flag_of(const Field& field);

/// `text` as typed after a flag; `name` begins the message of the UserError ("--lr").
void set_from_text(session::TrainConfig& config, const Field& field, std::string_view text,
                   const std::string& name);
/// `place` begins the message ("file.toml:3: lr").
void set_from_toml(session::TrainConfig& config, const Field& field, const graph::TomlValue& value,
                   const std::string& place);
/// As TOML: quoted text, digits that give the same double back.
std::string toml_of(const session::TrainConfig& config, const Field& field);

/// In quotes, escaped.
std::string toml_string(std::string_view text);

bool equal_in(const Field& field, const session::TrainConfig& a, const session::TrainConfig& b);
void copy_field(const Field& field, const session::TrainConfig& from, session::TrainConfig& to);

}  // namespace plait::cli
