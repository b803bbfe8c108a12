// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads of structs' fields, whose addresses have constant distances under assumptions.

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <sstream>

namespace weft::cpu::test {

namespace {

class MemoryStructs : public testing::TestWithParam<uint32_t> {};

/// A field of the structs of `stride` bytes, each of which has numbers for `lanes` invocations:
/// invocation i reads at (first + further + i) / lanes * stride + begin + i % lanes * step.
struct Field {
   uint32_t begin, step, further;
   unsigned components, bytes;

   uint32_t element() const { return components * bytes; }
};

/// Multiple loads in one block, whose addresses are known when it begins. Buffers: 0 the structs, 1
/// the number `first`, 2 and on the loaded values.
void check_fields(uint32_t W, std::mt19937_64 &random)
{
   const uint32_t lanes = 1u << random() % 4, stride = 18 + 2 * uint32_t(random() % 100);
   const uint32_t iterations = 1 + uint32_t(random() % 3);
   const bool divergent = random() % 2;
   std::vector<Field> fields(2 + random() % 3);
   for (Field &f : fields) {
      f.components = 1 + unsigned(random() % 4);
      f.bytes = 1u << random() % 4;
      f.step = random() % 3 ? f.element() : 2 * uint32_t(random() % 6);
      f.further = random() % 3 ? 0 : (random() % 8 ? 16 : 3) * uint32_t(random() % 5);
      f.begin = (random() % 8 ? 2 : 1) * uint32_t(random() % 20);
   }
   // Also where sums wrap around.
   const uint32_t first =
      uint32_t(random() % 3 ? 32 * (random() % 4) : random() % 100) - (random() % 8 ? 0 : 64);

   NirShader shader(W, 2 * W);
   nir_builder *b = &shader.b;
   nir_def *invocation = shader.local_index();
   nir_def *start = nir_iadd(b, shader.load(1, nir_imm_int(b, 0), 1, 32), invocation);
   const auto runs = [&](uint32_t i, uint32_t iteration) {
      return iteration < iterations - (divergent && i % 3 == 1);
   };
   // Each iteration reads 2 * W invocations further on, and writes behind the results of the last
   // iteration.
   nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "iteration");
   nir_store_var(b, counter, nir_imm_int(b, 0), 1);
   nir_push_loop(b);
   nir_def *n = nir_load_var(b, counter);
   nir_def *count = nir_imm_int(b, int(iterations));
   if (divergent)
      count = nir_isub(b, count, nir_b2i32(b, nir_ieq_imm(b, nir_umod_imm(b, invocation, 3), 1)));
   nir_break_if(b, nir_uge(b, n, count));
   nir_def *place = nir_iadd(b, start, nir_imul_imm(b, n, 2 * W));
   const auto record = [&](const Field &f) {
      nir_def *number = nir_ushr_imm(b, nir_iadd_imm(b, place, f.further), util_logbase2(lanes));
      return nir_imul_imm(b, number, stride);
   };
   nir_def *lane = nir_iand_imm(b, invocation, lanes - 1);
   std::vector<nir_def *> loaded;
   for (const Field &f : fields)
      loaded.push_back(shader.load(
         0, nir_iadd(b, record(f), nir_iadd_imm(b, nir_imul_imm(b, lane, f.step), f.begin)),
         f.components, f.bytes * 8));
   // Halves are also put together: the same bytes.
   for (nir_def *&v : loaded) {
      if (v->bit_size != 16 || v->num_components % 2 != 0 || random() % 2)
         continue;
      nir_def *words[2];
      for (unsigned c = 0; c < v->num_components; c += 2) {
         nir_def *high = nir_ishl_imm(b, nir_u2u32(b, nir_channel(b, v, c + 1)), 16);
         words[c / 2] = nir_ior(b, nir_u2u32(b, nir_channel(b, v, c)), high);
      }
      v = nir_vec(b, words, v->num_components / 2);
   }
   nir_def *linear = nir_iadd(b, invocation, nir_imul_imm(b, n, 2 * W));
   for (size_t i = 0; i < fields.size(); i++)
      shader.store(2 + uint32_t(i), nir_imul_imm(b, linear, fields[i].element()), loaded[i]);
   nir_store_var(b, counter, nir_iadd_imm(b, n, 1), 1);
   nir_pop_loop(b, nullptr);
   nir_lower_vars_to_ssa(b->shader);
   nir_opt_dce(b->shader);
   nir_opt_cse(b->shader); // of the buffers' names
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;

