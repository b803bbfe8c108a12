// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/gemm.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace weft::e2e {

namespace {

constexpr size_t guard_bytes = 256;

struct Sizes {
   uint32_t m, n, k;
   uint32_t d_start; ///< in components
};

Sizes sizes_of(uint32_t m, uint32_t n, uint32_t k, ComponentType result)
{
   return {m, n, k, uint32_t(guard_bytes / oracle::format(result).bytes)};
}

const char *const text = R"(
layout(local_size_x = $SIZE) in;
$SIZES
$BLOCKS
const uint M = $M, N = $N, K = $K;
const uint tiles_m = $TILES_M, tiles_n = $TILES_N;
const uint rows = M * tiles_m * $SUBGROUPS_M, cols = N * tiles_n * $SUBGROUPS_N;
$SHARED
void main()
{
   const uint row0 = gl_WorkGroupID.y * rows + (gl_SubgroupID / $SUBGROUPS_N) * M * tiles_m;
   const uint col0 = gl_WorkGroupID.x * cols + (gl_SubgroupID % $SUBGROUPS_N) * N * tiles_n;
   $C_TYPE sum[tiles_m][tiles_n];
   [[unroll]] for (uint i = 0; i < tiles_m; i++) {
      [[unroll]] for (uint j = 0; j < tiles_n; j++)
         coopMatLoad(sum[i][j], c_data.data, (row0 + i * M) * sizes.n + col0 + j * N, sizes.n,
                     gl_CooperativeMatrixLayoutRowMajor);
   }
$BEGIN
   for (uint k = 0; k < sizes.k; k += $DEPTH) {
      $A_TYPE a[tiles_m];
      $B_TYPE b;
$STEP
   }
   [[unroll]] for (uint i = 0; i < tiles_m; i++) {
      [[unroll]] for (uint j = 0; j < tiles_n; j++)
         coopMatStore(sum[i][j], d_data.data, sizes.d_start + (row0 + i * M) * sizes.n + col0 + j * N, sizes.n,
                      gl_CooperativeMatrixLayoutRowMajor);
   }
}
)";

const char *const direct_step = R"(
      [[unroll]] for (uint i = 0; i < tiles_m; i++)
         coopMatLoad(a[i], a_data.data, (row0 + i * M) * sizes.k + k, sizes.k, gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint j = 0; j < tiles_n; j++) {
         coopMatLoad(b, b_data.data, (col0 + j * N) * sizes.k + k, sizes.k, gl_CooperativeMatrixLayoutColumnMajor);
         [[unroll]] for (uint i = 0; i < tiles_m; i++)
            sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]$OPERANDS);
      }
)";

/// Lines of shared memory are padded by 16 bytes.
const char *const shared_step = R"(
      const uint first_row = gl_WorkGroupID.y * rows, first_col = gl_WorkGroupID.x * cols;
      for (uint i = gl_LocalInvocationIndex; i < rows * K; i += $SIZE)
         shared_a[(i / K) * stride_a + i % K] = a_data.data[(first_row + i / K) * sizes.k + k + i % K];
      for (uint i = gl_LocalInvocationIndex; i < cols * K; i += $SIZE)
         shared_b[(i / K) * stride_b + i % K] = b_data.data[(first_col + i / K) * sizes.k + k + i % K];
      barrier();
      [[unroll]] for (uint i = 0; i < tiles_m; i++)
         coopMatLoad(a[i], shared_a, (row0 - first_row + i * M) * stride_a, stride_a,
                     gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint j = 0; j < tiles_n; j++) {
         coopMatLoad(b, shared_b, (col0 - first_col + j * N) * stride_b, stride_b,
                     gl_CooperativeMatrixLayoutColumnMajor);
         [[unroll]] for (uint i = 0; i < tiles_m; i++)
            sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]$OPERANDS);
      }
      barrier();
)";

