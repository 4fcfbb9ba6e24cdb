// Durations, round tick marks, escaped names and the tooltips of bars.
#include "report/schedule_picture_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace plait::report {

namespace {

constexpr int kMomentDigits = 7;
constexpr const char* kReplacement = "\xEF\xBF\xBD";

struct Unit {
  double seconds;
  const char* name;
};
constexpr std::array<Unit, 4> kUnits{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};

/// The largest unit that leaves a digit before the point.
const Unit& unit_for(double seconds) {
  for (const Unit& unit : kUnits) {
    if (seconds >= unit.seconds) return unit;
  }
  return kUnits.back();
}

std::string utf8(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string without_zeros(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.ends_with('.')) number.pop_back();
  return number == "-0" ? "0" : number;
}

/// "forward of conv1 .. conv5": what both have in front is said once.
std::string range_text(const std::string& first, const std::string& last) {
  if (first == last) return first;
  const std::size_t of = first.find(" of ");
  if (of == std::string::npos || last.compare(0, of + 4, first, 0, of + 4) != 0) {
    return fmt::format("{} .. {}", first, last);
  }
  return fmt::format("{} .. {}", first, last.substr(of + 4));
}

std::string part_text(const plan::Plan& plan, const plan::Program& program, const BarPart& part) {
  const auto text = [&](int task) {
    return plan::describe(plan, program.tasks.at(static_cast<std::size_t>(task)));
  };
  return fmt::format("{}{}", part.shade == Shade::wait ? "wait: " : "",
                     range_text(text(part.first), text(part.last)));
}

/// Smallest of 1, 2, 5 times a power of ten that is not below.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string xml_text(const std::string& text) {
  std::string escaped;
  for (const char c : utf8(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\n': escaped += "&#10;"; break;
      default:
        if (static_cast<unsigned char>(c) < ' ') {
          escaped += kReplacement;
        } else {
          escaped += c;
        }
    }
  }
  // The two code points that are good UTF-8 and still no XML.
  for (const char* wrong : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = 0; (at = escaped.find(wrong, at)) != std::string::npos;) {
      escaped.replace(at, 3, kReplacement);
    }
  }
  return escaped;
}

std::string pixels(double value) { return without_zeros(fmt::format("{:.2f}", value)); }

std::string seconds_text(double seconds, int digits) {
  if (seconds == 0) return "0 s";
  const Unit& unit = unit_for(std::abs(seconds));
  const double number = seconds / unit.seconds;
  const int before = std::abs(number) >= 100 ? 3 : std::abs(number) >= 10 ? 2 : 1;
  return fmt::format("{} {}", without_zeros(fmt::format("{:.{}f}", number, digits - before)),
                     unit.name);
}

std::vector<Tick> round_ticks(TimeWindow window, double wanted) {
  if (!(window.seconds() > 0)) return {};
  const double step = round_up(window.seconds() / wanted);
  const Unit& unit = unit_for(std::max(std::abs(window.begin), std::abs(window.end)));
  const double decimals = std::ceil(-std::log10(step / unit.seconds) - 1e-9);
  std::vector<Tick> ticks;
  const double first = std::ceil(window.begin / step - 1e-9);
  const double last = std::floor(window.end / step + 1e-9);
  for (int i = 0; i <= wanted && first + i <= last; ++i) {
    const double seconds = (first + i) * step;
    ticks.push_back({seconds, fmt::format("{:.{}f} {}", seconds / unit.seconds + 0.0,
                                          std::max(0, static_cast<int>(decimals)), unit.name)});
  }
  return ticks;
}

std::string bar_text(const plan::Plan& plan, const plan::Program& program, const Bar& bar) {
  std::string text;
  for (const BarPart& part : bar.parts) {
    text += part_text(plan, program, part);
    if (bar.parts.size() > 1) text += fmt::format(" ({})", seconds_text(part.seconds));
    text += '\n';
  }
  if (bar.samples.of > 1) {
    text += fmt::format("samples {}/{} .. {}/{}, ", bar.samples.begin, bar.samples.of,
                        bar.samples.end, bar.samples.of);
  }
  text += fmt::format("minibatch {}{}\n", bar.minibatch, bar.several ? " and others" : "");
  text += fmt::format("{} .. {}: {}", seconds_text(bar.begin, kMomentDigits),
                      seconds_text(bar.end, kMomentDigits), seconds_text(bar.seconds()));
  return text;
}

}  // namespace plait::report
