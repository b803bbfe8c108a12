// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/nir_passes/mutants.h"

#include "tests/e2e/spirv_edits.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sys/time.h>
#include <unistd.h>

namespace weft::test {

namespace {

using Words = std::vector<uint32_t>;
using Random = std::mt19937;

/// Processor time: far more than any of these shaders takes.
constexpr unsigned seconds_for_one = 60;

const std::string header = R"(
   layout(constant_id = 0) const uint SIZE = 16;
   layout(constant_id = 1) const uint TILES = 2;
   layout(binding = 0, scalar) buffer A { float16_t a[]; };
   layout(binding = 1, scalar) buffer B { f16vec4 b[]; };
   layout(binding = 2, scalar) buffer C { float c[]; };
   layout(push_constant) uniform Push { uint stride, count; };
   #define MAT_A coopmat<float16_t, gl_ScopeSubgroup, SIZE, 16, gl_MatrixUseA>
   #define MAT_B coopmat<float16_t, gl_ScopeSubgroup, 16, SIZE, gl_MatrixUseB>
   #define SUM coopmat<float, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator>
   const int rows = gl_CooperativeMatrixLayoutRowMajor;
   const int columns = gl_CooperativeMatrixLayoutColumnMajor;
)";

/// A product of large matrices: arrays of tiles, loops, shared memory.
const std::string product = header + R"(
   shared float16_t tile_a[16 * 32];
   shared f16vec4 tile_b[16 * 8];
   void main() {
      SUM sums[TILES][TILES];
      for (uint i = 0; i < TILES; ++i)
         for (uint j = 0; j < TILES; ++j)
            sums[i][j] = SUM(0);
      for (uint k = 0; k < count; k += 16) {
         for (uint i = gl_LocalInvocationIndex; i < 512; i += 64)
            tile_a[i] = a[i * stride + k];
         for (uint i = gl_LocalInvocationIndex; i < 128; i += 64)
            tile_b[i] = b[i * 2 + k];
         barrier();
         for (uint i = 0; i < TILES; ++i) {
            MAT_A ma;
            coopMatLoad(ma, tile_a, i * 256, 16, rows);
            for (uint j = 0; j < TILES; ++j) {
               MAT_B mb;
               coopMatLoad(mb, tile_b, j * 64, 4, columns);
               sums[i][j] = coopMatMulAdd(ma, mb, sums[i][j]);
            }
         }
         barrier();
      }
      for (uint i = 0; i < TILES; ++i)
         for (uint j = 0; j < TILES; ++j)
            coopMatStore(sums[i][j], c, i * 256 + j * 16, stride, rows);
   })";

/// Element-wise work: functions, structs, conversions, components, branches, subgroup operations.
const std::string elements = header + R"(
   struct Pair { SUM first; SUM second[2]; float scale; };
   void soften(inout SUM m, const float limit) {
      for (int i = 0; i < m.length(); ++i)
         m[i] = tanh(m[i] / limit) * limit;
   }
   SUM combine(Pair p, uint which) {
      if (which > 1)
         return p.first * p.scale + p.second[which & 1];
      return -p.first;
   }
   void main() {
      Pair p;
      coopMatLoad(p.first, c, 0, stride, rows);
      p.second[0] = p.first - SUM(1);
      p.second[1] = p.second[0] * p.first;
      p.scale = subgroupAdd(c[gl_SubgroupInvocationID]);
      SUM m = combine(p, count);
      soften(m, 30.0);
      switch (stride) {
      case 1: m[0] = subgroupMax(m[0]); break;
      case 2: m = m / p.first; break;
      default: m = SUM(coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator>(m));
      }
      coopMatStore(m, c, 256, stride, columns);
   })";