/// Numbers of blocks of 16 bytes: in a line of a stage, from line to line (one more), and for an
/// invocation to copy.
const char *const block_declarations = R"(
const uint stages = $STAGES;
const uint blocks_a = $DEPTH / per_a, blocks_b = $DEPTH / per_b;
const uint stride_a = blocks_a + 1, stride_b = blocks_b + 1;
const uint copies_a = (rows * blocks_a + $SIZE - 1) / $SIZE, copies_b = (cols * blocks_b + $SIZE - 1) / $SIZE;
shared uvec4 shared_a[stages * rows * stride_a], shared_b[stages * cols * stride_b];
uvec4 next_a[copies_a], next_b[copies_b];
void fetch(uint k)
{
   [[unroll]] for (uint n = 0; n < copies_a; n++) {
      const uint i = n * $SIZE + gl_LocalInvocationIndex;
      if (rows * blocks_a % $SIZE == 0 || i < rows * blocks_a)
         next_a[n] = a_data.data[((gl_WorkGroupID.y * rows + i / blocks_a) * sizes.k + k) / per_a + i % blocks_a];
   }
   [[unroll]] for (uint n = 0; n < copies_b; n++) {
      const uint i = n * $SIZE + gl_LocalInvocationIndex;
      if (cols * blocks_b % $SIZE == 0 || i < cols * blocks_b)
         next_b[n] = b_data.data[((gl_WorkGroupID.x * cols + i / blocks_b) * sizes.k + k) / per_b + i % blocks_b];
   }
}
void put(uint stage)
{
   [[unroll]] for (uint n = 0; n < copies_a; n++) {
      const uint i = n * $SIZE + gl_LocalInvocationIndex;
      if (rows * blocks_a % $SIZE == 0 || i < rows * blocks_a)
         shared_a[(stage * rows + i / blocks_a) * stride_a + i % blocks_a] = next_a[n];
   }
   [[unroll]] for (uint n = 0; n < copies_b; n++) {
      const uint i = n * $SIZE + gl_LocalInvocationIndex;
      if (cols * blocks_b % $SIZE == 0 || i < cols * blocks_b)
         shared_b[(stage * cols + i / blocks_b) * stride_b + i % blocks_b] = next_b[n];
   }
}
)";

const char *const block_begin = R"(
   fetch(0);
   uint stage = 0;
)";

/// The next stage is loaded while this one is multiplied. The load has no condition, and after the
/// last stage it loads the first one again. A condition would make the compiler copy the values
/// where its branches join, and wait for them.
const char *const block_step = R"(
      if (stages == 1)
         barrier();
      put(stage);
      barrier();
      fetch(k + $DEPTH < sizes.k ? k + $DEPTH : 0);
      const uint first_row = stage * rows + row0 - gl_WorkGroupID.y * rows;
      const uint first_col = stage * cols + col0 - gl_WorkGroupID.x * cols;
      [[unroll]] for (uint l = 0; l < $DEPTH; l += K) {
         [[unroll]] for (uint i = 0; i < tiles_m; i++)
            coopMatLoad(a[i], shared_a, (first_row + i * M) * stride_a + l / per_a, stride_a,
                        gl_CooperativeMatrixLayoutRowMajor);
         [[unroll]] for (uint j = 0; j < tiles_n; j++) {
            coopMatLoad(b, shared_b, (first_col + j * N) * stride_b + l / per_b, stride_b,
                        gl_CooperativeMatrixLayoutColumnMajor);
            [[unroll]] for (uint i = 0; i < tiles_m; i++)
               sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]$OPERANDS);
         }
      }
      stage = (stage + 1) % stages;
)";

std::string size_declarations(const Sizes &sizes, bool constant)
{
   const std::string members = "{ uint m, n, k, d_start; }";
   if (!constant)
      return "layout(push_constant, std430) uniform Sizes " + members + " sizes;";
   std::string values;
   for (const uint32_t value : {sizes.m, sizes.n, sizes.k, sizes.d_start})
      values += (values.empty() ? "" : ", ") + std::to_string(value);
   return "struct Sizes " + members + ";\nconst Sizes sizes = Sizes(" + values + ");";
}

