// graphblas_infer FOLDER IMAGES.tsv REPEAT THREADS WAY: the GraphChallenge's inference with
// SuiteSparse:GraphBLAS, for compare_sparse.py. Prints one JSON object, as plait infer does.
// WAY is what happens to zeros:
//   drop         values of 0 leave the sparse matrix, and with them dead images
//   keep-sparse  they stay as entries of a sparse matrix, images by row
//   keep-rows    full matrix, images by row
//   keep-columns full matrix, images by column (innermost), added to the bias in place
//   keep-batches the same, one repetition of the file after the other
extern "C" {  // the header does not say so
#include <GraphBLAS.h>
}
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "graph/graphchallenge.hpp"
#include "graph/radixnet.hpp"

namespace {

using namespace plait;

void check(GrB_Info info) {
  if (info != GrB_SUCCESS) fail("GraphBLAS gave {}", static_cast<int>(info));
}

/// Frees itself.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t columns, GxB_Format_Value format) {
    check(GrB_Matrix_new(&matrix_, GrB_FP32, index(rows), index(columns)));
    check(GxB_Matrix_Option_set(matrix_, GxB_FORMAT, format));
  }
  Matrix(Matrix&& other) noexcept : matrix_(std::exchange(other.matrix_, nullptr)) {}
  Matrix& operator=(Matrix&& other) noexcept {
    std::swap(matrix_, other.matrix_);
    return *this;
  }
  ~Matrix() { GrB_Matrix_free(&matrix_); }
  operator GrB_Matrix() const { return matrix_; }

  static GrB_Index index(std::int64_t i) { return static_cast<GrB_Index>(i); }

 private:
  GrB_Matrix matrix_ = nullptr;
};

/// Element k of row i is values[k], or 1 without values; `repeat` times below each other.
Matrix matrix_of(const tensor::SparsePattern& pattern, const std::vector<float>* values, int repeat,
                 bool turned, GxB_Format_Value format) {
  std::vector<GrB_Index> rows, columns;
  std::vector<float> all;
  for (int r = 0; r < repeat; ++r) {
    for (std::int64_t i = 0; i < pattern.rows; ++i) {
      for (const std::int32_t j : pattern.row(i)) {
        all.push_back(values == nullptr ? 1.0F : (*values)[all.size()]);
        rows.push_back(Matrix::index(r * pattern.rows + i));
        columns.push_back(Matrix::index(j));
      }
    }
  }
  if (turned) rows.swap(columns);
  const std::int64_t height = pattern.rows * repeat;
  Matrix matrix(turned ? pattern.columns : height, turned ? height : pattern.columns, format);
  check(GrB_Matrix_build_FP32(matrix, rows.data(), columns.data(), all.data(), all.size(),
                              GrB_PLUS_FP32));
  check(GrB_Matrix_wait(matrix, GrB_MATERIALIZE));
  return matrix;
}

struct Problem {
  std::vector<Matrix> layers{};  ///< Y <- Y W
  std::vector<Matrix> images{};  ///< Y, batch by batch
  std::int64_t neurons = 0;
  float bias = 0;
};

GrB_Index size_of(GrB_Info (*count)(GrB_Index*, GrB_Matrix), GrB_Matrix matrix) {
  GrB_Index size = 0;
  check(count(&size, matrix));
  return size;
}

void clip(GrB_Matrix y) {
  check(GrB_Matrix_apply_BinaryOp2nd_FP32(y, nullptr, nullptr, GrB_MIN_FP32, y,
                                          graph::kRadixNetClip, nullptr));
}

Matrix run_sparse(const Problem& problem, GrB_Matrix batch, bool drop) {
  const GrB_Index images = size_of(GrB_Matrix_nrows, batch);
  Matrix y(static_cast<std::int64_t>(images), problem.neurons, GxB_BY_ROW);
  GrB_Matrix from = batch;
  for (const Matrix& layer : problem.layers) {
    check(GrB_mxm(y, nullptr, nullptr, GrB_PLUS_TIMES_SEMIRING_FP32, from, layer, nullptr));
    check(GrB_Matrix_apply_BinaryOp2nd_FP32(y, nullptr, nullptr, GrB_PLUS_FP32, y, problem.bias,
                                            nullptr));
    if (drop) {
      check(GrB_Matrix_select_FP32(y, nullptr, nullptr, GrB_VALUEGT_FP32, y, 0, nullptr));
    } else {
      check(GrB_Matrix_apply_BinaryOp2nd_FP32(y, nullptr, nullptr, GrB_MAX_FP32, y, 0, nullptr));
    }
    clip(y);
    from = y;
  }
  return y;
}

