// Sparse patterns: from entries in any order, what is refused, the transpose, the hash.
#include "tensor/sparse_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/rng.hpp"

namespace plait::tensor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// . 2 . 1
// . . . .
// 3 . . 4
SparseMatrix small() {
  return make_sparse_matrix(3, 4, {{2, 3, 4}, {0, 3, 1}, {2, 0, 3}, {0, 1, 2}}, "small");
}

std::string refusal(std::int64_t rows, std::int64_t columns, std::vector<MatrixEntry> entries) {
  try {
    make_sparse_matrix(rows, columns, std::move(entries), "dir/w.mtx");
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("dir/w.mtx: "), Not(HasSubstr("\n"))));
    return error.what();
  }
  return "no error";
}

/// About a third of all places.
SparsePattern random_pattern(std::int64_t rows, std::int64_t columns) {
  Rng rng(7, Purpose::test);
  std::vector<MatrixEntry> entries;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (rng.below(3) == 0) entries.push_back({i, j, 1});
    }
  }
  return *make_sparse_matrix(rows, columns, entries, "random").pattern;
}

TEST(SparseMatrix, SortsEntriesOfAnyOrder) {
  const SparseMatrix matrix = small();
  EXPECT_EQ(matrix.pattern->rows, 3);
  EXPECT_EQ(matrix.pattern->columns, 4);
  EXPECT_EQ(matrix.pattern->size(), 4);
  EXPECT_THAT(matrix.pattern->row_begin, ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(matrix.pattern->column, ElementsAre(1, 3, 0, 3));
  EXPECT_THAT(*matrix.values, ElementsAre(2, 1, 3, 4));
}

TEST(SparseMatrix, HasRows) {
  const SparseMatrix matrix = small();
  EXPECT_THAT(matrix.pattern->row(0), ElementsAre(1, 3));
  EXPECT_THAT(matrix.pattern->row(1), IsEmpty());
  EXPECT_THAT(matrix.pattern->row(2), ElementsAre(0, 3));
}

TEST(SparseMatrix, MayHaveNoElements) {
  const SparseMatrix matrix = make_sparse_matrix(2, 5, {}, "empty");
  EXPECT_EQ(matrix.pattern->size(), 0);
  EXPECT_THAT(matrix.pattern->row_begin, ElementsAre(0, 0, 0));
  EXPECT_THAT(*matrix.values, IsEmpty());
}

TEST(SparseMatrix, RefusesAPlaceOutsideAndCountsFromOne) {
  EXPECT_THAT(refusal(3, 4, {{3, 0, 1}}), HasSubstr("(row 4, column 1) is outside"));
  EXPECT_THAT(refusal(3, 4, {{0, 0, 1}, {0, 4, 1}}), HasSubstr("(row 1, column 5) is outside"));
  EXPECT_THAT(refusal(3, 4, {{-1, 0, 1}}), HasSubstr("(row 0, column 1) is outside"));
  EXPECT_THAT(refusal(3, 4, {{0, -1, 1}}), HasSubstr("of 3 x 4"));
  EXPECT_EQ(refusal(3, 4, {{2, 3, 1}}), "no error");
}

TEST(SparseMatrix, RefusesAPlaceThatIsNamedTwice) {
  EXPECT_THAT(refusal(3, 4, {{1, 2, 1}, {0, 0, 1}, {1, 2, 5}}),
              HasSubstr("(row 2, column 3) is there twice"));
  EXPECT_EQ(refusal(3, 4, {{1, 2, 1}, {2, 1, 1}}), "no error");
}

TEST(SparseMatrix, RefusesSizesThatAreNone) {
  const std::int64_t too_many = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  EXPECT_THAT(refusal(0, 4, {}), HasSubstr("0 x 4"));
  EXPECT_THAT(refusal(3, -1, {}), HasSubstr("3 x -1"));
  EXPECT_THAT(refusal(too_many, 1, {}), HasSubstr("2147483648 x 1"));
  EXPECT_THAT(refusal(1, too_many, {}), HasSubstr("1 x 2147483648"));
}

TEST(SparsePattern, SparsityIsTheShareThatIsNotThere) {
  EXPECT_DOUBLE_EQ(small().pattern->sparsity(), 8.0 / 12.0);
  EXPECT_DOUBLE_EQ(make_sparse_matrix(2, 5, {}, "empty").pattern->sparsity(), 1.0);
  EXPECT_DOUBLE_EQ(make_sparse_matrix(1, 1, {{0, 0, 1}}, "full").pattern->sparsity(), 0.0);
  EXPECT_DOUBLE_EQ(SparsePattern{}.sparsity(), 0.0);
}

TEST(TransposedPattern, TurnsRowsIntoColumns) {
  const TransposedPattern turned = transposed(*small().pattern);
  EXPECT_EQ(turned.pattern.rows, 4);
  EXPECT_EQ(turned.pattern.columns, 3);
  EXPECT_THAT(turned.pattern.row_begin, ElementsAre(0, 1, 2, 2, 4));
  EXPECT_THAT(turned.pattern.column, ElementsAre(2, 0, 0, 2));
}

TEST(TransposedPattern, OriginFindsTheElementsAgain) {
  const SparseMatrix matrix = small();
  std::vector<float> values;
  for (const std::int64_t from : transposed(*matrix.pattern).origin) {
    values.push_back((*matrix.values)[static_cast<std::size_t>(from)]);
  }
  EXPECT_THAT(values, ElementsAre(3, 2, 1, 4));
}

TEST(TransposedPattern, TurnedTwiceIsTheSame) {
  const SparsePattern pattern = random_pattern(13, 29);
  const TransposedPattern once = transposed(pattern);
  const TransposedPattern twice = transposed(once.pattern);
  EXPECT_EQ(twice.pattern, pattern);
  for (std::size_t k = 0; k < twice.origin.size(); ++k) {
    EXPECT_EQ(once.origin[static_cast<std::size_t>(twice.origin[k])], static_cast<std::int64_t>(k));
  }
}

TEST(TransposedPattern, RowsAscend) {
  const SparsePattern turned = transposed(random_pattern(31, 17)).pattern;
  for (std::int64_t i = 0; i < turned.rows; ++i) {
    const std::span<const std::int32_t> row = turned.row(i);
    EXPECT_TRUE(std::is_sorted(row.begin(), row.end())) << i;
  }
}

TEST(PatternHash, IsEqualForEqualPatternsWhateverTheValues) {
  const SparseMatrix other =
      make_sparse_matrix(3, 4, {{0, 1, 9}, {0, 3, 9}, {2, 0, 9}, {2, 3, 9}}, "other");
  EXPECT_EQ(pattern_hash(*other.pattern), pattern_hash(*small().pattern));
}

TEST(PatternHash, SeesSizesRowsAndColumns) {
  const auto hash = [](std::int64_t rows, std::int64_t columns, std::vector<MatrixEntry> entries) {
    return pattern_hash(*make_sparse_matrix(rows, columns, std::move(entries), "x").pattern);
  };
  const std::set<std::string> different{
      hash(3, 4, {{0, 1, 1}, {1, 2, 1}}), hash(3, 5, {{0, 1, 1}, {1, 2, 1}}),
      hash(4, 4, {{0, 1, 1}, {1, 2, 1}}), hash(3, 4, {{0, 1, 1}, {0, 2, 1}}),
      hash(3, 4, {{0, 1, 1}, {1, 3, 1}}), hash(3, 4, {{0, 1, 1}})};
  EXPECT_EQ(different.size(), 6U);
}

}  // namespace
}  // namespace plait::tensor
