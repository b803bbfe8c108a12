// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Ranges of values that a dispatch decides. The ranges must contain the values that NIR folds from
/// the same expressions with constants.

#include "backend/cpu/codegen/facts/dispatch_values.h"
#include "nir_passes/compiler_options.h"
#include "nir_passes/memory/lower_descriptors.h"
#include "nir_passes/shader.h"
#include "tests/backend/cpu/seed.h"

#include "compiler/nir/nir_builder.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace weft::cpu {
namespace {

constexpr uint32_t W = 8, workgroup_size = 20;

struct TestShader {
   TestShader()
       : b(nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &llvm_compiler_options, "test")),
         shader(b.shader)
   {
      b.shader->info.workgroup_size[0] = workgroup_size;
      b.shader->info.workgroup_size[1] = b.shader->info.workgroup_size[2] = 1;
   }

   const TypeTable types;
   nir_builder b;
   Shader shader;
};

/// The values in one invocation of a dispatch.
struct Place {
   uint32_t workgroup[3], subgroup, lane;
};

struct TestDispatch {
   uint32_t push[4], base[3], count[3];

   DispatchFacts facts() const
   {
      return {std::as_bytes(std::span(push)), std::to_array(base), std::to_array(count)};
   }
};

enum class Leaf { push, workgroup, count, subgroup, lane, constant };

using MakeLeaf = std::function<nir_def *(nir_builder *, Leaf, uint32_t which, uint32_t constant)>;

nir_def *push_constant(nir_builder *b, nir_def *offset)
{
   return _nir_build_load_push_constant(b, 1, 32, offset, _nir_load_push_constant_indices());
}

nir_def *variable_leaf(nir_builder *b, Leaf leaf, uint32_t which, uint32_t constant)
{
   switch (leaf) {
   case Leaf::push:
      return push_constant(b, nir_imm_int(b, int(4 * which)));
   case Leaf::workgroup:
      return nir_channel(b, nir_load_workgroup_id(b), which % 3);
   case Leaf::count:
      return nir_channel(b, nir_load_num_workgroups(b), which % 3);
   case Leaf::subgroup:
      return nir_load_subgroup_id(b);
   case Leaf::lane:
      return nir_load_subgroup_invocation(b);
   case Leaf::constant:
      break;
   }
   return nir_imm_int(b, int(constant));
}

MakeLeaf constant_leaf(const TestDispatch &dispatch, const Place &place)
{
   return [&](nir_builder *b, Leaf leaf, uint32_t which, uint32_t constant) {
      const uint32_t value = leaf == Leaf::push        ? dispatch.push[which]
                             : leaf == Leaf::workgroup ? place.workgroup[which % 3]
                             : leaf == Leaf::count     ? dispatch.count[which % 3]
                             : leaf == Leaf::subgroup  ? place.subgroup
                             : leaf == Leaf::lane      ? place.lane
                                                       : constant;
      return nir_imm_int(b, int(value));
   };
}

uint32_t draw(std::mt19937 &random, uint32_t below)
{
   return uint32_t(random() % below);
}

/// Small, large, or around a power of two.
uint32_t draw_number(std::mt19937 &random)
{
   switch (draw(random, 4)) {
   case 0:
      return uint32_t(random());
   case 1:
      return (1u << draw(random, 32)) - draw(random, 2);
   default:
      return draw(random, 100);
   }
}

nir_def *random_number(nir_builder *b, std::mt19937 &random, const MakeLeaf &leaf, unsigned depth);

nir_def *random_boolean(nir_builder *b, std::mt19937 &random, const MakeLeaf &leaf, unsigned depth)
{
   const auto number = [&] { return random_number(b, random, leaf, depth - 1); };
   const uint32_t which = draw(random, depth > 1 ? 9 : 6);
   if (which >= 6) {
      nir_def *x = random_boolean(b, random, leaf, depth - 1);
      if (which == 6)
         return nir_inot(b, x);
      nir_def *y = random_boolean(b, random, leaf, depth - 1);
      return which == 7 ? nir_iand(b, x, y) : nir_ior(b, x, y);
   }
   constexpr nir_op comparisons[] = {nir_op_ult, nir_op_uge, nir_op_ilt,
                                     nir_op_ige, nir_op_ieq, nir_op_ine};
   nir_def *x = number(), *y = number();
   return nir_build_alu2(b, comparisons[which], x, y);
}

