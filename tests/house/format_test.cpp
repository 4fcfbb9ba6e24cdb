// Every C++ file of the tree is as clang-format 14 (Debian 12's) would write it; `./run format`
// mends it. Other versions differ in details, so without that one the test is skipped.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "house/house.hpp"
#include "temp_folder.hpp"

namespace plait::house {
namespace {

namespace fs = std::filesystem;

struct Ran {
  int status = -1;
  std::string output;
};

Ran run(const std::string& command) {
  Ran ran;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) ran.output += buffer.data();
  ran.status = pclose(pipe);
  return ran;
}

/// "" where there is no clang-format 14.
std::string formatter() {
  for (const std::string name : {"clang-format-14", "clang-format"}) {
    if (run(name + " --version").output.find("version 14.") != std::string::npos) return name;
  }
  return "";
}

Ran check_format(const std::string& program, const std::vector<fs::path>& files) {
  std::string command =
      program + " --dry-run -Werror --style=file:" PLAIT_SOURCE_DIR "/.clang-format";
  for (const fs::path& file : files) command += " '" + file.string() + "'";
  return run(command);
}

TEST(Format, OfEveryFileIsClangFormats) {
  const std::string program = formatter();
  if (program.empty())
    GTEST_SKIP() << "clang-format 14 is not installed: apt-get install clang-format-14";
  std::vector<fs::path> files;
  for (const char* folder : {"src", "tests", "bench"}) {
    const auto found = source_files(fs::path(PLAIT_SOURCE_DIR) / folder);
    files.insert(files.end(), found.begin(), found.end());
  }
  ASSERT_FALSE(files.empty());
  const Ran ran = check_format(program, files);
  EXPECT_EQ(ran.status, 0) << ran.output << "Run ./run format and commit the result.";
}

TEST(Format, CheckNoticesAFileThatIsNotFormatted) {
  const std::string program = formatter();
  if (program.empty())
    GTEST_SKIP() << "clang-format 14 is not installed: apt-get install clang-format-14";
  const TempFolder folder;
  const fs::path file = folder.path() / "badly_formatted.cpp";
  write_text(file, "int  f( ){return 1 ;}\n");
  EXPECT_NE(check_format(program, {file}).status, 0);
}

}  // namespace
}  // namespace plait::house
