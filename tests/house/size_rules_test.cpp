// The size rules: shown to fail on made-up files, then asked about the real tree.
#include "house/size_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "house/house.hpp"
#include "temp_folder.hpp"

namespace plait::house {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> counted(const std::string& text, int most) {
  const TempFolder folder;
  write_text(folder.path() / "a.cpp", text);
  return functions_with_more_parameters_than(folder.path(), most);
}

TEST(ParameterCount, IsOfDeclarationsAndDefinitions) {
  EXPECT_THAT(counted("int f(int a, int b);\n\nvoid g(int a,\n       std::map<int, int> b, int c)\n"
                      "{}\nstruct S {\n  S(int a, int b, int c) : x(a) {}\n};\n",
                      2),
              ElementsAre("a.cpp:3: g has 3 parameters", "a.cpp:7: S has 3 parameters"));
}

TEST(ParameterCount, LeavesOutCallsCommentsAndTexts) {
  EXPECT_THAT(counted("// f(a, b, c)\n#define F(a, b, c) f(a, b, c)\n"
                      "void f() {\n  g(1, 2, 3);\n  const char* text = \"h(1, 2, 3)\";\n}\n"
                      "const int x{f(1, 2, 3)};\nint none();\n",
                      2),
              IsEmpty());
}

TEST(ParameterCount, TakesABracedOrBracketedDefaultForOneParameter) {
  EXPECT_THAT(
      counted("void f(Point p = {1, 2, 3}, std::function<int(int, int)> g = nullptr);\n", 2),
      IsEmpty());
}

TEST(FileLength, IsCountedInLines) {
  const TempFolder folder;
  write_text(folder.path() / "a.hpp", "1\n2\n3\n");
  write_text(folder.path() / "b.hpp", "1\n2\n");
  EXPECT_THAT(files_longer_than(folder.path(), 2), ElementsAre("a.hpp: 3 lines"));
}

bool begins_with_one_of(const std::string& line, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return line.starts_with(name); });
}

TEST(House, KeepsItsFilesShort) {
  const std::vector<std::string> exceptions{
      "kernels/onednn/convolution.cpp",      // one class: which kernel computes which task
      "kernels/sparse/product_kernels.cpp",  // compiled once per instruction set
      "strategy/pipeline/self_timed.cpp",    // one class: the event loop and its limits
  };
  const fs::path src = fs::path(PLAIT_SOURCE_DIR) / "src";
  for (const std::string& line : files_longer_than(src, 280)) {
    if (!begins_with_one_of(line, exceptions)) {
      ADD_FAILURE() << "src/" << line << ": split it by concern (about 250 are enough)";
    }
  }
}

TEST(House, KeepsItsParameterListsShort) {
  const std::vector<std::string> exceptions{
      "kernels/winograd/",           // inner kernels: pointers, strides and counts in registers
      "kernels/sparse/",             // the same
      "partition/zoltan/zoltan.cpp"  // callbacks whose form Zoltan prescribes
  };
  const fs::path src = fs::path(PLAIT_SOURCE_DIR) / "src";
  ASSERT_FALSE(source_files(src).empty());
  for (const std::string& line : functions_with_more_parameters_than(src, 5)) {
    if (!begins_with_one_of(line, exceptions)) {
      ADD_FAILURE() << "src/" << line << ": at most 5, a struct with names holds more";
    }
  }
}

}  // namespace
}  // namespace plait::house
