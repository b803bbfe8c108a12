// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares the bounds of matrices in storage buffers with the same sum in 64 bits.

#include "nir_passes/matrices/cmat_bounds.h"
#include "tests/nir_passes/mutants.h"
#include "tests/nir_passes/shaders.h"

#include "compiler/nir/nir_deref.h"

#include <gtest/gtest.h>
#include <random>

namespace weft {
namespace {

using test::Built;

constexpr uint32_t header_bytes = 48; ///< before the array in the buffer

/// A block with an array of these elements behind a header.
const glsl_type *block_type(const glsl_type *element, uint32_t stride)
{
   glsl_struct_field fields[2] = {};
   fields[0].type = glsl_uint_type();
   fields[0].name = "header";
   fields[0].offset = 0;
   fields[1].type = glsl_array_type(element, 0, stride);
   fields[1].name = "data";
   fields[1].offset = header_bytes;
   return glsl_struct_type(fields, 2, "Block", false);
}

/// One element of a matrix in a buffer of `size` bytes.
struct Place {
   uint32_t size;
   uint32_t index; ///< of the matrix in the array
   uint64_t stride;
   uint32_t line, place;
};

class CmatBounds : public testing::Test {
protected:
   /// The pointer to the block: slot, descriptor, offset.
   nir_deref_instr *block(const glsl_type *type, uint32_t offset = 0)
   {
      return nir_build_deref_cast(&built.b, nir_imm_ivec3(&built.b, 0, 0, int(offset)),
                                  nir_var_mem_ssbo, type, 0);
   }

   nir_deref_instr *array(nir_deref_instr *block)
   {
      return nir_build_deref_struct(&built.b, block, 1);
   }

   /// The result of is_inside(): everything is constant.
   bool inside(nir_deref_instr *pointer, const Place &p, uint32_t element_bytes,
               unsigned stride_bits)
   {
      nir_builder *b = &built.b;
      const cmat::Bounds bounds =
         cmat::bounds(b, pointer, nir_imm_intN_t(b, int64_t(p.stride), stride_bits), element_bytes);
      nir_def *result =
         cmat::is_inside(b, bounds, nir_imm_int(b, int(p.line)), nir_imm_int(b, int(p.place)));
      nir_store_global(b, nir_imm_int64(b, 0), 4, nir_b2i32(b, result), 1);
      nir_intrinsic_instr *use =
         nir_instr_as_intrinsic(nir_block_last_instr(nir_impl_last_block(b->impl)));
      nir_foreach_block(block, b->impl) {
         nir_foreach_instr_safe(instr, block) {
            if (instr->type != nir_instr_type_intrinsic ||
                nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_get_ssbo_size)
               continue;
            b->cursor = nir_before_instr(instr);
            nir_def_replace(&nir_instr_as_intrinsic(instr)->def, nir_imm_int(b, int(p.size)));
         }
      }
      b->cursor = nir_after_impl(b->impl);
      nir_copy_prop(built.shader.get());
      nir_lower_alu_to_scalar(built.shader.get(), nullptr, nullptr);
      nir_opt_constant_folding(built.shader.get());
      EXPECT_TRUE(nir_src_is_const(use->src[0])) << test::body(built.shader.get());
      const bool value = nir_src_as_uint(use->src[0]);
      nir_instr_remove(&use->instr);
      return value;
   }

