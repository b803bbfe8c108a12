// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "bench/driver/benchmarks.h"

#include "tests/e2e/glsl.h"
#include "tests/oracle/random.h"

#include <benchmark/benchmark.h>

#ifdef HAVE_OPENBLAS
#include <cblas.h>
#endif
#ifdef HAVE_DNNL
#include <dnnl.hpp>
#endif

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

namespace weft::bench {

namespace {

using e2e::Groups;
using e2e::Words;
using oracle::Matrix;
using enum ComponentType;

const char *const text = R"(
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint unique = 0;
layout(push_constant, std430) uniform Push { uint m, n, k; } push;
layout(binding = 0, std430) readonly buffer A { uvec4 data[]; } a_data;
layout(binding = 1, std430) readonly buffer B { uvec4 data[]; } b_data;
layout(binding = 2, std430) buffer D { $D data[]; } d_data;

const uint M = 16, N = 16, K = $K;
const uint block = 128, tiles = block / 2 / 16;
const uint depth = 2 * K;             // of a step along k
const uint per_unit = $PER_UNIT;      // elements of a uvec4
const uint units = depth / per_unit;  // of a line
const uint stride = units + 1;        // of a line in shared memory
shared uvec4 shared_a[block * stride], shared_b[block * stride];

void main()
{
   const uint row = gl_SubgroupID / 2 * (block / 2), col = gl_SubgroupID % 2 * (block / 2);
   const uint first_row = gl_WorkGroupID.y * block, first_col = gl_WorkGroupID.x * block;
   $C_TYPE sum[tiles][tiles];
   [[unroll]] for (uint i = 0; i < tiles; i++)
      [[unroll]] for (uint j = 0; j < tiles; j++)
         sum[i][j] = $C_TYPE(0);
   for (uint k = 0; k < push.k; k += depth) {
      [[unroll]] for (uint i = 0; i < block * units / 128; i++) {
         const uint at = i * 128 + gl_LocalInvocationIndex, line = at / units, unit = at % units;
         shared_a[line * stride + unit] = a_data.data[((first_row + line) * push.k + k) / per_unit + unit];
         shared_b[line * stride + unit] = b_data.data[((first_col + line) * push.k + k) / per_unit + unit];
      }
      barrier();
      [[unroll]] for (uint l = 0; l < depth; l += K) {
         $A_TYPE a[tiles];
         [[unroll]] for (uint i = 0; i < tiles; i++)
            coopMatLoad(a[i], shared_a, (row + i * M) * stride + l / per_unit, stride,
                        gl_CooperativeMatrixLayoutRowMajor);
         [[unroll]] for (uint j = 0; j < tiles; j++) {
            $B_TYPE b;
            coopMatLoad(b, shared_b, (col + j * N) * stride + l / per_unit, stride,
                        gl_CooperativeMatrixLayoutColumnMajor);
            [[unroll]] for (uint i = 0; i < tiles; i++)
               sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]);
         }
      }
      barrier();
   }
   if (push.n == unique)
      return;
   [[unroll]] for (uint i = 0; i < tiles; i++)
      [[unroll]] for (uint j = 0; j < tiles; j++)
         coopMatStore(sum[i][j], d_data.data,
                      (first_row + row + i * M) * push.n + first_col + col + j * N, push.n,
                      gl_CooperativeMatrixLayoutRowMajor);
}
)";

const char *const direct_text = R"(
layout(local_size_x = 32) in;
layout(push_constant, std430) uniform Push { uint m, n, k; } push;
layout(binding = 0, std430) readonly buffer A { $A data[]; } a_data;
layout(binding = 1, std430) readonly buffer B { $B data[]; } b_data;
layout(binding = 2, std430) buffer D { $D data[]; } d_data;

const uint M = 16, N = 16, K = $K;
const uint tiles_m = $ROWS / M, tiles_n = $COLS / N;
const uint depth = 2 * K;

void main()
{
   const uint row = gl_WorkGroupID.y * $ROWS, col = gl_WorkGroupID.x * $COLS;
   $C_TYPE sum[tiles_m][tiles_n];
   [[unroll]] for (uint i = 0; i < tiles_m; i++)
      [[unroll]] for (uint j = 0; j < tiles_n; j++)
         sum[i][j] = $C_TYPE(0);
   for (uint k = 0; k < push.k; k += depth) {
      [[unroll]] for (uint l = 0; l < depth; l += K) {
         $A_TYPE a[tiles_m];
         [[unroll]] for (uint i = 0; i < tiles_m; i++)
            coopMatLoad(a[i], a_data.data, (row + i * M) * push.k + k + l, push.k,
                        gl_CooperativeMatrixLayoutRowMajor);
         [[unroll]] for (uint j = 0; j < tiles_n; j++) {
            $B_TYPE b;
            coopMatLoad(b, b_data.data, (col + j * N) * push.k + k + l, push.k,
                        gl_CooperativeMatrixLayoutColumnMajor);
            [[unroll]] for (uint i = 0; i < tiles_m; i++)
               sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]);
         }
      }
   }
   [[unroll]] for (uint i = 0; i < tiles_m; i++)
      [[unroll]] for (uint j = 0; j < tiles_n; j++)
         coopMatStore(sum[i][j], d_data.data, (row + i * M) * push.n + col + j * N, push.n,
                      gl_CooperativeMatrixLayoutRowMajor);
}
)";

