// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The speed of matrix programs through the layer: a product of 4096×4096 matrices with the
/// driver's own matrices, with the layer's tiles (made of these) and with registers. For
/// comparison, a plain shader multiplies and adds from shared memory. Implementations alternate in
/// rounds; the best time of each counts, with the tiling that was fastest in the first round. The
/// first round checks the results, because reading them back takes longer than everything else.
///
/// VK_DRIVER_FILES and VK_LAYER_PATH name the driver and the layer's manifest. The environment of
/// an implementation is set before its instance is created. Arguments: the size instead of 4096 (a
/// multiple of 512); then the T(FL)OP/s of another program on this device with f16 and with s8,
/// with which the tiles are compared.

#include "tests/e2e/gemm.h"
#include "tests/e2e/glsl.h"
#include "tests/oracle/random.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

namespace weft::e2e {
namespace {

constexpr int rounds = 3;
constexpr uint32_t repetitions = 10;

/// A workgroup of 16×16 invocations computes 128×128 elements, an invocation 8×8 of them; A
/// row-major, B column-major.
const char *const plain_shader = R"(
layout(local_size_x = 256) in;
layout(push_constant, std430) uniform Push { uint m, n, k; } push;
layout(binding = 0, std430) buffer A { uvec4 data[]; } a;
layout(binding = 1, std430) buffer B { uvec4 data[]; } b;
layout(binding = 2, std430) buffer D { float data[]; } d;
shared float shared_a[16][132], shared_b[16][132];
void main()
{
   const uint t = gl_LocalInvocationIndex, row = t / 2, part = t % 2 * 8;
   const uint x = t % 16, y = t / 16;
   float sum[8][8];
   [[unroll]] for (uint i = 0; i < 8; i++)
      [[unroll]] for (uint j = 0; j < 8; j++)
         sum[i][j] = 0;
   for (uint k = 0; k < push.k; k += 16) {
      const uvec4 from_a = a.data[((gl_WorkGroupID.y * 128 + row) * push.k + k + part) / 8];
      const uvec4 from_b = b.data[((gl_WorkGroupID.x * 128 + row) * push.k + k + part) / 8];
      [[unroll]] for (uint i = 0; i < 4; i++) {
         const vec2 pair_a = unpackHalf2x16(from_a[i]), pair_b = unpackHalf2x16(from_b[i]);
         shared_a[part + 2 * i][row] = pair_a.x;
         shared_a[part + 2 * i + 1][row] = pair_a.y;
         shared_b[part + 2 * i][row] = pair_b.x;
         shared_b[part + 2 * i + 1][row] = pair_b.y;
      }
      barrier();
      [[unroll]] for (uint l = 0; l < 16; l++) {
         float p[8], q[8];
         [[unroll]] for (uint i = 0; i < 8; i++) {
            p[i] = shared_a[l][y * 8 + i];
            q[i] = shared_b[l][x * 8 + i];
         }
         [[unroll]] for (uint i = 0; i < 8; i++)
            [[unroll]] for (uint j = 0; j < 8; j++)
               sum[i][j] = fma(p[i], q[j], sum[i][j]);
      }
      barrier();
   }
   [[unroll]] for (uint i = 0; i < 8; i++)
      [[unroll]] for (uint j = 0; j < 8; j++)
         d.data[(gl_WorkGroupID.y * 128 + y * 8 + i) * push.n + gl_WorkGroupID.x * 128 + x * 8 + j] = sum[i][j];
}
)";

using oracle::Matrix;

/// Small whole numbers, whose sums are exact in every order.
Matrix whole_numbers(oracle::Random &random, ComponentType type, uint32_t size)
{
   Matrix matrix(type, size, size);
   for (uint32_t i = 0; i < size * size; i++)
      oracle::encode_number(type, double(oracle::draw(random, 5)) - 2,
                            matrix.at(i / size, i % size));
   return matrix;
}

double number(const Matrix &m, uint32_t row, uint32_t col)
{
   return oracle::format(m.type).is_float ? m.real(row, col) : double(m.integer(row, col));
}

struct Inputs {
   Matrix a, b;
};

/// Checks a sample of the elements.
void check(const Inputs &in, const std::function<double(uint32_t row, uint32_t col)> &result,
           oracle::Random &random)
{
   const uint32_t size = in.a.rows;
   for (int sample = 0; sample < 200; sample++) {
      const uint32_t row = uint32_t(oracle::draw(random, size)),
                     col = uint32_t(oracle::draw(random, size));
      double expected = 0;
      for (uint32_t k = 0; k < size; k++)
         expected += number(in.a, row, k) * number(in.b, k, col);
      if (result(row, col) != expected) {
         fprintf(stderr, "element %u, %u is %g, expected %g\n", row, col, result(row, col),
                 expected);
         exit(1);
      }
   }
}

double teraflops(uint32_t size, double seconds)
{
   return 2e-12 * size * size * size * repetitions / seconds;
}

/// Seconds for all repetitions, after an idle GPU has raised its clock.
template <typename Run>
double measured_seconds(const Run &run)
{
   for (double busy = 0; busy < 0.3;)
      busy += run(repetitions);
   return run(repetitions);
}

using Staging = GemmShader::Staging;

struct Tiling {
   uint32_t tiles_m, tiles_n; ///< of a subgroup
   Staging staging;
   uint32_t subgroups_n = 2;
   uint32_t stage_bytes = 64, stages = 1;
   bool constant_sizes = false;

