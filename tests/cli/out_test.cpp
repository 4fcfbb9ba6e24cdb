// Every file a verb writes: links, FIFOs and devices in its place stay what they are, and nothing
// half written is left. Device nodes are of the test's own making.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "checkpoint/atomic_file.hpp"
#include "cli/interrupt.hpp"
#include "cli/process.hpp"
#include "onnx/file.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A verb that writes one file: its words, to which the file's name is added.
struct Writer {
  std::string suffix;
  Words words;
};

const Words kRadix{"--model", "radixnet:64x4", "--quiet"};

class Out : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  Ended plait(const Words& words) const { return run_plait(folder_.path(), words); }
  void make_run() const {
    const Ended ended = plait({"train",
                               "--model",
                               "lenet",
                               "--data",
                               "glyphs",
                               "--batch",
                               "32",
                               "--train-limit",
                               "64",
                               "--test-limit",
                               "32",
                               "--epochs",
                               "1",
                               "--threads",
                               "1",
                               "--quiet",
                               "--run-dir",
                               "run",
                               "--schedule-picture",
                               "picture.svg"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
  }
  std::vector<Writer> writers() const {
    std::vector<Writer> all{
        {".safetensors", {"export", "--run", "run", "--out"}},
        {".safetensors", Words{"partition", "--parts", "2"} + kRadix + Words{"--out"}},
        {".svg", Words{"partition", "--parts", "2"} + kRadix + Words{"--picture"}},
        {".json", {"profile", "--model", "linear", "--batch", "4", "--steps", "2", "--out"}},
        {".json", {"plan", "--model", "lenet", "--strategies", "serial", "--trace"}},
        {".svg", {"plan", "--model", "lenet", "--strategies", "serial", "--schedule-picture"}},
        {".html", {"report", "run", "--out"}},
        {".tsv", {"infer", "--model", "radixnet:1024x4", "--count", "60", "--out"}}};
    if (onnx::onnx_graph::has_onnx()) all.push_back({".onnx", {"export", "--run", "run", "--out"}});
    return all;
  }
  bool make_device(const fs::path& where, unsigned minor) const {
    if (mknod(where.c_str(), S_IFCHR | 0666, makedev(1, minor)) != 0) return false;
    const int fd = open(where.c_str(), O_WRONLY);
    if (fd >= 0) close(fd);
    return fd >= 0;
  }

  TempFolder folder_;
};

TEST_F(Out, LinksStayAndTheirTargetsAreWritten) {
  make_run();
  for (const Writer& writer : writers()) {
    fs::create_directory(path("real"));
    const std::string name = "link" + writer.suffix;
    fs::create_symlink("real/file", path(name));
    const Ended ended = plait(writer.words + Words{name});
    const std::string what = writer.words.front() + " " + writer.words.back();
    EXPECT_EQ(ended.exit_code, 0) << what << ": " << ended.err;
    EXPECT_TRUE(fs::is_symlink(path(name))) << what;
    EXPECT_TRUE(fs::is_regular_file(path("real/file"))) << what;
    EXPECT_GT(fs::file_size(path("real/file")), 0u) << what;
    EXPECT_EQ(entries_in(path("real")), 1u) << what;
    fs::remove_all(path("real"));
    fs::remove(path(name));
  }
}

TEST_F(Out, DevicesStayAndAFullOneIsOneLine) {
  make_run();
  for (const Writer& writer : writers()) {
    if (!make_device(path("null"), 3) || !make_device(path("full"), 7)) {
      GTEST_SKIP() << "no device nodes may be made here";
    }
    const std::string what = writer.words.front() + " " + writer.words.back();
    Words words = writer.words;
    if (writer.suffix == ".onnx" || writer.suffix == ".safetensors") {
      if (words.front() == "export") words.insert(words.begin() + 1, "--onnx");
    }
    if (words[1] == "--onnx" && !onnx::onnx_graph::has_onnx()) continue;
    const std::size_t before = entries_in(folder_.path());
    Ended ended = plait(words + Words{"null"});
    EXPECT_EQ(ended.exit_code, 0) << what << ": " << ended.err;
    ended = plait(words + Words{"full"});
    EXPECT_EQ(ended.exit_code, 2) << what << ": " << ended.err;
    EXPECT_EQ(plait_lines(ended.err).size(), 1u) << what << ": " << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("cannot write 'full': No space left on device")) << what;
    EXPECT_TRUE(fs::is_character_file(path("null"))) << what;
    EXPECT_TRUE(fs::is_character_file(path("full"))) << what;
    EXPECT_EQ(entries_in(folder_.path()), before) << what;
    fs::remove(path("null"));
    fs::remove(path("full"));
  }
}

TEST_F(Out, AFifoGetsTheBytesAndStays) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const int reader = open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  fcntl(reader, F_SETPIPE_SZ, 1 << 20);
  const Ended ended = plait({"infer", "--model", "radixnet:1024x4", "--out", "fifo"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  char first = 0;
  EXPECT_EQ(read(reader, &first, 1), 1);
  close(reader);
  EXPECT_TRUE(fs::is_fifo(path("fifo")));
}

TEST_F(Out, ResultsMayGoToStdout) {
  const Ended ended = plait({"infer", "--model", "radixnet:1024x4", "--out", "/dev/stdout"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, ::testing::MatchesRegex("[0-9]+\n[^$]*network .*"));
}

TEST_F(Out, AFullDiskLeavesNothingUnderTheFinalName) {
  Process process =
      plait_process(folder_.path(), {"plan", "--model", "lenet", "--strategies", "serial",
                                     "--schedule-picture", "p.svg", "--trace", "t.json"});
  process.file_size_limit = 1000;
  const Ended ended = run(process);
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_EQ(entries_in(folder_.path()), 0u);
}

TEST_F(Out, ALinkedRunFolderStaysLinked) {
  fs::create_directory(path("elsewhere"));
  fs::create_symlink("elsewhere", path("run"));
  make_run();
  EXPECT_TRUE(fs::is_symlink(path("run")));
  EXPECT_TRUE(fs::exists(path("elsewhere/config.toml")));
  fs::rename(path("elsewhere/config.toml"), path("config.toml"));
  fs::create_symlink("../config.toml", path("elsewhere/config.toml"));
  const Ended more = plait({"train", "--resume", "--run-dir", "run", "--epochs", "2", "--quiet"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_TRUE(fs::is_symlink(path("elsewhere/config.toml")));
  EXPECT_THAT(read_text(path("config.toml")), HasSubstr("epochs = 2"));
}

TEST_F(Out, ReadOnlyFoldersAreNamedWithTheReason) {
  if (getuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(path("locked"));
  fs::permissions(path("locked"), fs::perms(0500));
  const Ended ended = plait({"profile", "--model", "linear", "--out", "locked/p.json"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("cannot write to folder locked: Permission denied"));
}

TEST_F(Out, ASignalWhileAFolderIsWrittenLeavesNothing) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto interrupted = [&] {
      ::signal(signal, SIG_DFL);  // a test run in the background inherits SIG_IGN
      const CleanInterrupt guard;
      checkpoint::AtomicFolder folder(path("new"), 3);
      FileSink sink = folder.create("weights");
      sink.write("abc");
      raise(signal);
      sink.write("def");
      sink.close();
      folder.commit();
    };
    EXPECT_EXIT(interrupted(), ::testing::KilledBySignal(signal), "");
    EXPECT_EQ(entries_in(folder_.path()), 0u);
  }
}

}  // namespace
}  // namespace plait::cli