/// With the bias, which every product is added to, in a matrix that is full from the beginning.
Matrix run_full(const Problem& problem, GrB_Matrix batch, GxB_Format_Value format) {
  const auto images = static_cast<std::int64_t>(size_of(GrB_Matrix_nrows, batch));
  const auto fill = [](const Matrix& to, float value) {
    check(GrB_Matrix_assign_FP32(to, nullptr, nullptr, value, GrB_ALL, 0, GrB_ALL, 0, nullptr));
  };
  Matrix y(images, problem.neurons, format), z(images, problem.neurons, format);
  fill(y, 0);
  check(GrB_Matrix_assign(y, batch, nullptr, batch, GrB_ALL, 0, GrB_ALL, 0, GrB_DESC_S));
  for (const Matrix& layer : problem.layers) {
    fill(z, problem.bias);
    check(GrB_mxm(z, nullptr, GrB_PLUS_FP32, GrB_PLUS_TIMES_SEMIRING_FP32, y, layer, nullptr));
    check(GrB_Matrix_apply_BinaryOp2nd_FP32(z, nullptr, nullptr, GrB_MAX_FP32, z, 0, nullptr));
    clip(z);
    std::swap(y, z);
  }
  return y;
}

std::int64_t categories_of(GrB_Matrix y) {
  const GrB_Index images = size_of(GrB_Matrix_nrows, y);
  GrB_Vector sums = nullptr;
  check(GrB_Vector_new(&sums, GrB_FP32, images));
  check(GrB_Matrix_reduce_Monoid(sums, nullptr, nullptr, GrB_PLUS_MONOID_FP32, y, nullptr));
  check(GrB_Vector_select_FP32(sums, nullptr, nullptr, GrB_VALUEGT_FP32, sums, 0, nullptr));
  GrB_Index alive = 0;
  check(GrB_Vector_nvals(&alive, sums));
  check(GrB_Vector_free(&sums));
  return static_cast<std::int64_t>(alive);
}

void measure(const std::vector<std::string>& words) {
  if (words.size() != 5) user_error("usage: graphblas_infer FOLDER IMAGES.tsv REPEAT THREADS WAY");
  const std::string& way = words[4];
  const int repeat = std::stoi(words[2]);
  const bool columns = way == "keep-columns" || way == "keep-batches";
  const GxB_Format_Value format = columns ? GxB_BY_COL : GxB_BY_ROW;
  const graph::GraphChallenge network = graph::read_graphchallenge(words[0]);
  const tensor::SparsePattern pixels = graph::read_sparse_images(words[1], network.neurons);
  Problem problem{.neurons = network.neurons, .bias = network.bias};
  const int batches = way == "keep-batches" ? repeat : 1;
  for (int i = 0; i < batches; ++i) {
    problem.images.push_back(matrix_of(pixels, nullptr, repeat / batches, false, format));
  }
  double edges = 0;
  for (const tensor::SparseMatrix& layer : network.layers) {
    problem.layers.push_back(matrix_of(*layer.pattern, layer.values.get(), 1, true, format));
    edges += static_cast<double>(layer.pattern->size());
  }
  const Stopwatch watch;
  const bool sparse = way == "drop" || way == "keep-sparse";
  std::int64_t categories = 0;
  for (const Matrix& batch : problem.images) {
    categories += categories_of(sparse ? run_sparse(problem, batch, way == "drop")
                                       : run_full(problem, batch, format));
  }
  const double seconds = watch.seconds();
  const std::int64_t images = pixels.rows * repeat;
  fmt::print(
      "{{\"way\": \"{}\", \"images\": {}, \"categories\": {}, \"seconds\": {}, "
      "\"edges_per_second\": {}}}\n",
      way, images, categories, seconds, edges * static_cast<double>(images) / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    check(GrB_init(GrB_NONBLOCKING));
    if (argc > 4) check(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, std::atoi(argv[4])));
    measure({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "graphblas_infer: {}\n", error.what());
    return 1;
  }
}
