// plait models NAME --picture: a drawn graph, its text, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/process.hpp"
#include "data/process.hpp"

namespace plait::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ModelPicture : public ::testing::Test {
 protected:
  Ended draw(const Words& words, const std::string& path = "") const {
    Process process = plait_process(folder_.path(), Words{"models"} + words);
    if (!path.empty()) process.environment = {{"PATH", path}};
    return run(process);
  }
  std::string written(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_.path() / name).rdbuf();
    return text.str();
  }
  TempFolder folder_;
};

TEST_F(ModelPicture, IsTextWithoutGraphviz) {
  const Ended ended = draw({"unet:8", "--picture", "u.dot"}, "/nowhere");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(written("u.dot"), AllOf(StartsWith("digraph \"unet:8\""), HasSubstr("10x32x32")));
}

TEST_F(ModelPicture, NamesThePackageThatIsMissing) {
  const Ended ended = draw({"unet:8", "--picture", "u.svg"}, "/nowhere");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("install the package graphviz"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "u.svg"));
}

TEST_F(ModelPicture, IsDrawnByGraphviz) {
  if (!data::on_path("dot")) GTEST_SKIP() << "Graphviz is not installed";
  const Ended ended = draw({"squeezenet", "--picture", "s.svg"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(written("s.svg"), AllOf(HasSubstr("<svg"), HasSubstr("features.12.expand3x3")));
}

TEST_F(ModelPicture, RefusesOtherFilesAndPlaces) {
  const Ended png = draw({"lenet", "--picture", "l.png"});
  EXPECT_EQ(png.exit_code, 2);
  EXPECT_THAT(png.err, HasSubstr("FILE.svg"));
  EXPECT_EQ(draw({"lenet", "--picture", "none/l.dot"}).exit_code, 2);
  EXPECT_EQ(draw({"--picture", "l.dot"}).exit_code, 2);
}

}  // namespace
}  // namespace plait::cli
