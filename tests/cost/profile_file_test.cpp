// Profiles on disk: written and read back as they were, what plait profile --json writes, and a
// table of files that are refused.
#include "cost/profile_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "cost/cost_testing.hpp"
#include "cost/open_profile.hpp"
#include "temp_folder.hpp"

namespace plait::cost {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

ProfileFile sample_profile() {
  const auto point = [](std::int64_t batch, double scale) {
    return ProfilePoint{.batch = batch,
                        .blocks = {{.name = "conv1",
                                    .forward_ms = 1.5 * scale,
                                    .backward_data_ms = 0,
                                    .backward_weights_ms = 1.25 * scale,
                                    .update_ms = 0.01,
                                    .macs = 1000 * batch,
                                    .parameters = 520,
                                    .dst_bytes = 40 * batch},
                                   {.name = "fc",
                                    .forward_ms = 0.1 * scale,
                                    .backward_data_ms = 0.3 * scale,
                                    .backward_weights_ms = 1.0 / 3 * scale}},
                        .loss_ms = 0.05,
                        .load_ms = 0.02,
                        .step_ms = 7};
  };
  return {.model = "lenet",
          .network_hash = "0123456789abcdef",
          .data_shape = "1x28x28",
          .classes = 10,
          .threads = 2,
          .steps = 10,
          .points = {point(64, 1), point(16, 0.3)},
          .contention = {.workers = 2, .factor = 1.125},
          .sum_bytes_per_second = 8e9};
}

class ProfileFolder : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  const TempFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(ProfileFolder, AProfileComesBackAsItWas) {
  ProfileFile profile = sample_profile();
  profile.source = (folder_ / "p.json").string();
  write_profile(profile, profile.source);
  EXPECT_EQ(read_profile(profile.source), profile);
}

TEST(ProfileFile, KeepsTheDocumentedKeysAtTheTop) {
  const json root = json::parse(print_profile(sample_profile()));
  EXPECT_EQ(root.at("format"), "plait-profile-1");
  EXPECT_EQ(root.at("model"), "lenet");
  EXPECT_EQ(root.at("batch"), 64);
  EXPECT_EQ(root.at("threads"), 2);
  EXPECT_EQ(root.at("loss_ms"), 0.05);
  EXPECT_EQ(root.at("step_ms"), 7);
  EXPECT_EQ(root.at("blocks").size(), 2U);
  EXPECT_EQ(root.at("blocks")[0].at("name"), "conv1");
  EXPECT_EQ(root.at("blocks")[0].at("forward_ms"), 1.5);
  EXPECT_EQ(root.at("blocks")[0].at("backward_weights_ms"), 1.25);
  EXPECT_NEAR(root.at("sum_ms"), 1.5 + 1.25 + 0.01 + 0.1 + 0.3 + 1.0 / 3 + 0.05, 1e-12);
  EXPECT_EQ(root.at("points").size(), 1U);
  EXPECT_EQ(root.at("points")[0].at("batch"), 16);
}

TEST(ProfileFile, ReadsWhatPlaitProfileWroteBeforeTheFormatHadAName) {
  const ProfileFile profile = parse_profile(
      R"({"model":"linear","data_shape":"1x28x28","classes":10,"batch":64,"threads":1,"steps":10,
          "blocks":[{"name":"fc","forward_ms":0.2,"backward_data_ms":0.1,"backward_weights_ms":0.3,
                     "update_ms":0.01,"macs":501760,"parameters":7850,"dst_bytes":2560}],
          "loss_ms":0.01,"sum_ms":0.62,"step_ms":0.65})",
      "old.json");
  EXPECT_EQ(profile.network_hash, "");
  ASSERT_EQ(profile.points.size(), 1U);
  EXPECT_EQ(profile.points[0].batch, 64);
  EXPECT_EQ(profile.points[0].blocks.at(0).parameters, 7850);
  EXPECT_EQ(profile.contention, ProfileContention{});
}

struct BadProfile {
  std::string name;
  std::function<void(json&)> damage;
  std::string message;
};

class BadProfiles : public testing::TestWithParam<BadProfile> {};

