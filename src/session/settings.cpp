// The table of a training run's settings.
#include <algorithm>
#include <iterator>

#include "run/cores.hpp"
#include "session/config.hpp"

namespace plait::session {

namespace {

using C = TrainConfig;
constexpr std::string_view kTask = "Model and data";
constexpr std::string_view kLength = "Length";
constexpr std::string_view kMachine = "Machine";
constexpr std::string_view kFolder = "Run folder";

std::vector<Setting<C>> own_rows() {
  return {
      {.key = "model",
       .member = &C::model,
       .group = kTask,
       .value = "NAME|FILE.toml",
       .help = "network; plait models lists them"},
      {.key = "data",
       .member = &C::data,
       .group = kTask,
       .value = "KIND[:DIR]",
       .help = "data set; plait data list shows the kinds"},
      {.key = "init",
       .member = &C::init,
       .group = kTask,
       .value = "FILE",
       .help = "start from the weights of a .safetensors or .onnx file"},
      {.key = "augment",
       .member = &C::augment,
       .group = kTask,
       .value = "LIST",
       .help = "none, or a list of pad-crop 4, flip, random-resized-crop 0.08"},
      {.key = "normalise",
       .member = &C::normalise,
       .group = kTask,
       .value = "",
       .help = "shift and scale each channel to mean 0, deviation 1"},
      {.key = "ignore_label",
       .member = &C::ignore_label,
       .group = kTask,
       .value = "N",
       .help = "label of pixels that do not count, in npy data with a label per pixel",
       .bounds = {-1e6, 1e6}},
      {.key = "image_size",
       .member = &C::image_size,
       .group = kTask,
       .value = "N|WxH",
       .help = "size in pixels of images of files, scaled and cut in the middle; default: as they "
               "are"},
      {.key = "image_resize",
       .member = &C::image_resize,
       .group = kTask,
       .value = "N",
       .help = "scale the shorter side to N before image_size is cut out; 0: so that it just fits",
       .bounds = {0, 8192}},
      {.key = "grey",
       .member = &C::grey,
       .group = kTask,
       .value = "",
       .help = "images of files with one channel instead of three"},
      {.key = "skip_broken",
       .member = &C::skip_broken,
       .group = kTask,
       .value = "",
       .help = "leave out images that cannot be decoded, instead of stopping"},
      {.key = "data_memory",
       .member = &C::data_memory,
       .group = kTask,
       .value = "MIB",
       .help = "memory for decoded images; others are decoded anew in every epoch; 0: half of what "
               "is free",
       .bounds = {0, 1e9},
       .decides_bits = false},
      {.key = "data_threads",
       .member = &C::data_threads,
       .group = kTask,
       .value = "N",
       .help = "threads that decode images; 0: as many as cores, at most 4",
       .bounds = {0, 1024},
       .decides_bits = false},
      {.key = "shuffle",
       .member = &C::shuffle,
       .group = kTask,
       .value = "on|off",
       .help = "a new order in every epoch; off: the order of the data set"},
      {.key = "train_limit",
       .member = &C::train_limit,
       .group = kTask,
       .value = "N",
       .help = "first N training samples only; 0: all",
       .bounds = {0}},
      {.key = "test_limit",
       .member = &C::test_limit,
       .group = kTask,
       .value = "N",
       .help = "first N test samples only; 0: all",
       .bounds = {0}},
      {.key = "epochs",
       .member = &C::epochs,
       .group = kLength,
       .value = "N",
       .help = "passes over the training data",
       .bounds = {1, 1e9},
       .decides_bits = false},
      {.key = "steps",
       .member = &C::steps,
       .group = kLength,
       .value = "N",
       .help = "stop after N updates; 0: epochs decide",
       .bounds = {0, static_cast<double>(std::int64_t{1} << 50)},
       .decides_bits = false},
      {.key = "drop_last",
       .member = &C::drop_last,
       .group = kLength,
       .value = "",
       .help = "leave out the smaller last minibatch of an epoch"},
      {.key = "early_stop",
       .member = &C::early_stop,
       .group = kLength,
       .value = "N",
       .help = "stop after N epochs without improvement; 0: never",
       .bounds = {0},
       .decides_bits = false},
      {.key = "plan",
       .member = &C::plan,
       .group = kMachine,
       .value = "FILE",
       .help =
           "play the plan that plait plan `out` wrote, with its strategy, workers and settings; "
           "none: plan anew",
       .decides_bits = false},
      {.key = "workers",
       .member = &C::workers,
       .group = kMachine,
       .value = "N",
       .help = "number of workers; 0: as many as mpirun started, else 1",
       .bounds = {0},
       .decides_bits = false},
      {.key = "nodes",
       .member = &C::nodes,
       .group = kMachine,
       .value = "N",
       .help = "simulate N nodes on this machine",
       .decides_bits = false},
      {.key = "workers_per_node",
       .member = &C::workers_per_node,
       .group = kMachine,
       .value = "N",
       .help = "workers on each node; 0: workers / nodes",
       .decides_bits = false},
      {.key = "link_between_nodes",
       .member = &C::link_between_nodes,
       .group = kMachine,
       .value = "RATE[,LATENCY]",
       .help = "delay messages between nodes accordingly, e.g. 1Gbit/s,100us",
       .decides_bits = false},
      {.key = "threads",
       .member = &C::threads,
       .group = kMachine,
       .value = "N",
       .help = "threads per worker; 0: cores / workers",
       .bounds = {0, run::kMaxThreads},
       .decides_bits = false},
      {.key = "pin",
       .member = &C::pin,
       .group = kMachine,
       .value = "HOW",
       .help = "bind threads to cores: auto, cores or none",
       .decides_bits = false},
      {.key = "stall_seconds",
       .member = &C::stall_seconds,
       .group = kMachine,
       .value = "X",
       .help = "stop after X seconds without progress; 0: never",
       .bounds = {0, 1e9},
       .decides_bits = false},
      {.key = "trace_steps",
       .member = &C::trace_steps,
       .group = kMachine,
       .value = "N",
       .help = "number of last steps kept for trace.json; 0: no trace",
       .bounds = {0, 1e9},
       .decides_bits = false},
      {.key = "run_dir",
       .member = &C::run_dir,
       .group = kFolder,
       .value = "DIR",
       .help = "\"\": a new one below runs/; none: write nothing",
       .decides_bits = false},
      {.key = "resume",
       .member = &C::resume,
       .group = kFolder,
       .value = "",
       .help = "continue the run in `run_dir`",
       .decides_bits = false},
      {.key = "tensorboard",
       .member = &C::tensorboard,
       .group = kFolder,
       .value = "",
       .help = "also write event files to DIR/tensorboard",
       .decides_bits = false},
      {.key = "checkpoint_every",
       .member = &C::checkpoint_every,
       .group = kFolder,
       .value = "N",
       .help = "save every N updates; 0: at the end of epochs",
       .bounds = {0},
       .decides_bits = false},
      {.key = "checkpoint_minutes",
       .member = &C::checkpoint_minutes,
       .group = kFolder,
       .value = "X",
       .help = "save at least every X minutes, unless steps overlap; 0: not by time",
       .bounds = {0, 1e9},
       .decides_bits = false},
      {.key = "keep_last",
       .member = &C::keep_last,
       .group = kFolder,
       .value = "N",
       .help = "checkpoints to keep besides the best",
       .bounds = {1, 1e6},
       .decides_bits = false},
  };
}

/// In the order of the help: group by group, the planner's own groups before the run folder.
std::vector<Setting<C>> make_rows() {
  std::vector<Setting<C>> all;
  inherit(all, planner::plan_settings());
  inherit(all, optim::optimizer_settings());
  inherit(all, optim::loss_settings());
  inherit(all, optim::schedule_settings());
  for (Setting<C>& row : own_rows()) all.push_back(std::move(row));
  std::vector<std::string_view> groups{kTask, kLength, optim::optimizer_settings().front().group,
                                       optim::schedule_settings().front().group, kMachine};
  for (const Setting<C>& row : all) {
    const bool known = std::ranges::find(groups, row.group) != groups.end();
    if (!known && row.group != kFolder) groups.push_back(row.group);
  }
  groups.push_back(kFolder);
  std::vector<Setting<C>> rows;
  for (const std::string_view group : groups) {
    std::ranges::copy_if(all, std::back_inserter(rows),
                         [&](const Setting<C>& row) { return row.group == group; });
  }
  return rows;
}

}  // namespace

std::span<const Setting<TrainConfig>> train_settings() {
  static const std::vector<Setting<TrainConfig>> rows = make_rows();
  return rows;
}

}  // namespace plait::session
