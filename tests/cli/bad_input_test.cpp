// Whatever is wrong with the input: one line on stderr, exit code 2, nothing on stdout, nothing
// written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>

#include "checkpoint/safetensors.hpp"
#include "cli/process.hpp"

namespace plait::cli {
namespace {

using ::testing::HasSubstr;

class BadInput : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    write_text(folder_.path() / name, text);
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::recursive_directory_iterator(folder_.path()), {}));
  }

  void expect_refused(const Words& words, const std::string& message) const {
    const std::size_t before = entries();
    const Ended ended = run_plait(folder_.path(), words);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, ::testing::StartsWith("plait: "));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_TRUE(ended.err.ends_with('\n'));
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_EQ(entries(), before) << "something was written";
  }

  /// `plait train` on a small task, with `words` on top.
  void expect_train_refused(const Words& words, const std::string& message) const {
    Words all{"train", "--threads", "1",  "--train-limit", "64", "--test-limit",
              "64",    "--batch",   "16", "--json"};
    all = all + words;
    expect_refused(all, message);
    expect_refused(all + Words{"--run-dir", "run"}, message);
  }

  TempFolder folder_;
};

TEST_F(BadInput, Words) {
  expect_refused(
      {},
      "no verb after 'plait'; choose from: train, plan, profile, partition, prune, eval, "
      "report, export, import, infer, data, models");
  expect_refused({"trian"}, "unknown verb 'trian' (did you mean 'train'?)");
  expect_refused({"data"}, "no verb after 'plait data'; choose from: list, fetch, show");
  expect_refused({"--vresion"}, "did you mean '--version'?");
  expect_refused({"data", "show"}, "needs SPEC");
  expect_refused({"data", "show", "cifra10:x"}, "did you mean 'cifar10'?");
  expect_refused({"data", "fetch", "mnits"}, "did you mean 'mnist'?");
  expect_refused({"models", "vgg166"}, "did you mean 'vgg16'?");
  expect_refused({"models", "lenet", "--data-shape", "3x"}, "3x");
  expect_refused({"profile", "--batch", "0"}, "--batch 0 is out of range");
  expect_refused({"profile", "--model", "lenet", "--steps", "many"}, "whole number but is 'many'");
  expect_refused({"eval"}, "eval needs weights");
  expect_refused({"eval", "--run", "nowhere"}, "--run nowhere: no such folder");
  expect_refused({"eval", "--init", "x.safetensors"}, "add --model NAME");
  expect_refused({"eval", "--run", "a", "--init", "b"}, "exclude each other");
}

TEST_F(BadInput, Flags) {
  expect_train_refused({"--wieght-decay", "1"},
                       "unknown flag '--wieght-decay' (did you mean '--weight-decay'?)");
  expect_train_refused({"more"}, "'more' is one argument too many for plait train");
  expect_train_refused({"--lr", "fast"}, "--lr needs a number but is 'fast'");
  expect_train_refused({"--lr", "-1"}, "--lr -1 is out of range");
  expect_train_refused({"--lr", "nan"}, "--lr needs a finite number");
  expect_train_refused({"--lr", "1e999"}, "--lr 1e999 is out of range");
  expect_train_refused({"--batch", "0"}, "--batch 0 is out of range");
  expect_train_refused({"--batch", "-3"}, "--batch -3 is out of range");
  expect_train_refused({"--batch", "99999999999999999999"}, "out of range");
  expect_train_refused({"--batch", "65"}, "--batch 65 is more than the 64 training samples");
  expect_train_refused({"--epochs", "--seed", "1"}, "--epochs needs a value");
  expect_train_refused({"--optimizer", "sdg"}, "did you mean 'sgd'?");
  expect_train_refused({"--strategy", "layerpip"},
                       "--strategy layerpip is no strategy (did you mean 'layerpipe'?)");
  expect_train_refused({"--workers", "2"}, "--strategy serial is for one worker, not for 2");
  expect_train_refused({"--model", "lent"}, "did you mean 'lenet'?");
  expect_train_refused({"--data", "glyhps"}, "did you mean 'glyphs'?");
  expect_train_refused({"--data", "mnist:nowhere"}, "nowhere");
  expect_refused({"train", "--resume"}, "add --run-dir DIR");
  expect_refused({"train", "--lr"}, "--lr needs a value");
}

