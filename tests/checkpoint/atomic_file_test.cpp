// Files and folders that appear whole or not at all, with real errors: a file size limit, and a
// full tmpfs where the test may mount one.
#include "checkpoint/atomic_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "checkpoint/disk_limits.hpp"
#include "temp_folder.hpp"

namespace plait::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(AtomicFile, AppearsAtCommit) {
  const TempFolder folder;
  const auto path = folder.path() / "a";
  write_text(path, "old");
  {
    AtomicFile file(path, 3);
    file.sink().write("new");
    EXPECT_EQ(read_text(path), "old");
    EXPECT_EQ(entries_in(folder.path()), 2u);
    file.commit();
    EXPECT_EQ(read_text(path), "new");
    EXPECT_EQ(file.sink().bytes(), 3u);
  }
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(entries_in(folder.path()), 1u);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TempFolder folder;
  const auto path = folder.path() / "a";
  write_text(path, "old");
  {
    AtomicFile file(path, 3);
    file.sink().write("new");
  }
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(entries_in(folder.path()), 1u);
}

TEST(AtomicFile, TwoWritersOfOneProcessDoNotMeet) {
  const TempFolder folder;
  AtomicFile one(folder.path() / "a", 1), two(folder.path() / "a", 1);
  one.sink().write("1");
  two.sink().write("2");
  one.commit();
  two.commit();
  EXPECT_EQ(read_text(folder.path() / "a"), "2");
}

TEST(AtomicFile, FileSizeLimitLeavesTheOldFile) {
  const TempFolder folder;
  const auto path = folder.path() / "a";
  write_text(path, "old");
  const std::string message = message_in_child(FileSizeLimit{10'000}, [&] {
    AtomicFile file(path, 1'000'000);
    file.sink().write(std::string(1'000'000, 'x'));
    file.commit();
  });
  EXPECT_THAT(message, AllOf(HasSubstr(path.string() + "'"), HasSubstr("File too large"),
                             HasSubstr("1000000 bytes needed")));
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(entries_in(folder.path()), 1u);
}

TEST(AtomicFile, MissingDirectoryIsNamed) {
  const TempFolder folder;
  const auto path = folder.path() / "none" / "a";
  try {
    AtomicFile file(path, 5);
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(path.string()), HasSubstr("No such file")));
  }
}

void write_folder(const std::filesystem::path& path, const std::string& text, Replace replace) {
  AtomicFolder folder(path, text.size());
  FileSink sink = folder.create("text");
  sink.write(text);
  sink.close();
  folder.commit(replace);
}

TEST(AtomicFolder, IsReplacedBothWays) {
  for (const Replace replace : {Replace::exchange, Replace::two_renames}) {
    const TempFolder folder;
    const auto path = folder.path() / "f";
    write_folder(path, "one", replace);
    EXPECT_EQ(read_text(path / "text"), "one");
    write_text(path / "more", "of the old one");
    write_folder(path, "two", replace);
    EXPECT_EQ(read_text(path / "text"), "two");
    EXPECT_EQ(entries_in(path), 1u);
    EXPECT_EQ(entries_in(folder.path()), 1u);
  }
}

TEST(AtomicFolder, LeavesNothingWithoutCommit) {
  const TempFolder folder;
  {
    AtomicFolder made(folder.path() / "f", 3);
    made.create("text").write("abc");
    EXPECT_EQ(entries_in(folder.path()), 1u);
  }
  EXPECT_EQ(entries_in(folder.path()), 0u);
}

TEST(AtomicFolder, DoesNotReplaceAFile) {
  const TempFolder folder;
  write_text(folder.path() / "f", "mine");
  EXPECT_THROW(write_folder(folder.path() / "f", "x", Replace::exchange), Failure);
  EXPECT_EQ(read_text(folder.path() / "f"), "mine");
  EXPECT_EQ(entries_in(folder.path()), 1u);
}

TEST(AtomicFolder, LeftoversGoAndInterruptedReplacementsComeBack) {
  const TempFolder folder;
  for (const char* name :
       {".f.tmp-12-0", ".g.old-12-0", ".h.old-12-0", "h", ".mine", ".x.tmp-y", "k"}) {
    std::filesystem::create_directory(folder.path() / name);
    write_text(folder.path() / name / "name", name);
  }
  remove_leftovers(folder.path());
  EXPECT_EQ(read_text(folder.path() / "g" / "name"), ".g.old-12-0");
  EXPECT_EQ(read_text(folder.path() / "h" / "name"), "h");
  for (const char* name : {"g", "h", ".mine", ".x.tmp-y", "k"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path() / name)) << name;
  }
  EXPECT_EQ(entries_in(folder.path()), 5u);
}

TEST(AtomicFolder, RemoveFolder) {
  const TempFolder folder;
  write_folder(folder.path() / "f", "x", Replace::exchange);
  remove_folder(folder.path() / "f");
  EXPECT_EQ(entries_in(folder.path()), 0u);
  EXPECT_THROW(remove_folder(folder.path() / "f"), Failure);
}

}  // namespace
}  // namespace plait::checkpoint
