// A task as JSON, both ways: when it runs and what it does.
#include "plan/json_task.hpp"

namespace plait::plan {

namespace {

constexpr Limits kIndex{-1, INT32_MAX};
constexpr Limits kSteps{0, 1 << 20};

/// The fields of one task. What has its usual value is left out.
class TaskWriter {
 public:
  explicit TaskWriter(const Task& task) : json_{{"kind", name_of(kind_of(task))}} {
    std::visit(*this, task.what);
    const When usual{};
    put("offset", task.when.offset, usual.offset);
    put("every", task.when.every, usual.every);
    put("phase", task.when.phase, usual.phase);
    put("mode", task.when.mode, usual.mode);
    flag("at_end", task.when.at_end);
  }
  Json take() { return std::move(json_); }

  void operator()(const Load& load) { part(load.samples); }
  void operator()(const Forward& forward) {
    put("block", forward.block, -1);
    part(forward.samples);
    put("delay", forward.delay, 0);
    if (!forward.moves_state) json_["moves_state"] = false;
  }
  void operator()(const Loss& loss) { part(loss.samples); }
  void operator()(const BackwardData& backward) {
    put("block", backward.block, -1);
    put("tensor", backward.tensor, -1);
    part(backward.samples);
    put("delay", backward.delay, 0);
  }
  void operator()(const BackwardWeights& backward) {
    put("block", backward.block, -1);
    part(backward.samples);
    flag("adds", backward.adds);
  }
  void operator()(const AddGradient& add) { put("block", add.block, -1); }
  void operator()(const Clip&) {}
  void operator()(const Update& update) { put("block", update.block, -1); }
  void operator()(const Send& send) { message(send.message); }
  void operator()(const Receive& receive) {
    message(receive.message);
    flag("adds", receive.adds);
  }
  void operator()(const Reduce& reduce) {
    put("group", reduce.group, -1);
    put("bucket", reduce.bucket, -1);
  }

 private:
  void put(const char* key, int value, int otherwise) {
    if (value != otherwise) json_[key] = value;
  }
  void flag(const char* key, bool value) {
    if (value) json_[key] = true;
  }
  void part(const Samples& samples) {
    if (samples != Samples{}) json_["samples"] = samples_json(samples);
  }
  void message(const Message& message) {
    json_["role"] = name_of(message.value.role);
    put(is_of_tensor(message.value.role) ? "tensor" : "block", message.value.index, -1);
    put("peer", message.peer, -1);
    put("list", message.list, -1);
    part(message.value.samples);
    flag("half", message.half);
  }

  Json json_;
};

class TaskReader {
 public:
  explicit TaskReader(const JsonField& field) : field_(field) {}

  Task read() const {
    const When usual{};
    return {.when = {.offset = field_.small_or("offset", usual.offset, kSteps),
                     .every = field_.small_or("every", usual.every, {1, kSteps.most}),
                     .phase = field_.small_or("phase", usual.phase, kSteps),
                     .mode = field_.small_or("mode", usual.mode, kIndex),
                     .at_end = field_.flag_or("at_end", usual.at_end)},
            .what = what()};
  }

 private:
  What what() const {
    using enum TaskKind;
    switch (field_.at("kind").word({load, forward, loss, backward_data, backward_weights,
                                    add_gradient, clip, update, send, receive, reduce_start,
                                    reduce_sum, reduce_finish})) {
      case load: return Load{part()};
      case forward:
        return Forward{.block = index("block"),
                       .samples = part(),
                       .delay = delay(),
                       .moves_state = field_.flag_or("moves_state", true)};
      case loss: return Loss{part()};
      case backward_data:
        return BackwardData{.block = index("block"),
                            .tensor = index("tensor"),
                            .samples = part(),
                            .delay = delay()};
      case backward_weights:
        return BackwardWeights{
            .block = index("block"), .samples = part(), .adds = field_.flag_or("adds", false)};
      case add_gradient: return AddGradient{index("block")};
      case clip: return Clip{};
      case update: return Update{index("block")};
      case send: return Send{message()};
      case receive: return Receive{.message = message(), .adds = field_.flag_or("adds", false)};
      case reduce_start: return reduce(Move::start);
      case reduce_sum: return reduce(Move::sum);
      case reduce_finish: return reduce(Move::finish);
    }
    return Clip{};
  }

  int index(const char* key) const { return field_.small_or(key, -1, kIndex); }
  int delay() const { return field_.small_or("delay", 0, kSteps); }
  Samples part() const {
    return field_.has("samples") ? read_samples(field_.at("samples")) : Samples{};
  }
  Reduce reduce(Move move) const { return {move, index("group"), index("bucket")}; }
  Message message() const {
    const Role role = field_.at("role").word(
        {Role::tensor, Role::diff, Role::saved, Role::pending, Role::weights, Role::gradient});
    return {.value = {role, index(is_of_tensor(role) ? "tensor" : "block"), part()},
            .peer = index("peer"),
            .list = index("list"),
            .half = field_.flag_or("half", false)};
  }

  const JsonField& field_;
};

}  // namespace

Json samples_json(const Samples& samples) { return {samples.begin, samples.end, samples.of}; }

Samples read_samples(const JsonField& field) {
  const std::vector<int> numbers = field.numbers_as<int>(3, {0, INT32_MAX});
  if (numbers.size() != 3 || numbers[0] >= numbers[1] || numbers[1] > numbers[2]) {
    field.refuse("must be [begin, end, of], a part of a minibatch");
  }
  return {numbers[0], numbers[1], numbers[2]};
}

Json task_json(const Task& task) { return TaskWriter(task).take(); }

Task read_task(const JsonField& field) { return TaskReader(field).read(); }

}  // namespace plait::plan
