// Reads sources line by line with regular expressions, and lists every broken rule with its place.
#include "house/house.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace plait::house {

namespace fs = std::filesystem;

namespace {

/// A header that begins with `prefix` may be included only in files that begin with one of `homes`.
struct ThirdParty {
  std::string prefix;
  std::vector<std::string> homes;
};

const std::vector<ThirdParty>& third_parties() {
  static const std::vector<ThirdParty> table{
      {"dnnl", {"kernels/onednn/"}},
      {"oneapi/dnnl", {"kernels/onednn/"}},
      {"hwy/", {"kernels/"}},
      {"toml++/", {"graph/", "cli/"}},
      {"CLI/", {"cli/"}},
      {"nlohmann/", {"checkpoint/", "cost/", "plan/", "planner/", "report/", "session/", "cli/"}},
      {"curl/", {"data/"}},
      {"openssl/", {"data/"}},
      {"zlib.h", {"data/"}},
      {"turbojpeg.h", {"data/images/decode.cpp"}},
      {"png.h", {"data/images/decode.cpp"}},
      {"archive", {"data/images/image_archive.cpp"}},
      {"xxhash.h", {"base/"}},
      {"mpi.h", {"transport/mpi/", "partition/zoltan/"}},
      {"zoltan", {"partition/zoltan/"}},
      {"hwloc.h", {"run/"}},
      {"httplib.h", {"report/http_server.cpp"}},
      {"onnx/onnx", {"onnx/protobuf/"}},
      {"google/protobuf", {"onnx/protobuf/"}},
  };
  return table;
}

const ThirdParty* third_party(const std::string& header) {
  for (const ThirdParty& party : third_parties()) {
    if (header.starts_with(party.prefix)) return &party;
  }
  return nullptr;
}

std::string first_folder(const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

/// What is wrong with `file` (named from src/) including `header`; empty if nothing.
std::string wrong_include(const std::string& file, const std::string& header, bool quoted,
                          const Doors& doors) {
  if (const ThirdParty* party = third_party(header)) {
    const bool at_home =
        std::any_of(party->homes.begin(), party->homes.end(),
                    [&](const std::string& home) { return file.starts_with(home); });
    if (at_home) return "";
    std::string homes;
    for (const std::string& home : party->homes) homes += (homes.empty() ? "" : ", ") + home;
    return header + " belongs in " + homes + " only";
  }
  const std::string target = first_folder(header);
  if (!doors.contains(target)) {
    return quoted ? "\"" + header + "\" is not a file of src/; write includes relative to it" : "";
  }
  const std::string room = first_folder(file);  // none for main.cpp, which may see every room
  if (!room.empty() && !doors.at(room).contains(target)) return room + " may not include " + header;
  return "";
}

/// What is wrong with `file` (named from src/) opening `space`; empty if nothing. base/ is the
/// common vocabulary: plait itself.
std::string wrong_namespace(const std::string& file, const std::string& space) {
  const std::string room = first_folder(file);
  const std::string own = room == "base" ? "plait" : "plait::" + room;
  if (space == own || space.starts_with(own + "::") || !space.starts_with("plait")) return "";
  return "namespace " + space + " where its room's is " + own;
}

void check_file(const fs::path& path, const std::string& name, const Doors& doors,
                std::vector<std::string>& broken) {
  static const std::regex include(R"(^\s*#\s*include\s*(["<])([^">]+)[">].*)");
  static const std::regex opens(R"(^namespace ([\w:]+) \{.*)");
  static const std::regex pragma_once(R"(^\s*#\s*pragma\s+once\b.*)");
  // Highway reads a -inl.hpp once per SIMD target, so its guard is a toggle.
  static const std::regex toggle(R"(^\s*#.*\bHWY_TARGET_TOGGLE\b.*)");
  const bool per_target = name.ends_with("-inl.hpp");
  std::ifstream file(path);
  bool once = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    once = once || std::regex_match(line, per_target ? toggle : pragma_once);
    std::smatch match;
    std::string wrong;
    if (std::regex_match(line, match, include)) {
      wrong = wrong_include(name, match[2], match[1] == "\"", doors);
    } else if (std::regex_match(line, match, opens)) {
      wrong = wrong_namespace(name, match[1]);
    }
    if (!wrong.empty()) broken.push_back(name + ":" + std::to_string(number) + ": " + wrong);
  }
  if (path.extension() == ".hpp" && !once)
    broken.push_back(name + (per_target ? ": no HWY_TARGET_TOGGLE" : ": no #pragma once"));
}