TEST_F(BadInput, FlagsThatNobodyListensTo) {
  expect_train_refused({"--optimizer", "adam", "--nesterov"}, "--nesterov is for --optimizer sgd");
  expect_train_refused({"--optimizer", "adam", "--momentum", "0.5"}, "--momentum 0.5 is for");
  expect_train_refused({"--beta1", "0.5"}, "--beta1 0.5 is for --optimizer adam, adamw");
  expect_train_refused({"--step-epochs", "5"}, "--step-epochs 5 is for --schedule step");
  expect_train_refused({"--plateau-factor", "0.5"},
                       "--plateau-factor 0.5 is for --schedule plateau");
  expect_train_refused({"--final-lr", "0.1"}, "--final-lr 0.1 is for --schedule cosine");
  expect_train_refused({"--momentum", "1"}, "--momentum 1 is out of range");
  expect_train_refused({"--schedule", "cosine", "--final-lr", "2"}, "--final-lr 2");
  expect_train_refused({"--loss", "mse", "--label-smoothing", "0.1"},
                       "--label-smoothing 0.1 is for");
  expect_train_refused(
      {"--loss", "mse", "--class-weights", "balanced"},
      "--class-weights balanced is for --loss cross_entropy; mse has no such option");
  expect_train_refused({"--decay", "matrices"}, "add --weight-decay X");
}

TEST_F(BadInput, EverydaySettings) {
  expect_train_refused({"--decay", "matrixes", "--weight-decay", "0.1"},
                       "--decay matrixes is not known (did you mean 'matrices'?)");
  expect_train_refused({"--shuffle", "sometimes"}, "--shuffle needs true or false");
  expect_train_refused({"--class-weights", "1,2,3"},
                       "--class-weights 1,2,3 has 3 weight(s), but the data has 10 classes");
  expect_train_refused({"--class-weights", "1,,3"}, "'' is no weight");
  expect_train_refused({"--class-weights", "1,-2"}, "'-2' is no weight");
  expect_train_refused({"--class-weights", "0,0"}, "at least one weight must be above 0");
  expect_train_refused({"--class-weights", "balance"}, "'balance' is no weight");
}

TEST_F(BadInput, PlacesOfResultsAreLookedAtFirst) {
  expect_train_refused({"--schedule-picture", "nowhere/x.svg"}, "there is no folder nowhere");
  expect_train_refused({"--schedule-picture", "x.png"}, "only .svg is written");
  expect_train_refused({"--schedule-picture", "x.svg", "--trace-steps", "0"}, "--trace-steps 0");
  expect_refused({"profile", "--model", "linear", "--out", "nowhere/x"}, "there is no folder");
  expect_refused({"profile", "--model", "linear", "--out", "/tmp"}, "that is a folder");
  expect_refused({"plan", "--model", "lenet", "--trace", "nowhere/x"}, "there is no folder");
}

TEST_F(BadInput, WhatIsNoFileIsNotRead) {
  for (const char* name : {"f.safetensors", "f.onnx", "f.toml", "f"}) {
    ASSERT_EQ(mkfifo(path(name).c_str(), 0600), 0);
  }
  const std::string why = ": is a FIFO; a regular file is needed";
  expect_train_refused({"--init", "f.safetensors"}, "f.safetensors" + why);
  expect_train_refused({"--init", "f.onnx"}, "f.onnx" + why);
  expect_train_refused({"--model", "f.toml"}, "f.toml" + why);
  expect_train_refused({"--config", "f"}, "f" + why);
  expect_train_refused({"--profile", "f", "--strategy", "data_parallel", "--workers", "2"},
                       "f" + why);
  expect_train_refused({"--model", "radixnet:64x4", "--strategy", "sparse_rows", "--workers", "2",
                        "--partition", "f.safetensors"},
                       "f.safetensors" + why);
  expect_refused({"eval", "--model", "lenet", "--init", "f.safetensors"}, "f.safetensors" + why);
  expect_refused({"import", "f.onnx", "--out", "new"}, "f.onnx" + why);
  expect_refused({"plan", "--model", "lenet", "--profile", "f"}, "f" + why);
  expect_refused({"infer", "--model", "radixnet:1024x4", "--images", "f"}, "f" + why);
  expect_refused({"eval", "--model", "lenet", "--init", "/dev/zero"}, "/dev/zero: is a device");
}