nir_def *random_number(nir_builder *b, std::mt19937 &random, const MakeLeaf &leaf, unsigned depth)
{
   if (depth == 0) {
      const auto kind = Leaf(draw(random, 6));
      const uint32_t which = draw(random, 4);
      return leaf(b, kind, which, draw_number(random));
   }
   const auto number = [&] { return random_number(b, random, leaf, depth - 1); };
   const auto small = [&] { return nir_imm_int(b, int(1 + draw(random, 40))); };
   nir_def *x = number();
   switch (draw(random, 12)) {
   case 0: // the least number divided by -1 traps where NIR folds it
      return nir_build_alu2(b, draw(random, 2) ? nir_op_idiv : nir_op_irem, x, small());
   case 1:
      return nir_build_alu2(b, draw(random, 2) ? nir_op_udiv : nir_op_umod, x, small());
   case 2: {
      constexpr nir_op shifts[] = {nir_op_ishl, nir_op_ushr, nir_op_ishr};
      const nir_op op = shifts[draw(random, 3)];
      return nir_build_alu2(b, op, x, draw(random, 4) ? small() : number());
   }
   case 3: {
      nir_def *condition = random_boolean(b, random, leaf, depth);
      return nir_bcsel(b, condition, x, number());
   }
   case 4:
      return nir_b2i32(b, random_boolean(b, random, leaf, depth));
   case 5: {
      const unsigned bits = draw(random, 2) ? 8 : 16;
      const bool is_signed = draw(random, 2);
      nir_def *narrow = nir_u2uN(b, x, bits);
      return is_signed ? nir_i2i32(b, narrow) : nir_u2u32(b, narrow);
   }
   case 6:
      return nir_build_alu1(b, draw(random, 2) ? nir_op_ineg : nir_op_inot, x);
   default: {
      constexpr nir_op operations[] = {nir_op_iadd, nir_op_iadd, nir_op_isub, nir_op_imul,
                                       nir_op_umin, nir_op_umax, nir_op_imin, nir_op_imax,
                                       nir_op_iand, nir_op_ior,  nir_op_udiv, nir_op_umod};
      const nir_op op = operations[draw(random, std::size(operations))];
      return nir_build_alu2(b, op, x, number());
   }
   }
}

/// The value of an expression of constants.
uint64_t folded(uint32_t seed, const MakeLeaf &leaf)
{
   TestShader s;
   std::mt19937 random(seed);
   nir_def *condition = random_boolean(&s.b, random, leaf, 4);
   nir_def *kept = nir_b2i32(&s.b, condition);
   _nir_store_scratch_indices indices = {};
   indices.align_mul = 4;
   _nir_build_store_scratch(&s.b, kept, nir_imm_int(&s.b, 0), indices);
   while (nir_opt_constant_folding(s.b.shader)) {
   }
   nir_foreach_instr_reverse(instr, nir_impl_last_block(s.b.impl)) {
      if (instr->type == nir_instr_type_intrinsic)
         return nir_src_as_uint(nir_instr_as_intrinsic(instr)->src[0]);
   }
   return ~0ull;
}

