// Lays out the picture: lanes, bars, ticks, legend, as SVG text.
#include "report/schedule_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/error.hpp"
#include "report/schedule_picture_bars.hpp"
#include "report/schedule_picture_lanes.hpp"
#include "report/schedule_picture_style.hpp"
#include "report/schedule_picture_text.hpp"
#include "report/write_file.hpp"

namespace plait::report {

namespace {

constexpr int kNarrowestPicture = 480;
constexpr double kMargin = 16;
constexpr double kRight = 72;
constexpr double kLanesTop = 84;
constexpr double kTickPixels = 110;
constexpr double kDigitPixels = 7;  ///< of the numbers in bars
constexpr double kNarrowestBar = 0.5;
constexpr double kNumberPixels = 12;  ///< their height
/// Shades with a smaller share of a bar are not drawn in it.
constexpr double kSmallestShare = 0.1;

const char* odd(const Bar& bar) { return bar.minibatch % 2 != 0 ? " odd" : ""; }

struct Box {
  Shade shade = Shade::other;
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

/// What can be seen of a bar, in the order of the legend.
std::vector<BarPart> drawn_parts(const Bar& bar) {
  double seconds = 0;
  for (const BarPart& part : bar.parts) seconds += part.seconds;
  std::vector<BarPart> parts;
  for (const BarPart& part : bar.parts) {
    if (part.seconds >= kSmallestShare * seconds) parts.push_back(part);
  }
  std::ranges::sort(parts, {}, &BarPart::shade);
  return parts;
}

class Picture {
 public:
  Picture(const plan::Plan& plan, const trace::Trace& trace, const PictureOptions& options)
      : plan_(plan),
        trace_(trace),
        window_(window_of(trace, options)),
        width_(std::max(options.width, kNarrowestPicture)),
        shown_(std::clamp(options.max_workers, 0, static_cast<int>(trace.workers.size()))),
        lane_(shown_ > 32 ? 18 : 26),
        left_(kMargin + 14 + 6.2 * static_cast<double>(lane_name(std::max(0, shown_ - 1)).size())),
        lanes_(lanes_of({.plan = plan,
                         .trace = trace,
                         .window = window_,
                         .workers = shown_,
                         .top = kLanesTop,
                         .height = lane_,
                         .width = lanes_width()})) {}

