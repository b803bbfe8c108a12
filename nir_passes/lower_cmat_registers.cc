// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads, stores and multiplications of matrices for a back end that knows scalars and subgroup
/// operations only.

#include "nir_passes/cmat_arithmetic.h"

#include <algorithm>
#include <vector>

namespace weft::cmat {

namespace {

/// The row and column of a component of the running invocation.
struct Position {
   nir_def *row, *col;
};

Position position(State &s, const glsl_cmat_description &desc, uint32_t component)
{
   nir_builder *b = &s.b;
   nir_def *element =
      nir_iadd_imm(b, nir_load_subgroup_invocation(b), component * s.target.subgroup_size);
   return {nir_udiv_imm(b, element, desc.cols), nir_umod_imm(b, element, desc.cols)};
}

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

nir_deref_instr *component_pointer(State &s, const Memory &memory, const Position &p)
{
   nir_builder *b = &s.b;
   const unsigned bits = memory.base->def.bit_size;
   nir_def *major = nir_u2uN(b, memory.row_major ? p.row : p.col, bits);
   nir_def *minor = nir_u2uN(b, memory.row_major ? p.col : p.row, bits);
   nir_def *index = nir_iadd(b, nir_imul(b, major, memory.stride), minor);
   return nir_build_deref_ptr_as_array(b, memory.base, index);
}

/// Calls body for each component, where the invocation has it: where the subgroup has more
/// invocations than the matrix has elements left, the others must not touch memory.
template <typename Body>
void for_each_owned(State &s, const glsl_cmat_description &desc, const Body &body)
{
   const ElementMap map = s.map(desc);
   s.for_each_component_unrolled(desc, [&](uint32_t i) {
      const Position p = position(s, desc, i);
      if (map.contains(map.element({map.subgroup_size - 1, i}))) {
         body(i, p);
         return;
      }
      nir_if *owned = nir_push_if(&s.b, nir_ult_imm(&s.b, p.row, desc.rows));
      body(i, p);
      nir_pop_if(&s.b, owned);
   });
}

/// One element of a matrix for each invocation, wherever its owner is.  element_of(invocation) says
/// beforehand what `wanted` computes when the shader runs.
template <typename ElementOf>
nir_def *fetch(State &s, const Matrix &m, const Position &wanted, const ElementOf &element_of)
{
   nir_builder *b = &s.b;
   const ElementMap map = s.map(m.desc);
   const uint32_t W = map.subgroup_size;

   uint32_t first = UINT32_MAX, last = 0;
   bool same_owner = true, own = true;
   const ElementMap::Owner leader = map.owner(element_of(0));
   for (uint32_t invocation = 0; invocation < W; ++invocation) {
      const ElementMap::Owner owner = map.owner(element_of(invocation));
      first = std::min(first, owner.component);
      last = std::max(last, owner.component);
      same_owner &= owner == leader;
      own &= owner.invocation == invocation;
   }
   last = std::min(last, map.length() - 1);
   first = std::min(first, last);

   const auto component = [&](uint32_t i) { return s.load_component(m, nir_imm_int(b, int(i))); };
   if (same_owner)
      return nir_read_invocation(b, component(first), nir_imm_int(b, int(leader.invocation)));

   nir_def *linear = nir_iadd(b, nir_imul_imm(b, wanted.row, m.desc.cols), wanted.col);
   nir_def *owner_invocation = nir_umod_imm(b, linear, W);
   nir_def *owner_component = nir_udiv_imm(b, linear, W);
   nir_def *value = nullptr;
   for (uint32_t i = first; i <= last; ++i) {
      nir_def *candidate = own ? component(i) : nir_shuffle(b, component(i), owner_invocation);
      value =
         value ? nir_bcsel(b, nir_ieq_imm(b, owner_component, i), candidate, value) : candidate;
   }
   return value;
}

} // namespace

void lower_load_to_registers(State &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0);
   const Memory source = memory(s, instr, 1, result.desc);
   for_each_owned(s, result.desc, [&](uint32_t i, const Position &p) {
      nir_def *value = nir_load_deref(&s.b, component_pointer(s, source, p));
      s.store_component(result, nir_imm_int(&s.b, int(i)), value);
   });
}

void lower_store_to_registers(State &s, nir_intrinsic_instr *instr)
{
   const Matrix source = s.operand(instr, 1);
   const Memory destination = memory(s, instr, 0, source.desc);
   for_each_owned(s, source.desc, [&](uint32_t i, const Position &p) {
      nir_def *value = s.load_component(source, nir_imm_int(&s.b, int(i)));
      nir_store_deref(&s.b, component_pointer(s, destination, p), value, 1);
   });
}

/// d(row, col) = c(row, col) + Σ_k a(row, k) · b(k, col).  With the element map, the row of a
/// component is often the same in all invocations (then a's element is broadcast) and its column
/// the invocation's own (then b's element is at hand); fetch() finds out.
void lower_muladd_to_registers(State &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   const Matrix d = s.operand(instr, 0), a = s.operand(instr, 1), bm = s.operand(instr, 2),
                c = s.operand(instr, 3);
   const ElementMap map = s.map(d.desc);
   const Arithmetic arithmetic = arithmetic_of(instr, d.desc);

   /* d may be the same variable as a, b or c: write it when everything is read. */
   std::vector<nir_def *> results;
   s.for_each_component_unrolled(d.desc, [&](uint32_t i) {
      const Position p = position(s, d.desc, i);
      nir_def *addend = s.load_component(c, nir_imm_int(b, int(i)));
      nir_def *sum = begin(b, arithmetic, addend);
      for (uint32_t k = 0; k < a.desc.cols; ++k) {
         nir_def *x = fetch(s, a, {p.row, nir_imm_int(b, int(k))}, [&](uint32_t invocation) {
            return ElementMap::Element{map.element({invocation, i}).row, k};
         });
         nir_def *y = fetch(s, bm, {nir_imm_int(b, int(k)), p.col}, [&](uint32_t invocation) {
            return ElementMap::Element{k, map.element({invocation, i}).col};
         });
         sum = add_product(b, arithmetic, widen(b, arithmetic, x, arithmetic.a_signed),
                           widen(b, arithmetic, y, arithmetic.b_signed), sum);
      }
      results.push_back(finish(b, arithmetic, sum, addend));
   });
   for (uint32_t i = 0; i < results.size(); ++i)
      s.store_component(d, nir_imm_int(b, int(i)), results[i]);
}

} // namespace weft::cmat
