// A chart of a few lines as one SVG file.
#pragma once

#include <string>
#include <vector>

namespace plait::report {

struct ChartPoint {
  double x = 0;
  double y = 0;
};
struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;  ///< ascending x
};
struct LineChart {
  std::string title;
  std::string x;  ///< names of the axes
  std::string y;
  std::vector<ChartLine> lines;
};

/// y begins at 0. Equal charts, equal text.
std::string line_chart(const LineChart& chart);
/// UserError where the file cannot be made, Failure where it cannot be written to its end.
void write_line_chart(const std::string& path, const LineChart& chart);

}  // namespace plait::report
