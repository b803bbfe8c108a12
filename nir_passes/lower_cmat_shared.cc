// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Multiplication for a back end without tiles, where invocations see each other's components
/// through shared memory.
///
/// Each subgroup has a stretch of shared memory for A and one for B, dense and row-major as the
/// matrices themselves: by the element map the subgroup's component i of all W invocations is the
/// run of elements i*W … i*W + W-1.  It writes both, and then runs over k:
///
///   for (k = 0; k < K; ++k)
///      for each component i:   sum[i] += A[row(i)][k] * B[k][column(i)]
///
/// Where W is a multiple of N all components of an invocation lie in one column, where N is one of
/// W all of a component's row are the same: what is the same is loaded once.

#include "nir_passes/cmat_arithmetic.h"

#include <map>
#include <vector>

namespace weft::cmat {

namespace {

/// Rows and columns of the running invocation's components; the same value is the same nir_def.
class Positions {
public:
   Positions(nir_builder *b, const ElementMap &map)
       : b(b), map(map), invocation(nir_load_subgroup_invocation(b))
   {
   }

   nir_def *row(uint32_t component)
   {
      const uint32_t first = component * map.subgroup_size;
      if (map.cols % map.subgroup_size == 0)
         return memo(rows, first / map.cols,
                     [&](uint32_t row) { return nir_imm_int(b, int(row)); });
      if (map.subgroup_size % map.cols == 0) {
         nir_def *within = nir_udiv_imm(b, invocation, map.cols);
         /* Those beyond the matrix read its last row; nothing uses what they compute. */
         const bool inside = map.contains(map.element({map.subgroup_size - 1, component}));
         nir_def *row = nir_iadd_imm(b, within, first / map.cols);
         return inside ? row : nir_umin_imm(b, row, map.rows - 1);
      }
      return nir_umin_imm(b, nir_udiv_imm(b, element(component), map.cols), map.rows - 1);
   }

   nir_def *col(uint32_t component)
   {
      const uint32_t first = component * map.subgroup_size;
      if (map.cols % map.subgroup_size == 0)
         return memo(cols, first % map.cols,
                     [&](uint32_t col) { return nir_iadd_imm(b, invocation, col); });
      if (map.subgroup_size % map.cols == 0)
         return memo(cols, 0, [&](uint32_t) { return nir_umod_imm(b, invocation, map.cols); });
      return nir_umod_imm(b, element(component), map.cols);
   }

private:
   nir_def *element(uint32_t component)
   {
      return nir_iadd_imm(b, invocation, component * map.subgroup_size);
   }

   template <typename Make>
   nir_def *memo(std::map<uint32_t, nir_def *> &known, uint32_t key, const Make &make)
   {
      nir_def *&value = known[key];
      if (!value)
         value = make(key);
      return value;
   }

   nir_builder *b;
   const ElementMap map;
   nir_def *invocation;
   std::map<uint32_t, nir_def *> rows, cols;
};

void subgroup_barrier(nir_builder *b)
{
   _nir_build_barrier(b,
                      {._ = 0,
                       .execution_scope = SCOPE_SUBGROUP,
                       .memory_scope = SCOPE_SUBGROUP,
                       .memory_semantics = nir_memory_semantics(
                          NIR_MEMORY_ACQ_REL | NIR_MEMORY_MAKE_AVAILABLE | NIR_MEMORY_MAKE_VISIBLE),
                       .memory_modes = nir_var_mem_shared});
}

/// A matrix of the running subgroup in shared memory.
struct Staged {
   nir_variable *memory;
   nir_def *first; ///< index of its element (0, 0)
   uint32_t cols;

   nir_def *load(nir_builder *b, nir_def *row, nir_def *col) const
   {
      nir_def *index = nir_iadd(b, nir_iadd(b, nir_imul_imm(b, row, cols), col), first);
      return nir_load_array_var(b, memory, index);
   }
};

Staged stage(State &s, const Matrix &m, bool left)
{
   nir_builder *b = &s.b;
   const Exchange &exchange = s.exchange(component_bits(m.desc));
   Staged staged = {};
   staged.memory = left ? exchange.left : exchange.right;
   staged.cols = m.desc.cols;
   const uint32_t stretch = left ? exchange.left_elements : exchange.right_elements;
   staged.first = nir_imul_imm(b, nir_load_subgroup_id(b), stretch);

   nir_def *place = nir_iadd(b, staged.first, nir_load_subgroup_invocation(b));
   s.for_each_component_unrolled(m.desc, [&](uint32_t i) {
      nir_def *value = s.load_component(m, nir_imm_int(b, int(i)));
      nir_store_array_var(b, staged.memory, nir_iadd_imm(b, place, i * s.target.subgroup_size),
                          value, 1);
   });
   return staged;
}

/// Loads each row's, and each column's, element once per k.
class Loads {
public:
   Loads(nir_builder *b, const Staged &from) : b(b), from(from) {}

   nir_def *operator()(nir_def *key, nir_def *row, nir_def *col)
   {
      nir_def *&value = loaded[key];
      if (!value)
         value = from.load(b, row, col);
      return value;
   }

private:
   nir_builder *b;
   const Staged &from;
   std::map<nir_def *, nir_def *> loaded;
};

} // namespace

void lower_muladd_through_shared_memory(State &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   const Matrix d = s.operand(instr, 0), a = s.operand(instr, 1), bm = s.operand(instr, 2),
                c = s.operand(instr, 3);
   const Arithmetic arithmetic = arithmetic_of(instr, d.desc);
   const uint32_t length = s.map(d.desc).length();

   /* Until nobody reads the last one's operands; then until everybody has written this one's. */
   subgroup_barrier(b);
   const Staged left = stage(s, a, true), right = stage(s, bm, false);
   subgroup_barrier(b);

   Positions positions(b, s.map(d.desc));
   std::vector<nir_def *> rows, cols, addends;
   std::vector<nir_variable *> sums;
   for (uint32_t i = 0; i < length; ++i) {
      rows.push_back(positions.row(i));
      cols.push_back(positions.col(i));
      addends.push_back(s.load_component(c, nir_imm_int(b, int(i))));
      sums.push_back(nir_local_variable_create(b->impl, glsl_uintN_t_type(arithmetic.bits), "sum"));
      nir_store_var(b, sums[i], begin(b, arithmetic, addends[i]), 1);
   }
   nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "k");
   nir_store_var(b, counter, nir_imm_int(b, 0), 1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *k = nir_load_var(b, counter);
      nir_break_if(b, nir_uge_imm(b, k, a.desc.cols));
      Loads x(b, left), y(b, right);
      for (uint32_t i = 0; i < length; ++i) {
         nir_def *product_x = widen(b, arithmetic, x(rows[i], rows[i], k), arithmetic.a_signed);
         nir_def *product_y = widen(b, arithmetic, y(cols[i], k, cols[i]), arithmetic.b_signed);
         nir_store_var(b, sums[i],
                       add_product(b, arithmetic, product_x, product_y, nir_load_var(b, sums[i])),
                       1);
      }
      nir_store_var(b, counter, nir_iadd_imm(b, k, 1), 1);
   }
   nir_pop_loop(b, loop);

   for (uint32_t i = 0; i < length; ++i)
      s.store_component(d, nir_imm_int(b, int(i)),
                        finish(b, arithmetic, nir_load_var(b, sums[i]), addends[i]));
}

} // namespace weft::cmat
