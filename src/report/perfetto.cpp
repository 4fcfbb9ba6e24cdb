// Trace events as JSON, flushed in pieces so that a long trace needs little memory.
#include "report/perfetto.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <sstream>

#include "base/error.hpp"
#include "base/out_file.hpp"

namespace plait::report {

namespace {

constexpr std::size_t kFlushBytes = 64 << 10;

/// With its quotes; whatever is not UTF-8 becomes the replacement character.
std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const char* category(trace::Activity activity) {
  switch (activity) {
    case trace::Activity::compute: return "compute";
    case trace::Activity::communicate: return "communicate";
    case trace::Activity::wait: return "wait";
  }
  return "";
}

/// "forward conv1", "send gradient of tensor 5 to worker 1", "reduce_sum bucket 2".
std::string slice_name(const plan::Plan& plan, const plan::Task& task) {
  const std::string_view kind = name_of(plan::kind_of(task));
  if (plan::message_of(task) != nullptr) {
    return plan::describe(plan, task);
  }
  if (const auto* reduce = std::get_if<plan::Reduce>(&task.what)) {
    return fmt::format("{} bucket {}", kind, reduce->bucket);
  }
  if (plan::block_of(task) < 0) return std::string(kind);
  return fmt::format("{} {}", kind,
                     plan.network.blocks[static_cast<std::size_t>(plan::block_of(task))].name);
}

class Writer {
 public:
  Writer(std::ostream& out, const plan::Plan& plan) : out_(out), plan_(plan) {}

  void write(const trace::Trace& trace, const std::vector<PerfettoLabel>& labels) {
    add("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{");
    for (std::size_t i = 0; i < labels.size(); ++i) {
      add("{}{}:{}", i > 0 ? "," : "", json_text(labels[i].key), json_text(labels[i].value));
    }
    add("}},\"traceEvents\":[");
    for (int worker = 0; worker < static_cast<int>(trace.workers.size()); ++worker) {
      add_names(worker);
    }
    for (int worker = 0; worker < static_cast<int>(trace.workers.size()); ++worker) {
      add_events(worker, trace.workers[static_cast<std::size_t>(worker)]);
    }
    add("\n]}}\n");
    flush();
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushBytes) flush();
  }
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }
  /// Between two events.
  const char* comma() { return std::exchange(first_, false) ? "\n" : ",\n"; }

  /// Metadata: the names of the node (with its first worker) and of the worker.
  void add_names(int worker) {
    const int node = plan_.machine.node_of(worker);
    if (worker % plan_.machine.workers_per_node == 0) {
      add("{}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"node "
          "{}\"}}}}",
          comma(), node, node);
      add("{}{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{},"
          "\"args\":{{\"sort_index\":{}}}}}",
          comma(), node, node);
    }
    add("{}{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},"
        "\"args\":{{\"name\":\"worker {}\"}}}}",
        comma(), node, worker, worker);
    add("{}{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{},\"tid\":{},"
        "\"args\":{{\"sort_index\":{}}}}}",
        comma(), node, worker, worker);
  }

  void add_events(int worker, const trace::WorkerTrace& trace) {
    if (trace.events().empty()) return;
    std::vector<std::string> names;
    std::vector<std::string> waits;
    for (const plan::Task& task : plan_.programs[static_cast<std::size_t>(worker)].tasks) {
      const std::string name = slice_name(plan_, task);
      names.push_back(json_text(name));
      waits.push_back(json_text("wait: " + name));
    }
    for (const trace::Event& event : trace.events()) {
      const auto task = static_cast<std::size_t>(event.task);
      add("{}{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},"
          "\"dur\":{:.3f},\"args\":{{\"minibatch\":{},\"step\":{},\"bytes\":{}}}}}",
          comma(), (event.activity == trace::Activity::wait ? waits : names).at(task),
          category(event.activity), plan_.machine.node_of(worker), worker, 1e6 * event.begin,
          1e6 * (event.end - event.begin), event.minibatch, event.step, event.bytes);
    }
  }

  std::ostream& out_;
  const plan::Plan& plan_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

}  // namespace

void write_perfetto(std::ostream& out, const plan::Plan& plan, const trace::Trace& trace,
                    const std::vector<PerfettoLabel>& labels) {
  if (trace.workers.size() > plan.programs.size()) {
    fail("a trace of {} workers for a plan of {}", trace.workers.size(), plan.programs.size());
  }
  Writer(out, plan).write(trace, labels);
}

void write_perfetto(const std::string& path, const plan::Plan& plan, const trace::Trace& trace,
                    const std::vector<PerfettoLabel>& labels) {
  std::ostringstream text;
  write_perfetto(text, plan, trace, labels);
  write_out_file(path, text.view());
}

}  // namespace plait::report
