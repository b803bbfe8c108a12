// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The blocks that no effect precedes.

#include "backend/cpu/codegen/facts/early_blocks.h"

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

namespace weft::cpu::test {
namespace {

constexpr uint32_t W = 16;

class EarlyBlocksTest : public testing::Test {
protected:
   explicit EarlyBlocksTest(uint32_t workgroup_size = 4 * W) : shader(W, workgroup_size)
   {
      b->shader->scratch_size = 64;
      shader.use_shared(64);
   }

   NirShader shader;
   nir_builder *b = &shader.b;
   nir_def *zero = nir_imm_int(b, 0);
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *number = shader.load(9, zero, 1, 32);

   /// The block gets an instruction, because builders split empty blocks.
   const nir_block *here()
   {
      nir_mov(b, zero);
      return nir_cursor_current_block(b->cursor);
   }
   nir_def *divergent() { return nir_ieq_imm(b, lane, 3); }
   nir_def *uniform() { return nir_ieq_imm(b, number, 3); }
   void store() { shader.store(1, zero, lane); }
   /// Ends the block.
   void next() { nir_pop_if(b, nir_push_if(b, uniform())); }

   /// A letter for each block: is it early?
   std::string early(const std::vector<const nir_block *> &blocks)
   {
      nir_divergence_analysis(b->shader);
      nir_metadata_preserve(b->impl, nir_metadata_none); // builders leave stale indices
      nir_metadata_require(b->impl, nir_metadata_block_index);
      const EarlyBlocks found(b->shader, W);
      std::string letters;
      for (const nir_block *block : blocks)
         letters += found.contains(block) ? 'y' : 'n';
      return letters;
   }
   std::string early_behind_this()
   {
      next();
      return early({here()});
   }
};

TEST_F(EarlyBlocksTest, EndAtAStore)
{
   std::vector<const nir_block *> blocks = {here()};
   next();
   blocks.push_back(here());
   store();
   next();
   blocks.push_back(here());
   EXPECT_EQ(early(blocks), "yyn");
}

TEST_F(EarlyBlocksTest, SidesOfUniformIfs)
{
   nir_push_if(b, uniform());
   std::vector<const nir_block *> blocks = {here()};
   store();
   nir_push_else(b, nullptr);
   blocks.push_back(here());
   nir_pop_if(b, nullptr);
   blocks.push_back(here());
   EXPECT_EQ(early(blocks), "yyn");
}

/// One side runs after the other, and code decides which is first.
TEST_F(EarlyBlocksTest, SidesOfDivergentIfs)
{
   for (const bool in_then : {true, false}) {
      nir_push_if(b, divergent());
      std::vector<const nir_block *> blocks = {here()};
      if (in_then)
         store();
      nir_push_else(b, nullptr);
      blocks.push_back(here());
      if (!in_then)
         store();
      nir_pop_if(b, nullptr);
      blocks.push_back(here());
      EXPECT_EQ(early(blocks), in_then ? "ynn" : "nnn") << in_then;
   }
}

TEST_F(EarlyBlocksTest, TheOtherSideOfADivergentIf)
{
   nir_push_if(b, divergent());
   std::vector<const nir_block *> blocks = {here()};
   nir_push_else(b, nullptr);
   blocks.push_back(here());
   nir_push_if(b, uniform());
   store();
   nir_pop_if(b, nullptr);
   nir_pop_if(b, nullptr);
   EXPECT_EQ(early(blocks), "ny");
}

TEST_F(EarlyBlocksTest, LoopsRunAgain)
{
   std::vector<const nir_block *> blocks;
   for (const bool stores : {false, true}) {
      nir_loop *loop = nir_push_loop(b);
      blocks.push_back(here());
      nir_break_if(b, uniform());
      blocks.push_back(here());
      if (stores)
         store();
      nir_pop_loop(b, loop);
      blocks.push_back(here());
   }
   EXPECT_EQ(early(blocks), "yyynnn");
}

TEST_F(EarlyBlocksTest, TheOuterLoopRunsAgainToo)
{
   nir_loop *outer = nir_push_loop(b), *inner = nir_push_loop(b);
   const nir_block *inside = here();
   nir_break_if(b, uniform());
   nir_pop_loop(b, inner);
   store();
   nir_break_if(b, uniform());
   nir_pop_loop(b, outer);
   EXPECT_EQ(early({inside}), "n");
}

TEST_F(EarlyBlocksTest, OwnMemoryIsNoEffect)
{
   _nir_build_store_scratch(b, lane, zero,
                            {._ = 0, .align_mul = 4, .align_offset = 0, .write_mask = 1});
   _nir_build_load_scratch(b, 1, 32, zero, {._ = 0, .align_mul = 4, .align_offset = 0});
   nir_ballot(b, 1, 32, divergent());
   shader.load_shared(zero, 1, 32);
   EXPECT_EQ(early_behind_this(), "y");
   shader.store_shared(zero, lane);
   EXPECT_EQ(early_behind_this(), "n");
}

TEST_F(EarlyBlocksTest, TilesInSharedMemoryAreAnEffect)
{
   const auto pack_to = [&](nir_def *tile) {
      nir_intrinsic_instr *pack =
         nir_intrinsic_instr_create(b->shader, nir_intrinsic_tile_pack_weft);
      pack->src[0] = nir_src_for_ssa(tile);
      pack->src[1] = pack->src[2] = nir_src_for_ssa(zero);
      nir_builder_instr_insert(b, &pack->instr);
   };
   pack_to(zero);
   EXPECT_EQ(early_behind_this(), "y");
   pack_to(nir_imm_int64(b, 0));
   EXPECT_EQ(early_behind_this(), "n");
}

/// A loop that is left in its first iteration, as early returns of a shader are.
TEST_F(EarlyBlocksTest, LoopsThatDoNotRunAgain)
{
   nir_loop *loop = nir_push_loop(b);
   std::vector<const nir_block *> blocks = {here()};
   nir_break_if(b, uniform());
   blocks.push_back(here());
   store();
   nir_jump(b, nir_jump_break);
   nir_pop_loop(b, loop);
   blocks.push_back(here());
   EXPECT_EQ(early(blocks), "yyn");
}

/// If subgroups wait for each other, a workgroup begins again as a whole: its shared memory does
/// not count, but the effects of subgroups that run ahead do.
TEST_F(EarlyBlocksTest, EndBehindTheLastBarrierBeforeAStore)
{
   shader.store_shared(zero, lane);
   next();
   std::vector<const nir_block *> blocks = {here()};
   shader.barrier();
   next();
   blocks.push_back(here());
   shader.barrier();
   next();
   blocks.push_back(here());
   next();
   store();
   EXPECT_EQ(early(blocks), "yyn");
}

/// A store follows the loop without a barrier. Its end has one, or its middle.
TEST_F(EarlyBlocksTest, LoopsWithBarriers)
{
   for (const bool at_end : {true, false}) {
      NirShader other(W, 4 * W);
      other.use_shared(64);
      b = &other.b;
      nir_def *condition = nir_ieq_imm(b, other.load(9, nir_imm_int(b, 0), 1, 32), 3);
      const auto part = [&] {
         nir_mov(b, condition);
         const nir_block *block = nir_cursor_current_block(b->cursor);
         nir_pop_if(b, nir_push_if(b, condition));
         return block;
      };
      nir_loop *loop = nir_push_loop(b);
      nir_break_if(b, condition);
      std::vector<const nir_block *> blocks = {part()};
      other.barrier();
      part(); // a guard of the barrier's block precedes the barrier
      blocks.push_back(part());
      if (at_end)
         other.barrier();
      nir_pop_loop(b, loop);
      other.store(1, nir_imm_int(b, 0), nir_imm_int(b, 5));
      EXPECT_EQ(early(blocks), at_end ? "yy" : "yn");
   }
}

/// Another subgroup may take the other side, and may have stored.
TEST_F(EarlyBlocksTest, SidesOfIfsBesideBarriers)
{
   nir_push_if(b, uniform());
   std::vector<const nir_block *> blocks = {here()};
   nir_push_else(b, nullptr);
   store();
   nir_pop_if(b, nullptr);
   shader.barrier();
   EXPECT_EQ(early(blocks), "n");
}

TEST_F(EarlyBlocksTest, NoneBesideAtomics)
{
   const nir_block *first = here();
   next();
   _nir_build_shared_atomic(b, 32, zero, lane,
                            {._ = 0, .base = 0, .atomic_op = nir_atomic_op_iadd});
   EXPECT_EQ(early({first}), "n");
}

TEST_F(EarlyBlocksTest, NoneBesideCoherentMemory)
{
   for (const gl_access_qualifier access : {ACCESS_COHERENT, ACCESS_VOLATILE}) {
      NirShader other(W, W);
      b = &other.b;
      const nir_block *first = here();
      _nir_build_load_ssbo(b, 1, 32, other.buffer(0), nir_imm_int(b, 0),
                           {._ = 0, .access = access, .align_mul = 4, .align_offset = 0});
      EXPECT_EQ(early({first}), "n");
   }
}

class EarlyBlocksOfOneSubgroup : public EarlyBlocksTest {
protected:
   EarlyBlocksOfOneSubgroup() : EarlyBlocksTest(W) {}
};

TEST_F(EarlyBlocksOfOneSubgroup, BarriersAndSharedMemoryAreNoEffect)
{
   shader.barrier();
   shader.store_shared(zero, lane);
   EXPECT_EQ(early_behind_this(), "y");
   store();
   EXPECT_EQ(early_behind_this(), "n");
}

} // namespace
} // namespace weft::cpu::test