/// Operands that all products of the same types and size share: whole numbers with exact sums.
struct Operands {
   Operands(const MatrixOperation &op, uint32_t size)
       : op(op), a(op.a, size, size), b(op.b, size, size)
   {
      oracle::Random random(size);
      oracle::fill_random(random, op.a, oracle::Inputs::whole, a.data);
      oracle::fill_random(random, op.b, oracle::Inputs::whole, b.data);
   }

   uint32_t size() const { return a.rows; }

   /// Checks a sample of the elements.
   void check(const Matrix &result, const std::string &who) const
   {
      const auto number = [](const Matrix &m, uint32_t row, uint32_t col) {
         return oracle::format(m.type).is_float ? m.real(row, col) : double(m.integer(row, col));
      };
      for (uint32_t i = 0; i < 100; i++) {
         const uint32_t row = i * 7919 % size(), col = i * 104729 % size();
         double expected = 0;
         for (uint32_t k = 0; k < size(); k++)
            expected += number(a, row, k) * number(b, k, col);
         if (number(result, row, col) != expected)
            throw std::runtime_error(who + ": element " + std::to_string(row) + ", " +
                                     std::to_string(col) + " is wrong");
      }
   }

   MatrixOperation op;
   Matrix a, b;
};

/// A multiplication by one implementation. The first call prepares it and checks its result; later
/// calls only multiply.
using Product = std::function<void()>;

/// A shader whose workgroups compute this many rows and columns.
struct Kernel {
   std::string glsl;
   uint32_t rows, cols;
};

Product on_device(e2e::Device &device, const Operands &o, const Kernel &kernel)
{
   struct State {
      e2e::Buffer a, b, d;
      e2e::Pipeline pipeline;
   };
   const uint32_t size = o.size();
   const std::shared_ptr<State> state(new State{{device, o.a.data.size()},
                                                {device, o.b.data.size()},
                                                {device, size_t(size) * size * 4},
                                                {device,
                                                 e2e::compile_glsl(kernel.glsl),
                                                 {.bindings = {1, 1, 1},
                                                  .push_bytes = sizeof(GemmPush),
                                                  .subgroup_size = gemm_subgroup,
                                                  .spec_constants = {}}}});
   memcpy(state->a.bytes().data(), o.a.data.data(), o.a.data.size());
   const uint32_t bytes = oracle::format(o.op.b).bytes;
   for (uint32_t col = 0; col < size; col++) {
      for (uint32_t row = 0; row < size; row++)
         memcpy(&state->b.bytes()[(size_t(col) * size + row) * bytes], o.b.at(row, col), bytes);
   }
   const Groups groups = {size / kernel.cols, size / kernel.rows, 1};
   const auto product = [state, size, groups] {
      state->pipeline.dispatch({state->a, state->b, state->d}, groups, GemmPush{size, size, size});
   };
   product();
   Matrix result(o.op.result, size, size);
   memcpy(result.data.data(), state->d.bytes().data(), result.data.size());
   o.check(result, "the device");
   return product;
}

#ifdef HAVE_OPENBLAS
Product with_openblas(const Operands &o)
{
   const auto d = std::make_shared<Matrix>(f32, o.size(), o.size());
   const auto product = [d, &o] {
      const auto data = [](const Matrix &m) {
         return reinterpret_cast<const float *>(m.data.data());
      };
      const blasint n = blasint(o.size());
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, data(o.a), n, data(o.b), n,
                  0, reinterpret_cast<float *>(d->data.data()), n);
   };
   product();
   o.check(*d, "OpenBLAS");
   return product;
}
#endif

#ifdef HAVE_DNNL
/// Null if oneDNN lacks the operation. All matrices are row-major.
Product with_onednn(const Operands &o)
{
   using namespace dnnl;
   const auto type = [](ComponentType t) {
      return t == f32    ? memory::data_type::f32
             : t == bf16 ? memory::data_type::bf16
             : t == s8   ? memory::data_type::s8
             : t == u8   ? memory::data_type::u8
             : t == s32  ? memory::data_type::s32
                         : memory::data_type::undef;
   };
   if (type(o.op.a) == memory::data_type::undef)
      return nullptr;
   static const engine cpu(engine::kind::cpu, 0);
   const auto described = [&](ComponentType t) {
      return memory::desc({o.size(), o.size()}, type(t), memory::format_tag::ab);
   };
   const memory::desc a = described(o.op.a), b = described(o.op.b), d = described(o.op.result);
#if DNNL_VERSION_MAJOR >= 3
   const matmul primitive(matmul::primitive_desc(cpu, a, b, d));
#else
   const matmul primitive(matmul::primitive_desc(matmul::desc(a, b, d), cpu));
#endif
   const auto result = std::make_shared<Matrix>(o.op.result, o.size(), o.size());
   const auto at = [](const Matrix &m) { return const_cast<std::byte *>(m.data.data()); };
   const std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, memory(a, cpu, at(o.a))},
                                                      {DNNL_ARG_WEIGHTS, memory(b, cpu, at(o.b))},
                                                      {DNNL_ARG_DST, memory(d, cpu, at(*result))}};
   const auto product = [primitive, arguments, result] {
      stream queue(cpu);
      primitive.execute(queue, arguments);
      queue.wait();
   };
   product();
   o.check(*result, "oneDNN");
   return product;
}
#endif

} // namespace

