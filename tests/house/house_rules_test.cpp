// The house rules: shown to fail on small made-up trees, then asked about the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "house/house.hpp"
#include "temp_folder.hpp"

namespace plait::house {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A tree of its own for each test, with three rooms: base <- tensor <- graph, and data <- base.
class MadeUpTree : public ::testing::Test {
 protected:
  MadeUpTree() {
    add("base/error.hpp", "#pragma once\n");
    add("tensor/shape.hpp", "// A shape.\n#pragma once\n#include \"base/error.hpp\"\n");
    add("graph/spec.cpp", "#include \"base/error.hpp\"\n#include \"tensor/shape.hpp\"\n");
  }

  void add(const std::string& name, const std::string& text) const {
    fs::create_directories((src_ / name).parent_path());
    write_text(src_ / name, text);
  }
  std::vector<std::string> broken() const { return broken_rules(src_, doors_); }

  const TempFolder temporary_;
  const fs::path src_ = temporary_.path();
  Doors doors_ = parse_doors("base=\ntensor=base\ngraph=tensor\ndata=base\ncli=graph,data\n");
};

TEST_F(MadeUpTree, HasNothingToComplainAbout) { EXPECT_THAT(broken(), IsEmpty()); }

TEST_F(MadeUpTree, AnIncludeAgainstTheDoorsIsNamedWithItsLine) {
  add("base/bad.cpp", "\n#include <vector>\n#include \"tensor/shape.hpp\"\n");
  EXPECT_THAT(broken(), ElementsAre("base/bad.cpp:3: base may not include tensor/shape.hpp"));
}

TEST_F(MadeUpTree, AngleBracketsAndSpacesDoNotHideAnInclude) {
  add("data/bad.cpp", "  #  include <tensor/shape.hpp>\n");
  EXPECT_THAT(broken(), ElementsAre("data/bad.cpp:1: data may not include tensor/shape.hpp"));
}

TEST_F(MadeUpTree, ACommentIsNoInclude) {
  add("base/good.cpp", "// #include \"tensor/shape.hpp\"\n");
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(MadeUpTree, AnIncludeThatIsNotWrittenFromSrcIsRefused) {
  add("tensor/bad.cpp", "#include \"shape.hpp\"\n");
  EXPECT_THAT(broken(),
              ElementsAre(HasSubstr("tensor/bad.cpp:1: \"shape.hpp\" is not a file of src/")));
}

TEST_F(MadeUpTree, AFileOutsideTheRoomsIsRefused) {
  add("stray.hpp", "#pragma once\n");
  add("attic/old.cpp", "");
  add("main.cpp", "#include \"graph/spec.cpp\"\n");
  EXPECT_THAT(broken(), ElementsAre("attic/old.cpp: in no room", "stray.hpp: in no room"));
}

TEST_F(MadeUpTree, AHeaderWithoutPragmaOnceIsRefused) {
  add("base/bad.hpp", "// #pragma once\nint x();\n");
  EXPECT_THAT(broken(), ElementsAre("base/bad.hpp: no #pragma once"));
}

TEST_F(MadeUpTree, AHeaderReadOncePerSimdTargetHasAToggleAsGuard) {
  add("graph/good-inl.hpp", "#if defined(X) == defined(HWY_TARGET_TOGGLE)\n#endif\n");
  add("graph/bad-inl.hpp", "#pragma once\n");
  EXPECT_THAT(broken(), ElementsAre("graph/bad-inl.hpp: no HWY_TARGET_TOGGLE"));
}

TEST_F(MadeUpTree, AThirdPartyHeaderStaysInItsRoom) {
  const std::pair<std::string, std::string> bad[] = {
      {"graph/a.cpp", "dnnl.hpp"},         {"data/a.cpp", "toml++/toml.h"},
      {"graph/b.cpp", "CLI/CLI.hpp"},      {"graph/c.cpp", "curl/curl.h"},
      {"data/b.cpp", "nlohmann/json.hpp"}, {"base/a.cpp", "oneapi/dnnl/dnnl.hpp"},
      {"graph/d.cpp", "hwy/highway.h"},    {"data/c.cpp", "zoltan.h"},
      {"cli/a.cpp", "httplib.h"}};
  for (const auto& [file, header] : bad) {
    add(file, "#include <" + header + ">\n");
    EXPECT_THAT(broken(), ElementsAre(HasSubstr(file + ":1: " + header + " belongs in"))) << file;
    fs::remove(src_ / file);
  }
}

TEST_F(MadeUpTree, AThirdPartyHeaderIsWelcomeInItsRoom) {
  add("graph/a.cpp", "#include <toml++/toml.h>\n");
  add("data/a.cpp", "#include <curl/curl.h>\n#include <zlib.h>\n");
  add("cli/a.cpp",
      "#include <CLI/CLI.hpp>\n#include <nlohmann/json.hpp>\n#include \"data/a.cpp\"\n");
  EXPECT_THAT(broken(), IsEmpty());
}

TEST(Doors, OpenWhatTheyNameAndWhatThatOpens) {
  const Doors doors = parse_doors("base=\ntensor=base\ngraph=tensor\n");
  EXPECT_THAT(doors.at("base"), ElementsAre("base"));
  EXPECT_THAT(doors.at("graph"), ElementsAre("base", "graph", "tensor"));
}

TEST(Doors, MayNotFormACycle) {
  EXPECT_THROW(parse_doors("base=tensor\ntensor=base\n"), std::invalid_argument);
}

TEST_F(MadeUpTree, TwoTypesOfOneNameAreRefused) {
  add("data/a.hpp",
      "#pragma once\nnamespace plait::data {\nstruct Thing {\n  struct Part {};\n};\n}\n");
  add("data/b.hpp",
      "#pragma once\nnamespace plait::data {\nclass Thing : Other {\n  struct Part {};\n};\n}\n");
  add("data/c.hpp", "#pragma once\nnamespace plait::data {\nclass Thing;\n}\n");
  EXPECT_THAT(broken(), ElementsAre("data/b.hpp:3: Thing is also in data/a.hpp"));
}

TEST_F(MadeUpTree, ARoomHasItsNamespace) {
  add("base/a.cpp", "namespace plait {\n}\n");
  add("data/a.cpp", "namespace plait::data {\nnamespace {\n}\n}\nnamespace std {\n}\n");
  add("data/b.cpp", "namespace plait::data::inner {\n}\n");
  add("data/c.cpp", "\nnamespace plait {\n}\n");
  add("data/d.cpp", "namespace plait::tensor {\n}\n");
  EXPECT_THAT(broken(),
              ElementsAre("data/c.cpp:2: namespace plait where its room's is plait::data",
                          "data/d.cpp:1: namespace plait::tensor where its room's is plait::data"));
}

TEST_F(MadeUpTree, TwoRoomsMayUseOneWord) {
  add("base/a.hpp", "#pragma once\nnamespace plait {\nstruct Thing {\n};\n}\n");
  add("data/b.hpp", "#pragma once\nnamespace plait::data {\nstruct Thing {\n};\n}\n");
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(MadeUpTree, AFileBeginsWithWhatItIs) {
  add("base/good.cpp", "// Numbers as text.\n#include <string>\n");
  add("base/late.cpp", "#include <string>\n// Numbers as text, too late.\n");
  add("base/mute.cpp", "//\n// Numbers as text.\n");
  add("base/short.cpp", "// Numbers.\n");
  add("base/empty.cpp", "");
  const auto wrong = [](const std::string& file) {
    return file + ": does not begin with a comment that says what it is";
  };
  EXPECT_THAT(files_without_statement(src_ / "base"),
              ElementsAre(wrong("empty.cpp"), wrong("error.hpp"), wrong("late.cpp"),
                          wrong("mute.cpp"), wrong("short.cpp")));
}

TEST_F(MadeUpTree, OnlyCliWritesFlags) {
  add("base/bad.cpp", "int x;\nf(\"add --nodes 2\", \"or --lr-scale\");\n");
  add("base/good.cpp", "// \"--nodes\"\nf(\"`nodes` - --\", --x);  // as \"--nodes\"\n");
  add("data/good.cpp", "f(\"npm --ignore-scripts\");\n");
  add("cli/good.cpp", "f(\"add --nodes 2\");\n");
  EXPECT_THAT(flags_outside_cli(src_), ElementsAre(HasSubstr("base/bad.cpp:2: --nodes"),
                                                   HasSubstr("base/bad.cpp:2: --lr-scale")));
}

TEST(House, WritesFlagsInCliOnly) {
  for (const std::string& line : flags_outside_cli(fs::path(PLAIT_SOURCE_DIR) / "src")) {
    ADD_FAILURE() << "src/" << line;
  }
}

TEST(House, SaysOfEveryFileWhatItIs) {
  for (const char* folder : {"src", "tests"}) {
    const fs::path root = fs::path(PLAIT_SOURCE_DIR) / folder;
    ASSERT_FALSE(source_files(root).empty());
    for (const std::string& line : files_without_statement(root)) {
      ADD_FAILURE() << folder << "/" << line;
    }
  }
}

TEST(House, KeepsItsRules) {
  const fs::path src = fs::path(PLAIT_SOURCE_DIR) / "src";
  ASSERT_FALSE(source_files(src).empty());
  for (const std::string& line : broken_rules(src, parse_doors(read_text(PLAIT_DOORS_FILE)))) {
    ADD_FAILURE() << "src/" << line;
  }
}

}  // namespace
}  // namespace plait::house