/// Calls of functions for elements, reductions, other uses.
const std::string single_elements = header + R"(
   #define HALVES coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator>
   struct Bounds { float16_t low, high; };
   float16_t largest(const in float16_t x, const in float16_t y) { return max(x, y); }
   float16_t inner(float16_t x, uint times) {
      for (uint i = 0; i < times; ++i)
         x = x * x + float16_t(1);
      return x;
   }
   float16_t limit(const in uint row, const in uint col, const in float16_t x, const in Bounds b,
                   const in float16_t other) {
      return row < col ? clamp(x, b.low, b.high) : inner(other, row);
   }
   void main() {
      HALVES m, by_row, all;
      coopMatLoad(m, a, 0, stride, rows);
      coopMatReduceNV(by_row, m, gl_CooperativeMatrixReduceRowNV, largest);
      coopMatReduceNV(all, m, gl_CooperativeMatrixReduceRowAndColumnNV, largest);
      Bounds bounds = {float16_t(c[0]), float16_t(c[1])};
      coopMatPerElementNV(m, by_row, limit, bounds, all);
      coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseB> turned;
      coopMatTransposeNV(turned, m);
      SUM product = coopMatMulAdd(
         coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseA>(m), turned, SUM(1));
      coopMatStore(product, c, 256, stride, rows);
   })";

/// Tensor layouts and views, decode functions, layouts that depend on a branch.
const std::string tensors = header + R"(
   layout(binding = 3, scalar) buffer D { uint words[]; };
   layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Block {
      float16_t scale;
      uint8_t values[16];
   };
   float16_t decode(const in Block block, const in uint at[2], const in uint inside[2]) {
      return block.scale * float16_t(block.values[inside[1]] ^ (at[0] & 1u));
   }
   layout(constant_id = 2) const bool never = false;
   struct Vector { float16_t x, y; };
   Vector decode_vector(const in Block block, const in uint at[2], const in uint inside[2]) {
      return Vector(block.scale * float16_t(block.values[inside[1]] ^ (at[0] & 1u)),
                    block.scale * float16_t(block.values[inside[1] + 1] ^ (at[0] & 1u)));
   }
   void main() {
      if (never)
         a[0] = decode_vector(Block(0ul), uint[2](0, 0), uint[2](0, 0)).x;
      tensorLayoutNV<2, 3> t = createTensorLayoutNV(2, 3);
      t = setTensorLayoutDimensionNV(t, count, stride);
      if (count > 64)
         t = setTensorLayoutStrideNV(t, stride * 2, 1);
      MAT_A ma;
      coopMatLoad(ma, a, 0, stride, rows);
      tensorViewNV<3, true, 2, 0, 1> v = createTensorViewNV(3, true, 2, 0, 1);
      v = setTensorViewDimensionsNV(v, 4, count, 8);
      v = setTensorViewClipNV(v, 0, SIZE, 2, 11);
      coopMatLoadTensorNV(ma, a, 0, sliceTensorLayoutNV(t, count, SIZE, 3, 16), v);
      tensorLayoutNV<2, 1> blocks = createTensorLayoutNV(2, 1);
      blocks = setTensorLayoutBlockSizeNV(blocks, 1, 16);
      blocks = setTensorLayoutDimensionNV(blocks, 16, SIZE);
      blocks = setTensorLayoutClampValueNV(blocks, stride);
      MAT_B mb;
      coopMatLoadTensorNV(mb, words, 0, blocks, decode);
      coopMatStoreTensorNV(coopMatMulAdd(ma, mb, SUM(0)), c, 0, sliceTensorLayoutNV(t, 0, SIZE, 0, SIZE),
                           createTensorViewNV(2, false, 1, 0));
   })";

