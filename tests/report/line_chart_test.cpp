// Charts: points where the numbers say, every name present, and little data.
#include "report/line_chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/error.hpp"

namespace plait::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

LineChart two_lines() {
  return {.title = "words",
          .x = "layer",
          .y = "per sample",
          .lines = {{.name = "a < b & c", .points = {{2, 0}, {3, 500}, {4, 1000}}},
                    {.name = "flat", .points = {{2, 100}, {3, 100}, {4, 100}}}}};
}

/// The y of every point of every line, in pixels.
std::vector<std::vector<double>> heights(const std::string& svg) {
  std::vector<std::vector<double>> lines;
  const std::regex points("points=\"([^\"]*)\"");
  for (std::sregex_iterator line(svg.begin(), svg.end(), points), end; line != end; ++line) {
    const std::string text = (*line)[1];
    const std::regex pair("([-0-9.]+),([-0-9.]+)");
    std::vector<double>& all = lines.emplace_back();
    for (std::sregex_iterator one(text.begin(), text.end(), pair); one != end; ++one) {
      all.push_back(std::stod((*one)[2]));
    }
  }
  return lines;
}

TEST(LineChart, DrawsEveryLineToScale) {
  const std::string svg = line_chart(two_lines());
  const auto lines = heights(svg);
  ASSERT_EQ(lines.size(), 2U);
  ASSERT_EQ(lines[0].size(), 3U);
  EXPECT_NEAR(lines[0][0] - lines[0][1], lines[0][1] - lines[0][2], 0.2);
  EXPECT_GT(lines[0][0], 400);  // upwards, over nearly all of the 480 pixels
  EXPECT_LT(lines[0][2], 100);
  EXPECT_NEAR(lines[0][0] - lines[1][0], (lines[0][0] - lines[0][2]) / 10, 0.2);
  EXPECT_EQ(svg, line_chart(two_lines()));
}

TEST(LineChart, NamesEverything) {
  EXPECT_THAT(line_chart(two_lines()),
              AllOf(HasSubstr("a &lt; b &amp; c"), HasSubstr(">flat<"), HasSubstr(">words<"),
                    HasSubstr(">layer<"), HasSubstr(">per sample<"), HasSubstr(">1000<"),
                    HasSubstr(">3<"), Not(HasSubstr("nan"))));
}

TEST(LineChart, HasALookAlsoWithLittle) {
  LineChart chart = two_lines();
  chart.lines = {{.name = "one", .points = {{7, 0}}}, {.name = "none", .points = {}}};
  for (const std::string& svg : {line_chart(chart), line_chart({})}) {
    EXPECT_THAT(svg, AllOf(HasSubstr("</svg>"), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  }
}

TEST(LineChart, AFileThatCannotBeMadeIsTheUsersMatter) {
  EXPECT_THROW(write_line_chart("/no/such/folder/chart.svg", two_lines()), UserError);
}

}  // namespace
}  // namespace plait::report
