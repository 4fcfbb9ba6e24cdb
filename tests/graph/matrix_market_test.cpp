// Matrix Market files: what is read, what is refused and with which words.
#include "graph/matrix_market.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "temp_folder.hpp"

namespace plait::graph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kGeneral = "%%MatrixMarket matrix coordinate real general\n";

std::string refusal(const std::string& text) {
  try {
    parse_matrix_market(text, "dir/w.mtx");
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("dir/w.mtx"), Not(HasSubstr("\n"))));
    return error.what();
  }
  return "no error";
}

TEST(MatrixMarket, ReadsRealNumbersInAnyOrder) {
  const tensor::SparseMatrix matrix = parse_matrix_market(
      kGeneral + "% a comment\n\n3 4 4\n3 4 -2.5e-1\n1 2 +7\n  3\t1  .5\n1 4 1e3", "w.mtx");
  EXPECT_EQ(matrix.pattern->rows, 3);
  EXPECT_EQ(matrix.pattern->columns, 4);
  EXPECT_THAT(matrix.pattern->row_begin, ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(matrix.pattern->column, ElementsAre(1, 3, 0, 3));
  EXPECT_THAT(*matrix.values, ElementsAre(7, 1000, 0.5F, -0.25F));
}

TEST(MatrixMarket, ReadsLineEndsOfWindowsAndWordsOfAnyCase) {
  const tensor::SparseMatrix matrix = parse_matrix_market(
      "%%MatrixMarket MATRIX Coordinate Integer General\r\n2 2 2\r\n1 1 -3\r\n2 1 4\r\n", "w.mtx");
  EXPECT_THAT(*matrix.values, ElementsAre(-3, 4));
}

TEST(MatrixMarket, APatternHasNoValues) {
  const tensor::SparseMatrix matrix = parse_matrix_market(
      "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n2 3\n1 1\n", "w.mtx");
  EXPECT_THAT(matrix.pattern->column, ElementsAre(0, 2));
  EXPECT_EQ(matrix.values, nullptr);
}

TEST(MatrixMarket, ASymmetricMatrixIsMadeWhole) {
  const tensor::SparseMatrix matrix = parse_matrix_market(
      "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n3 1 5\n3 2 6\n", "w.mtx");
  EXPECT_THAT(matrix.pattern->row_begin, ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(matrix.pattern->column, ElementsAre(0, 2, 2, 0, 1));
  EXPECT_THAT(*matrix.values, ElementsAre(1, 5, 6, 5, 6));
}

TEST(MatrixMarket, ASkewSymmetricMatrixChangesItsSign) {
  const std::string head = "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n";
  const tensor::SparseMatrix matrix = parse_matrix_market(head + "2 1 4\n", "w.mtx");
  EXPECT_THAT(matrix.pattern->column, ElementsAre(1, 0));
  EXPECT_THAT(*matrix.values, ElementsAre(-4, 4));
  EXPECT_THAT(refusal(head + "2 2 4\n"), StartsWith("dir/w.mtx:3: a skew-symmetric matrix has no"));
}

TEST(MatrixMarket, MayHaveNoElements) {
  EXPECT_EQ(parse_matrix_market(kGeneral + "3 4 0\n", "w.mtx").pattern->size(), 0);
}

TEST(MatrixMarket, IsReadFromAFile) {
  const TempFolder folder;
  write_text(folder.path() / "w.mtx", kGeneral + "1 1 1\n1 1 2.5\n");
  const std::string path = (folder.path() / "w.mtx").string();
  EXPECT_THAT(*read_matrix_market(path).values, ElementsAre(2.5F));
}

TEST(MatrixMarket, IsRefusedWhereThereIsNoFile) {
  for (const std::string path : {"no/such.mtx", "/", "/dev/zero"}) {
    try {
      read_matrix_market(path);
      ADD_FAILURE() << path;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), AllOf(::testing::StartsWith(path + ": "),
                                      HasSubstr(path == "no/such.mtx" ? "no such file" : "is a")));
    }
  }
}

TEST(BadMatrixMarket, FirstLine) {
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal("\n \n"), HasSubstr("is empty"));
  const std::string wanted = "dir/w.mtx:1: must begin '%%MatrixMarket matrix coordinate', then";
  for (const char* first :
       {"1 1 1", "%MatrixMarket matrix coordinate real general", "%%MatrixMarket",
        "%%MatrixMarket vector coordinate real general", "%%MatrixMarket matrix array real general",
        "%%MatrixMarket matrix coordinate complex general",
        "%%MatrixMarket matrix coordinate real hermitian",
        "%%MatrixMarket matrix coordinate real"}) {
    EXPECT_THAT(refusal(std::string(first) + "\n1 1 1\n1 1 1\n"), StartsWith(wanted)) << first;
  }
  EXPECT_THAT(refusal("%%MatrixMarket matrix coordinate real general x\n1 1 0\n"),
              StartsWith("dir/w.mtx:1: 'x' is not expected"));
}