namespace {

constexpr uint32_t direct_rows = 128, direct_cols = 64;

std::string expanded(const char *text, const MatrixOperation &op)
{
   const Words words = {
      {"K", std::to_string(op.k)},
      {"PER_UNIT", std::to_string(16 / oracle::format(op.a).bytes)},
      {"ROWS", std::to_string(direct_rows)},
      {"COLS", std::to_string(direct_cols)},
      {"A", oracle::format(op.a).glsl},
      {"B", oracle::format(op.b).glsl},
      {"D", oracle::format(op.result).glsl},
      {"A_TYPE", e2e::a_type(op).glsl()},
      {"B_TYPE", e2e::b_type(op).glsl()},
      {"C_TYPE", e2e::c_type(op).glsl()},
   };
   return std::string(e2e::glsl_header) + e2e::expand(text, words);
}

} // namespace

std::string gemm_shader(const MatrixOperation &op)
{
   return expanded(text, op);
}

namespace {

/// A kernel for CPUs, where no memory is close to a workgroup only: a workgroup is one subgroup,
/// which loads tiles directly from the buffers.
Kernel direct_kernel(const MatrixOperation &op)
{
   return {expanded(direct_text, op), direct_rows, direct_cols};
}

/// Creates the operands when the first product with them is measured.
std::function<const Operands &()> operands_on_demand(const MatrixOperation &op, uint32_t size)
{
   return [op, size, made = std::make_shared<std::unique_ptr<Operands>>()]() -> const Operands & {
      if (!*made)
         *made = std::make_unique<Operands>(op, size);
      return **made;
   };
}

} // namespace

void register_gemms(e2e::Device &device)
{
   const auto add = [](const std::string &name, uint32_t size,
                       const std::function<Product()> &make) {
      auto product = std::make_shared<Product>();
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State &bench) {
         if (!*product)
            *product = make();
         if (!*product)
            return bench.SkipWithError("not supported");
         for (auto _ : bench)
            (*product)();
         bench.counters["OP/s"] = benchmark::Counter(2.0 * size * size * size,
                                                     benchmark::Counter::kIsIterationInvariantRate);
      })->UseRealTime();
   };
   const MatrixOperation single = {16, 16, 16, f32, f32, f32, f32, false};
   const std::pair<const char *, MatrixOperation> operations[] = {
      {"f32", single},
      {"f16-f32", {16, 16, 16, f16, f16, f32, f32, false}},
      {"bf16-f32", {16, 16, 16, bf16, bf16, f32, f32, false}},
      {"s8-s32", {16, 16, 32, s8, s8, s32, s32, false}},
      {"u8s8-s32", {16, 16, 32, u8, s8, s32, s32, false}},
      // 64 bytes along k.
      {"bf16-f32-k32", {16, 16, 32, bf16, bf16, f32, f32, false}},
      {"s8-s32-k64", {16, 16, 64, s8, s8, s32, s32, false}},
   };
   for (const auto &[name, op] : operations) {
      for (const uint32_t size : {256, 512, 1024, 2048}) {
         const auto operands = operands_on_demand(op, size);
         const auto title = [&](const char *who) {
            return std::string("gemm/") + name + "/" + who + "/" + std::to_string(size);
         };
         add(title("Weft"), size, [=, &device] {
            return on_device(device, operands(), {gemm_shader(op), gemm_block, gemm_block});
         });
         add(title("direct"), size,
             [=, &device] { return on_device(device, operands(), direct_kernel(op)); });
#ifdef HAVE_OPENBLAS
         // OpenBLAS has no halves: a program with halves would widen them.
         if (op.a == f32 || op.a == f16) {
            const auto floats = op.a == f32 ? operands : operands_on_demand(single, size);
            add(title("OpenBLAS"), size, [=] { return with_openblas(floats()); });
         }
#endif
#ifdef HAVE_DNNL
         if (op.a != f16 && op.k * oracle::format(op.a).bytes < 64)
            add(title("oneDNN"), size, [=] { return with_onednn(operands()); });
#endif
      }
   }
}

} // namespace weft::bench
