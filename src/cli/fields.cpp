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
constexpr std::string_view kFolder = "Run folder";

constexpr std::array kFields{
    Field{"model", &C::model, kTask, "NAME|FILE.toml", "network; plait models lists them"},
    Field{"data", &C::data, kTask, "KIND[:DIR]", "data set; plait data list shows the kinds"},
    Field{"init", &C::init, kTask, "FILE",
          "begin from the weights of a .safetensors or .onnx file"},
    Field{"augment", &C::augment, kTask, "LIST", "none, or pad-crop 4, flip"},
    Field{"normalise", &C::normalise, kTask, "",
          "shift and scale each channel to mean 0, deviation 1"},
    Field{"train_limit", &C::train_limit, kTask, "N", "first N training samples only; 0: all"},
    Field{"test_limit", &C::test_limit, kTask, "N", "first N test samples only; 0: all"},

    Field{"batch", &C::batch, kLength, "N", "samples per update"},
    Field{"epochs", &C::epochs, kLength, "N", "passes over the training data", false},
    Field{"steps", &C::steps, kLength, "N", "stop after N updates; 0: epochs decide", false},
    Field{"early_stop", &C::early_stop, kLength, "N",
          "stop after N epochs without improvement; 0: never", false},

    Field{"optimizer", &C::optimizer, kOptimizer, "NAME", "sgd, adam or adamw"},
    Field{"momentum", &C::momentum, kOptimizer, "X", "of sgd"},
    Field{"nesterov", &C::nesterov, kOptimizer, "", "Nesterov's form of sgd"},
    Field{"weight_decay", &C::weight_decay, kOptimizer, "X", "pull of the weights towards 0"},
    Field{"beta1", &C::beta1, kOptimizer, "X", "of adam and adamw"},
    Field{"beta2", &C::beta2, kOptimizer, "X", "of adam and adamw"},
    Field{"adam_epsilon", &C::adam_epsilon, kOptimizer, "X", "of adam and adamw"},
    Field{"clip_norm", &C::clip_norm, kOptimizer, "X", "largest norm of the gradient; 0: no limit"},
    Field{"loss", &C::loss, kOptimizer, "NAME", "cross_entropy or mse"},
    Field{"label_smoothing", &C::label_smoothing, kOptimizer, "X", "of cross_entropy, 0 to 1"},

    Field{"lr", &C::lr, kRate, "X", "learning rate"},
    Field{"lr_scale", &C::lr_scale, kRate, "X|workers",
          "--lr is multiplied by it, in a ramp over --warmup-steps (0: the first epoch)"},
    Field{"schedule", &C::schedule, kRate, "NAME", "constant, step or cosine"},
    Field{"warmup_steps", &C::warmup_steps, kRate, "N", "updates until the rate is reached"},
    Field{"step_epochs", &C::step_epochs, kRate, "X", "schedule step: a drop each X epochs"},
    Field{"step_gamma", &C::step_gamma, kRate, "X", "schedule step: the factor of a drop"},
    Field{"final_lr", &C::final_lr, kRate, "X", "schedule cosine: the end, as a fraction of --lr"},

    Field{"strategy", &C::strategy, kMachine, "NAME",
          "how the work is cut: serial, data_parallel, layerpipe, ...; plait plan --help has all",
          false},
    Field{"workers", &C::workers, kMachine, "N",
          "how many share the work; 0: what mpirun started, else 1", false},
    Field{"nodes", &C::nodes, kMachine, "N", "the workers pretend to be on N nodes", false},
    Field{"workers_per_node", &C::workers_per_node, kMachine, "N", "0: workers / nodes", false},
    Field{"link_between_nodes", &C::link_between_nodes, kMachine, "RATE[,LATENCY]",
          "1Gbit/s,100us: messages between nodes take that long", false},
    Field{"threads", &C::threads, kMachine, "N", "per worker; 0: cores / workers", false},
    Field{"pin", &C::pin, kMachine, "HOW", "threads to cores: auto, cores or none", false},
    Field{"microbatches", &C::microbatches, kMachine, "N",
          "pieces a worker's share of a batch is computed in"},
    Field{"partition", &C::partition, kMachine, "HOW",
          "sparse_rows: FILE of plait partition, or merged, zoltan, block, "
          "random"},
    Field{"pipeline", &C::pipeline, kPipelines, "MODE",
          "layerpipe: sync, or async (weights some updates old)"},
    Field{"weights", &C::weights, kPipelines, "HOW",
          "of async pipelines: stash, rebuilt, predicted or ring"},
    Field{"stale_lr", &C::stale_lr, kPipelines, "X",
          "learning rate of a block / (1 + its staleness)^X; 0: the same for "
          "all"},
    Field{"in_flight", &C::in_flight, kPipelines, "N",
          "layerpipe: most microbatches on a worker; 0: the planner's choice", false},
    Field{"replicas", &C::replicas, kMachine, "N",
          "workers of each piece: parareal N; layerpipe 1, or as many as it finds best (0)", false},
    Field{"pieces", &C::pieces, kParareal, "N|auto",
          "that the depth is torn into; 0: one per worker"},
    Field{"sweeps", &C::sweeps, kParareal, "N",
          "over the torn network; as many as pieces: the serial network"},
    Field{"coarse", &C::coarse, kParareal, "KIND",
          "stand-ins for the pieces: block, conv, identity"},
    Field{"residual_wire", &C::residual_wire, kParareal, "TYPE",
          "numbers that cross interfaces: fp32 or bf16"},
    Field{"fit_coarse", &C::fit_coarse, kParareal, "",
          "fit the coarse parts to the network of --init before training"},
    Field{"fit_steps", &C::fit_steps, kParareal, "N", "of --fit-coarse"},
    Field{"warmup_epochs", &C::warmup_epochs, kReplicas, "N",
          "daso: epochs at the beginning that average after every step"},
    Field{"cooldown_epochs", &C::cooldown_epochs, kReplicas, "N", "daso: the same at the end"},
    Field{"exchange_every", &C::exchange_every, kReplicas, "N",
          "daso: steps from one exchange of weights to the next, at first"},
    Field{"exchange_wait", &C::exchange_wait, kReplicas, "N", "daso: steps until it is merged"},
    Field{"exchange_most", &C::exchange_most, kReplicas, "N", "daso: the largest --exchange-every"},
    Field{"merge", &C::merge, kReplicas, "HOW", "daso: paper or corrected"},
    Field{"exchange_wire", &C::exchange_wire, kReplicas, "TYPE",
          "weights between nodes: fp32, or bf16 with what rounding left out "
          "sent later"},
    Field{"local_steps", &C::local_steps, kReplicas, "N",
          "local_sgd, diloco: steps between exchanges"},
    Field{"outer_lr", &C::outer_lr, kReplicas, "X", "diloco: of the outer optimizer"},
    Field{"outer_momentum", &C::outer_momentum, kReplicas, "X", "diloco: of the outer optimizer"},
    Field{"inner", &C::inner, kReplicas, "NAME", "the strategy inside a node"},
    Field{"memory_per_worker", &C::memory_per_worker, kMachine, "MiB",
          "plans that need more MiB are refused; 0: not checked", false},
    Field{"profile", &C::profile, kMachine, "FILE",
          "costs for the planner, of plait profile --out; without: counted", false},
    Field{"bucket_mb", &C::bucket_mb, kMachine, "X", "MB of gradients reduced at a time", false},
    Field{"wire", &C::wire, kMachine, "TYPE", "numbers of reduced gradients: fp32 or bf16"},
    Field{"stall_seconds", &C::stall_seconds, kMachine, "X",
          "stop when nothing moves for so long; 0: never", false},
    Field{"trace_steps", &C::trace_steps, kMachine, "N",
          "steps kept for trace.json, the last ones; 0: no trace", false},
    Field{"seed", &C::seed, kMachine, "N", "of all random numbers"},

    Field{"run_dir", &C::run_dir, kFolder, "DIR",
          "\"\": a new one below runs/; none: write nothing", false},
    Field{"resume", &C::resume, kFolder, "", "go on where the run in --run-dir stopped", false},
    Field{"tensorboard", &C::tensorboard, kFolder, "",
          "the numbers of every epoch also as event files in DIR/tensorboard", false},
    Field{"checkpoint_every", &C::checkpoint_every, kFolder, "N",
          "save each N updates; 0: at the end of epochs", false},
    Field{"checkpoint_minutes", &C::checkpoint_minutes, kFolder, "X",
          "save at least each X minutes, where steps do not overlap; 0: not by time", false},
    Field{"keep_last", &C::keep_last, kFolder, "N", "checkpoints to keep, besides the best", false},
};

std::string quoted(std::string_view text) {
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

std::string toml_text(const std::string& text) { return quoted(text); }
std::string toml_text(bool value) { return value ? "true" : "false"; }
std::string toml_text(std::int64_t value) { return std::to_string(value); }
/// TOML's integers are signed: larger ones are written as text.
std::string toml_text(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  return value <= static_cast<std::uint64_t>(INT64_MAX) ? digits : quoted(digits);
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
