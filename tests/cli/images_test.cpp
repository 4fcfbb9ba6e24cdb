// A folder of images from the command line: bits that depend neither on memory nor on threads nor
// on where the images lie, a resumed run, and what is refused.
#include <gmock/gmock.h>

#include "cli/mpi_job.hpp"
#include "data/image_files.hpp"

namespace plait::cli {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class ImagesCli : public MpiTest {
 protected:
  void SetUp() override { data::test::write_files(path("set"), files_); }

  Words train(const std::string& data) const {
    return {"train",
            "--model",
            "mlp:16",
            "--data",
            data,
            "--batch",
            "8",
            "--epochs",
            "2",
            "--seed",
            "3",
            "--augment",
            "flip, random-resized-crop 0.3",
            "--image-size",
            "12",
            "--threads",
            "1",
            "--pin",
            "none",
            "--json",
            "--quiet"};
  }
  std::string hash(const Words& words) const {
    return result_of(run_plait(folder_.path(), words))["weights_hash"];
  }

  data::test::NamedFiles files_ = data::test::two_classes(16, 20, 30);
};

TEST_F(ImagesCli, MemoryThreadsAndArchivesDoNotMatter) {
  const Words none{"--run-dir", "none"};
  const std::string whole = hash(train("images:set") + none);
  data::test::write_tar(path("set.tar.zst"), files_, data::test::Compression::zstd);
  EXPECT_EQ(hash(train("images:set.tar.zst") + none), whole);
  for (const char* threads : {"1", "4"}) {
    EXPECT_EQ(
        hash(train("images:set") + none + Words{"--data-memory", "1", "--data-threads", threads}),
        whole);
  }
  hash(train("images:set") + Words{"--run-dir", "run", "--steps", "5"});
  EXPECT_EQ(hash({"train", "--resume", "--run-dir", "run", "--steps", "0", "--json", "--quiet"}),
            whole);
  const Ended eval = run_plait(folder_.path(), {"eval", "--run", "run", "--json"});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
  if (!find_mpirun().empty()) {
    const Words parallel{"--strategy", "data_parallel", "--run-dir", "none"};
    EXPECT_EQ(result_of(run(job(ranks(2, train("images:set") + parallel))))["weights_hash"],
              hash(train("images:set") + parallel + Words{"--workers", "2"}));
  }
}

TEST_F(ImagesCli, BrokenImagesEndTheRunOrAreLeftOut) {
  write_text(path("set") / "train/cat/2.png", "no image");
  const Words words = train("images:set") + Words{"--run-dir", "none"};
  const Ended refused = run_plait(folder_.path(), words);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("train/cat/2.png: neither a JPEG nor a PNG image"));
  const Ended skipped = run_plait(folder_.path(), words + Words{"--skip-broken", "--no-quiet"});
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("1 training image(s) left out: set/train/cat/2.png"));
}

TEST_F(ImagesCli, DataShowNamesTheClasses) {
  const Ended shown =
      run_plait(folder_.path(), {"data", "show", "images:set", "--image-size", "12", "--grey"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("samples of 1x12x12, 2 classes; per class: cat 30, dog 30"));
  EXPECT_THAT(shown.out, AnyOf(HasSubstr("\ncat "), HasSubstr("\ndog ")));
  const Ended missing = run_plait(folder_.path(), {"data", "show", "images:sets"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("there is no folder sets"));
}

}  // namespace
}  // namespace plait::cli
