// Zoltan by its C interface: the hypergraph as query functions, all in one process. Initialises MPI
// if no other code has.
#include "partition/zoltan.hpp"

#include <mpi.h>
#include <zoltan.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>

#include "base/error.hpp"

namespace plait::partition {
namespace {

void finalise_mpi() {
  int done = 0;
  MPI_Finalized(&done);
  if (done == 0) MPI_Finalize();
}

void need_mpi() {
  int done = 0;
  MPI_Finalized(&done);
  if (done != 0) fail("Zoltan needs MPI, which has already ended in this process");
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun != 0) return;
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
    fail("Zoltan needs MPI, but MPI_Init_thread failed");
  }
  std::atexit(finalise_mpi);
}

/// The answers to Zoltan's questions. One process has everything; the parts themselves are vertices
/// of weight 0 at the end, each fixed in its part.
struct Query {
  const Hypergraph& graph;
  int parts;

  int vertices() const { return static_cast<int>(graph.weight.size()) + parts; }

  static const Query& of(void* data) { return *static_cast<const Query*>(data); }
  static int count(void* data, int* error) {
    *error = ZOLTAN_OK;
    return of(data).vertices();
  }
  static void list(void* data, int, int, ZOLTAN_ID_PTR ids, ZOLTAN_ID_PTR, int, float* weights,
                   int* error) {
    const Query& query = of(data);
    std::iota(ids, ids + query.vertices(), 0U);
    std::fill(weights, weights + query.vertices(), 0.0F);
    std::ranges::transform(query.graph.weight, weights,
                           [](std::int64_t weight) { return static_cast<float>(weight); });
    *error = ZOLTAN_OK;
  }
  static void size(void* data, int* lists, int* pins, int* format, int* error) {
    *lists = static_cast<int>(of(data).graph.pins.size());
    *pins = static_cast<int>(of(data).graph.pins.item.size());
    *format = ZOLTAN_COMPRESSED_EDGE;
    *error = ZOLTAN_OK;
  }
  static void nets(void* data, int, int count, int, int, ZOLTAN_ID_PTR ids, int* begin,
                   ZOLTAN_ID_PTR pins, int* error) {
    const Lists& lists = of(data).graph.pins;
    std::iota(ids, ids + count, 0U);
    std::copy_n(lists.begin.begin(), count, begin);
    std::ranges::copy(lists.item, pins);
    *error = ZOLTAN_OK;
  }
  static void cost_count(void* data, int* count, int* error) {
    *count = static_cast<int>(of(data).graph.cost.size());
    *error = ZOLTAN_OK;
  }
  static void costs(void* data, int, int, int count, int, ZOLTAN_ID_PTR ids, ZOLTAN_ID_PTR,
                    float* costs, int* error) {
    std::iota(ids, ids + count, 0U);
    std::ranges::transform(of(data).graph.cost, costs,
                           [](std::int32_t cost) { return static_cast<float>(cost); });
    *error = ZOLTAN_OK;
  }
  static int fixed_count(void* data, int* error) {
    *error = ZOLTAN_OK;
    return of(data).parts;
  }
  static void fixed(void* data, int count, int, ZOLTAN_ID_PTR ids, int* parts, int* error) {
    std::iota(ids, ids + count, static_cast<ZOLTAN_ID_TYPE>(of(data).graph.weight.size()));
    std::iota(parts, parts + count, 0);
    *error = ZOLTAN_OK;
  }
};

struct Destroy {
  void operator()(Zoltan_Struct* zoltan) const { Zoltan_Destroy(&zoltan); }
};
using Zoltan = std::unique_ptr<Zoltan_Struct, Destroy>;

