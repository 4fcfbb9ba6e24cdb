// The rules of the house, as functions on a source tree: which room may include which, where a
// third party's header may be included, which namespace a room has, what a file must begin with,
// and that no two headers define types of one name. They read text, not C++: one #include per line,
// macros are not followed.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace plait::house {

/// Room -> every room it may include: itself, its doors, and what those may.
using Doors = std::map<std::string, std::set<std::string>>;

/// Reads lines "room=door,door". Throws on a door that no earlier line declares: so there is no
/// cycle.
Doors parse_doors(const std::string& text);

/// One line "file:line: what" per broken rule in the tree under `src`; empty when all is well.
std::vector<std::string> broken_rules(const std::filesystem::path& src, const Doors& doors);

/// "file: ..." for every file below `folder` that does not begin with a comment of at least three
/// words that says what the file is.
std::vector<std::string> files_without_statement(const std::filesystem::path& folder);

/// "file:line: --flag ..." for every string outside cli/ that writes a setting as a flag: other
/// rooms name settings by their keys. The flags of other programs are known.
std::vector<std::string> flags_outside_cli(const std::filesystem::path& src);

/// Every .hpp and .cpp below `folder`, sorted.
std::vector<std::filesystem::path> source_files(const std::filesystem::path& folder);

}  // namespace plait::house