   std::string name() const
   {
      const char *const names[] = {"", ", shared memory", ", shared memory by blocks"};
      std::string name = std::to_string(tiles_m) + "×" + std::to_string(tiles_n) + " tiles, 2×" +
                         std::to_string(subgroups_n) + " subgroups" + names[size_t(staging)];
      if (staging == Staging::blocks)
         name += " of " + std::to_string(stages) + "×" + std::to_string(stage_bytes) + " bytes";
      if (constant_sizes)
         name += ", sizes constant";
      return name;
   }
};

/// An implementation of an operation.
struct Way {
   const char *lowering; ///< "native": without the layer
   MatrixOperation operation;
   const Inputs &inputs;
   std::optional<Tiling> tiling = {}; ///< the fastest; set after the first round
   double best = 0;                   ///< T(FL)OP/s

   std::string name() const { return operation_name(operation) + ", " + lowering; }
};

Gemm make(Device &device, const Way &way, const Tiling &t)
{
   const uint32_t size = way.inputs.a.rows;
   return Gemm(device,
               {way.operation, device.properties11.subgroupSize, t.tiles_m, t.tiles_n, t.staging,
                t.subgroups_n, t.stage_bytes, t.stages, t.constant_sizes},
               size, size, size, MemoryPlace::device);
}

/// Tries the tilings, and checks the fastest one's result.
void choose_tiling(Device &device, Way &way, oracle::Random &random)
{
   double best = 0;
   using enum Staging;
   for (const Tiling t : {Tiling{2, 2, none},
                          {2, 2, elements},
                          {2, 2, blocks},
                          {2, 4, blocks},
                          {2, 4, blocks, 2, 32},
                          {4, 4, blocks},
                          {4, 4, blocks, 4},
                          {4, 2, blocks, 4, 128},
                          {4, 2, blocks, 4, 128, 1, true}}) {
      Gemm gemm = make(device, way, t);
      const double speed = teraflops(
         way.inputs.a.rows, measured_seconds([&](uint32_t n) { return gemm.dispatch(n); }));
      fprintf(stderr, "%s: %.2f (%s)\n", way.name().c_str(), speed, t.name().c_str());
      if (speed > best)
         way.tiling = t;
      best = std::max(best, speed);
   }
   Gemm gemm = make(device, way, *way.tiling);
   gemm.upload(way.inputs.a, way.inputs.b,
               Matrix(way.operation.c, way.inputs.a.rows, way.inputs.a.rows));
   gemm.run(1);
   const Matrix result = gemm.download();
   check(way.inputs, [&](uint32_t row, uint32_t col) { return number(result, row, col); }, random);
}

/// Does nothing if the device lacks the operation.
void measure(Device &device, Way &way, oracle::Random &random)
{
   const auto list = matrix_operations(device);
   if (std::find(list.begin(), list.end(), way.operation) == list.end())
      return;
   if (!way.tiling)
      choose_tiling(device, way, random);
   const uint32_t size = way.inputs.a.rows;
   Gemm gemm = make(device, way, *way.tiling);
   gemm.upload(way.inputs.a, way.inputs.b, Matrix(way.operation.c, size, size));
   const double speed =
      teraflops(size, measured_seconds([&](uint32_t n) { return gemm.dispatch(n); }));
   fprintf(stderr, "%s: %.2f (%s)\n", way.name().c_str(), speed, way.tiling->name().c_str());
   way.best = std::max(way.best, speed);
}

double measure_plain(Device &device, const Inputs &in, oracle::Random &random, bool with_check)
{
   const uint32_t size = in.a.rows;
   const size_t bytes = size_t(size) * size * 2;
   Buffer a(device, bytes, MemoryPlace::device), b(device, bytes, MemoryPlace::device),
      d(device, 2 * bytes, MemoryPlace::device);
   memcpy(a.bytes().data(), in.a.data.data(), bytes);
   std::vector<uint16_t> columns(size_t(size) * size);
   for (uint32_t row = 0; row < size; row++) {
      for (uint32_t col = 0; col < size; col++)
         memcpy(&columns[size_t(col) * size + row], in.b.at(row, col), 2);
   }
   memcpy(b.bytes().data(), columns.data(), bytes);
   Pipeline pipeline(
      device, compile_glsl(std::string(glsl_header) + plain_shader),
      {.bindings = {1, 1, 1}, .push_bytes = 12, .subgroup_size = 0, .spec_constants = {}});
   const struct {
      uint32_t m, n, k;
   } push = {size, size, size};
   const Groups groups = {size / 128, size / 128, 1};
   const double seconds = measured_seconds([&](uint32_t times) {
      const auto start = std::chrono::steady_clock::now();
      pipeline.dispatch({a, b, d}, groups, push, times);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
   });
   if (!with_check)
      return teraflops(size, seconds);
   std::vector<float> result(size_t(size) * size);
   memcpy(result.data(), d.bytes().data(), result.size() * 4);
   check(in, [&](uint32_t row, uint32_t col) { return result[size_t(row) * size + col]; }, random);
   return teraflops(size, seconds);
}

void print_ratio(const Way &way, const char *other, double speed)
{
   if (way.best > 0 && speed > 0)
      printf("%s ÷ %s: %.2f\n", way.name().c_str(), other, way.best / speed);
}

/// `others`: another program's speeds, 0 if unknown.
int run(uint32_t size, const std::array<double, 2> &others)
{
   using enum ComponentType;
   const char *given = getenv("WEFT_SEED");
   const uint64_t seed = given ? strtoull(given, nullptr, 0) : std::random_device{}();
   printf("seed: WEFT_SEED=%llu\n", (unsigned long long)seed);
   oracle::Random random(seed);
   const MatrixOperation floats = {16, 16, 16, f16, f16, f32, f32, false};
   const MatrixOperation integers = {16, 16, 32, s8, s8, s32, s32, false};
   const Inputs halves = {whole_numbers(random, f16, size), whole_numbers(random, f16, size)};
   const Inputs bytes = {whole_numbers(random, s8, size), whole_numbers(random, s8, size)};

   std::vector<Way> ways;
   for (const char *lowering : {"native", "tiles", "registers"}) {
      ways.push_back({lowering, floats, halves});
      ways.push_back({lowering, integers, bytes});
   }

   std::string name;
   double plain = 0;
   for (int round = 0; round < rounds; round++) {
      for (size_t i = 0; i < ways.size(); i += 2) {
         const bool layer = strcmp(ways[i].lowering, "native") != 0;
         setenv("VK_INSTANCE_LAYERS", layer ? "VK_LAYER_WEFT_cooperative_matrix" : "", 1);
         setenv("WEFT_LOWERING", layer ? ways[i].lowering : "auto", 1);
         Device device(false);
         name = device.properties.deviceName;
         measure(device, ways[i], random);
         measure(device, ways[i + 1], random);
         if (!layer)
            plain = std::max(plain, measure_plain(device, halves, random, round == 0));
      }
   }
   printf("%s, %u×%u×%u, best of %d rounds\n", name.c_str(), size, size, size, rounds);
   for (const Way &way : ways) {
      if (way.best > 0)
         printf("%-34s %8.2f T(FL)OP/s\n", way.name().c_str(), way.best);
   }
   printf("%-34s %8.2f T(FL)OP/s\n", "f16→f32 without matrices", plain);
   for (const Way &way : ways) {
      const bool is_float = oracle::format(way.operation.a).is_float;
      if (strcmp(way.lowering, "tiles") == 0)
         print_ratio(way, "the other program", others[is_float ? 0 : 1]);
      else if (strcmp(way.lowering, "registers") == 0 && is_float)
         print_ratio(way, "without matrices", plain);
   }
   return 0;
}

} // namespace
} // namespace weft::e2e

int main(int argc, char **argv)
{
   try {
      return weft::e2e::run(argc > 1 ? uint32_t(atoi(argv[1])) : 4096,
                            {argc > 2 ? atof(argv[2]) : 0, argc > 3 ? atof(argv[3]) : 0});
   } catch (const std::exception &error) {
      fprintf(stderr, "%s\n", error.what());
      return 1;
   }
}