TEST(DispatchValues, HoldWhatEveryInvocationComputes)
{
   const uint32_t seed = uint32_t(test::test_seed());
   std::mt19937 numbers(seed);
   unsigned known = 0, knowable = 0;
   constexpr unsigned programs = 4000;
   for (unsigned i = 0; i < programs; i++) {
      const auto program = uint32_t(numbers());
      TestShader s;
      std::mt19937 random(program);
      nir_def *condition = random_boolean(&s.b, random, variable_leaf, 4);
      DispatchExpressions expressions(s.b.shader, W);
      const uint32_t number = expressions.add(nir_get_scalar(condition, 0));
      knowable += expressions.may_be_known(number);

      TestDispatch dispatch;
      for (uint32_t &p : dispatch.push)
         p = draw_number(numbers);
      for (unsigned d = 0; d < 3; d++) {
         dispatch.base[d] = draw(numbers, 2) ? 0 : draw(numbers, 1000);
         dispatch.count[d] = 1 + draw(numbers, draw(numbers, 2) ? 3 : 1000);
      }
      const ValueRange range =
         evaluate(expressions.expressions, dispatch.facts(), all_workgroups(dispatch.facts()))
            .at(number);
      ASSERT_LE(range.low, range.high);
      ASSERT_LE(range.high, 1u);
      known += range.is_known();
      for (unsigned sample = 0; sample < 6; sample++) {
         Place place;
         for (unsigned d = 0; d < 3; d++) {
            // The first, the last or another.
            const uint32_t count = dispatch.count[d];
            place.workgroup[d] = dispatch.base[d] + (sample == 0   ? 0
                                                     : sample == 1 ? count - 1
                                                                   : draw(numbers, count));
         }
         const uint32_t invocation = sample == 0   ? 0
                                     : sample == 1 ? workgroup_size - 1
                                                   : draw(numbers, workgroup_size);
         place.subgroup = invocation / W;
         place.lane = invocation % W;
         const uint64_t value = folded(program, constant_leaf(dispatch, place));
         ASSERT_TRUE(range.low <= value && value <= range.high)
            << "seed " << seed << ", expression " << program << ": " << value << " is not in "
            << range.low << " to " << range.high;
      }
   }
   // Otherwise the test would prove nothing.
   EXPECT_GT(known, programs / 4);
   EXPECT_LT(known, programs);
   EXPECT_GT(knowable, programs / 2);
}

/// The range of an expression for one dispatch.
ValueRange range(const TestDispatch &dispatch, const std::function<nir_def *(nir_builder *)> &make)
{
   TestShader s;
   DispatchExpressions expressions(s.b.shader, W);
   const uint32_t number = expressions.add(nir_get_scalar(make(&s.b), 0));
   return evaluate(expressions.expressions, dispatch.facts(), all_workgroups(dispatch.facts()))
      .at(number);
}

nir_def *first_row(nir_builder *b)
{
   nir_def *id = nir_load_workgroup_id(b), *count = nir_load_num_workgroups(b);
   return nir_imul_imm(b,
                       nir_iadd(b, nir_channel(b, id, 0),
                                nir_imul(b, nir_channel(b, count, 0), nir_channel(b, id, 2))),
                       2);
}

TEST(DispatchValues, AreTightWhereShadersLookAtBounds)
{
   const TestDispatch dispatch = {{2048, 2047, 0, ~0u}, {}, {1024, 1, 1}};
   const auto push = [](nir_builder *b, int n) { return push_constant(b, nir_imm_int(b, 4 * n)); };
   EXPECT_EQ(range(dispatch, first_row), (ValueRange{0, 2046}));
   const auto fits = [&](int n) {
      return range(dispatch, [&](nir_builder *b) {
         return nir_uge(b, push(b, n), nir_iadd_imm(b, first_row(b), 2));
      });
   };
   EXPECT_EQ(fits(0), (ValueRange{1, 1}));
   EXPECT_EQ(fits(1), (ValueRange{0, 1}));
   EXPECT_EQ(fits(2), (ValueRange{0, 0}));
   // Adding 2^32 - 1 is the same as adding -1.
   EXPECT_EQ(range(dispatch,
                   [&](nir_builder *b) {
                      return nir_iadd(b, nir_iadd_imm(b, first_row(b), 1), push(b, 3));
                   }),
             (ValueRange{0, 2046}));
   // 3 subgroups of 8.
   EXPECT_EQ(range(dispatch,
                   [](nir_builder *b) {
                      return nir_iadd(b, nir_imul_imm(b, nir_load_subgroup_id(b), W),
                                      nir_load_subgroup_invocation(b));
                   }),
             (ValueRange{0, 23}));
}

