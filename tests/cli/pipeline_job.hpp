// One pipeline that is trained twice, by threads and by processes of mpirun, and its images.
#pragma once

#include "cli/mpi_job.hpp"

namespace plait::cli {

struct PipelineJob {
  std::string strategy;
  std::string pipeline;
  int microbatches;
  int workers;
  int epochs = 1;
};

/// CIFAR-10 records of noise.
inline void write_records(const std::filesystem::path& file, int records) {
  std::ofstream out(file, std::ios::binary);
  std::uint32_t noise = 1;
  for (int i = 0; i < records * 3073; ++i) {
    noise = noise * 1664525 + 1013904223;
    out.put(i % 3073 == 0 ? static_cast<char>(i / 3073 % 10) : static_cast<char>(noise >> 24));
  }
}

class PipelineCli : public MpiTest {
 protected:
  Words words(const PipelineJob& job, const Words& model) const {
    return Words{"train",
                 "--batch",
                 "16",
                 "--epochs",
                 std::to_string(job.epochs),
                 "--threads",
                 "1",
                 "--pin",
                 "none",
                 "--json",
                 "--quiet",
                 "--run-dir",
                 "none",
                 "--strategy",
                 job.strategy,
                 "--pipeline",
                 job.pipeline,
                 "--microbatches",
                 std::to_string(job.microbatches)} +
           model;
  }

  /// The result of the processes.
  Json expect_equal(const PipelineJob& one, const Words& model) {
    SCOPED_TRACE(one.strategy + " " + one.pipeline + " " + std::to_string(one.workers));
    const Words all = words(one, model);
    const Words threads =
        Words{PLAIT_BINARY} + all + Words{"--workers", std::to_string(one.workers)};
    const Json here = result_of(run({.command = threads, .directory = folder_.path()}));
    const Json there = result_of(run(job(ranks(one.workers, all))));
    for (const char* field : {"weights_hash", "bytes_sent", "messages_sent", "train_loss",
                              "staleness_max", "workers"}) {
      EXPECT_EQ(there[field], here[field]) << field;
    }
    EXPECT_EQ(there["workers"], one.workers);
    return there;
  }

  Words images() {
    const auto folder = path("images");
    std::filesystem::create_directories(folder);
    write_records(folder / "data_batch_1.bin", 32);
    write_records(folder / "test_batch.bin", 16);
    return {"--data", "cifar10:images"};
  }
};

}  // namespace plait::cli