/// SPV_NV_cooperative_matrix: loads and stores, in arrays and structs, with the length as a
/// constant.
const std::string without_use = header + R"(
   #define M fcoopmatNV<16, gl_ScopeSubgroup, SIZE, 16>
   #define FLOATS fcoopmatNV<32, gl_ScopeSubgroup, SIZE, 16>
   struct Pair { M first; FLOATS sums[2]; };
   FLOATS scale(FLOATS m, float by) {
      float numbers[m.length()];
      for (int i = 0; i < m.length(); ++i)
         numbers[i] = m[i] * by;
      for (int i = 0; i < m.length(); ++i)
         m[i] = numbers[m.length() - 1 - i];
      return m;
   }
   void main() {
      Pair p;
      M x, y;
      coopMatLoadNV(x, a, 0, stride, false);
      coopMatLoadNV(y, a, stride, 16, true);
      coopMatLoadNV(p.sums[0], c, 0, 16, false);
      p.first = -x + y;
      p.sums[1] = FLOATS(p.first) * 2.0;
      for (uint i = 0; i < count; ++i) {
         if (i == 3)
            y = x;
         p.sums[i & 1] = coopMatMulAddNV(y, x, p.sums[i & 1] / FLOATS(3));
      }
      coopMatStoreNV(scale(p.sums[1], 0.5), c, 256, stride, true);
      coopMatStoreNV(M(p.sums[0]), a, 0, 16, false);
   })";

/// SPV_QCOM_cooperative_matrix_conversion, by replaced calls.
const std::string arrays = header + R"(
   #define HALVES coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator>
   MAT_A construct_a(const float16_t v[16]) { return MAT_A(0); }
   HALVES construct_words(const uint v[8]) { return HALVES(0); }
   uint[8] extract_words(const MAT_B m) { uint v[8]; return v; }
   float16_t[16] bitcast_words(const uint v[8]) { float16_t w[16]; return w; }
   uint[4] sub_array_words(const uint v[8], const int start) { uint w[4]; return w; }
   void main() {
      MAT_B mb;
      coopMatLoad(mb, b, 0, 4, rows);
      uint words[8] = extract_words(mb);
      for (uint i = 0; i < count; ++i)
         words[i & 7] ^= stride;
      const uint part[4] = sub_array_words(words, int(count));
      words[stride & 7] = part[1];
      const MAT_A ma = construct_a(bitcast_words(words));
      const HALVES halves = construct_words(words);
      coopMatStore(coopMatMulAdd(ma, mb, SUM(halves)), c, 0, stride, rows);
   })";

/// Integers, saturation, buffer references.
const std::string integers = R"(
   layout(buffer_reference, scalar) buffer Bytes { int8_t data[]; };
   layout(binding = 0, scalar) buffer C { int c[]; };
   layout(push_constant, scalar) uniform Push { Bytes left, right; uint count; };
   void main() {
      coopmat<int8_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> a;
      coopmat<int8_t, gl_ScopeSubgroup, 32, 16, gl_MatrixUseB> b;
      coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum;
      coopMatLoad(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      uint i = 0;
      do {
         coopMatLoad(a, left.data, i * 512, 32, gl_CooperativeMatrixLayoutRowMajor);
         coopMatLoad(b, right.data, i * 512, 32, gl_CooperativeMatrixLayoutColumnMajor);
         sum = coopMatMulAdd(a, b, sum, gl_MatrixOperandsSaturatingAccumulation);
      } while (++i < count);
      atomicAdd(c[300], sum[0]);
      coopMatStore(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   })";

uint32_t below(Random &random, size_t bound)
{
   return bound ? uint32_t(random() % bound) : 0;
}

/// Where the instructions of a module begin.
std::vector<size_t> instructions(const Words &words)
{
   std::vector<size_t> starts;
   for (size_t at = 5; at < words.size(); at += std::max(words[at] >> 16, 1u))
      starts.push_back(at);
   return starts;
}

void truncate(Words &words, Random &random)
{
   words.resize(below(random, words.size()));
}

void empty(Words &words, Random &)
{
   words.clear();
}

void flip_bits(Words &words, Random &random)
{
   for (uint32_t n = 1 + below(random, 3); n > 0; --n)
      words[below(random, words.size())] ^= 1u << below(random, 32);
}

void swap_words(Words &words, Random &random)
{
   std::swap(words[below(random, words.size())], words[below(random, words.size())]);
}

/// Small numbers are ids, enumerants and sizes: the validator accepts these mutants most often.
void change_operand(Words &words, Random &random)
{
   const std::vector<size_t> starts = instructions(words);
   const size_t start = starts[below(random, starts.size())];
   const uint32_t length = words[start] >> 16;
   if (length > 1)
      words[start + 1 + below(random, length - 1)] = below(random, words[3] + 2);
}

void change_opcode(Words &words, Random &random)
{
   const std::vector<size_t> starts = instructions(words);
   uint32_t &word = words[starts[below(random, starts.size())]];
   word = (word & 0xffff0000) | (words[starts[below(random, starts.size())]] & 0xffff);
}

void remove_instruction(Words &words, Random &random)
{
   const std::vector<size_t> starts = instructions(words);
   const size_t start = starts[below(random, starts.size())];
   words.erase(words.begin() + start, words.begin() + start + (words[start] >> 16));
}

void repeat_instruction(Words &words, Random &random)
{
   const std::vector<size_t> starts = instructions(words);
   const size_t start = starts[below(random, starts.size())];
   const Words copy(words.begin() + start, words.begin() + start + (words[start] >> 16));
   words.insert(words.begin() + starts[below(random, starts.size())], copy.begin(), copy.end());
}

/// Names the mutant if the process dies.
char last_words[80];

void on_death(int signal)
{
   (void)!write(STDERR_FILENO, last_words, strlen(last_words));
   std::signal(signal, SIG_DFL);
   raise(signal);
}

/// SIGPROF after `seconds` seconds of processor time, which excludes other programs; 0: never.
void limit_processor_seconds(unsigned seconds)
{
   const itimerval timer = {{}, {time_t(seconds), 0}};
   setitimer(ITIMER_PROF, &timer, nullptr);
}

} // namespace

