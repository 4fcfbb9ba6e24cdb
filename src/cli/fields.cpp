// The table itself, and the conversion of each type of field from and to text and TOML.
#include "cli/fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "cli/numbers.hpp"

namespace plait {

namespace {

using C = TrainConfig;
constexpr std::string_view kTask = "Model and data";
constexpr std::string_view kLength = "Length";
constexpr std::string_view kOptimizer = "Optimizer and loss";
constexpr std::string_view kRate = "Learning rate";
constexpr std::string_view kMachine = "Machine";
constexpr std::string_view kPipelines = "Pipelines";
constexpr std::string_view kParareal = "Parareal";
constexpr std::string_view kReplicas = "Between nodes";
constexpr std::string_view kCosts = "Costs for the planner";
constexpr std::string_view kFolder = "Run folder";

constexpr std::array kFields{
    Field{"model", &C::model, kTask, "NAME|FILE.toml", "network; plait models lists them"},
    Field{"data", &C::data, kTask, "KIND[:DIR]", "data set; plait data list shows the kinds"},
    Field{"init", &C::init, kTask, "FILE",
          "start from the weights of a .safetensors or .onnx file"},
    Field{"augment", &C::augment, kTask, "LIST", "none, or pad-crop 4, flip"},
    Field{"normalise", &C::normalise, kTask, "",
          "shift and scale each channel to mean 0, deviation 1"},
    Field{"shuffle", &C::shuffle, kTask, "on|off",
          "a new order in every epoch; off: the order of the data set"},
    Field{"train_limit", &C::train_limit, kTask, "N", "first N training samples only; 0: all"},
    Field{"test_limit", &C::test_limit, kTask, "N", "first N test samples only; 0: all"},

    Field{"batch", &C::batch, kLength, "N", "samples per update"},
    Field{"epochs", &C::epochs, kLength, "N", "passes over the training data", false},
    Field{"steps", &C::steps, kLength, "N", "stop after N updates; 0: epochs decide", false},
    Field{"drop_last", &C::drop_last, kLength, "",
          "leave out the smaller last minibatch of an epoch"},
    Field{"early_stop", &C::early_stop, kLength, "N",
          "stop after N epochs without improvement; 0: never", false},

    Field{"optimizer", &C::optimizer, kOptimizer, "NAME", "sgd, adam or adamw"},
    Field{"momentum", &C::momentum, kOptimizer, "X", "momentum of sgd"},
    Field{"nesterov", &C::nesterov, kOptimizer, "", "use Nesterov momentum"},
    Field{"weight_decay", &C::weight_decay, kOptimizer, "X", "L2 penalty on the weights"},
    Field{"decay", &C::decay, kOptimizer, "WHICH",
          "parameters that --weight-decay applies to: all, or matrices (2 or more dimensions: not "
          "biases, not normalisation)"},
    Field{"beta1", &C::beta1, kOptimizer, "X", "beta1 of adam and adamw"},
    Field{"beta2", &C::beta2, kOptimizer, "X", "beta2 of adam and adamw"},
    Field{"adam_epsilon", &C::adam_epsilon, kOptimizer, "X", "epsilon of adam and adamw"},
    Field{"clip_norm", &C::clip_norm, kOptimizer, "X", "largest norm of the gradient; 0: no limit"},
    Field{"loss", &C::loss, kOptimizer, "NAME", "cross_entropy or mse"},
    Field{"label_smoothing", &C::label_smoothing, kOptimizer, "X",
          "label smoothing of cross_entropy, 0 to 1"},
    Field{"class_weights", &C::class_weights, kOptimizer, "LIST|balanced",
          "of cross_entropy: one weight per class, or by how rare each is in the training data"},

    Field{"lr", &C::lr, kRate, "X", "learning rate"},
    Field{"lr_scale", &C::lr_scale, kRate, "X|workers",
          "factor on --lr, reached over --warmup-steps (0: over the first epoch)"},
    Field{"schedule", &C::schedule, kRate, "NAME", "constant, step or cosine"},
    Field{"warmup_steps", &C::warmup_steps, kRate, "N",
          "updates until the learning rate reaches --lr"},
    Field{"step_epochs", &C::step_epochs, kRate, "X",
          "schedule step: drop the rate every X epochs"},
    Field{"step_gamma", &C::step_gamma, kRate, "X", "schedule step: factor of a drop"},
    Field{"final_lr", &C::final_lr, kRate, "X",
          "schedule cosine: final rate as a fraction of --lr"},

    Field{"strategy", &C::strategy, kMachine, "NAME",
          "how the work is divided: serial, data_parallel, layerpipe, ...; plait plan "
          "--help lists all",
          false},
    Field{"workers", &C::workers, kMachine, "N",
          "number of workers; 0: as many as mpirun started, else 1", false},
    Field{"nodes", &C::nodes, kMachine, "N", "simulate N nodes on this machine", false},
    Field{"workers_per_node", &C::workers_per_node, kMachine, "N",
          "workers on each node; 0: workers / nodes", false},
    Field{"link_between_nodes", &C::link_between_nodes, kMachine, "RATE[,LATENCY]",
          "delay messages between nodes accordingly, e.g. 1Gbit/s,100us", false},
    Field{"threads", &C::threads, kMachine, "N", "threads per worker; 0: cores / workers", false},
    Field{"pin", &C::pin, kMachine, "HOW", "bind threads to cores: auto, cores or none", false},
    Field{"microbatches", &C::microbatches, kMachine, "N",
          "number of parts a worker's share of a batch is split into"},
    Field{"partition", &C::partition, kMachine, "HOW",
          "sparse_rows: FILE of plait partition, or merged, zoltan, block, "
          "random"},
    Field{"pipeline", &C::pipeline, kPipelines, "MODE",
          "layerpipe: sync, or async (weights some updates old)"},
    Field{"weights", &C::weights, kPipelines, "HOW",
          "async pipelines: weights of the backward pass: stash, rebuilt, predicted or ring"},
    Field{"stale_lr", &C::stale_lr, kPipelines, "X",
          "divide the learning rate of a block by (1 + staleness)^X; 0: do not"},
    Field{"max_staleness", &C::max_staleness, kPipelines, "N|auto",
          "async: most updates that weights are old; auto: PipeDream's, workers - 1"},
    Field{"in_flight", &C::in_flight, kPipelines, "N",
          "layerpipe: most microbatches in flight on a worker; 0: the planner chooses", false},
    Field{"replicas", &C::replicas, kMachine, "N",
          "workers per piece (parareal) or stage (layerpipe: 1, or 0: the planner chooses)", false},
    Field{"pieces", &C::pieces, kParareal, "N|auto",
          "number of pieces the depth is split into; 0: one per worker"},
    Field{"sweeps", &C::sweeps, kParareal, "N",
          "parareal sweeps; as many as pieces give the serial network"},
    Field{"coarse", &C::coarse, kParareal, "KIND",
          "coarse part of each piece: block, conv or identity"},
    Field{"residual_wire", &C::residual_wire, kParareal, "TYPE",
          "type of the values sent between pieces: fp32 or bf16"},
    Field{"fit_coarse", &C::fit_coarse, kParareal, "",
          "fit the coarse parts to the network of --init before training"},
    Field{"fit_steps", &C::fit_steps, kParareal, "N", "steps of --fit-coarse"},
    Field{"warmup_epochs", &C::warmup_epochs, kReplicas, "N",
          "daso: epochs at the start that average after every step"},
    Field{"cooldown_epochs", &C::cooldown_epochs, kReplicas, "N",
          "daso: epochs at the end that average after every step"},
    Field{"exchange_every", &C::exchange_every, kReplicas, "N",
          "daso: initial number of steps between exchanges of weights"},
    Field{"exchange_wait", &C::exchange_wait, kReplicas, "N",
          "daso: steps until an exchange is merged"},
    Field{"exchange_most", &C::exchange_most, kReplicas, "N", "daso: the largest --exchange-every"},
    Field{"merge", &C::merge, kReplicas, "HOW", "daso: paper or corrected"},
    Field{"exchange_wire", &C::exchange_wire, kReplicas, "TYPE",
          "type of weights sent between nodes: fp32, or bf16 with error feedback"},
    Field{"local_steps", &C::local_steps, kReplicas, "N",
          "local_sgd, diloco: steps between exchanges, counted over the whole run"},
    Field{"outer_lr", &C::outer_lr, kReplicas, "X",
          "diloco: outer learning rate; 0: chosen by --local-steps and the length of the run"},
    Field{"outer_momentum", &C::outer_momentum, kReplicas, "X",
          "diloco: outer momentum, 0 to 1; -1: chosen the same way"},
    Field{"inner", &C::inner, kReplicas, "NAME", "strategy inside a node"},
    Field{"memory_per_worker", &C::memory_per_worker, kMachine, "MiB",
          "most memory of a worker, data included; 0: what the machine has free", false},
    Field{"cost", &C::cost, kCosts, "HOW",
          "measured (here, once: kept in the cache), again (here, now), analytic (counted, for "
          "another machine), or auto: measured where several workers share the work",
          false},
    Field{"profile", &C::profile, kCosts, "FILE", "costs from plait profile --out", false},
    Field{"peak_gflops", &C::peak_gflops, kCosts, "X",
          "--cost analytic: fp32 GFLOP/s of a worker at its peak", false},
    Field{"peak_share", &C::peak_share, kCosts, "X",
          "--cost analytic: share of the peak that convolutions reach", false},
    Field{"memory_gbs", &C::memory_gbs, kCosts, "X", "--cost analytic: GB/s of memory of a worker",
          false},
    Field{"bucket_mb", &C::bucket_mb, kMachine, "X", "MiB of gradients reduced at a time", false},
    Field{"wire", &C::wire, kMachine, "TYPE", "type of gradients on the wire: fp32 or bf16"},
    Field{"stall_seconds", &C::stall_seconds, kMachine, "X",
          "stop after X seconds without progress; 0: never", false},
    Field{"trace_steps", &C::trace_steps, kMachine, "N",
          "number of last steps kept for trace.json; 0: no trace", false},
    Field{"seed", &C::seed, kMachine, "N", "seed of all random numbers"},

    Field{"run_dir", &C::run_dir, kFolder, "DIR",
          "\"\": a new one below runs/; none: write nothing", false},
    Field{"resume", &C::resume, kFolder, "", "continue the run in --run-dir", false},
    Field{"tensorboard", &C::tensorboard, kFolder, "", "also write event files to DIR/tensorboard",
          false},
    Field{"checkpoint_every", &C::checkpoint_every, kFolder, "N",
          "save every N updates; 0: at the end of epochs", false},
    Field{"checkpoint_minutes", &C::checkpoint_minutes, kFolder, "X",
          "save at least every X minutes, unless steps overlap; 0: not by time", false},
    Field{"keep_last", &C::keep_last, kFolder, "N", "checkpoints to keep besides the best", false},
};

}  // namespace

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

namespace {

std::string toml_text(const std::string& text) { return toml_string(text); }
std::string toml_text(bool value) { return value ? "true" : "false"; }
std::string toml_text(std::int64_t value) { return std::to_string(value); }
/// TOML's integers are signed: larger ones are written as text.
std::string toml_text(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  return value <= static_cast<std::uint64_t>(INT64_MAX) ? digits : toml_string(digits);
}
std::string toml_text(double value) {
  const std::string digits = fmt::format("{}", value);
  return digits.find_first_not_of("-0123456789") == std::string::npos ? digits + ".0" : digits;
}

struct TomlSetter {
  const TomlValue& value;
  const std::string& place;