TEST_F(BadInput, ExchangesBetweenNodes) {
  const auto refused = [&](const Words& words, const std::string& message) {
    expect_train_refused(Words{"--strategy", "daso", "--nodes", "2"} + words, message);
  };
  refused({"--exchange-every", "1"}, "at least --exchange-every 2");
  refused({"--exchange-every", "9"}, "add --exchange-most 9");
  refused({"--exchange-wait", "9"},
          "use --exchange-wait 3, or --exchange-every 10 --exchange-most 10");
  refused({"--workers-per-node", "2", "--inner", "pipedream"}, "use --inner 1f1b or zb-h1");
}

TEST_F(BadInput, FlagsOfPipelines) {
  const auto refused = [&](const std::string& strategy, const Words& words,
                           const std::string& message) {
    expect_train_refused(Words{"--strategy", strategy, "--workers", "2"} + words, message);
  };
  for (const char* strategy : {"layerpipe", "data_parallel"}) {
    refused(strategy, {"--pipeline", "asnyc"},
            "--pipeline asnyc is not known (did you mean 'async'?); there are: sync, async");
    refused(strategy, {"--weights", "stahs"},
            "--weights stahs is not known (did you mean 'stash'?)");
  }
  refused("layerpipe", {"--in-flight", "-1"}, "--in-flight -1 is out of range");
  refused("layerpipe", {"--memory-per-worker", "-1"}, "--memory-per-worker -1 is out of range");
  refused("layerpipe", {"--memory-per-worker", "1"},
          "--memory-per-worker 1 is too small for lenet with --batch 16");
  refused("gpipe", {"--memory-per-worker", "1"}, "the machine has 1.0 MiB for each");
  refused("gpipe", {"--microbatches", "17"},
          "--microbatches 17 are more than the 16 samples of --batch: use at most 16");
  refused("1f1b", {"--workers", "99"}, "lenet has 8 blocks");
  refused("zb-h1", {"--clip-norm", "1"}, "--clip-norm needs the gradients of the whole network");
  refused("pipedream-2bw", {"--workers", "4"}, "keeps two versions of the weights");
  refused("pipedream", {"--pipeline", "sync"},
          "is always asynchronous, so --pipeline sync cannot hold");
  refused("layerpipe", {"--profile", "none.json"}, "none.json: cannot be opened");
}

TEST_F(BadInput, ConfigFiles) {
  expect_train_refused({"--config", "none.toml"}, "none.toml: there is no such config file");
  expect_train_refused({"--config", "."}, ".: is a folder; a regular file is needed");
  write("key.toml", "epochs = 1\nmodle = \"lenet\"\n");
  expect_train_refused({"--config", "key.toml"},
                       "key.toml:2: unknown key 'modle' (did you mean 'model'?)");
  write("type.toml", "\n\nlr = true\n");
  expect_train_refused({"--config", "type.toml"}, "type.toml:3: lr must be a number");
  write("syntax.toml", "lr = \n");
  expect_train_refused({"--config", "syntax.toml"}, "syntax.toml:1: not valid TOML");
  write("bytes.toml", std::string("\xff\xfe\x00\x01", 4));
  expect_train_refused({"--config", "bytes.toml"}, "bytes.toml:1: ");
}

std::string big_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

std::string idx_images(std::uint32_t count, std::size_t bytes) {
  return big_endian(0x803) + big_endian(count) + big_endian(28) + big_endian(28) +
         std::string(bytes, 'x');
}

std::string idx_labels(std::uint32_t count) {
  return big_endian(0x801) + big_endian(count) + std::string(count, '\1');
}

TEST_F(BadInput, DamagedIdx) {
  std::filesystem::create_directory(folder_.path() / "d");
  write("d/train-images-idx3-ubyte", idx_images(64, 64 * 784 - 1));
  write("d/train-labels-idx1-ubyte", idx_labels(64));
  write("d/t10k-images-idx3-ubyte", idx_images(64, 64 * 784));
  write("d/t10k-labels-idx1-ubyte", idx_labels(64));
  expect_train_refused({"--data", "mnist:d"}, "train-images-idx3-ubyte");
  write("d/train-images-idx3-ubyte", idx_images(0xFFFFFFFF, 10));
  expect_train_refused({"--data", "mnist:d"}, "train-images-idx3-ubyte");
  write("d/train-images-idx3-ubyte", "");
  expect_train_refused({"--data", "mnist:d"}, "train-images-idx3-ubyte");
}

