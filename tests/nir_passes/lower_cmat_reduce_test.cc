// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Reductions stay whole until they are lowered; in registers, they take few shuffles.
/// tests/backend/cpu/cmat_reduce_test.cc checks their results.

#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/cmat_coordinates.h"
#include "nir_passes/matrices/copies/opt_cmat_copies.h"
#include "nir_passes/matrices/lowering/lower_cmat_reduce.h"
#include "nir_passes/shader_text.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

#include <bit>

namespace weft {
namespace {

using test::count;

std::string number(uint32_t n)
{
   return std::to_string(n);
}

enum class Over { rows, columns, all, quads };
constexpr Over every_reduction[] = {Over::rows, Over::columns, Over::all, Over::quads};

/// A reduction of a matrix to a matrix of another size.
struct Case {
   Over over;
   std::string type = "float";
   uint32_t rows = 16, cols = 16, to_rows = 16, to_cols = 16;

   std::string shader() const
   {
      const char *const names[] = {"Row", "Column", "RowAndColumn", "2x2"};
      const auto matrix = [&](uint32_t height, uint32_t width) {
         return "coopmat<" + type + ", gl_ScopeSubgroup, " + number(height) + ", " + number(width) +
                ", gl_MatrixUseAccumulator>";
      };
      return "layout(binding = 0) buffer Data { " + type + " data[]; };\n" + type +
             " twice(const in " + type + " x) { return x + x; }\n" + type + " add(const in " +
             type + " x, const in " + type + " y) { return x + y; }\n" +
             "void main() {\ndata[64] = twice(data[64]);\n" + matrix(rows, cols) + " m;\n" +
             matrix(to_rows, to_cols) + " r;\n" +
             "coopMatLoad(m, data, 0, 64, gl_CooperativeMatrixLayoutRowMajor);\n" +
             "coopMatReduceNV(r, m, gl_CooperativeMatrixReduce" + names[int(over)] + "NV, add);\n" +
             "coopMatStore(r, data, 0, 64, gl_CooperativeMatrixLayoutRowMajor);\n}";
   }
};

Shader translate(const Case &c, uint32_t subgroup_size)
{
   Shader shader = test::translate(c.shader(), Consumer::cpu, subgroup_size);
   opt_cmat_copies(shader.get());
   return shader;
}

std::string lowered(const Case &c, uint32_t subgroup_size, MatrixForm form)
{
   Shader shader = translate(c, subgroup_size);
   nir_shader *nir = shader.get();
   EXPECT_TRUE(lower_cmat_reduce(nir, subgroup_size, form));
   nir_validate_shader(nir, "lower_cmat_reduce");
   nir_inline_functions(nir);
   remove_unused_functions(nir);
   nir_copy_prop(nir);
   nir_opt_deref(nir);
   nir_lower_vars_to_ssa(nir);
   nir_copy_prop(nir);
   nir_opt_constant_folding(nir);
   nir_opt_cse(nir);
   nir_opt_dce(nir);
   nir_validate_shader(nir, "what lower_cmat_reduce made");
   EXPECT_EQ(exec_list_length(&nir->functions), 1u);
   return test::body(nir);
}

unsigned shuffles(const Case &c, uint32_t subgroup_size)
{
   return count(lowered(c, subgroup_size, MatrixForm::registers), "@shuffle");
}

/// The combining function stays a function; no other function does.
TEST(LowerCmatReduce, OperationsAreWholeBefore)
{
   for (const Over over : every_reduction) {
      Case c = {over};
      if (over == Over::quads)
         c.to_rows = c.to_cols = 8;
      Shader shader = translate(c, 32);
      const std::string text = test::body(shader.get());
      EXPECT_EQ(count(text, "@cmat_reduce_weft"), 1u) << text;
      EXPECT_EQ(count(text, "loop {"), 0u) << text;
      EXPECT_EQ(count(text, "@cmat_copy"), 0u) << text;
      EXPECT_EQ(exec_list_length(&shader.get()->functions), 2u) << text;
      nir_foreach_block(block, nir_shader_get_entrypoint(shader.get())) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            if (nir_intrinsic_has_callee(nir_instr_as_intrinsic(instr))) {
               ASSERT_LT(nir_intrinsic_callee(nir_instr_as_intrinsic(instr)), 2u) << text;
            }
            const nir_function *callee = callee_of(shader.get(), nir_instr_as_intrinsic(instr));
            EXPECT_TRUE(!callee || (!callee->is_entrypoint && callee->impl)) << text;
         }
      }
   }
}

