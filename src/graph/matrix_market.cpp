// The coordinate format, read (real, integer, pattern; general, symmetric, skew-symmetric) and
// written. Dense and complex files are refused.
#include "graph/matrix_market.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "graph/matrix_lines.hpp"
#include "graph/number_lines.hpp"

namespace plait::graph {

namespace {

constexpr std::size_t kLeastMatrixLine = 4;  // "1 1\n"
constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;

enum class Field { real, integer, pattern };
enum class Symmetry { general, symmetric, skew_symmetric };

struct Header {
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;
  std::int64_t line = 0;  ///< of the sizes
};

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// The next word of the first line, as an index into `known`.
template <std::size_t Size>
std::size_t choice(NumberLines& lines, const std::array<std::string_view, Size>& known) {
  const auto found = std::ranges::find(known, lower(lines.word()));
  if (found == known.end()) {
    lines.refuse(
        "must begin '%%MatrixMarket matrix coordinate', then real, integer or pattern, then "
        "general, symmetric or skew-symmetric");
  }
  return static_cast<std::size_t>(found - known.begin());
}

void read_banner(NumberLines& lines, Header& header) {
  if (!lines.next()) user_error("{}: is empty; a Matrix Market file was expected", lines.source());
  choice<1>(lines, {"%%matrixmarket"});
  choice<1>(lines, {"matrix"});
  choice<1>(lines, {"coordinate"});
  header.field = static_cast<Field>(choice<3>(lines, {"real", "integer", "pattern"}));
  header.symmetry =
      static_cast<Symmetry>(choice<3>(lines, {"general", "symmetric", "skew-symmetric"}));
  lines.end_of_line();
}

/// The next line that is no comment.
bool next_line(NumberLines& lines) {
  while (lines.next()) {
    if (!lines.begins_with('%')) return true;
  }
  return false;
}

void read_sizes(NumberLines& lines, Header& header) {
  if (!next_line(lines)) {
    user_error("{}: ends before the line with rows, columns and elements", lines.source());
  }
  header.line = lines.line();
  header.rows = lines.integer("number of rows", 1, kMaxMatrixSide);
  header.columns = lines.integer("number of columns", 1, kMaxMatrixSide);
  header.entries = lines.integer("number of elements", 0, header.rows * header.columns);
  lines.end_of_line();
  if (header.symmetry != Symmetry::general && header.rows != header.columns) {
    lines.refuse("a symmetric matrix must have as many rows as columns");
  }
}

LineEntry read_entry(NumberLines& lines, const Header& header) {
  LineEntry entry{.value = 1, .line = static_cast<std::uint32_t>(lines.line())};
  entry.row = static_cast<std::int32_t>(lines.integer("row", 1, header.rows) - 1);
  entry.column = static_cast<std::int32_t>(lines.integer("column", 1, header.columns) - 1);
  if (header.field == Field::real) entry.value = lines.number("value");
  if (header.field == Field::integer) {
    entry.value = static_cast<float>(lines.integer("value", -kMaxInteger, kMaxInteger));
  }
  lines.end_of_line();
  return entry;
}

void add_entry(const NumberLines& lines, const Header& header, LineEntry entry,
               std::vector<LineEntry>& entries) {
  entries.push_back(entry);
  const bool skew = header.symmetry == Symmetry::skew_symmetric;
  if (skew && entry.row == entry.column) {
    lines.refuse("a skew-symmetric matrix has no elements on its diagonal");
  }
  if (header.symmetry == Symmetry::general || entry.row == entry.column) return;
  std::swap(entry.row, entry.column);
  if (skew) entry.value = -entry.value;
  entries.push_back(entry);
}

}  // namespace

tensor::SparseMatrix parse_matrix_market(std::string_view text, const std::string& source) {
  NumberLines lines(text, source);
  Header header;
  read_banner(lines, header);
  read_sizes(lines, header);
  std::vector<LineEntry> entries;
  entries.reserve(
      std::min(static_cast<std::size_t>(header.entries), text.size() / kLeastMatrixLine));
  std::int64_t seen = 0;
  while (next_line(lines)) {
    if (++seen > header.entries) {
      lines.refuse(fmt::format("more than the {} elements that line {} declares", header.entries,
                               header.line));
    }
    add_entry(lines, header, read_entry(lines, header), entries);
  }
  if (seen < header.entries) {
    user_error("{}:{}: declares {} elements but the file ends after {}", source, header.line,
               header.entries, seen);
  }
  tensor::SparseMatrix matrix =
      matrix_of_lines(header.rows, header.columns, std::move(entries), source);
  if (header.field == Field::pattern) matrix.values = nullptr;
  return matrix;
}

std::string write_matrix_market(const tensor::SparseMatrix& matrix) {
  const tensor::SparsePattern& pattern = *matrix.pattern;
  std::string text = fmt::format("%%MatrixMarket matrix coordinate {} general\n{} {} {}\n",
                                 matrix.values == nullptr ? "pattern" : "real", pattern.rows,
                                 pattern.columns, pattern.size());
  std::size_t k = 0;
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    for (const std::int32_t column : pattern.row(row)) {
      fmt::format_to(std::back_inserter(text), "{} {}", row + 1, column + 1);
      if (matrix.values != nullptr) {
        fmt::format_to(std::back_inserter(text), " {}", (*matrix.values)[k++]);
      }
      text += '\n';
    }
  }
  return text;
}

tensor::SparseMatrix read_matrix_market(const std::string& file) {
  return parse_matrix_market(read_number_file(file), file);
}

}  // namespace plait::graph
