// Checks each part of a report.json: types, ranges, and equal lengths of columns.
#include "report/record_check.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "report/timeline.hpp"

namespace plait::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostTicks = std::int64_t{1} << 53;  // what JavaScript counts exactly

[[noreturn]] void damaged(const std::string& where, std::string_view what) {
  user_error("{} is damaged: {}; delete it to get a page without timeline and breakdown", where,
             what);
}

const Json& part(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object() || !object.contains(key)) {
    damaged(where, fmt::format("no '{}'", key));
  }
  return object.at(key);
}

const Json& array(const Json& object, const char* key, const std::string& where) {
  const Json& list = part(object, key, where);
  if (!list.is_array()) damaged(where, fmt::format("'{}' is no list", key));
  return list;
}

void check_text(const Json& object, const char* key, const std::string& where) {
  if (!part(object, key, where).is_string()) damaged(where, fmt::format("'{}' is no text", key));
}

/// A finite number from 0 on.
void check_number(const Json& value, const char* name, const std::string& where) {
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
    damaged(where, fmt::format("'{}' is no number from 0 on", name));
  }
}

void check_numbers(const Json& object, const std::vector<const char*>& keys,
                   const std::string& where) {
  for (const char* key : keys) check_number(part(object, key, where), key, where);
}

/// Whole numbers 0 .. most, `count` of them.
void check_column(const Json& worker, const char* key, std::size_t count, std::int64_t most,
                  const std::string& where) {
  const Json& column = array(worker, key, where);
  if (column.size() != count) {
    damaged(where, fmt::format("'{}' has {} entries instead of {}", key, column.size(), count));
  }
  for (const Json& value : column) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
        value.get<std::int64_t>() > most) {
      damaged(where,
              fmt::format("'{}' has an entry that is no whole number of 0 to {}", key, most));
    }
  }
}

void check_breakdown(const Json& found, std::size_t workers, const std::string& where) {
  if (found.is_null()) return;
  check_numbers(found, {"steps"}, where);
  const Json& list = array(found, "workers", where);
  const Json& bytes = array(found, "bytes", where);
  if (list.size() != workers || bytes.size() != workers) {
    damaged(where, fmt::format("a breakdown of {} workers in a plan of {}", list.size(), workers));
  }
  for (const Json& worker : list) {
    check_numbers(worker,
                  {"forward", "backward_data", "backward_weights", "update", "other",
                   "communication", "waiting", "span"},
                  where);
  }
  for (const Json& block : array(found, "blocks", where)) {
    check_text(block, "name", where);
    check_numbers(block, {"forward", "backward_data", "backward_weights"}, where);
  }
  for (const Json& row : bytes) {
    if (!row.is_array() || row.size() != workers) damaged(where, "'bytes' is not square");
    for (const Json& value : row) check_number(value, "bytes", where);
  }
}

void check_plan(const Json& plan, const std::string& where) {
  check_text(plan, "strategy", where);
  check_text(plan, "old_weights", where);
  check_numbers(plan, {"workers", "batch", "microbatches", "depth"}, where);
  for (const Json& block : array(plan, "blocks", where)) {
    check_text(block, "name", where);
    check_numbers(block, {"staleness"}, where);
  }
  for (const Json& layer : array(plan, "volumes", where)) {
    check_text(layer, "name", where);
    check_numbers(layer, {"forward_words", "backward_words"}, where);
  }
  for (const char* key : {"tasks", "modes"}) {
    for (const Json& text : array(plan, key, where)) {
      if (!text.is_string()) damaged(where, fmt::format("'{}' has an entry that is no text", key));
    }
  }
}

void check_straggler(const Json& found, const std::string& where) {
  if (found.is_null()) return;
  check_numbers(found, {"worker", "compute", "others", "cost"}, where);
  const Json& planned = part(found, "planned", where);
  if (!planned.is_null()) check_number(planned, "planned", where);
}

void check_result(const Json& result, const std::string& where) {
  if (result.is_null()) return;
  for (const char* key : {"model", "strategy", "weights_hash"}) check_text(result, key, where);
  check_numbers(
      result,
      {"workers", "threads", "epochs", "steps", "seconds", "images_per_second", "step_seconds",
       "bytes_sent", "messages_sent", "peak_memory_bytes", "staleness_max", "utilisation"},
      where);
}

}  // namespace

void check_timeline(const Json& timeline, const std::string& where) {
  if (timeline.is_null()) return;
  check_numbers(timeline, {"first_step", "last_step"}, where);
  const Json& labels = array(timeline, "labels", where);
  for (const Json& label : labels) {
    if (!label.is_array() || label.size() != 3 || !label[0].is_string() || !label[1].is_string()) {
      damaged(where, "'labels' has an entry that is not text, kind and bytes");
    }
    check_number(label[2], "labels", where);
  }
  for (const Json& worker : array(timeline, "workers", where)) {
    const std::size_t count = array(worker, "begin", where).size();
    check_column(worker, "label", count, static_cast<std::int64_t>(labels.size()) - 1, where);
    for (const char* key : {"begin", "length", "minibatch", "step"}) {
      check_column(worker, key, count, kMostTicks, where);
    }
    const Json& begin = worker["begin"];
    for (std::size_t i = 1; i < count; ++i) {
      if (begin[i].get<std::int64_t>() < begin[i - 1].get<std::int64_t>()) {
        damaged(where, "events are not in the order of time");
      }
    }
  }
}

void check_record(const Json& record, const std::string& file) {
  const Json& format = part(record, "format", file);
  if (format != kRecordFormat) {
    user_error("{} has format {}, this plait reads {}; delete it to get a page without timeline",
               file, format.dump(), kRecordFormat);
  }
  check_result(part(record, "result", file), file);
  const Json& machine = part(record, "machine", file);
  check_text(machine, "processor", file);
  check_numbers(machine, {"cores", "nodes", "workers_per_node"}, file);
  const Json& plan = part(record, "plan", file);
  check_plan(plan, file);
  if (!plan["workers"].is_number_integer()) damaged(file, "'workers' is no whole number");
  const auto workers = plan["workers"].get<std::size_t>();
  const Json& predicted = part(record, "predicted", file);
  check_text(predicted, "source", file);
  check_numbers(predicted, {"step_seconds", "utilisation"}, file);
  check_timeline(part(predicted, "timeline", file), file);
  check_breakdown(part(predicted, "breakdown", file), workers, file);
  const Json& measured = part(record, "measured", file);
  if (measured.is_null()) return;
  check_timeline(part(measured, "timeline", file), file);
  check_breakdown(part(measured, "breakdown", file), workers, file);
  check_straggler(part(measured, "straggler", file), file);
}

}  // namespace plait::report