   const auto offset = [&](const Field &f, uint32_t i, uint32_t iteration) {
      return (first + f.further + i + iteration * 2 * W) / lanes * stride + f.begin +
             i % lanes * f.step;
   };
   uint32_t size = 0;
   for (const Field &f : fields)
      size = std::max(size, offset(f, 2 * W - 1, iterations - 1) % 65536 + f.element());
   if (random() % 3 == 0)
      size = uint32_t(random() % size);
   const Bytes memory = random_bytes(random, size);
   std::vector<Bytes> buffers{memory, uniform_buffer(first)};
   for (const Field &f : fields)
      buffers.push_back(Bytes(2 * W * iterations * f.element(), 0xcd));
   run(**program, buffers, 1);
   for (size_t number = 0; number < fields.size(); number++) {
      const Field &f = fields[number];
      for (uint32_t l = 0; l < 2 * W * iterations; l++) {
         for (uint32_t k = 0; k < f.element(); k++) {
            const uint32_t i = l % (2 * W);
            // The components' offsets are sums in 32 bits too.
            const uint32_t at = offset(f, i, l / (2 * W)) + k / f.bytes * f.bytes;
            const uint64_t end = uint64_t(at) + f.bytes;
            const uint8_t expected = !runs(i, l / (2 * W)) ? 0xcd
                                     : end <= size         ? memory[at + k % f.bytes]
                                                           : 0;
            ASSERT_EQ(buffers[2 + number][l * f.element() + k], expected)
               << "W=" << W << ", field " << number << " of " << fields.size() << ": " << f.begin
               << " + " << f.step << " * lane, " << f.components << "x" << f.bytes << " bytes, of "
               << stride << ", " << f.further << " further, for " << lanes << " lanes, first "
               << first << ", size " << size << ", iterations " << iterations
               << (divergent ? ", divergent" : "") << ", invocation " << i << ", iteration "
               << l / (2 * W) << ", byte " << k;
         }
      }
   }
}

TEST_P(MemoryStructs, FieldsOfStructs)
{
   const uint32_t W = GetParam();
   std::mt19937_64 random(test_seed() + W);
   for (unsigned i = 0; i < 800 / W && !HasFailure(); i++)
      check_fields(W, random);
}

/// Each step uses the step before it three times. A search of all paths back would be exponential,
/// so analyses must visit each step once and stop at a depth.
TEST_P(MemoryStructs, LongChainsOfOffsets)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index(), *uniform = shader.load(2, nir_imm_int(b, 0), 1, 32);
   constexpr uint32_t steps = 200, step = 2;
   nir_def *place = nir_imul_imm(b, nir_udiv_imm(b, lane, 4), 18);
   for (uint32_t i = 0; i < steps; i++)
      place = nir_iadd(b, nir_isub(b, nir_iadd(b, place, place), place), uniform);
   shader.store(1, nir_imul_imm(b, lane, 2), shader.load(0, place, 1, 16));
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test_seed());
   std::vector<Bytes> buffers{random_bytes(random, steps * step + 18 * W), Bytes(2 * W),
                              uniform_buffer(step)};
   run(**program, buffers, 1);
   for (uint32_t l = 0; l < W; l++)
      EXPECT_EQ(std::memcmp(&buffers[1][2 * l], &buffers[0][l / 4 * 18 + steps * step], 2), 0) << l;
}

INSTANTIATE_TEST_SUITE_P(, MemoryStructs, testing::Values(8u, 16u, 32u, 64u));

} // namespace

} // namespace weft::cpu::test