std::vector<Source> mutation_originals()
{
   Source conversions = compile(arrays), decoding = compile(tensors);
   e2e::replace_calls_by_array_conversions(conversions.spirv);
   e2e::add_vector_decode_functions(decoding.spirv);
   return {compile(product), compile(elements),    compile(integers), compile(single_elements),
           decoding,         compile(without_use), conversions};
}

uint32_t mutation_seed()
{
   static const uint32_t seed = [] {
      const char *chosen = getenv("WEFT_SEED");
      const uint32_t s = chosen ? uint32_t(strtoul(chosen, nullptr, 0)) : std::random_device()();
      printf("WEFT_SEED=%u\n", s);
      return s;
   }();
   return seed;
}

unsigned for_each_mutant(unsigned count,
                         const std::function<bool(const ShaderSource &, unsigned mutant)> &compile)
{
   const uint32_t seed = mutation_seed();
   for (const int signal : {SIGPROF, SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS})
      std::signal(signal, on_death);

   const std::vector<Source> originals = mutation_originals();
   using Mutation = void (*)(Words &, Random &);
   const Mutation mutations[] = {truncate,           flip_bits,         swap_words,
                                 change_operand,     change_operand,    change_opcode,
                                 remove_instruction, repeat_instruction};
   unsigned accepted = 0;
   for (unsigned i = 0; i < count; ++i) {
      Random random(seed + i);
      Source mutant = originals[below(random, originals.size())];
      if (i == 0)
         empty(mutant.spirv, random);
      else
         mutations[below(random, std::size(mutations))](mutant.spirv, random);
      mutant.constant_ids = {0, 1};
      mutant.constant_values = {16, below(random, 8) == 0 ? uint32_t(random()) : below(random, 4)};

      snprintf(last_words, sizeof(last_words), "died of WEFT_SEED=%u, mutant %u\n", seed, i);
      limit_processor_seconds(seconds_for_one);
      accepted += compile(mutant.shader_source(), i);
      limit_processor_seconds(0);
   }
   printf("%u of %u mutants are shaders still\n", accepted, count);
   return accepted;
}

} // namespace weft::test