TEST_P(BadProfiles, AreRefusedInOneLineWithTheFilesName) {
  json root = json::parse(print_profile(sample_profile()));
  GetParam().damage(root);
  const std::string message = refusal([&] { parse_profile(root.dump(), "dir/p.json"); });
  EXPECT_THAT(message, StartsWith("dir/p.json: "));
  EXPECT_THAT(message, HasSubstr(GetParam().message));
  EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    ProfileFile, BadProfiles,
    testing::Values(
        BadProfile{"OtherFormat", [](json& r) { r["format"] = "plait-profile-9"; },
                   "its format is 'plait-profile-9'; this plait reads plait-profile-1"},
        BadProfile{"AList", [](json& r) { r = json::array(); }, "a JSON object is expected"},
        BadProfile{"NoModel", [](json& r) { r.erase("model"); }, "'model' is missing"},
        BadProfile{"NoBlocks", [](json& r) { r.erase("blocks"); }, "'blocks' is missing"},
        BadProfile{"EmptyBlocks", [](json& r) { r["blocks"] = json::array(); }, "no blocks"},
        BadProfile{"BlocksNoList", [](json& r) { r["blocks"] = 3; }, "'blocks' is not a list"},
        BadProfile{"ABlockNoObject", [](json& r) { r["blocks"][1] = 3; },
                   "blocks[1]: a JSON object is expected"},
        BadProfile{"NoName", [](json& r) { r["blocks"][1].erase("name"); },
                   "blocks[1]: the key 'name' is missing"},
        BadProfile{"NegativeTime", [](json& r) { r["blocks"][1]["forward_ms"] = -0.5; },
                   "blocks[1]: forward_ms is -0.5"},
        BadProfile{"NanTime", [](json& r) { r["blocks"][0]["forward_ms"] = std::nan(""); },
                   "'forward_ms' is not a number"},
        BadProfile{"HugeTime", [](json& r) { r["step_ms"] = 1e300; }, "step_ms is 1e+300"},
        BadProfile{"TimeAsText", [](json& r) { r["loss_ms"] = "5"; }, "'loss_ms' is not a number"},
        BadProfile{"BatchZero", [](json& r) { r["batch"] = 0; }, "batch is 0"},
        BadProfile{"BatchHuge", [](json& r) { r["batch"] = std::uint64_t{1} << 63; },
                   "batch is 9223372036854775808"},
        BadProfile{"BatchBroken", [](json& r) { r["batch"] = 1.5; }, "not a whole number"},
        BadProfile{"MacsNegative", [](json& r) { r["blocks"][0]["macs"] = -1; }, "macs is -1"},
        BadProfile{"ThreadsZero", [](json& r) { r["threads"] = 0; }, "threads is 0"},
        BadProfile{"BatchTwice", [](json& r) { r["points"][0]["batch"] = 64; },
                   "batch 64 occurs twice"},
        BadProfile{"FewerBlocks", [](json& r) { r["points"][0]["blocks"].erase(1); },
                   "1 blocks at batch 16 but 2 at batch 64"},
        BadProfile{"OtherName", [](json& r) { r["points"][0]["blocks"][1]["name"] = "x"; },
                   "block 1 is 'x' at batch 16 but 'fc' at batch 64"},
        BadProfile{"PointNegative", [](json& r) { r["points"][0]["loss_ms"] = -1; },
                   "points[0]: loss_ms is -1"},
        BadProfile{"Shape", [](json& r) { r["data_shape"] = "3x-1"; }, "data_shape is '3x-1'"},
        BadProfile{"Workers", [](json& r) { r["contention"]["workers"] = 0; },
                   "contention: workers is 0"},
        BadProfile{"Factor", [](json& r) { r["contention"]["factor"] = -2; },
                   "contention: factor is -2"},
        BadProfile{"SumRate", [](json& r) { r["sum_bytes_per_second"] = -1; },
                   "sum_bytes_per_second is -1"}),
    [](const auto& one) { return one.param.name; });

TEST(ProfileFile, RefusesTextThatIsNoJson) {
  const auto message = [](std::string_view text) {
    return refusal([&] { parse_profile(text, "p.json"); });
  };
  EXPECT_THAT(message(""), HasSubstr("p.json: not valid JSON"));
  EXPECT_THAT(message("{\"model\":"), HasSubstr("p.json: not valid JSON"));
  EXPECT_THAT(message("{\"batch\":1e999}"), HasSubstr("p.json: "));
  EXPECT_THAT(message(std::string_view("{}\0{}", 5)), HasSubstr("zero byte"));
  EXPECT_THAT(message(std::string(100'000, '[')), HasSubstr("nested deeper than"));
  const std::string whole = print_profile(sample_profile());
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    EXPECT_THAT(message(whole.substr(0, length)), HasSubstr("p.json: ")) << length;
  }
}

TEST_F(ProfileFolder, FilesThatCannotBeReadOrWrittenAreNamed) {
  const std::string missing = (folder_ / "none.json").string();
  EXPECT_THAT(refusal([&] { read_profile(missing); }), HasSubstr(missing + ": cannot be opened"));
  EXPECT_THAT(refusal([&] { read_profile(folder_.string()); }), HasSubstr("is a folder"));
  EXPECT_THAT(refusal([&] { write_profile(sample_profile(), missing + "/p.json"); }),
              HasSubstr("cannot write '" + missing + "/p.json'"));
}

TEST_F(ProfileFolder, AnOpenedProfileIsOfTheKindItsTextShows) {
  const std::string ours = write("ours", "  \n" + print_profile(sample_profile()));
  EXPECT_TRUE(std::holds_alternative<ProfileFile>(open_profile(ours)));
  const std::string theirs = write(
      "theirs",
      "node1 -- Input -- forward_compute_time=1, backward_compute_time=0, activation_size=512, "
      "parameter_size=0\n"
      "node2 -- ReLU -- forward_compute_time=1, backward_compute_time=0, activation_size=512, "
      "parameter_size=0\n\tnode1 -- node2\n");
  EXPECT_TRUE(std::holds_alternative<PublishedProfile>(open_profile(theirs)));
  EXPECT_THAT(refusal([&] { open_profile(write("neither", "epoch,loss\n1,2\n")); }),
              HasSubstr("neither:1: 'epoch,loss' is neither a node nor an edge"));
}

}  // namespace
}  // namespace plait::cost