TEST(BadMatrixMarket, Sizes) {
  EXPECT_THAT(refusal(kGeneral + "% only\n"), HasSubstr("ends before the line with rows"));
  EXPECT_THAT(refusal(kGeneral + "%\n0 4 1\n"), StartsWith("dir/w.mtx:3: number of rows 0 is not"));
  EXPECT_THAT(refusal(kGeneral + "3 -4 1\n"), StartsWith("dir/w.mtx:2: number of columns -4"));
  EXPECT_THAT(refusal(kGeneral + "3 4\n"), HasSubstr("ends before the number of elements"));
  EXPECT_THAT(refusal(kGeneral + "3 4 1 1\n"), HasSubstr("'1' is not expected"));
  EXPECT_THAT(refusal(kGeneral + "3 4 13\n"), HasSubstr("elements 13 is not within 0 and 12"));
  EXPECT_THAT(refusal(kGeneral + "99999999999 4 1\n"), HasSubstr("number of rows 99999999999"));
  EXPECT_THAT(refusal(kGeneral + "x 4 1\n"), HasSubstr("must be a whole number but is 'x'"));
  EXPECT_THAT(refusal("%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n"),
              HasSubstr("as many rows as columns"));
}

TEST(BadMatrixMarket, APromiseOfTooMuchTakesNoMemory) {
  // 16 TB if it were believed.
  EXPECT_THAT(refusal(kGeneral + "16000000 16000000 1000000000000\n1 1 1\n"),
              StartsWith("dir/w.mtx:2: declares 1000000000000 elements but the file ends after 1"));
}

TEST(BadMatrixMarket, FewerOrMoreElementsThanPromised) {
  EXPECT_THAT(refusal(kGeneral + "3 4 2\n1 1 1\n"), StartsWith("dir/w.mtx:2: declares 2 elements"));
  EXPECT_THAT(refusal(kGeneral + "3 4 1\n1 1 1\n\n1 2 1\n"),
              StartsWith("dir/w.mtx:5: more than the 1 elements that line 2 declares"));
}

TEST(BadMatrixMarket, Elements) {
  const auto line = [](const std::string& text) { return refusal(kGeneral + "3 4 1\n" + text); };
  EXPECT_THAT(line("0 1 1"), StartsWith("dir/w.mtx:3: row 0 is not within 1 and 3"));
  EXPECT_THAT(line("4 1 1"), StartsWith("dir/w.mtx:3: row 4 is not within 1 and 3"));
  EXPECT_THAT(line("1 5 1"), StartsWith("dir/w.mtx:3: column 5 is not within 1 and 4"));
  EXPECT_THAT(line("1 1"), HasSubstr("ends before the value"));
  EXPECT_THAT(line("1 1 1 1"), HasSubstr("is not expected"));
  EXPECT_THAT(line("1.5 1 1"), HasSubstr("row must be a whole number but is '1.5'"));
  EXPECT_THAT(line("1 1 abc\x01"), HasSubstr("value must be a number but is 'abc?'"));
  for (const char* value : {"nan", "inf", "-inf", "1e39", "1e999", "-nan"}) {
    EXPECT_THAT(line("1 1 " + std::string(value)), HasSubstr("must be a finite 32-bit number"));
  }
  EXPECT_THAT(line("1 1 +-1"), HasSubstr("must be a number"));
  EXPECT_THAT(refusal("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n"),
              HasSubstr("value must be a whole number but is '1.5'"));
  EXPECT_THAT(refusal("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n"),
              HasSubstr("'1' is not expected"));
}

TEST(BadMatrixMarket, AnElementTwice) {
  EXPECT_THAT(refusal(kGeneral + "3 4 4\n2 2 1\n1 1 1\n2 2 5\n1 1 3\n"),
              StartsWith("dir/w.mtx:5: the same element as in line 3"));
  EXPECT_THAT(refusal(kGeneral + "3 4 4\n1 1 1\n2 2 1\n1 1 5\n2 2 3\n"),
              StartsWith("dir/w.mtx:5: the same element as in line 3"));
  EXPECT_THAT(refusal("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n1 2\n"),
              StartsWith("dir/w.mtx:4: the same element as in line 3"));
}

}  // namespace
}  // namespace plait::graph