std::string shader_text(const GemmShader &shader, const Sizes &sizes, uint32_t subgroups_m,
                        uint32_t subgroups_n)
{
   const MatrixOperation &op = shader.operation;
   const std::string a = oracle::format(op.a).glsl, b = oracle::format(op.b).glsl,
                     c = oracle::format(op.c).glsl;
   const auto stride = [&](ComponentType type) {
      return std::to_string(op.k + 16 / oracle::format(type).bytes);
   };
   using enum GemmShader::Staging;
   const bool by_blocks = shader.staging == blocks;
   std::string declarations;
   if (shader.staging == elements) {
      declarations = "const uint stride_a = " + stride(op.a) + ", stride_b = " + stride(op.b) +
                     ";\nshared " + a + " shared_a[rows * stride_a];\nshared " + b +
                     " shared_b[cols * stride_b];\n";
   } else if (by_blocks) {
      const auto per_block = [&](ComponentType type) {
         return std::to_string(16 / oracle::format(type).bytes);
      };
      declarations = "const uint per_a = " + per_block(op.a) + ", per_b = " + per_block(op.b) +
                     ";\n" + block_declarations;
   }
   const Words words = {
      {"SIZE", std::to_string(shader.subgroup_size * subgroups_m * subgroups_n)},
      {"DEPTH", std::to_string(by_blocks ? shader.stage_depth() : op.k)},
      {"SIZES", size_declarations(sizes, shader.constant_sizes)},
      {"BLOCKS", buffer_block(0, by_blocks ? "uvec4" : a, "a_data") +
                    buffer_block(1, by_blocks ? "uvec4" : b, "b_data") +
                    buffer_block(2, c, "c_data") + buffer_block(3, c, "d_data")},
      {"M", std::to_string(op.m)},
      {"N", std::to_string(op.n)},
      {"K", std::to_string(op.k)},
      {"TILES_M", std::to_string(shader.tiles_m)},
      {"TILES_N", std::to_string(shader.tiles_n)},
      {"SUBGROUPS_M", std::to_string(subgroups_m)},
      {"SUBGROUPS_N", std::to_string(subgroups_n)},
      {"A_TYPE", a_type(op).glsl()},
      {"B_TYPE", b_type(op).glsl()},
      {"C_TYPE", c_type(op).glsl()},
      {"OPERANDS", op.saturating ? ", gl_MatrixOperandsSaturatingAccumulation" : ""},
      {"BEGIN", by_blocks ? block_begin : ""},
      {"STAGES", std::to_string(shader.stages)},
      {"STEP", by_blocks                    ? block_step
               : shader.staging == elements ? shared_step
                                            : direct_step},
      {"SHARED", declarations},
   };
   return std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" + expand(text, words);
}

} // namespace

bool GemmShader::has_blocks() const
{
   return operation.k * oracle::format(operation.a).bytes % 16 == 0 &&
          operation.k * oracle::format(operation.b).bytes % 16 == 0;
}

uint32_t GemmShader::stage_depth() const
{
   return operation.k *
          std::max(1u, stage_bytes / (operation.k * oracle::format(operation.a).bytes));
}

Gemm::Gemm(Device &device, const GemmShader &shader, uint32_t m, uint32_t n, uint32_t k,
           MemoryPlace place)
    : shader(shader), m(m), n(n), k(k)
{
   const MatrixOperation &op = shader.operation;
   subgroups_m = std::clamp(m / (op.m * shader.tiles_m), 1u, 2u);
   subgroups_n = std::clamp(n / (op.n * shader.tiles_n), 1u, shader.subgroups_n);
   a = std::make_unique<Buffer>(device, size_t(m) * k * oracle::format(op.a).bytes, place);
   b = std::make_unique<Buffer>(device, size_t(k) * n * oracle::format(op.b).bytes, place);
   c = std::make_unique<Buffer>(device, size_t(m) * n * oracle::format(op.c).bytes, place);
   d = std::make_unique<Buffer>(
      device, size_t(m) * n * oracle::format(op.result).bytes + 2 * guard_bytes, place);
   pipeline = std::make_unique<Pipeline>(
      device,
      compile_glsl(shader_text(shader, sizes_of(m, n, k, op.result), subgroups_m, subgroups_n)),
      PipelineOptions{.bindings = {1, 1, 1, 1},
                      .push_bytes = sizeof(Sizes),
                      .subgroup_size = shader.subgroup_size,
                      .spec_constants = {}});
}