  [[noreturn]] void refuse(std::string_view wanted) const {
    user_error("{} must be {} but is {}", place, wanted, type_name(value));
  }
  void operator()(std::string& to) const {
    const auto* text = std::get_if<std::string>(&value.data);
    if (text == nullptr) refuse("a text in quotes");
    if (text->find('\0') != std::string::npos) user_error("{} must not hold a zero byte", place);
    to = *text;
  }
  void operator()(bool& to) const {
    const auto* boolean = std::get_if<bool>(&value.data);
    if (boolean == nullptr) refuse("true or false");
    to = *boolean;
  }
  void operator()(std::int64_t& to) const {
    const auto* integer = std::get_if<std::int64_t>(&value.data);
    if (integer == nullptr) refuse("a whole number");
    to = *integer;
  }
  void operator()(std::uint64_t& to) const {
    if (const auto* text = std::get_if<std::string>(&value.data)) {
      to = parse_unsigned(*text, place);
      return;
    }
    std::int64_t integer = 0;
    (*this)(integer);
    if (integer < 0) user_error("{} is {} but must not be negative", place, integer);
    to = static_cast<std::uint64_t>(integer);
  }
  void operator()(double& to) const {
    if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
      to = static_cast<double>(*integer);
      return;
    }
    const auto* real = std::get_if<double>(&value.data);
    if (real == nullptr) refuse("a number");
    if (!std::isfinite(*real)) user_error("{} is {} but must be a finite number", place, *real);
    to = *real;
  }
};

}  // namespace

