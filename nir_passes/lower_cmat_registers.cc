// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads, stores and multiplications of matrices for a back end that knows scalars only: elements
/// lie as the register map says.

#include "nir_passes/cmat_state.h"

#include <algorithm>
#include <vector>

namespace weft::cmat {

namespace {

/// A pointer to the matrix's components in memory, and how many of them lie from one row (or
/// column) to the next.
struct Memory {
   nir_deref_instr *base;
   nir_def *stride;
   bool row_major;
};

Memory memory(State &s, nir_intrinsic_instr *instr, unsigned pointer_source,
              const glsl_cmat_description &desc)
{
   nir_builder *b = &s.b;
   nir_deref_instr *pointer = nir_src_as_deref(instr->src[pointer_source]);
   const uint32_t component = component_bits(desc) / 8;
   const uint32_t element =
      glsl_get_vector_elements(pointer->type) * glsl_get_bit_size(pointer->type) / 8;

   /* The stride counts elements of the type pointed to; rows begin at whole components. */
   nir_def *stride = nir_u2uN(b, instr->src[2].ssa, pointer->def.bit_size);
   stride = nir_udiv_imm(b, nir_imul_imm(b, stride, element), component);

   nir_deref_instr *base =
      nir_build_deref_cast(b, &pointer->def, pointer->modes,
                           glsl_scalar_type(glsl_base_type(desc.element_type)), component);
   return {base, stride, nir_intrinsic_matrix_layout(instr) == GLSL_MATRIX_LAYOUT_ROW_MAJOR};
}

/// What the running invocation's place in the grid is.
struct Place {
   nir_def *down, *right;
};

Place place(State &s, const RegisterMap &map)
{
   nir_builder *b = &s.b;
   nir_def *invocation = nir_load_subgroup_invocation(b);
   return {nir_udiv_imm(b, invocation, map.grid().cols),
           nir_umod_imm(b, invocation, map.grid().cols)};
}

/// Bytes of which a number is a multiple for sure, at most 16.
uint32_t alignment(uint32_t bytes)
{
   return std::min(bytes & -bytes, 16u);
}

/// Calls body with each component and a pointer to its element.  Pointers of a row (or column) of
/// the invocation's block have a common base, whose alignment follows from what the specification
/// asks of pointer and stride: 16 bytes, or a whole row (or column) if that is less
/// (VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986).
template <typename Body>
void for_each_element(State &s, const RegisterMap &map, const Place &p, const Memory &memory,
                      const Body &body)
{
   nir_builder *b = &s.b;
   const unsigned bits = memory.base->def.bit_size;
   const uint32_t bytes = glsl_get_bit_size(memory.base->type) / 8;
   nir_def *row = nir_imul_imm(b, nir_umod_imm(b, p.down, map.blocks().rows), map.block_rows());
   nir_def *col = nir_imul_imm(b, nir_umod_imm(b, p.right, map.blocks().cols), map.block_cols());
   nir_def *major = memory.row_major ? row : col, *minor = memory.row_major ? col : row;
   const uint32_t lines = memory.row_major ? map.block_rows() : map.block_cols();
   const uint32_t length = memory.row_major ? map.block_cols() : map.block_rows();
   const uint32_t line_bytes = bytes * (memory.row_major ? map.cols : map.rows);
   const uint32_t align = std::min(alignment(line_bytes), alignment(length * bytes));

   for (uint32_t line = 0; line < lines; ++line) {
      nir_def *index = nir_imul(b, nir_u2uN(b, nir_iadd_imm(b, major, line), bits), memory.stride);
      index = nir_iadd(b, index, nir_u2uN(b, minor, bits));
      nir_deref_instr *first = nir_build_deref_ptr_as_array(b, memory.base, index);
      first = nir_build_deref_cast_with_alignment(b, &first->def, first->modes, first->type, bytes,
                                                  align, 0);
      for (uint32_t i = 0; i < length; ++i) {
         const uint32_t component =
            memory.row_major ? line * map.block_cols() + i : i * map.block_cols() + line;
         body(component, nir_build_deref_ptr_as_array(b, first, nir_imm_intN_t(b, i, bits)));
      }
   }
}

/// How the products of a muladd are summed.
struct Arithmetic {
   bool is_float;
   unsigned bits; ///< of the sum; f16 is summed in f32
   bool a_signed, b_signed, result_signed, saturate;
};

nir_def *widen(nir_builder *b, const Arithmetic &arithmetic, nir_def *value, bool is_signed)
{
   if (arithmetic.is_float)
      return nir_f2fN(b, value, arithmetic.bits);
   return is_signed ? nir_i2iN(b, value, arithmetic.bits) : nir_u2uN(b, value, arithmetic.bits);
}

nir_def *add_product(nir_builder *b, const Arithmetic &arithmetic, nir_def *x, nir_def *y,
                     nir_def *sum)
{
   return arithmetic.is_float ? nir_ffma(b, x, y, sum) : nir_iadd(b, nir_imul(b, x, y), sum);
}

/// The sum as the result's component.  Sums of float products began with the addend; those of
/// integer products cannot overflow before it is added.
nir_def *finish(nir_builder *b, const Arithmetic &arithmetic, nir_def *sum, nir_def *addend)
{
   if (arithmetic.is_float)
      return nir_f2fN(b, sum, addend->bit_size);
   sum = nir_u2uN(b, sum, addend->bit_size);
   if (!arithmetic.saturate)
      return nir_iadd(b, sum, addend);
   return arithmetic.result_signed ? nir_iadd_sat(b, sum, addend) : nir_uadd_sat(b, sum, addend);
}

} // namespace

void lower_load_to_registers(State &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0);
   const RegisterMap map = s.register_map(result.desc);
   const Memory source = memory(s, instr, 1, result.desc);
   for_each_element(s, map, place(s, map), source, [&](uint32_t i, nir_deref_instr *element) {
      s.store_component(result, nir_imm_int(&s.b, int(i)), nir_load_deref(&s.b, element));
   });
}

