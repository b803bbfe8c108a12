// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "bench/compute/cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace weft::bench {

namespace {

constexpr uint32_t million = 1 << 20;

std::mt19937 &random_numbers()
{
   static std::mt19937 numbers(1);
   return numbers;
}

Words zeros(size_t n)
{
   return Words(n);
}

Words random_words(size_t n)
{
   Words words(n);
   std::ranges::generate(words, [] { return uint32_t(random_numbers()()); });
   return words;
}

/// Numbers from -1 to 1.
Words random_floats(size_t n)
{
   Words words(n);
   std::ranges::generate(words, [] {
      const float number = float(int32_t(random_numbers()())) * 0x1p-31f;
      uint32_t bits;
      memcpy(&bits, &number, sizeof(bits));
      return bits;
   });
   return words;
}

Words random_doubles(size_t n)
{
   std::vector<double> numbers(n);
   std::ranges::generate(numbers, [] { return int32_t(random_numbers()()) * 0x1p-16; });
   Words words(2 * n);
   memcpy(words.data(), numbers.data(), 8 * n);
   return words;
}

Words permutation(uint32_t n)
{
   Words places(n);
   std::iota(places.begin(), places.end(), 0);
   std::ranges::shuffle(places, random_numbers());
   return places;
}

bool are_equal(const Words &expected, const Words &got)
{
   return expected == got;
}

/// Some points at the edge of the set differ by the contraction of a product and a sum.
bool are_nearly_all_equal(const Words &expected, const Words &got)
{
   size_t differing = 0;
   for (size_t i = 0; i < expected.size(); i++)
      differing += expected[i] != got[i];
   return differing <= expected.size() / 200;
}

/// Relative to the largest number.
template <typename Number>
auto are_close(double tolerance)
{
   return [tolerance](const Words &expected, const Words &got) {
      std::vector<Number> x(expected.size() * 4 / sizeof(Number)), y(x.size());
      memcpy(x.data(), expected.data(), 4 * expected.size());
      memcpy(y.data(), got.data(), 4 * got.size());
      double error = 0, largest = 0;
      for (size_t i = 0; i < x.size(); i++) {
         if (!std::isfinite(y[i]))
            return false;
         largest = std::max(largest, std::abs(double(x[i])));
         error = std::max(error, std::abs(double(x[i]) - double(y[i])));
      }
      return error <= tolerance * largest;
   };
}

Case copy_case()
{
   constexpr uint32_t n = 16 * million;
   return {.shaders = {"copy"},
           .memory = {{random_floats(n), zeros(n)}},
           .dispatches = {{0, {n / 256, 1, 1}, {n}}},
           .peer = [](Memory &m) { copy(m, n); },
           .is_right = are_equal};
}

Case saxpy_case(uint32_t n, uint32_t repeats)
{
   return {.shaders = {"saxpy"},
           .memory = {{random_floats(n), random_floats(n), zeros(n)}},
           .result = 2,
           .dispatches = {{0, {n / 256, 1, 1}, {.n = n, .f0 = 1.5f}}},
           .peer = [=](Memory &m) { saxpy(m, n, repeats); },
           .is_right = are_close<float>(1e-6),
           .repeats = repeats};
}

Case daxpy_case()
{
   constexpr uint32_t n = 8 * million;
   return {.shaders = {"daxpy"},
           .memory = {{random_doubles(n), random_doubles(n), zeros(2 * n)}},
           .result = 2,
           .dispatches = {{0, {n / 256, 1, 1}, {.n = n, .f0 = 1.5f}}},
           .peer = [](Memory &m) { daxpy(m, n); },
           .is_right = are_close<double>(1e-12)};
}

/// With the neighbours in bindings of their own, or in one.
/// `left` and `right`: the bindings of the neighbours in a row.
Case stencil_case(const char *shader, unsigned left, unsigned right)
{
   constexpr uint32_t n = 256;
   const Words from = random_floats(n * n * n);
   return {.shaders = {shader},
           .memory = {{from, zeros(from.size()), from, from}},
           .dispatches = {{0, {n / 32, n / 4, n / 2}, {.n = n, .f0 = 0.4f, .f1 = 0.1f}}},
           .peer = [=](Memory &m) { stencil(m, n, left, right); },
           .is_right = are_close<float>(1e-5)};
}

Case convolution_case()
{
   constexpr uint32_t n = 2048;
   return {.shaders = {"convolution"},
           .memory = {{random_floats(n * n), zeros(n * n), random_floats(25)}},
           .dispatches = {{0, {n / 16, n / 16, 1}, {n}}},
           .peer = [](Memory &m) { convolution(m, n); },
           .is_right = are_close<float>(1e-4)};
}

Case gemm_case(const char *shader, uint32_t tile)
{
   constexpr uint32_t n = 1024;
   return {.shaders = {shader},
           .memory = {{random_floats(n * n), random_floats(n * n), zeros(n * n)}},
           .result = 2,
           .dispatches = {{0, {n / tile, n / tile, 1}, {n}}},
           .peer = [](Memory &m) { gemm(m, n); },
           .is_right = are_close<float>(2e-4)};
}

Case reduce_case(const char *shader)
{
   constexpr uint32_t n = 16 * million, part = 1024;
   return {.shaders = {shader},
           .memory = {{random_floats(n), zeros(n / part)}},
           .dispatches = {{0, {n / part, 1, 1}, {n}}},
           .peer = [](Memory &m) { reduce(m, n); },
           .is_right = are_close<float>(1e-4)};
}

Case scan_case()
{
   constexpr uint32_t n = 4 * million, part = 1024;
   return {.shaders = {"scan_block", "scan_sums", "scan_add"},
           .memory = {{random_words(n), zeros(n), zeros(n / part)}},
           .dispatches = {{0, {n / part, 1, 1}, {n}},
                          {1, {1, 1, 1}, {n / part}},
                          {2, {n / 256, 1, 1}, {n}}},
           .peer = [](Memory &m) { scan(m, n); },
           .is_right = are_equal};
}

Case histogram_case()
{
   constexpr uint32_t n = 4 * million;
   return {.shaders = {"zeros", "histogram"},
           .memory = {{random_words(n), zeros(256)}},
           .dispatches = {{0, {1, 1, 1}, {}}, {1, {n / 4096, 1, 1}, {n}}},
           .peer = [](Memory &m) { histogram(m, n); },
           .is_right = are_equal};
}

/// Steps at distances below the block run in one dispatch, all others in one each.
Case bitonic_case()
{
   constexpr uint32_t n = million, block = 512;
   const auto step = [](uint32_t shader, uint32_t p1, uint32_t p2) {
      return Dispatch{shader, {n / block, 1, 1}, {n, p1, p2}};
   };
   std::vector<Dispatch> dispatches = {step(0, 0, 1)};
   for (uint32_t run = 2 * block; run <= n; run *= 2) {
      for (uint32_t distance = run / 2; distance >= block; distance /= 2)
         dispatches.push_back(step(1, run, distance));
      dispatches.push_back(step(0, run, 0));
   }
   return {.shaders = {"bitonic_local", "bitonic_global"},
           .memory = {{random_words(n), zeros(n)}},
           .dispatches = dispatches,
           .peer = [](Memory &m) { bitonic_sort(m, n); },
           .is_right = are_equal};
}

Case nbody_case()
{
   constexpr uint32_t n = 4096;
   return {.shaders = {"nbody"},
           .memory = {{random_floats(4 * n), zeros(4 * n)}},
           .dispatches = {{0, {n / 256, 1, 1}, {.n = n, .f0 = 0.01f}}},
           .peer = [](Memory &m) { nbody(m, n); },
           .is_right = are_close<float>(2e-3)};
}

Case mandelbrot_case()
{
   constexpr uint32_t n = 1024;
   return {.shaders = {"mandelbrot"},
           .memory = {{zeros(4), zeros(n * n)}},
           .dispatches = {{0, {n / 16, n / 16, 1}, {n, 256, 0, 2.5f / n, 2.5f / n}}},
           .peer = [](Memory &m) { mandelbrot(m, n); },
           .is_right = are_nearly_all_equal};
}

Case transpose_case()
{
   constexpr uint32_t n = 2048, repeats = 4;
   return {.shaders = {"transpose"},
           .memory = {{random_words(n * n), zeros(n * n)}},
           .dispatches = {{0, {n / 32, n / 32, 1}, {n}}},
           .peer = [](Memory &m) { transpose(m, n, repeats); },
           .is_right = are_equal,
           .repeats = repeats};
}

Case random_places_case(const char *shader, void (*peer)(Memory &, uint32_t))
{
   constexpr uint32_t n = 4 * million;
   return {.shaders = {shader},
           .memory = {{random_words(n), zeros(n), permutation(n)}},
           .dispatches = {{0, {n / 256, 1, 1}, {n}}},
           .peer = [peer](Memory &m) { peer(m, n); },
           .is_right = are_equal};
}

Case sha256_case()
{
   constexpr uint32_t n = million / 2;
   return {.shaders = {"sha256"},
           .memory = {{random_words(n), zeros(n)}},
           .dispatches = {{0, {n / 256, 1, 1}, {n}}},
           .peer = [](Memory &m) { sha256(m, n); },
           .is_right = are_equal};
}

Case dot_bytes_case()
{
   constexpr uint32_t rows = 4096, words = 4096;
   return {.shaders = {"dot_bytes"},
           .memory = {{random_words(rows * words), zeros(rows), random_words(words)}},
           .dispatches = {{0, {rows, 1, 1}, {words}}},
           .peer = [](Memory &m) { dot_bytes(m, rows, words); },
           .is_right = are_equal};
}

/// A step has two barriers.
Case barriers_case(const char *shader, bool flips)
{
   constexpr uint32_t groups = 64, steps = 500;
   return {.shaders = {shader},
           .memory = {{zeros(4), zeros(groups * 256)}},
           .dispatches = {{0, {groups, 1, 1}, {steps}}},
           .peer = [flips](Memory &m) { exchange(m, groups, steps, flips); },
           .is_right = are_equal};
}

Case tiny_case()
{
   constexpr uint32_t repeats = 10000;
   return {.shaders = {"tiny"},
           .memory = {{zeros(4), zeros(64)}},
           .dispatches = {{0, {1, 1, 1}, {.p1 = 1}}},
           .peer = [](Memory &m) { increment(m, repeats); },
           .is_right = are_equal,
           .repeats = repeats};
}

} // namespace

