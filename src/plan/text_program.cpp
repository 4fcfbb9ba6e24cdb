// Finds lines that repeat for the next microbatch, blocks or bucket, and shows the first round
// only.
#include "plan/text_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "plan/text_lines.hpp"

namespace plait::plan {

namespace {

constexpr std::size_t kLongestRound = 24;  ///< lines
constexpr std::size_t kLeastSaved = 2;     ///< lines a fold must save

std::string run_text(const Network& network, int first, int last, const std::string& count) {
  const auto name = [&](int block) -> const std::string& {
    return network.blocks[static_cast<std::size_t>(block)].name;
  };
  if (first == last) return name(first);
  return fmt::format("{} .. {} ({})", name(first), name(last), count);
}

/// How a line differs from the same line of the round before.
struct Step {
  int blocks = 0;  ///< 0: the same blocks; +-1: those that follow on the way up or down
  int bucket = 0;
  int part = 0;
  bool operator==(const Step&) const = default;
};

/// Nothing where one is not a repetition of the other.
std::optional<Step> step_between(const Network& network, const Line& a, const Line& b) {
  if (a.what != b.what || a.when != b.when || a.blocks != b.blocks ||
      a.samples.has_value() != b.samples.has_value() ||
      a.last_bucket - a.bucket != b.last_bucket - b.bucket) {
    return std::nullopt;
  }
  Step step{.bucket = b.bucket - a.bucket};
  if (a.first != b.first || a.last != b.last) {
    step.blocks = b.first > a.last ? 1 : -1;
    const bool same_way = a.blocks == 1 || (a.last > a.first) == (step.blocks > 0);
    if (!same_way || !follows(network, a.last, b.first, true)) return std::nullopt;
  }
  if (a.samples) {
    step.part = b.samples->begin - a.samples->begin;
    const Samples shifted{a.samples->begin + step.part, a.samples->end + step.part, a.samples->of};
    if (*b.samples != shifted) return std::nullopt;
  }
  if (std::abs(step.bucket) > 1 || std::abs(step.part) > 1) return std::nullopt;
  return step;
}

/// How often lines [at, at + period) come again, with the same steps each time.
std::size_t rounds(const Network& network, const std::vector<Line>& lines, std::size_t at,
                   std::size_t period) {
  std::size_t count = lines.size();
  bool moves = false;
  for (std::size_t k = at; k < at + period; ++k) {
    std::optional<Step> step;
    std::size_t line_count = 1;
    for (std::size_t next = k + period; next < lines.size(); next += period, ++line_count) {
      const std::optional<Step> here = step_between(network, lines[next - period], lines[next]);
      if (!here || (step && *step != *here)) break;
      step = here;
    }
    if (step && *step != Step{}) moves = true;
    count = std::min(count, line_count);
    if (count == 1) return 1;
  }
  return moves ? count : 1;
}

std::string part_text(const Samples& first, const Samples& last) {
  if (first.begin == 0 && first.end == first.of) return "";
  const int from = first.begin + 1;
  const int to = last.begin < first.begin ? last.begin + 1 : last.end;
  if (from == to) return fmt::format("part {} of {}", from, first.of);
  return fmt::format("parts {} to {} of {}", from, to, first.of);
}

/// `count` rounds of lines, the first and the last of which are known.
class RoundText {
 public:
  RoundText(const Network& network, const std::vector<Line>& lines, std::size_t at,
            std::size_t period, std::size_t count)
      : network_(network), lines_(lines), at_(at), period_(period), count_(count) {}

  void append_to(std::vector<std::string>& text) const {
    if (count_ == 1 || period_ == 1) {
      std::string line = line_text(0, true);
      if (count_ > 1) line += ", in turn";
      text.push_back(std::move(line));
      return;
    }
    const std::string parts = common_parts();
    text.push_back(fmt::format("{} times{}{}:", count_, parts.empty() ? "" : ", for ", parts));
    for (std::size_t k = 0; k < period_; ++k) text.push_back("  " + line_text(k, parts.empty()));
  }