void Gemm::upload(const oracle::Matrix &a_matrix, const oracle::Matrix &b_matrix,
                  const oracle::Matrix &c_matrix)
{
   memcpy(a->bytes().data(), a_matrix.data.data(), a_matrix.data.size());
   memcpy(c->bytes().data(), c_matrix.data.data(), c_matrix.data.size());
   const uint32_t bytes = oracle::format(b_matrix.type).bytes;
   std::vector<std::byte> columns(b_matrix.data.size());
   for (uint32_t col = 0; col < n; col++) {
      for (uint32_t row = 0; row < k; row++)
         memcpy(&columns[(size_t(col) * k + row) * bytes], b_matrix.at(row, col), bytes);
   }
   /* One copy, because the device's memory may be slow to write in pieces. */
   memcpy(b->bytes().data(), columns.data(), columns.size());
}

double Gemm::run(uint32_t times)
{
   oracle::fill_poison(d->bytes());
   return dispatch(times);
}

double Gemm::dispatch(uint32_t times)
{
   const MatrixOperation &op = shader.operation;
   const Groups groups = {n / (op.n * shader.tiles_n * subgroups_n),
                          m / (op.m * shader.tiles_m * subgroups_m), 1};
   const auto start = std::chrono::steady_clock::now();
   pipeline->dispatch({*a, *b, *c, *d}, groups, sizes_of(m, n, k, op.result), times);
   return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

oracle::Matrix Gemm::download()
{
   oracle::Matrix matrix(shader.operation.result, m, n);
   memcpy(matrix.data.data(), d->bytes().data() + guard_bytes, matrix.data.size());
   return matrix;
}

bool Gemm::guards_intact()
{
   std::vector<std::byte> fresh(size_t(d->size()));
   oracle::fill_poison(fresh);
   return memcmp(d->bytes().data(), fresh.data(), guard_bytes) == 0 &&
          memcmp(&d->bytes()[fresh.size() - guard_bytes], &fresh[fresh.size() - guard_bytes],
                 guard_bytes) == 0;
}

double rms_error(const oracle::Expectation &expected, const oracle::Matrix &actual)
{
   double squares = 0;
   for (size_t i = 0; i < expected.value.size(); i++) {
      const double error =
         actual.real(uint32_t(i / actual.cols), uint32_t(i % actual.cols)) - expected.value[i];
      if (expected.bound[i] > 0)
         squares += (error / expected.bound[i]) * (error / expected.bound[i]);
   }
   return expected.value.empty() ? 0 : std::sqrt(squares / double(expected.value.size()));
}

double rms_limit(const MatrixOperation &op, uint32_t depth)
{
   const double of_products = 4 / std::sqrt(double(depth));
   if (oracle::format(op.result).bytes >= 4)
      return std::min(1.0, of_products);
   /* Narrow sums are rounded once per multiply-add, by more than all within it.  Errors that are
    * spread evenly up to their bounds have 1 / sqrt(3) of them as root mean square; this is twice
    * that. */
   const double of_sums = 2 / std::sqrt(3.0 * depth / op.k);
   return std::min(1.0, std::max(of_products, of_sums));
}

oracle::Expectation gemm_expectation(const Device &device, const MatrixOperation &op,
                                     const oracle::Matrix &a, const oracle::Matrix &b,
                                     const oracle::Matrix &c)
{
   oracle::Expectation sum(c);
   oracle::Matrix a_part(op.a, a.rows, op.k), b_part(op.b, op.k, b.cols);
   const size_t b_part_bytes = b_part.data.size();
   for (uint32_t k = 0; k < a.cols; k += op.k) {
      for (uint32_t row = 0; row < a.rows; row++)
         memcpy(a_part.at(row, 0), a.at(row, k), size_t(op.k) * oracle::format(op.a).bytes);
      memcpy(b_part.data.data(), b.at(k, 0), b_part_bytes);
      sum = muladd(a_part, b_part, sum, op.saturating, muladd_rules(device, op.a, op.result));
   }
   return sum;
}

} // namespace weft::e2e