std::span<const Field> fields() { return kFields; }

const Field* find_field(std::string_view key) {
  const auto found = std::ranges::find(kFields, key, &Field::key);
  return found == kFields.end() ? nullptr : &*found;
}

std::vector<std::string> field_keys() {
  std::vector<std::string> keys;
  for (const Field& field : kFields) keys.emplace_back(field.key);
  return keys;
}

std::string flag_of(const Field& field) {
  std::string flag = "--" + std::string(field.key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

void set_from_text(TrainConfig& config, const Field& field, std::string_view text,
                   const std::string& name) {
  struct Setter {
    std::string_view text;
    const std::string& name;
    void operator()(std::string& to) const { to = text; }
    void operator()(bool& to) const { to = parse_boolean(text, name); }
    void operator()(std::int64_t& to) const { to = parse_integer(text, name); }
    void operator()(std::uint64_t& to) const { to = parse_unsigned(text, name); }
    void operator()(double& to) const { to = parse_double(text, name); }
  };
  std::visit([&](auto member) { Setter{text, name}(config.*member); }, field.member);
}

void set_from_toml(TrainConfig& config, const Field& field, const TomlValue& value,
                   const std::string& place) {
  std::visit([&](auto member) { TomlSetter{value, place}(config.*member); }, field.member);
}

std::string toml_of(const TrainConfig& config, const Field& field) {
  return std::visit([&](auto member) { return toml_text(config.*member); }, field.member);
}

bool equal_in(const Field& field, const TrainConfig& a, const TrainConfig& b) {
  return std::visit([&](auto member) { return a.*member == b.*member; }, field.member);
}

void copy_field(const Field& field, const TrainConfig& from, TrainConfig& to) {
  std::visit([&](auto member) { to.*member = from.*member; }, field.member);
}

}  // namespace plait