/// Words of descriptors are read as data of a set, from a constant place.
TEST(DispatchValues, OfDescriptors)
{
   const auto word = [](nir_builder *b, uint32_t flags, nir_def *offset) {
      return _nir_build_load_ubo(b, 1, 32, nir_imm_ivec2(b, int(flags), 4), offset,
                                 {._ = 0,
                                  .access = gl_access_qualifier(0),
                                  .align_mul = 4,
                                  .align_offset = 0,
                                  .range_base = 0,
                                  .range = ~0u});
   };
   TestShader test;
   nir_builder *b = &test.b;
   constexpr uint32_t as_data = 3 | inline_data_slot | unbounded_inline_bytes << 8;
   const auto place = [&](nir_def *def) { return descriptor_place(nir_get_scalar(def, 0)); };
   EXPECT_EQ(place(word(b, as_data, nir_imm_int(b, 8))), uint64_t(3) << 32 | 12);
   EXPECT_EQ(place(word(b, as_data, nir_load_subgroup_id(b))), std::nullopt);
   // A block of data, an address, a set that may end before the descriptor.
   EXPECT_EQ(place(word(b, 3 | inline_data_slot | 64 << 8, nir_imm_int(b, 8))), std::nullopt);
   EXPECT_EQ(place(word(b, 3, nir_imm_int(b, 8))), std::nullopt);
   EXPECT_EQ(place(word(b, as_data | optional_slot, nir_imm_int(b, 8))), std::nullopt);
   EXPECT_EQ(place(nir_load_subgroup_id(b)), std::nullopt);

   const auto follows = [&](nir_def *def) {
      return follows_from_descriptors(nir_get_scalar(def, 0));
   };
   nir_def *format = nir_iand_imm(b, word(b, as_data, nir_imm_int(b, 8)), 255);
   EXPECT_TRUE(follows(nir_ieq_imm(b, format, 4)));
   EXPECT_FALSE(follows(nir_ult(b, nir_load_subgroup_id(b), format)));
   EXPECT_FALSE(follows(nir_ieq_imm(b, push_constant(b, nir_imm_int(b, 0)), 4)));

   DispatchExpressions expressions(b->shader, W);
   const uint32_t number = expressions.add(nir_get_scalar(word(b, as_data, nir_imm_int(b, 0)), 0));
   EXPECT_TRUE(expressions.may_be_known(number));
   const auto value = [&](const DispatchFacts &facts) {
      return evaluate(expressions.expressions, facts, all_workgroups(facts))[number];
   };
   const uint32_t words[] = {7, 8};
   DispatchFacts facts;
   EXPECT_EQ(value(facts), (ValueRange{0, UINT32_MAX}));
   facts.sets[3] = std::as_bytes(std::span(words));
   EXPECT_EQ(value(facts), (ValueRange{8, 8}));
   facts.sets[3] = std::as_bytes(std::span(words, 1));
   EXPECT_EQ(value(facts), (ValueRange{0, UINT32_MAX}));
}

TEST(DispatchValues, OfUnknownSizeAreAny)
{
   const TestDispatch dispatch = {{5, 0, 0, 0}, {}, {0, 0, 0}};
   EXPECT_EQ(
      range(dispatch, [](nir_builder *b) { return nir_channel(b, nir_load_workgroup_id(b), 1); }),
      (ValueRange{0, UINT32_MAX}));
   EXPECT_EQ(range(dispatch, [](nir_builder *b) { return push_constant(b, nir_imm_int(b, 0)); }),
             (ValueRange{5, 5}));
   // A push constant behind the known ones.
   EXPECT_EQ(range(dispatch, [](nir_builder *b) { return push_constant(b, nir_imm_int(b, 16)); }),
             (ValueRange{0, UINT32_MAX}));
   // The first operand is unknown, but the second is false.
   EXPECT_EQ(range(dispatch,
                   [](nir_builder *b) {
                      nir_def *loaded = push_constant(b, nir_load_subgroup_id(b));
                      return nir_iand(b, nir_ieq_imm(b, loaded, 3),
                                      nir_ieq_imm(b, push_constant(b, nir_imm_int(b, 0)), 6));
                   }),
             (ValueRange{0, 0}));
}

} // namespace
} // namespace weft::cpu
