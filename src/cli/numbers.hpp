// Numbers as a user types them. Every refusal is a UserError that begins with `name` ("--lr") and
// shows what was typed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/toml_value.hpp"

namespace plait::cli {

std::int64_t parse_integer(std::string_view text, const std::string& name);
std::int64_t parse_integer(std::string_view text, const std::string& name, graph::Range range);
std::uint64_t parse_unsigned(std::string_view text, const std::string& name);
/// Finite.
double parse_double(std::string_view text, const std::string& name);
/// true, false, on, off, yes, no, 1, 0.
bool parse_boolean(std::string_view text, const std::string& name);

}  // namespace plait::cli