std::vector<NamedCase> all_cases()
{
   return {
      {"copy, 16M floats", copy_case},
      {"saxpy, 16M floats", [] { return saxpy_case(16 * million, 1); }},
      {"saxpy, 64K floats, 200 times", [] { return saxpy_case(65536, 200); }},
      {"daxpy, 8M doubles", daxpy_case},
      {"stencil of 7 points, 256³", [] { return stencil_case("stencil", 0, 0); }},
      {"stencil from 3 bindings, 256³", [] { return stencil_case("stencil_bindings", 2, 3); }},
      {"convolution 5×5, 2048²", convolution_case},
      {"product 1024³, naive", [] { return gemm_case("gemm_naive", 16); }},
      {"product 1024³, naive, constant n", [] { return gemm_case("gemm_naive_constant", 16); }},
      {"product 1024³, tiled", [] { return gemm_case("gemm_tiled", 16); }},
      {"product 1024³, tiled, constant n", [] { return gemm_case("gemm_tiled_constant", 16); }},
      {"product 1024³, blocks of 4×4", [] { return gemm_case("gemm_block", 64); }},
      {"sums of 1024, shared memory", [] { return reduce_case("reduce_shared"); }},
      {"sums of 1024, subgroupAdd", [] { return reduce_case("reduce_subgroup"); }},
      {"prefix sums, 4M words", scan_case},
      {"histogram, 16M bytes", histogram_case},
      {"bitonic sort, 1M words", bitonic_case},
      {"n-body, 4096", nbody_case},
      {"Mandelbrot, 1024², 256 steps", mandelbrot_case},
      {"transpose, 2048², 4 times", transpose_case},
      {"gather, 4M words", [] { return random_places_case("gather", gather); }},
      {"scatter, 4M words", [] { return random_places_case("scatter", scatter); }},
      {"SHA-256, 512K", sha256_case},
      {"dot products of bytes, 4096×16384", dot_bytes_case},
      {"1000 barriers, rotation", [] { return barriers_case("barrier", false); }},
      {"1000 barriers, i xor 32", [] { return barriers_case("barrier_xor", true); }},
      {"10,000 dispatches of a workgroup", tiny_case},
   };
}

} // namespace weft::bench
