// Files that appear whole or not at all, and what is no file: links, FIFOs, devices of the test's
// own making, folders.
#include "base/out_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/error.hpp"
#include "temp_folder.hpp"

namespace plait {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class OutFile : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  /// A character device as /dev/null and /dev/full are; false where the test may not make one.
  bool make_device(const fs::path& where, unsigned minor) const {
    if (mknod(where.c_str(), S_IFCHR | 0666, makedev(1, minor)) != 0) return false;
    const int fd = open(where.c_str(), O_WRONLY);
    if (fd < 0) return false;
    close(fd);
    return true;
  }
  std::string refusal(const fs::path& where) const {
    try {
      write_out_file(where, "text");
    } catch (const UserError& error) {
      return error.what();
    }
    return "no refusal";
  }

  TempFolder folder_;
};

TEST_F(OutFile, LinksStayAndTheirTargetIsReplaced) {
  fs::create_directory(path("real"));
  write_text(path("real/a"), "old");
  fs::create_symlink("real/a", path("one"));
  fs::create_symlink("one", path("two"));
  write_out_file(path("two"), "new");
  EXPECT_TRUE(fs::is_symlink(path("one")));
  EXPECT_TRUE(fs::is_symlink(path("two")));
  EXPECT_EQ(read_text(path("real/a")), "new");
  EXPECT_EQ(entries_in(path("real")), 1u);
  EXPECT_EQ(entries_in(folder_.path()), 3u);
}

TEST_F(OutFile, ALinkToNothingYetCreatesItsTarget) {
  fs::create_directory(path("real"));
  fs::create_symlink("real/b", path("link"));
  write_out_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_text(path("real/b")), "new");
  fs::create_symlink("circle", path("circle"));
  EXPECT_THAT(refusal(path("circle")), HasSubstr("Too many levels of symbolic links"));
}

TEST_F(OutFile, AFifoStaysAndItsReaderGetsTheBytes) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const int reader = open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_out_file(path("fifo"), "through");
  std::array<char, 16> bytes{};
  EXPECT_EQ(read(reader, bytes.data(), bytes.size()), 7);
  close(reader);
  EXPECT_STREQ(bytes.data(), "through");
  EXPECT_TRUE(fs::is_fifo(path("fifo")));
  EXPECT_EQ(entries_in(folder_.path()), 1u);
}

TEST_F(OutFile, CharacterDevicesStay) {
  if (!make_device(path("null"), 3) || !make_device(path("full"), 7)) {
    GTEST_SKIP() << "no device nodes may be made here";
  }
  write_out_file(path("null"), "text");
  EXPECT_THAT(refusal(path("full")), HasSubstr("No space left on device"));
  EXPECT_TRUE(fs::is_character_file(path("null")));
  EXPECT_TRUE(fs::is_character_file(path("full")));
  fs::create_symlink("null", path("link"));
  write_out_file(path("link"), "text");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(entries_in(folder_.path()), 3u);
}

TEST_F(OutFile, FoldersSocketsAndBlockDevicesAreRefused) {
  EXPECT_THAT(refusal(folder_.path()), HasSubstr("that is a folder"));
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(refusal(path("socket")), HasSubstr("that is a socket"));
  close(fd);
  if (mknod(path("block").c_str(), S_IFBLK | 0600, makedev(7, 250)) == 0) {
    EXPECT_THAT(refusal(path("block")), HasSubstr("that is a block device"));
  }
}

TEST_F(OutFile, PermissionsOfTheReplacedFileStay) {
  write_text(path("a"), "old");
  fs::permissions(path("a"), fs::perms(0640));
  write_out_file(path("a"), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
}

TEST_F(OutFile, ACancelledWriteLeavesTheOldFile) {
  write_text(path("a"), "old");
  const auto cancelled = [&] {
    try {
      AtomicFile file(path("a"), 3);
      cancel_writes();
      file.sink().write("new");
    } catch (const Failure&) {
      std::_Exit(7);
    }
  };
  EXPECT_EXIT(cancelled(), ::testing::ExitedWithCode(7), "");
  EXPECT_EQ(read_text(path("a")), "old");
  EXPECT_EQ(entries_in(folder_.path()), 1u);
}

}  // namespace
}  // namespace plait