void set_parameters(Zoltan_Struct* zoltan, int parts, double tolerance, std::uint64_t seed) {
  const std::pair<const char*, std::string> parameters[] = {
      {"DEBUG_LEVEL", "0"},
      {"LB_METHOD", "HYPERGRAPH"},
      {"HYPERGRAPH_PACKAGE", "PHG"},
      {"LB_APPROACH", "PARTITION"},
      {"PHG_CUT_OBJECTIVE", "CONNECTIVITY"},
      {"NUM_GLOBAL_PARTS", std::to_string(parts)},
      {"NUM_GID_ENTRIES", "1"},
      {"NUM_LID_ENTRIES", "1"},
      {"OBJ_WEIGHT_DIM", "1"},
      {"EDGE_WEIGHT_DIM", "1"},
      {"RETURN_LISTS", "PARTS"},
      {"CHECK_HYPERGRAPH", "0"},
      {"PHG_EDGE_SIZE_THRESHOLD", "1"},  // large nets count too
      {"IMBALANCE_TOL", std::to_string(1 + tolerance)},
      {"SEED", std::to_string(1 + seed % 0x7fffffff)}};
  for (const auto& [name, value] : parameters) {
    if (Zoltan_Set_Param(zoltan, name, value.c_str()) != ZOLTAN_OK) {
      fail("Zoltan rejects {} = {}", name, value);
    }
  }
}

void set_queries(Zoltan_Struct* zoltan, Query& query) {
  Zoltan_Set_Num_Obj_Fn(zoltan, Query::count, &query);
  Zoltan_Set_Obj_List_Fn(zoltan, Query::list, &query);
  Zoltan_Set_HG_Size_CS_Fn(zoltan, Query::size, &query);
  Zoltan_Set_HG_CS_Fn(zoltan, Query::nets, &query);
  Zoltan_Set_HG_Size_Edge_Wts_Fn(zoltan, Query::cost_count, &query);
  Zoltan_Set_HG_Edge_Wts_Fn(zoltan, Query::costs, &query);
  Zoltan_Set_Num_Fixed_Obj_Fn(zoltan, Query::fixed_count, &query);
  Zoltan_Set_Fixed_Obj_List_Fn(zoltan, Query::fixed, &query);
}

Parts ask(Zoltan_Struct* zoltan, std::size_t vertices) {
  int changes = 0, gids = 0, lids = 0, in = 0, out = 0;
  ZOLTAN_ID_PTR in_gid = nullptr, in_lid = nullptr, out_gid = nullptr, out_lid = nullptr;
  int *in_process = nullptr, *in_part = nullptr, *out_process = nullptr, *out_part = nullptr;
  const int result =
      Zoltan_LB_Partition(zoltan, &changes, &gids, &lids, &in, &in_gid, &in_lid, &in_process,
                          &in_part, &out, &out_gid, &out_lid, &out_process, &out_part);
  Parts part(vertices, 0);
  for (int i = 0; i < out; ++i) {
    if (out_gid[i] < vertices) part[out_gid[i]] = out_part[i];
  }
  Zoltan_LB_Free_Part(&in_gid, &in_lid, &in_process, &in_part);
  Zoltan_LB_Free_Part(&out_gid, &out_lid, &out_process, &out_part);
  if (result != ZOLTAN_OK && result != ZOLTAN_WARN) fail("Zoltan failed with code {}", result);
  return part;
}

}  // namespace

bool has_zoltan() { return true; }

Parts zoltan_parts(const Hypergraph& graph, int parts, double tolerance, std::uint64_t seed) {
  need_mpi();
  float version = 0;
  if (Zoltan_Initialize(0, nullptr, &version) != ZOLTAN_OK) fail("Zoltan cannot be initialised");
  const Zoltan zoltan(Zoltan_Create(MPI_COMM_SELF));
  if (!zoltan) fail("Zoltan is out of memory");
  Query query{graph, parts};
  set_parameters(zoltan.get(), parts, tolerance, seed);
  set_queries(zoltan.get(), query);
  return ask(zoltan.get(), graph.weight.size());
}

}  // namespace plait::partition
