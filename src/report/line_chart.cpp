// Axes, lines and legend of the chart, as SVG text.
#include "report/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/schedule_picture_text.hpp"
#include "report/write_file.hpp"

namespace plait::report {

namespace {

constexpr double kWidth = 960;
constexpr double kHeight = 480;
constexpr double kLeft = 90;
constexpr double kRight = 200;
constexpr double kTop = 56;
constexpr double kBottom = 56;
/// Okabe and Ito's, which colour-blind eyes tell apart.
constexpr std::array<const char*, 6> kColours{"#d55e00", "#e9b100", "#009e73",
                                              "#0072b2", "#a2478a", "#2b2f36"};

struct Range {
  double low = 0;
  double high = 1;
};

/// 1, 2 or 5 times a power of ten, at most `wanted` of them up to `high`.
double round_step(double high, double wanted) {
  const double least = high / wanted;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

class Drawing {
 public:
  explicit Drawing(const LineChart& chart) : chart_(chart) {
    bool any = false;
    for (const ChartLine& line : chart.lines) {
      for (const ChartPoint& point : line.points) {
        x_.low = any ? std::min(x_.low, point.x) : point.x;
        x_.high = any ? std::max(x_.high, point.x) : point.x;
        y_.high = any ? std::max(y_.high, point.y) : std::max(point.y, 1.0);
        any = true;
      }
    }
    if (x_.high <= x_.low) x_.high = x_.low + 1;
  }

  std::string run() {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\" font-family=\"Inter,'Segoe UI',Arial,'DejaVu Sans',sans-serif\" font-size=\"12.5\" "
        "fill=\"#24292f\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
        pixels(kWidth), pixels(kHeight));
    put(kLeft, 30, "start", chart_.title, "font-size=\"17\" font-weight=\"600\"");
    axes();
    for (std::size_t i = 0; i < chart_.lines.size(); ++i) draw(i);
    return text_ + "</svg>\n";
  }

 private:
  double at_x(double x) const {
    return kLeft + (x - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight);
  }
  double at_y(double y) const {
    return kHeight - kBottom - y / (1.05 * y_.high) * (kHeight - kTop - kBottom);
  }
  void put(double x, double y, const char* anchor, const std::string& words,
           const char* more = "") {
    text_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" {}>{}</text>\n", pixels(x),
                         pixels(y), anchor, more, xml_text(words));
  }
  void rule(double x1, double y1, double x2, double y2, const char* colour) {
    text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"/>\n",
                         pixels(x1), pixels(y1), pixels(x2), pixels(y2), colour);
  }

  void axes() {
    const double step_y = round_step(1.05 * y_.high, 6);
    for (double y = 0; y <= 1.05 * y_.high; y += step_y) {
      rule(kLeft, at_y(y), kWidth - kRight, at_y(y), y == 0 ? "#57606a" : "#d8dee4");
      put(kLeft - 8, at_y(y) + 4, "end", fmt::format("{}", y));
    }
    const double step_x = std::max(1.0, round_step(x_.high - x_.low, 10));
    for (double x = std::ceil(x_.low / step_x) * step_x; x <= x_.high; x += step_x) {
      rule(at_x(x), at_y(0), at_x(x), at_y(0) + 5, "#57606a");
      put(at_x(x), at_y(0) + 20, "middle", fmt::format("{}", x));
    }
    put((kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", chart_.x);
    put(kLeft - 70, kTop - 8, "start", chart_.y);
  }

  void draw(std::size_t i) {
    const ChartLine& line = chart_.lines[i];
    if (line.points.empty()) return;
    const char* colour = kColours[i % kColours.size()];
    text_ +=
        fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"", colour);
    for (const ChartPoint& point : line.points) {
      text_ += fmt::format("{},{} ", pixels(at_x(point.x)), pixels(at_y(point.y)));
    }
    text_ += "\"/>\n";
    const double y = kTop + 20.0 * static_cast<double>(i);
    text_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n",
                         pixels(kWidth - kRight + 18), pixels(y - 6), colour);
    put(kWidth - kRight + 40, y, "start", line.name);
  }

  const LineChart& chart_;
  Range x_{};
  Range y_{};
  std::string text_;
};

}  // namespace

std::string line_chart(const LineChart& chart) { return Drawing(chart).run(); }

void write_line_chart(const std::string& path, const LineChart& chart) {
  write_file(path, line_chart(chart));
}

}  // namespace plait::report