TEST(LowerCmatReduce, FewShufflesInRegisters)
{
   /* Four rows among eight invocations: 2 + 1 + 1 halves, then 1 + 2 back. */
   EXPECT_EQ(shuffles({Over::rows}, 32), 7u);
   EXPECT_EQ(shuffles({Over::rows, "float16_t"}, 32), 4u);
   EXPECT_EQ(shuffles({Over::columns}, 32), 3u);
   EXPECT_EQ(shuffles({Over::all}, 32), 5u);
   EXPECT_EQ(shuffles({.over = Over::quads, .to_rows = 8, .to_cols = 8}, 32), 0u);
   /* The code has loops, as many as for one row. */
   EXPECT_EQ(shuffles({Over::rows, "float", 128, 128, 128, 128}, 32), 3u);
}

/// Of an exchange of values of `bits` bits, in `steps` steps.
uint32_t exchange_shuffles(uint32_t values, uint32_t bits, uint32_t steps)
{
   const uint32_t per_word = 32 / bits;
   if (steps == 0)
      return 0;
   if (steps > 1 && values % (2 * per_word) == 0)
      return 2 * (values / 2 / per_word) + exchange_shuffles(values / 2, bits, steps - 1);
   return DIV_ROUND_UP(values, per_word) + exchange_shuffles(values, bits, steps - 1);
}

/// The number follows from the map of registers, for types, sizes and subgroups.
TEST(LowerCmatReduce, ShufflesAreThoseBetweenBlocks)
{
   struct Size {
      uint32_t rows, cols;
   };
   for (const std::string type : {"float", "float16_t", "int"}) {
      for (const Size size : {Size{8, 8}, Size{16, 16}, Size{8, 32}, Size{24, 16}, Size{40, 24}}) {
         for (const uint32_t W : {8, 16, 32, 64}) {
            const RegisterMap map = {size.rows, size.cols, RegisterMap::Use::accumulator, W};
            if (size.rows * size.cols > 512 && map.length() > 64)
               continue; // loops
            const uint32_t beside = uint32_t(std::countr_zero(map.blocks().cols)),
                           below = uint32_t(std::countr_zero(map.blocks().rows));
            const auto found = [&](Over over) {
               return shuffles({over, type, size.rows, size.cols, size.rows, size.cols}, W);
            };
            SCOPED_TRACE(type + " " + number(size.rows) + "x" + number(size.cols) +
                         ", W = " + number(W));
            const uint32_t bits = type == "float16_t" ? 16 : 32;
            EXPECT_EQ(found(Over::rows), exchange_shuffles(map.block_rows(), bits, beside));
            EXPECT_EQ(found(Over::columns), exchange_shuffles(map.block_cols(), bits, below));
            EXPECT_EQ(found(Over::all), beside + below);
         }
      }
   }
}

/// Four steps of pairs. Each reads the other element by its number, and the last step writes the
/// result.
TEST(LowerCmatReduce, StepsInPrivateTiles)
{
   const std::string text = lowered({Over::rows}, 32, MatrixForm::private_tiles);
   EXPECT_EQ(count(text, "@cmat_element_weft"), 4u) << text;
   EXPECT_EQ(count(text, "ixor"), 4u) << text;
   EXPECT_EQ(count(text, "@cmat_copy"), 0u) << text;
   EXPECT_EQ(count(text, "@shuffle"), 0u) << text;
   const std::string odd =
      lowered({Over::columns, "float", 24, 16, 24, 16}, 32, MatrixForm::private_tiles);
   EXPECT_EQ(count(odd, "ixor"), 3u) << odd;
   EXPECT_EQ(count(odd, "@cmat_element_weft"), 5u) << odd;
}

/// A step must not read its own results: three columns are one step.
TEST(LowerCmatReduce, OneStepToTheSameMatrix)
{
   const std::string text =
      lowered({Over::rows, "float", 8, 3, 8, 3}, 32, MatrixForm::private_tiles);
   EXPECT_EQ(count(text, "@cmat_copy"), 1u) << text;
}

} // namespace
} // namespace weft
