// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/vector_registers.h"

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

namespace weft::cpu::test {
namespace {

constexpr uint32_t W = 64;

class VectorRegisters : public testing::Test {
protected:
   NirShader shader{W, 4 * W};
   nir_builder *b = &shader.b;
   nir_def *offset = nir_imul_imm(b, nir_load_subgroup_invocation(b), 4);

   nir_def *load(unsigned bits = 32) { return shader.load(0, offset, 1, bits); }
   void store(nir_def *value) { shader.store(1, offset, value); }
   uint32_t count()
   {
      nir_divergence_analysis(b->shader);
      nir_index_ssa_defs(b->impl);
      return most_live_bits(b->shader, LaneAnalysis(b->shader, W));
   }
};

TEST_F(VectorRegisters, ValuesCountUntilTheirLastUse)
{
   nir_def *first = load(), *second = load(), *third = load();
   store(nir_fadd(b, nir_fadd(b, first, second), third));
   EXPECT_EQ(count(), 3 * 32u);
   store(load());
   EXPECT_EQ(count(), 3 * 32u);
}

TEST_F(VectorRegisters, WideValuesCountMore)
{
   store(nir_fadd(b, load(64), load(64)));
   EXPECT_EQ(count(), 2 * 64u);
}

TEST_F(VectorRegisters, ScalarsAndMasksCountNothing)
{
   nir_def *uniform = shader.load(0, nir_imm_int(b, 8), 1, 32), *value = load();
   nir_def *is_less = nir_flt(b, value, uniform);
   store(nir_bcsel(b, is_less, nir_iadd_imm(b, offset, 8), uniform));
   // The selected value is a vector; the offset that it came from is not.
   EXPECT_EQ(count(), 32u);
}

TEST_F(VectorRegisters, ValuesLiveAcrossLoops)
{
   nir_def *before = load(), *other = load();
   nir_loop *loop = nir_push_loop(b);
   {
      store(load());
      nir_push_if(b, nir_ieq_imm(b, shader.load(0, nir_imm_int(b, 0), 1, 32), 1));
      nir_jump(b, nir_jump_break);
      nir_pop_if(b, nullptr);
   }
   nir_pop_loop(b, loop);
   store(before);
   store(other);
   EXPECT_EQ(count(), 3 * 32u);
}

} // namespace
} // namespace weft::cpu::test
