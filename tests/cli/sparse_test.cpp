// Sparse networks from the command line: the bits of threads under mpirun, partitions from files,
// and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

#include "cli/mpi_job.hpp"
#include "run/sparse_files.hpp"

namespace plait::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Words kTrain{"train",       "--model",      "radixnet:64x6",
                   "--data",      "glyphs",       "--train-limit",
                   "200",         "--test-limit", "32",
                   "--batch",     "64",           "--threads",
                   "1",           "--pin",        "none",
                   "--quiet",     "--json",       "--strategy",
                   "sparse_rows", "--run-dir"};

class SparseCli : public ::testing::Test {
 protected:
  Ended plait(const Words& words) const { return run_plait(folder_.path(), words); }
  nlohmann::json json_of(const Words& words) const {
    const Ended ended = plait(words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return nlohmann::json::parse(ended.out, nullptr, false);
  }
  /// One line on stderr, exit code 2.
  std::string refusal(const Words& words) const {
    const Ended ended = plait(words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_EQ(ended.out, "");
    return ended.err;
  }
  void make_partition(const std::string& file) const {
    json_of({"partition", "--model", "radixnet:64x6", "--parts", "3", "--out", file, "--json"});
  }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

  TempFolder folder_;
};

class SparseMpi : public MpiTest {};

TEST_F(SparseMpi, ProcessesGiveTheBitsOfThreads) {
  const Words words = kTrain + Words{"none", "--epochs", "1"};
  for (const int workers : {2, 3, 4, 8}) {
    SCOPED_TRACE(workers);
    const Json here =
        result_of(run_plait(folder_.path(), words + Words{"--workers", std::to_string(workers)}));
    const Json there = result_of(run(job(ranks(workers, words))));
    for (const char* field :
         {"weights_hash", "bytes_sent", "messages_sent", "train_loss", "workers", "steps"}) {
      EXPECT_EQ(there[field], here[field]) << field;
    }
    EXPECT_EQ(there["workers"], workers);
    EXPECT_EQ(there["steps"], 4);
  }
}

TEST_F(SparseMpi, AKilledWorkerNamesItself) {
  Running running(job(ranks(3, kTrain + Words{"none", "--epochs", "100000", "--no-quiet"})));
  while (!running.has_ended() && running.err().find("epoch ") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_FALSE(running.has_ended()) << running.err();
  for (const RankProcess& one : ranks_of(running.pid())) {
    if (one.rank == 2) kill(one.process.pid, SIGKILL);
  }
  const Ended ended = running.wait(60);
  EXPECT_FALSE(ended.timed_out);
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(plait_lines(ended.err),
              Contains(ContainsRegex("^plait: worker 2 died .*minibatch [0-9]+, step [0-9]+")))
      << ended.err;
}

/// Rows of other layers lie between a worker's own: they are counted, not listed.
TEST_F(SparseCli, TheTableOfWorkersFitsAScreen) {
  const Ended ended =
      plait(kTrain + Words{"none", "--epochs", "1", "--workers", "2", "--no-quiet"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, ContainsRegex("\n0 +F [0-9]+ blocks; D [0-9]+ blocks; G [0-9]+ blocks "));
  std::istringstream lines(ended.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" blocks;") == std::string::npos) continue;
    EXPECT_LE(line.size(), 110U) << line;
  }
}

TEST_F(SparseCli, PartitionSaysWhatItCosts) {
  const auto json =
      json_of({"partition", "--model", "radixnet:64x6", "--parts", "4", "--json", "--quiet"});
  EXPECT_EQ(json["model"], "radixnet:64x6");
  EXPECT_EQ(json["method"], "merged");
  EXPECT_EQ(json["parts"], 4);
  EXPECT_EQ(json["layers"], 6);
  const std::vector<std::int64_t> words = json["words_forward"];
  ASSERT_EQ(words.size(), 6U);
  EXPECT_EQ(words[0], 0);  // everybody has the input
  std::int64_t all = 0;
  for (const std::int64_t one : words) all += one;
  EXPECT_GT(all, 0);
  EXPECT_EQ(json["volume_words"], 2 * all);
  EXPECT_DOUBLE_EQ(json["words_per_layer"], static_cast<double>(all) / 5);
  EXPECT_GE(json["imbalance"], 0.0);
  EXPECT_GT(json["messages"], 0);
  EXPECT_GE(json["max_receive_words"], json["volume_words"].get<std::int64_t>() / 4);
  EXPECT_GE(json["seconds"], 0.0);

  const auto random = json_of(
      {"partition", "--model", "radixnet:64x6", "--parts", "4", "--json", "--method", "random"});
  EXPECT_GT(random["volume_words"], json["volume_words"]);
}

TEST_F(SparseCli, PartitionComparesAndDraws) {
  const Ended ended = plait({"partition", "--model", "radixnet:64x6", "--parts", "2", "--picture",
                             "words.svg", "--quiet"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* method : {"random", "block", "merged"}) {
    EXPECT_THAT(ended.out, HasSubstr(method));
    EXPECT_THAT(read_text(path("words.svg")), HasSubstr(method));
  }
  EXPECT_THAT(read_text(path("words.svg")), AllOf(HasSubstr("<svg"), HasSubstr("</svg>")));
}

TEST_F(SparseCli, TrainsWithThePartitionOfAFile) {
  make_partition("p3.safetensors");
  const Words words = kTrain + Words{"none", "--epochs", "1", "--workers", "3", "--partition"};
  const auto file = json_of(words + Words{"p3.safetensors"});
  EXPECT_EQ(json_of(words + Words{"p3.safetensors"})["weights_hash"], file["weights_hash"]);
  EXPECT_NE(json_of(words + Words{"random"})["bytes_sent"], file["bytes_sent"]);

  // Made for the very data, it is the one that is made on the way.
  json_of({"partition", "--model", "radixnet:64x6", "--parts", "3", "--out", "glyphs.safetensors",
           "--data-shape", "1x28x28", "--json"});
  const auto made = json_of(words + Words{"glyphs.safetensors"});
  const auto on_the_way = json_of(words + Words{"merged"});
  EXPECT_EQ(made["weights_hash"], on_the_way["weights_hash"]);
  EXPECT_EQ(made["bytes_sent"], on_the_way["bytes_sent"]);

  const auto plan = json_of({"plan", "--model", "radixnet:64x6", "--workers", "3", "--strategies",
                             "sparse_rows", "--partition", "p3.safetensors", "--json"});
  EXPECT_FALSE(plan.is_discarded());
}

TEST_F(SparseCli, RefusesPartitionsThatDoNotFit) {
  make_partition("p3.safetensors");
  const auto with = [&](const std::string& file, const std::string& workers,
                        const std::string& model) {
    return refusal(kTrain +
                   Words{"none", "--workers", workers, "--partition", file, "--model", model});
  };
  const std::string model = "radixnet:64x6";
  EXPECT_THAT(with("p3.safetensors", "2", model), HasSubstr("use --workers 3"));
  EXPECT_THAT(with("p3.safetensors", "3", "radixnet:64x5"),
              AllOf(HasSubstr("p3.safetensors"), HasSubstr("6 layers")));
  EXPECT_THAT(with("p3.safetensors", "3", "radixnet:128x6"), HasSubstr("another network"));
  EXPECT_THAT(with("nowhere.safetensors", "3", model), HasSubstr("nowhere.safetensors"));
  EXPECT_THAT(with("mergd", "3", model), HasSubstr("did you mean 'merged'"));
  EXPECT_EQ(entries_in(folder_.path()), 1U);  // no run folder was begun
}

TEST_F(SparseCli, RefusesADamagedPartition) {
  make_partition("p3.safetensors");
  const std::string whole = read_text(path("p3.safetensors"));
  const auto refused = [&](const std::string& text) {
    write_text(path("bad.safetensors"), text);
    return refusal(kTrain + Words{"none", "--workers", "3", "--partition", "bad.safetensors"});
  };
  for (const std::size_t length : {std::size_t{0}, std::size_t{5}, whole.size() - 1}) {
    EXPECT_THAT(refused(whole.substr(0, length)), HasSubstr("bad.safetensors")) << length;
  }
  std::string changed = whole;
  changed[changed.size() - 1] = 0x7F;  // an owner far away
  EXPECT_THAT(refused(changed), HasSubstr("bad.safetensors"));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    return refused(text);
  };
  EXPECT_THAT(replaced("plait partition 1", "plait partition 9"), HasSubstr("format"));
  EXPECT_THAT(replaced("\"parts\":\"3\"", "\"parts\":\"x\""), HasSubstr("parts"));
  EXPECT_THAT(replaced("\"parts\":\"3\"", "\"parts\":\"2\""), HasSubstr("bad.safetensors"));
  EXPECT_THAT(replaced("\"layers\":\"6\"", "\"layers\":\"7\""), HasSubstr("owners.000006"));
  EXPECT_THAT(replaced("\"layers\":\"6\"", "\"layers\":\"5\""), HasSubstr("5 layers"));
  EXPECT_THAT(replaced("\"merged\"", "\"mergef\""), HasSubstr("did you mean 'merged'"));
  EXPECT_THAT(replaced("\"seed\"", "\"sead\""), HasSubstr("'seed' is missing"));
}

TEST_F(SparseCli, RefusesPartitionsThatCannotBe) {
  const Words partition{"partition", "--model", "radixnet:64x6", "--parts"};
  EXPECT_THAT(refusal(partition + Words{"65"}), HasSubstr("use at most 64"));
  EXPECT_THAT(refusal(partition + Words{"0"}), HasSubstr("--parts"));
  EXPECT_THAT(refusal(partition + Words{"2", "--method", "blok"}),
              HasSubstr("did you mean 'block'"));
  EXPECT_THAT(refusal({"partition", "--parts", "2"}), HasSubstr("--model"));
  EXPECT_THAT(refusal({"partition", "--model", "lenet"}), HasSubstr("conv1"));
  EXPECT_THAT(refusal({"partition", "--model", "linear"}), HasSubstr("nothing to partition"));
  EXPECT_THAT(refusal(partition + Words{"2", "--out", "no/such/folder/p.safetensors"}),
              HasSubstr("no/such/folder"));
  EXPECT_EQ(entries_in(folder_.path()), 0U);
}

TEST_F(SparseCli, RefusesBeforeTheWorkIsDone) {
  for (const char* flag : {"--out", "--picture"}) {
    EXPECT_THAT(refusal({"partition", "--model", "radixnet:64x6", flag, "nowhere/p"}),
                HasSubstr("there is no folder nowhere"));
  }
  EXPECT_THAT(refusal({"train", "--model", "mlp:8", "--data", "glyphs", "--partition", "block"}),
              HasSubstr("--partition block is for --strategy sparse_rows"));
}

TEST_F(SparseCli, PrunesAndTrainsOn) {
  const Words data{"--data", "glyphs", "--train-limit", "1000", "--threads", "1"};
  json_of(Words{"train", "--model", "mlp:64", "--run-dir", "dense", "--epochs", "3", "--json"} +
          data);
  const nlohmann::json pruned =
      json_of({"prune", "--run", "dense", "--sparsity", "0.8", "--out", "pruned", "--json"});
  EXPECT_NEAR(pruned.at("sparsity"), 0.8, 1e-3);
  const Words sparse{"--model", "pruned/model.toml", "--init", "pruned/weights.safetensors"};
  const nlohmann::json before =
      json_of(Words{"eval", "--json", "--data", "glyphs", "--threads", "1"} + sparse);
  const nlohmann::json after =
      json_of(Words{"train", "--run-dir", "none", "--epochs", "2", "--json"} + sparse + data);
  EXPECT_LT(after.at("test_loss"), before.at("test_loss"));
  EXPECT_THAT(refusal({"prune", "--run", "dense", "--out", "pruned"}), HasSubstr("exists already"));
  EXPECT_THAT(refusal({"prune", "--run", "dense", "--sparsity", "1", "--out", "p"}),
              HasSubstr("--sparsity 1"));
  EXPECT_THAT(refusal({"prune", "--run", "dense", "--out", "p", "--keep", "fc9"}),
              HasSubstr("--keep fc9"));
  EXPECT_THAT(refusal({"prune", "--out", "p"}), HasSubstr("prune needs weights"));
}

TEST_F(SparseCli, RefusesWorkersThatDoNotFit) {
  const Words train = kTrain + Words{"none", "--workers"};
  EXPECT_THAT(refusal(train + Words{"65"}), HasSubstr("use at most 64"));
  EXPECT_THAT(refusal(train + Words{"2", "--microbatches", "2"}), HasSubstr("--microbatches 2"));
  EXPECT_THAT(refusal(train + Words{"2", "--clip-norm", "1"}), HasSubstr("--clip-norm"));
  EXPECT_THAT(refusal(train + Words{"2", "--model", "lenet"}), HasSubstr("'conv1'"));
}

TEST_F(SparseCli, RefusesMalformedMatrices) {
  const std::string model = run::write_sparse_model(folder_.path(), "relu");
  const Words train = kTrain + Words{"none", "--workers", "2", "--epochs", "1", "--model", model};
  EXPECT_EQ(json_of(train)["steps"], 4);
  const std::string whole = read_text(path("w2.mtx"));
  const auto refused = [&](const std::string& text) {
    write_text(path("w2.mtx"), text);
    return refusal(train);
  };
  const std::string head = "%%MatrixMarket matrix coordinate pattern general\n";
  EXPECT_THAT(refused(""), HasSubstr("w2.mtx"));
  EXPECT_THAT(refused(whole.substr(0, whole.size() / 2)), HasSubstr("w2.mtx"));
  EXPECT_THAT(refused(head + "40 48 1\n41 1\n"), HasSubstr("w2.mtx"));
  EXPECT_THAT(refused(head + "40 48 2\n1 1\n1 1\n"), HasSubstr("w2.mtx"));
  EXPECT_THAT(refused(head + "40 47 1\n1 1\n"), HasSubstr("47"));
  std::filesystem::remove(path("w2.mtx"));
  EXPECT_THAT(refusal(train), HasSubstr("w2.mtx"));
}

/// The official network: the words that a good partition reaches.
TEST_F(SparseCli, PartitionsTheRealNetwork) {
  const std::string data = PLAIT_SOURCE_DIR "/../shared/data/graphchallenge/neuron1024.tar.xz";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "the network's files are not there";
  const std::string unpack = "tar -xf '" + data + "' -C '" + folder_.path().string() + "'";
  if (std::system(unpack.c_str()) != 0) GTEST_SKIP() << "the network cannot be unpacked";
  const auto json = json_of(
      {"partition", "--model", "graphchallenge:neuron1024", "--parts", "8", "--json", "--quiet"});
  EXPECT_EQ(json["layers"], 120);
  EXPECT_LE(json["words_per_layer"], 888.0);
  EXPECT_LE(json["imbalance"], 0.01);
}

}  // namespace
}  // namespace plait::cli