/// Types by their full name, and the header that defines each.
using Types = std::map<std::string, std::string>;

/// Two types of one name in one namespace: the linker keeps the functions of one of them.
void check_types(const fs::path& path, const std::string& name, Types& types,
                 std::vector<std::string>& broken) {
  static const std::regex opens(R"(namespace ([\w:]+) \{.*)");
  static const std::regex defines(R"((?:struct|class|union|enum class|enum) (\w+)[^;]*\{.*)");
  std::ifstream stream(path);
  std::string where;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    std::smatch match;
    if (std::regex_match(line, match, opens)) where = match[1].str() + "::";
    if (!std::regex_match(line, match, defines)) continue;
    const auto [found, is_new] = types.emplace(where + match[1].str(), name);
    if (is_new || found->second == name) continue;  // one per SIMD target
    broken.push_back(name + ":" + std::to_string(number) + ": " + match[1].str() + " is also in " +
                     found->second);
  }
}

/// The words that begin with "--" in the string literals of a line of code.
std::vector<std::string> flags_in_strings(const std::string& line) {
  static const std::regex literal(R"re("(?:[^"\\]|\\.)*")re");
  static const std::regex flag("--[a-z][a-z-]*");
  const std::string code = line.substr(0, line.find("// "));
  std::vector<std::string> flags;
  const std::sregex_iterator end;
  for (std::sregex_iterator at(code.begin(), code.end(), literal); at != end; ++at) {
    const std::string text = at->str();
    for (std::sregex_iterator in(text.begin(), text.end(), flag); in != end; ++in) {
      flags.push_back(in->str());
    }
  }
  return flags;
}

}  // namespace

Doors parse_doors(const std::string& text) {
  Doors doors;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("not room=doors: " + line);
    const std::string room = line.substr(0, equals);
    std::set<std::string> open{room};
    for (const std::string& door : split(line.substr(equals + 1), ',')) {
      if (!doors.contains(door))
        throw std::invalid_argument(room + ": no room before it is called " + door);
      open.insert(doors.at(door).begin(), doors.at(door).end());
    }
    doors[room] = open;
  }
  return doors;
}

std::vector<fs::path> source_files(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (entry.is_regular_file() && (extension == ".cpp" || extension == ".hpp"))
      files.push_back(entry);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> broken_rules(const fs::path& src, const Doors& doors) {
  std::vector<std::string> broken;
  Types types;
  for (const fs::path& path : source_files(src)) {
    const std::string name = path.lexically_relative(src).generic_string();
    if (name != "main.cpp" && !doors.contains(first_folder(name))) {
      broken.push_back(name + ": in no room");
      continue;
    }
    check_file(path, name, doors, broken);
    if (path.extension() == ".hpp") check_types(path, name, types, broken);
  }
  return broken;
}

std::vector<std::string> flags_outside_cli(const fs::path& src) {
  // npm, tar, mpirun and srun have flags of their own
  static const std::set<std::string> others{
      "--ignore-scripts", "--no-same-owner", "--no-same-permissions", "--map-by",
      "--distribution",   "--mpi",           "--ntasks-per-node"};
  std::vector<std::string> found;
  for (const fs::path& path : source_files(src)) {
    const std::string name = path.lexically_relative(src).generic_string();
    if (first_folder(name) == "cli") continue;
    std::ifstream file(path);
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      for (const std::string& flag : flags_in_strings(line)) {
        if (others.contains(flag)) continue;
        found.push_back(name + ":" + std::to_string(number) + ": " + flag +
                        " is a flag; write the setting's key between backticks");
      }
    }
  }
  return found;
}

std::vector<std::string> files_without_statement(const fs::path& folder) {
  static const std::regex statement(R"(//( +\S+){3,} *)");
  std::vector<std::string> found;
  for (const fs::path& path : source_files(folder)) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    if (std::regex_match(line, statement)) continue;
    found.push_back(path.lexically_relative(folder).generic_string() +
                    ": does not begin with a comment that says what it is");
  }
  return found;
}

}  // namespace plait::house