  std::string draw() {
    const double bottom = lanes_bottom();
    const double height = bottom + (left_out() > 0 ? 60 : 38);
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"schedule\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n{2}",
        width_, pixels(height), kPictureStyle);
    add("<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", width_, pixels(height));
    add_title();
    add_legend();
    add_lane_grounds();
    add_axis(bottom);
    for (const Lane& lane : lanes_) add_bars(lane);
    add_notes(bottom);
    add("</svg>\n");
    return fmt::to_string(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  std::string lane_name(int worker) const {
    return fmt::format("worker {} (node {})", worker, plan_.machine.node_of(worker));
  }
  int left_out() const { return static_cast<int>(trace_.workers.size()) - shown_; }
  double lanes_width() const { return width_ - left_ - kRight; }
  double lanes_bottom() const {
    return lanes_.empty() ? kLanesTop + lane_ : lanes_.back().top + lane_;
  }
  double x_of(double seconds) const {
    if (!(window_.seconds() > 0)) return left_;
    return left_ + lanes_width() * ((seconds - window_.begin) / window_.seconds());
  }

  void add_title() {
    const auto workers = static_cast<int>(trace_.workers.size());
    const int nodes = workers > 0 ? plan_.machine.node_of(workers - 1) + 1 : 0;
    double busy_sum = 0;
    for (const trace::WorkerTrace& trace : trace_.workers) busy_sum += busy_share(trace, window_);
    std::string facts = fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
    if (nodes > 1) facts += fmt::format(" on {} nodes", nodes);
    if (plan_.microbatches > 1) facts += fmt::format(" · {} microbatches", plan_.microbatches);
    const double step = step_seconds(plan_, trace_);
    if (step > 0) facts += fmt::format(" · {} per step", seconds_text(step));
    if (workers > 0)
      facts +=
          fmt::format(" · workers compute {:.0f} % of the time shown", 100 * busy_sum / workers);
    std::string name = plan_.strategy;
    if (!name.empty() && !plan_.network.name.empty()) name += " · ";
    name += plan_.network.name;
    add("<text class=\"title\" x=\"{}\" y=\"30\">{}<tspan class=\"facts\"{}>{}</tspan></text>\n",
        kMargin, xml_text(name), name.empty() ? "" : " dx=\"14\"", facts);
  }

  void add_legend() {
    std::set<Shade> used;
    for (const Lane& lane : lanes_) {
      for (const Bar& bar : lane.bars) {
        for (const BarPart& part : drawn_parts(bar)) used.insert(part.shade);
      }
    }
    double x = kMargin;
    for (const Shade shade : used) {
      add("<rect class=\"{}\" x=\"{}\" y=\"46\" width=\"14\" height=\"14\" rx=\"2\"/>"
          "<text class=\"small\" x=\"{}\" y=\"57\">{}</text>\n",
          css_class(shade), pixels(x), pixels(x + 20), name_of(shade));
      x += 44 + 6.6 * static_cast<double>(name_of(shade).size());
    }
  }

  void add_lane_grounds() {
    for (const Lane& lane : lanes_) {
      const double text = lane.top + lane_ / 2 + 4;
      add("<g class=\"lane\"><rect class=\"ground\" x=\"{}\" y=\"{}\" width=\"{}\" "
          "height=\"{}\"/><text x=\"{}\" y=\"{}\">worker {} <tspan class=\"small\">(node {})"
          "</tspan></text><text class=\"small\" x=\"{}\" y=\"{}\">{:.0f} %</text></g>\n",
          pixels(left_), pixels(lane.top), pixels(lanes_width()), pixels(lane_), pixels(left_ - 12),
          pixels(text), lane.worker, plan_.machine.node_of(lane.worker), width_ - 20, pixels(text),
          100 * lane.busy);
    }
    if (!lanes_.empty()) {
      add("<text class=\"small right\" x=\"{}\" y=\"{}\">computing</text>\n", width_ - 8,
          pixels(kLanesTop - 8));
    }
  }

  void add_axis(double bottom) {
    for (const Tick& tick : round_ticks(window_, lanes_width() / kTickPixels)) {
      const std::string x = pixels(x_of(tick.seconds));
      add("<path class=\"tick\" d=\"M{} {}V{}\"/><text class=\"small middle\" x=\"{}\" "
          "y=\"{}\">{}</text>\n",
          x, pixels(kLanesTop - 4), pixels(bottom + 6), x, pixels(bottom + 21), tick.label);
    }
  }

  void add_bars(const Lane& lane) {
    add("<g transform=\"translate(0 {})\">\n", pixels(lane.top));
    for (const Bar& bar : lane.bars) add_bar(lane, bar);
    add("</g>\n");
  }

  /// A bar of several shades is a stack of them, each as high as its share of the time.
  void add_bar(const Lane& lane, const Bar& bar) {
    const double x = x_of(bar.begin);
    const double space = x_of(bar.end) - x;
    const double gap = space > 4 ? 1 : 0;  // tells neighbours of one colour apart
    const double width = std::max(space - gap, kNarrowestBar);
    const std::vector<BarPart> parts = drawn_parts(bar);
    double seconds = 0;
    for (const BarPart& part : parts) seconds += part.seconds;
    add("<g><title>{}</title>",
        xml_text(bar_text(plan_, plan_.programs[static_cast<std::size_t>(lane.worker)], bar)));
    Box numbered{};
    double y = 0;
    for (const BarPart& part : parts) {
      const Box box{.shade = part.shade,
                    .x = x,
                    .y = y,
                    .width = width,
                    .height = lane_ * part.seconds / seconds};
      add("<rect class=\"{}{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
          css_class(box.shade), odd(bar), pixels(x), pixels(y), pixels(width), pixels(box.height));
      if (numbered.height < kNumberPixels) numbered = box;
      y += box.height;
    }
    add_number(bar, numbered);
    add("</g>\n");
  }

  /// The microbatch, or the minibatch where it has no others.
  void add_number(const Bar& bar, const Box& box) {
    if (box.shade == Shade::wait || bar.several) return;
    const bool parts = plan_.microbatches > 1 && bar.samples.of > 1;
    const std::string number = fmt::format("{}", parts ? bar.samples.begin : bar.minibatch);
    const double width = kDigitPixels * static_cast<double>(number.size());
    if (width > box.width || kNumberPixels > box.height) return;
    add("<text class=\"number on-{}{}\" x=\"{}\" y=\"{}\">{}</text>", css_class(box.shade),
        odd(bar), pixels(box.x + box.width / 2), pixels(box.y + box.height / 2 + 4), number);
  }

  void add_notes(double bottom) {
    const bool empty =
        std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.bars.empty(); });
    if (empty) {
      add("<text class=\"small\" x=\"{}\" y=\"{}\">nothing happens here</text>\n",
          pixels(left_ + 12), pixels(kLanesTop + lane_ / 2 + 4));
    }
    if (left_out() > 0) {
      add("<text class=\"small\" x=\"{}\" y=\"{}\">and {} more worker{} not shown</text>\n",
          kMargin, pixels(bottom + 46), left_out(), left_out() == 1 ? "" : "s");
    }
  }

  const plan::Plan& plan_;
  const trace::Trace& trace_;
  TimeWindow window_;
  int width_;
  int shown_;
  double lane_;  ///< height
  double left_;  ///< where lanes begin
  std::vector<Lane> lanes_;
  fmt::memory_buffer out_;
};

}  // namespace

std::string schedule_picture(const plan::Plan& plan, const trace::Trace& trace,
                             const PictureOptions& options) {
  if (trace.workers.size() > plan.programs.size()) {
    fail("a trace of {} workers for a plan of {}", trace.workers.size(), plan.programs.size());
  }
  return Picture(plan, trace, options).draw();
}

void write_schedule_picture(const std::string& path, const plan::Plan& plan,
                            const trace::Trace& trace, const PictureOptions& options) {
  write_file(path, schedule_picture(plan, trace, options));
}

}  // namespace plait::report