   Built built;
};

struct Kind {
   const glsl_type *pointee;
   uint32_t pointee_bytes, component_bytes;
};

TEST_F(CmatBounds, AsIn64Bits)
{
   std::mt19937 random(test::mutation_seed());
   const auto draw = [&](uint64_t n) {
      return std::uniform_int_distribution<uint64_t>(0, n - 1)(random);
   };
   const Kind kinds[] = {
      {glsl_uint8_t_type(), 1, 1}, {glsl_float16_t_type(), 2, 2}, {glsl_float_type(), 4, 4},
      {glsl_uint_type(), 4, 1},    {glsl_uvec4_type(), 16, 1},    {glsl_uvec4_type(), 16, 2},
      {glsl_double_type(), 8, 8},
   };
   uint32_t in = 0, out = 0;
   for (uint32_t round = 0; round < 2000; ++round) {
      const Kind &kind = kinds[draw(std::size(kinds))];
      /* Offsets near zero, anywhere, and where the sum in 32 bits would wrap. */
      const auto number = [&](uint64_t bytes) -> uint64_t {
         const uint64_t turn = (uint64_t(1) << 32) / bytes;
         switch (draw(4)) {
         case 0:
            return draw(20);
         case 1:
            return draw(uint64_t(1) << 32);
         case 2:
            return std::min<uint64_t>(turn * (1 + draw(bytes)) + draw(40) - 20, UINT32_MAX);
         default:
            return draw(turn);
         }
      };
      const unsigned stride_bits = draw(4) ? 32 : 64;
      Place p;
      p.line = uint32_t(draw(33));
      p.place = uint32_t(draw(33));
      p.index = uint32_t(number(kind.pointee_bytes));
      p.stride = number(kind.pointee_bytes * std::max(p.line, 1u));
      if (stride_bits == 64 && draw(2))
         p.stride |= draw(1 << 16) << 32;
      const uint64_t end = header_bytes + uint64_t(p.index) * kind.pointee_bytes +
                           p.line * p.stride * kind.pointee_bytes +
                           (uint64_t(p.place) + 1) * kind.component_bytes;
      switch (draw(4)) {
      case 0:
         p.size = uint32_t(draw(uint64_t(1) << 32));
         break;
      case 1:
         p.size = UINT32_MAX - uint32_t(draw(3));
         break;
      case 2:
         p.size = uint32_t(std::min<uint64_t>(end + draw(5) - 2, UINT32_MAX));
         break;
      default:
         p.size = uint32_t(draw(draw(2) ? 8 : 200));
         break;
      }

      nir_deref_instr *pointer = nir_build_deref_array_imm(
         &built.b, array(block(block_type(kind.pointee, kind.pointee_bytes))), int64_t(p.index));
      const bool expected = end <= p.size;
      (expected ? in : out)++;
      ASSERT_EQ(inside(pointer, p, kind.component_bytes, stride_bits), expected)
         << "size " << p.size << ", index " << p.index << ", stride " << p.stride << " of "
         << kind.pointee_bytes << " bytes, line " << p.line << ", place " << p.place << " of "
         << kind.component_bytes << " bytes";
   }
   EXPECT_GT(in, 200u);
   EXPECT_GT(out, 200u);
}

/// An index of 64 bits is not cut off at 32.
TEST_F(CmatBounds, LargeIndicesLieOutside)
{
   const glsl_type *type = block_type(glsl_float_type(), 4);
   nir_builder *b = &built.b;
   /* The builder makes no index of another size than the pointer's. */
   const auto widen = [&](nir_deref_instr *element, int64_t index) {
      b->cursor = nir_before_instr(&element->instr);
      nir_src_rewrite(&element->arr.index, nir_imm_int64(b, index));
      b->cursor = nir_after_instr(&element->instr);
      return element;
   };
   const auto at = [&](int64_t index) {
      return widen(nir_build_deref_array_imm(b, array(block(type)), 0), index);
   };
   const uint32_t size = header_bytes + 8 * 4;
   EXPECT_TRUE(inside(at(7), {size, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(at(8), {size, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(at(int64_t(1) << 32), {size, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(at(int64_t(1) << 62), {size, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(at(-1), {size, 0, 0, 0, 0}, 4, 32));

   /* If two indices are added, their sum decides. */
   const auto step = [&](nir_deref_instr *from, int64_t by) {
      return widen(nir_build_deref_ptr_as_array(b, from, nir_imm_int(b, 0)), by);
   };
   EXPECT_TRUE(inside(step(at(10), -3), {size, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(step(at(3), int64_t(1) << 32), {size, 0, 0, 0, 0}, 4, 32));
   nir_deref_instr *value =
      nir_build_deref_cast(b, nir_imm_ivec3(b, 0, 0, 40), nir_var_mem_ssbo, glsl_float_type(), 4);
   EXPECT_TRUE(inside(step(value, -1), {40, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(step(value, -11), {40, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(step(value, (int64_t(1) << 32) - 1), {40, 0, 0, 0, 0}, 4, 32));
}

/// OpPtrAccessChain may go back within an array, and from a pointer that is a value.
TEST_F(CmatBounds, PointersGoBack)
{
   const glsl_type *type = block_type(glsl_float_type(), 4);
   nir_builder *b = &built.b;
   const auto back = [&](nir_deref_instr *from, int by) {
      return nir_build_deref_ptr_as_array(b, from, nir_imm_int(b, -by));
   };
   nir_deref_instr *tenth = nir_build_deref_array_imm(b, array(block(type)), 10);
   const uint32_t size = header_bytes + 8 * 4;
   EXPECT_FALSE(inside(tenth, {size, 0, 0, 0, 0}, 4, 32));
   EXPECT_TRUE(inside(back(tenth, 3), {size, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(back(tenth, 2), {size, 0, 0, 0, 0}, 4, 32));
   EXPECT_TRUE(inside(back(back(tenth, 1), 2), {size, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(back(nir_build_deref_array_imm(b, array(block(type)), 0), 1),
                       {size, 0, 0, 0, 0}, 4, 32));

   nir_deref_instr *value =
      nir_build_deref_cast(b, nir_imm_ivec3(b, 0, 0, 40), nir_var_mem_ssbo, glsl_float_type(), 4);
   EXPECT_FALSE(inside(value, {40, 0, 0, 0, 0}, 4, 32));
   EXPECT_TRUE(inside(back(value, 1), {40, 0, 0, 0, 0}, 4, 32));
   EXPECT_FALSE(inside(back(value, 11), {40, 0, 0, 0, 0}, 4, 32));
}

} // namespace
} // namespace weft
