// What plait exports, computed elsewhere: onnxruntime gives the same logits. It comes from npm,
// into the build folder, the first time; where that cannot be, the test is skipped.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cli/process.hpp"
#include "onnx/example_models.hpp"
#include "onnx/file.hpp"
#include "onnx/onnx_testing.hpp"
#include "onnx/to_graph.hpp"

namespace plait::onnx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPackage = "onnxruntime-node@1.30.0";

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

/// "" once it is there; otherwise why not.
std::string install_runtime(const fs::path& folder) {
  const fs::path binaries = folder / "node_modules" / "onnxruntime-node" / "bin" / "napi-v6";
  const fs::path done = folder / kPackage;
  if (fs::exists(done)) return "";
  fs::create_directories(folder);
  // --ignore-scripts: its script would only fetch the parts for GPUs.
  const cli::Ended npm = cli::run(
      {.command = {"/usr/bin/env", "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
                   "--fetch-retries", "1", "--prefix", folder.string(), kPackage},
       .directory = folder,
       .timeout_seconds = 100});
  if (npm.timed_out) return "npm install takes too long";
  if (npm.exit_code != 0) return "npm install failed: " + last_line(npm.err);
  for (const char* other : {"darwin", "win32", "linux/arm64"}) fs::remove_all(binaries / other);
  write_text(done, "");
  return "";
}

std::string bytes_of(const tensor::Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()};
}

TEST(OnnxRuntime, ComputesWhatPlaitComputes) {
  if (!onnx_graph::has_onnx()) GTEST_SKIP() << "this plait is built without libonnx";
  const fs::path runtime = PLAIT_NODE_DIR;
  if (const std::string reason = install_runtime(runtime); !reason.empty()) {
    GTEST_SKIP() << "no onnxruntime to compare with: " << reason;
  }
  const TempFolder temp;
  std::vector<std::vector<float>> wanted;
  const std::vector<Example> all = outward_examples();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const graph::ModelSpec& model = all[i].model;
    const std::vector<checkpoint::NamedTensor> weights = lively_weights(model);
    const tensor::Tensor images = noise(model.input.with_front(3));
    wanted.push_back(logits_of(model, weights, images));
    const std::string stem = (temp.path() / std::to_string(i)).string();
    onnx_graph::write_onnx(stem + ".onnx", to_onnx(model, weights, "w"));
    write_text(stem + ".in", bytes_of(images));
    write_text(stem + ".shape", images.shape().to_string());
  }
  const fs::path script = fs::path(PLAIT_SOURCE_DIR) / "tests" / "onnx" / "run_onnx.js";
  const cli::Ended node =
      cli::run({.command = {"/usr/bin/env", "node", script.string(), temp.path().string()},
                .directory = runtime,
                .environment = {{"NODE_PATH", (runtime / "node_modules").string()}},
                .timeout_seconds = 100});
  ASSERT_EQ(node.exit_code, 0) << node.err;
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name);
    const std::string out = read_text(temp.path() / (std::to_string(i) + ".out"));
    ASSERT_EQ(out.size(), wanted[i].size() * sizeof(float));
    std::vector<float> theirs(wanted[i].size());
    std::memcpy(theirs.data(), out.data(), out.size());
    float scale = 1;
    ASSERT_TRUE(std::ranges::all_of(wanted[i], [](float x) { return std::isfinite(x); }));
    for (const float x : wanted[i]) scale = std::max(scale, std::abs(x));
    for (std::size_t k = 0; k < theirs.size(); ++k) {
      EXPECT_NEAR(theirs[k], wanted[i][k], all[i].tolerance * scale) << k;
    }
  }
}

}  // namespace
}  // namespace plait::onnx