/// Of those that hold an element, one stores it.
void lower_store_to_registers(State &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   const Matrix source = s.operand(instr, 1);
   const RegisterMap map = s.register_map(source.desc);
   const Memory destination = memory(s, instr, 0, source.desc);
   const Place p = place(s, map);
   nir_def *stores = nir_imm_true(b);
   if (map.blocks().rows < map.grid().rows)
      stores = nir_ult_imm(b, p.down, map.blocks().rows);
   if (map.blocks().cols < map.grid().cols)
      stores = nir_iand(b, stores, nir_ult_imm(b, p.right, map.blocks().cols));
   nir_if *chosen = nir_push_if(b, stores);
   for_each_element(s, map, p, destination, [&](uint32_t i, nir_deref_instr *element) {
      nir_store_deref(b, element, s.load_component(source, nir_imm_int(b, int(i))), 1);
   });
   nir_pop_if(b, chosen);
}

/// d(row, col) = c(row, col) + Σ_k a(row, k) · b(k, col), everything at hand.
void lower_muladd_to_registers(State &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   const Matrix d = s.operand(instr, 0), a = s.operand(instr, 1), bm = s.operand(instr, 2),
                c = s.operand(instr, 3);
   const uint32_t K = a.desc.cols, cols = s.register_map(d.desc).block_cols();
   const unsigned mask = nir_intrinsic_cmat_signed_mask(instr);
   const Arithmetic arithmetic = {
      .is_float = glsl_type_is_float_16_32_64(glsl_get_cmat_element(glsl_cmat_type(&d.desc))),
      .bits = std::max(component_bits(d.desc), 32u),
      .a_signed = (mask & NIR_CMAT_A_SIGNED) != 0,
      .b_signed = (mask & NIR_CMAT_B_SIGNED) != 0,
      .result_signed = (mask & NIR_CMAT_RESULT_SIGNED) != 0,
      .saturate = nir_intrinsic_saturate(instr) != 0,
   };
   const auto widened = [&](const Matrix &m, bool is_signed) {
      std::vector<nir_def *> values;
      s.for_each_component_unrolled(m.desc, [&](uint32_t i) {
         nir_def *component = s.load_component(m, nir_imm_int(b, int(i)));
         values.push_back(widen(b, arithmetic, component, is_signed));
      });
      return values;
   };
   const std::vector<nir_def *> a_values = widened(a, arithmetic.a_signed),
                                b_values = widened(bm, arithmetic.b_signed);

   /* d may be the same variable as c: write it when everything is read. */
   std::vector<nir_def *> results;
   s.for_each_component_unrolled(d.desc, [&](uint32_t i) {
      nir_def *addend = s.load_component(c, nir_imm_int(b, int(i)));
      nir_def *sum = arithmetic.is_float ? nir_f2fN(b, addend, arithmetic.bits)
                                         : nir_imm_intN_t(b, 0, arithmetic.bits);
      for (uint32_t k = 0; k < K; ++k)
         sum = add_product(b, arithmetic, a_values[i / cols * K + k], b_values[k * cols + i % cols],
                           sum);
      results.push_back(finish(b, arithmetic, sum, addend));
   });
   for (uint32_t i = 0; i < results.size(); ++i)
      s.store_component(d, nir_imm_int(b, int(i)), results[i]);
}

} // namespace weft::cmat
