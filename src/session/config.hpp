// TrainConfig: everything a training run is made of: what decides its plan, and the settings of the
// training itself. One table says everything about each setting; the cli room makes flags and TOML
// keys of it. Defaults are what a user gets who says nothing.
#pragma once

#include <cstdint>
#include <string>

#include "optim/options.hpp"
#include "plan/machine.hpp"
#include "planner/settings.hpp"

namespace plait::session {

struct TrainConfig : planner::PlanSettings,
                     optim::OptimizerOptions,
                     optim::LossOptions,
                     optim::ScheduleOptions {
  std::string model = "lenet";
  std::string data = "glyphs";
  std::int64_t workers = 0;           ///< 0: nodes x workers_per_node, or what mpirun started
  std::int64_t nodes = 1;             ///< MPI finds its own
  std::int64_t workers_per_node = 0;  ///< 0: workers / nodes
  std::string link_between_nodes;     ///< "1Gbit/s,100us": messages between nodes take that long
  std::int64_t threads = 0;           ///< per worker; 0: the machine's cores / workers
  std::string pin = "auto";
  double stall_seconds = 60;       ///< without any event: stop; 0: never
  std::int64_t trace_steps = 100;  ///< the last so many are kept in the trace

  std::int64_t epochs = 3;
  std::int64_t steps = 0;  ///< stop after so many; 0: epochs decide
  bool drop_last = false;  ///< leave out the smaller last minibatch of an epoch

  std::string augment = "none";
  bool normalise = true;
  std::int64_t ignore_label = 255;  ///< of pixels that do not count, in files of labels
  std::string image_size{};         ///< of images of files: "224", "320x240"; "": as they are
  std::int64_t image_resize = 0;    ///< the shorter side, out of which image_size is cut; 0: fits
  bool grey = false;                ///< images of files without colours
  bool skip_broken = false;         ///< leave out images that cannot be decoded
  std::int64_t data_memory = 0;     ///< MiB for images of files; 0: half of what is free
  std::int64_t data_threads = 0;    ///< that decode them; 0: the cores, at most 4
  bool shuffle = true;              ///< off: every epoch in the order of the data set
  std::int64_t train_limit = 0;
  std::int64_t test_limit = 0;

  std::string plan;     ///< a plan's document that is played; "" or none: it is made
  std::string init;     ///< a file of weights to begin from
  std::string run_dir;  ///< "": a new folder below runs/; "none": write nothing
  bool resume = false;
  bool tensorboard = false;           ///< event files beside metrics.jsonl
  std::int64_t checkpoint_every = 0;  ///< steps; 0: at the end of each epoch only
  double checkpoint_minutes = 10;     ///< at least so often; 0: never by time
  std::int64_t keep_last = 2;
  std::int64_t early_stop = 0;  ///< stop after so many epochs without improvement; 0: never

  bool operator==(const TrainConfig&) const = default;
};

/// All rows, those that decide the plan included.
std::span<const Setting<TrainConfig>> train_settings();

/// UserError on a number out of range or an unknown word.
void check_config(const TrainConfig& config);

/// The factor on the learning rate, by the config's workers where it says so.
double lr_scale(const TrainConfig& config);
optim::ScheduleSpec schedule_spec(const TrainConfig& config, std::int64_t steps_per_epoch,
                                  std::int64_t total_steps);
/// threads, or this machine's cores divided by the workers of a node.
int threads_per_worker(const TrainConfig& config);
/// The same where all workers are threads here and nodes are pretended.
int threads_on_one_machine(const TrainConfig& config);

/// The workers the config asks for, by workers or nodes x workers_per_node; UserError where
/// they contradict each other. Links are as fast as memory unless the config slows them down.
plan::Machine machine_of(const TrainConfig& config);

}  // namespace plait::session