TEST_F(BadInput, DamagedGzip) {
  std::filesystem::create_directory(folder_.path() / "d");
  const std::string name = "d/train-images-idx3-ubyte.gz";
  const std::string content = idx_images(64, 64 * 784);
  gzFile file = gzopen(path(name).c_str(), "wb");
  ASSERT_NE(file, nullptr);
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  std::filesystem::resize_file(path(name), std::filesystem::file_size(path(name)) - 9);
  write("d/train-labels-idx1-ubyte", idx_labels(64));
  write("d/t10k-images-idx3-ubyte", idx_images(64, 64 * 784));
  write("d/t10k-labels-idx1-ubyte", idx_labels(64));
  expect_train_refused({"--data", "mnist:d"}, "train-images-idx3-ubyte.gz");
}

TEST_F(BadInput, DamagedCifar) {
  std::filesystem::create_directory(folder_.path() / "d");
  write("d/test_batch.bin", std::string(64 * 3073, '\1'));
  write("d/data_batch_1.bin", std::string(64 * 3073 - 5, '\1'));
  expect_train_refused({"--model", "mlp", "--data", "cifar10:d"}, "data_batch_1.bin");
  write("d/data_batch_1.bin", std::string(64 * 3073, '\x0b'));
  expect_train_refused({"--model", "mlp", "--data", "cifar10:d"}, "data_batch_1.bin");
}

std::string safetensors(const std::string& header, std::uint64_t length, std::size_t payload) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(length >> (8 * i) & 0xFF);
  return text + header + std::string(payload, '\0');
}

TEST_F(BadInput, DamagedWeights) {
  const Words words{"--model", "linear", "--init", "w.safetensors"};
  expect_train_refused(words, "w.safetensors");
  write("w.safetensors", safetensors("{}", std::uint64_t{1} << 60, 0));
  expect_train_refused(words, "w.safetensors: a header of 1152921504606846976 bytes");
  const std::string huge = R"({"a":{"dtype":"F32","shape":[4611686018427387904,8],)"
                           R"("data_offsets":[0,9223372036854775807]}})";
  write("w.safetensors", safetensors(huge, huge.size(), 16));
  expect_train_refused(words, "w.safetensors: tensor 'a' has shape 4611686018427387904x8");
  const std::string overlap = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                              R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";
  write("w.safetensors", safetensors(overlap, overlap.size(), 12));
  expect_train_refused(words, "w.safetensors: tensor 'b' begins at byte 4");
  write("w.safetensors", "short");
  expect_train_refused(words, "w.safetensors: 5 bytes are too few");
  const std::vector<checkpoint::NamedTensor> other{
      {"other.weight", tensor::Tensor(tensor::Shape{2, 2})}};
  checkpoint::write_safetensors(path("w.safetensors"), other);
  expect_train_refused(words, "w.safetensors");
}

TEST_F(BadInput, ModelsThatDoNotFit) {
  write("input.toml",
        "input = [3, 32, 32]\n[[block]]\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = "
        "\"classes\"}]\n");
  expect_train_refused({"--model", "input.toml"},
                       "input.toml:1: the model's input is 3x32x32 but the data has shape 1x28x28");
  write("outputs.toml",
        "[[block]]\nlayers = [{type = \"flatten\"}, {type = \"linear\", out = 7}]\n");
  expect_train_refused({"--model", "outputs.toml"}, "outputs.toml");
  write(
      "kernel.toml",
      "[[block]]\nlayers = [{type = \"convolution\", out = 4, kernel = 99}, {type = \"flatten\"}, "
      "{type = \"linear\", out = \"classes\"}]\n");
  expect_train_refused({"--model", "kernel.toml"}, "kernel.toml");
  write("layer.toml", "[[block]]\nlayers = [{type = \"convolutoin\", out = 4}]\n");
  expect_train_refused({"--model", "layer.toml"}, "layer.toml:2");
  expect_train_refused({"--model", "vgg16"}, "vgg16");
}

TEST_F(BadInput, ARunFolderThatCannotBe) {
  write("file", "");
  expect_refused({"train", "--model", "linear", "--threads", "1", "--train-limit", "64", "--batch",
                  "16", "--run-dir", "file/run"},
                 "file");
}

TEST_F(BadInput, TextThatConfigTomlCannotHold) {
  expect_train_refused({"--augment", "\xff"}, "config.toml");
}

}  // namespace
}  // namespace plait::cli