 private:
  const Line& first(std::size_t k) const { return lines_[at_ + k]; }
  const Line& last(std::size_t k) const { return lines_[at_ + (count_ - 1) * period_ + k]; }

  /// The parts of all lines, where they are the same for those that have some.
  std::string common_parts() const {
    std::string common;
    for (std::size_t k = 0; k < period_; ++k) {
      if (!first(k).samples) continue;
      const std::string text = part_text(*first(k).samples, *last(k).samples);
      if (text.empty() || (!common.empty() && common != text)) return "";
      common = text;
    }
    return common;
  }

  std::string line_text(std::size_t k, bool with_parts) const {
    const Line& begin = first(k);
    const Line& end = last(k);
    std::string text = begin.what;
    if (begin.first >= 0) {
      const std::string count =
          begin.first == end.first
              ? fmt::format("{} blocks", begin.blocks)
              : fmt::format("{} block{} each time", begin.blocks, begin.blocks == 1 ? "" : "s");
      text += " of " + run_text(network_, begin.first, end.last, count);
    }
    if (begin.bucket >= 0) {
      text += begin.bucket == end.last_bucket
                  ? fmt::format(" of bucket {}", begin.bucket)
                  : fmt::format(" of buckets {} to {}", begin.bucket, end.last_bucket);
    }
    if (with_parts && begin.samples) {
      const std::string parts = part_text(*begin.samples, *end.samples);
      if (!parts.empty()) text += ", " + parts;
    }
    return text + begin.when;
  }

  const Network& network_;
  const std::vector<Line>& lines_;
  std::size_t at_;
  std::size_t period_;
  std::size_t count_;
};

}  // namespace

std::string block_list(const Network& network, const std::vector<int>& blocks) {
  std::string text;
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t end = i + 1;
    int direction = 0;
    while (end < blocks.size() && follows(network, blocks[end - 1], blocks[end], true)) {
      const int way = blocks[end] > blocks[end - 1] ? 1 : -1;
      if (direction != 0 && way != direction) break;
      direction = way;
      ++end;
    }
    if (!text.empty()) text += ", ";
    text += run_text(network, blocks[i], blocks[end - 1], fmt::format("{} blocks", end - i));
    i = end;
  }
  return text;
}

Samples envelope(const std::vector<Task>& tasks) {
  std::vector<Samples> parts;
  for (const Task& task : tasks) {
    if (takes_samples(task)) parts.push_back(samples_of(task));
  }
  if (parts.empty()) return {};
  std::ranges::sort(parts, {}, &Samples::begin);
  Samples whole = parts.front();
  for (const Samples& part : parts) {
    if (part.of != whole.of || part.begin > whole.end) return {};  // other fractions, or a gap
    whole.end = std::max(whole.end, part.end);
  }
  return whole;
}

std::vector<Task> relative_to(const Samples& whole, const Plan& plan, std::vector<Task> tasks) {
  for (Task& task : tasks) {
    if (auto* reduce = std::get_if<Reduce>(&task.what)) {
      reduce->group = static_cast<int>(plan.groups[static_cast<std::size_t>(reduce->group)].size());
    }
    const Samples samples = samples_of(task);
    if (takes_samples(task) && samples.of == whole.of) {
      set_samples(
          task, {samples.begin - whole.begin, samples.end - whole.begin, whole.end - whole.begin});
    }
  }
  return tasks;
}

std::vector<std::string> program_text(const Plan& plan, const std::vector<Task>& tasks) {
  const std::vector<Line> lines = fold(plan, tasks);
  std::vector<std::string> text;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t period = 1;
    std::size_t count = 1;
    std::size_t saved = kLeastSaved - 1;
    for (std::size_t p = 1; p <= kLongestRound && i + 2 * p <= lines.size(); ++p) {
      const std::size_t found = rounds(plan.network, lines, i, p);
      const std::size_t saves = (found - 1) * p - (found > 1 && p > 1 ? 1 : 0);
      if (saves <= saved) continue;
      saved = saves;
      count = found;
      period = p;
    }
    RoundText(plan.network, lines, i, period, count).append_to(text);
    i += count * period;
  }
  return text;
}

}  // namespace plait::plan
