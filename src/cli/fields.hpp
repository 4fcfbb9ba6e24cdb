// The one table of a training run's settings: each row is a field of TrainConfig, a flag, a TOML
// key and a line of help. Flags, config files, config.toml and --resume are all driven by it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/toml_value.hpp"
#include "session/config.hpp"

namespace plait {

using FieldMember =
    std::variant<std::string TrainConfig::*, std::int64_t TrainConfig::*,
                 std::uint64_t TrainConfig::*, double TrainConfig::*, bool TrainConfig::*>;

struct Field {
  std::string_view key;  ///< "weight_decay"; the flag is --weight-decay
  FieldMember member;
  std::string_view group;  ///< heading in the help and in config.toml
  std::string_view value;  ///< what stands for the value in the help; "" for a switch
  std::string_view help;
  bool decides_bits = true;  ///< a resumed run must not change it
};

/// In the order of the help, grouped.
std::span<const Field> fields();
/// Null when there is none.
const Field* find_field(std::string_view key);
std::vector<std::string> field_keys();

/// "--weight-decay".
std::string flag_of(const Field& field);

/// `text` as typed after a flag; `name` begins the message of the UserError ("--lr").
void set_from_text(TrainConfig& config, const Field& field, std::string_view text,
                   const std::string& name);
/// `place` begins the message ("file.toml:3: lr").
void set_from_toml(TrainConfig& config, const Field& field, const TomlValue& value,
                   const std::string& place);
/// As TOML: quoted text, digits that give the same double back.
std::string toml_of(const TrainConfig& config, const Field& field);

/// In quotes, escaped.
std::string toml_string(std::string_view text);

bool equal_in(const Field& field, const TrainConfig& a, const TrainConfig& b);
void copy_field(const Field& field, const TrainConfig& from, TrainConfig& to);

}  // namespace plait
