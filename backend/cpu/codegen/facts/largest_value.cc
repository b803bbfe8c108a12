// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/largest_value.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace weft::cpu {

namespace {

constexpr unsigned max_depth = 8;

uint32_t bound_of(const nir_scalar &, unsigned depth);

nir_scalar source(const nir_scalar &alu, unsigned number)
{
   return nir_scalar_chase_movs(nir_scalar_chase_alu_src(alu, number));
}

uint32_t saturated(uint64_t bound)
{
   return uint32_t(std::min<uint64_t>(bound, UINT32_MAX));
}

/// The constant below which the value must be for a loop to continue, if `condition` has this form.
std::optional<uint64_t> limit(const nir_scalar &condition, bool leaves_if, const nir_scalar &value)
{
   if (!nir_scalar_is_alu(condition))
      return {};
   const nir_op op = nir_scalar_alu_op(condition);
   const bool is_less = op == nir_op_ult || op == nir_op_ilt;
   if (!is_less && op != nir_op_uge && op != nir_op_ige)
      return {};
   const nir_scalar x = source(condition, 0), y = source(condition, 1);
   if (is_less == leaves_if || !nir_scalar_equal(x, value) || !nir_scalar_is_const(y))
      return {};
   const uint64_t constant = nir_scalar_as_uint(y);
   return constant > 0 && constant < INT32_MAX ? std::optional(constant) : std::nullopt;
}

/// The bound of a counter: a phi that starts with a value and grows by a constant per iteration, of
/// a loop that is left once the counter reaches a constant.
uint32_t counter_bound(nir_phi_instr *phi, unsigned depth)
{
   const nir_cf_node *parent = phi->instr.block->cf_node.parent;
   if (parent->type != nir_cf_node_loop || phi->def.num_components != 1)
      return UINT32_MAX;
   nir_loop *loop = nir_cf_node_as_loop(const_cast<nir_cf_node *>(parent));
   if (phi->instr.block != nir_loop_first_block(loop) || exec_list_length(&phi->srcs) != 2)
      return UINT32_MAX;
   // The only back edge is the loop's end, so every iteration passes all ifs of the loop's own
   // list.
   const nir_block *before = nir_cf_node_as_block(nir_cf_node_prev(&loop->cf_node));
   nir_scalar begin = {}, next = {};
   nir_foreach_phi_src(src, phi)
   {
      const nir_scalar value = nir_scalar_chase_movs(nir_get_scalar(src->src.ssa, 0));
      if (src->pred == before)
         begin = value;
      else if (src->pred == nir_loop_last_block(loop))
         next = value;
   }
   if (!begin.def || !next.def)
      return UINT32_MAX;
   const nir_scalar counter = nir_get_scalar(&phi->def, 0);
   if (!nir_scalar_is_alu(next) || nir_scalar_alu_op(next) != nir_op_iadd)
      return UINT32_MAX;
   std::optional<uint64_t> step;
   for (unsigned i = 0; i < 2; i++) {
      const nir_scalar x = source(next, i), y = source(next, 1 - i);
      if (nir_scalar_equal(x, counter) && nir_scalar_is_const(y))
         step = nir_scalar_as_uint(y);
   }
   const uint64_t first = bound_of(begin, depth + 1);
   if (!step || first + *step > INT32_MAX)
      return UINT32_MAX;
   foreach_list_typed(nir_cf_node, node, node, &loop->body)
   {
      if (node->type != nir_cf_node_if)
         continue;
      nir_if *nif = nir_cf_node_as_if(node);
      const bool then_leaves = nir_block_ends_in_break(nir_if_last_then_block(nif)),
                 else_leaves = nir_block_ends_in_break(nir_if_last_else_block(nif));
      if (then_leaves == else_leaves)
         continue;
      const nir_scalar condition = nir_get_scalar(nif->condition.ssa, 0);
      const auto end = limit(condition, then_leaves, next),
                 end_of_counter = limit(condition, then_leaves, counter);
      const uint64_t last = end              ? *end - 1
                            : end_of_counter ? *end_of_counter - 1 + *step
                                             : INT32_MAX;
      // If the counter wrapped, a signed comparison would continue the loop.
      if (last + *step <= INT32_MAX)
         return saturated(std::max(first, last));
   }
   return UINT32_MAX;
}

uint32_t alu_bound(const nir_scalar &s, unsigned depth)
{
   const nir_op op = nir_scalar_alu_op(s);
   const auto bound = [&](unsigned i) -> uint64_t { return bound_of(source(s, i), depth + 1); };
   const auto constant = [&](unsigned i) -> std::optional<uint64_t> {
      const nir_scalar x = source(s, i);
      return nir_scalar_is_const(x) ? std::optional(nir_scalar_as_uint(x)) : std::nullopt;
   };
   switch (op) {
   case nir_op_mov:
   case nir_op_u2u32:
      return saturated(bound(0));
   case nir_op_iadd:
   case nir_op_ior: // at most the sum
      return saturated(bound(0) + bound(1));
   case nir_op_imul:
      return saturated(bound(0) * bound(1));
   case nir_op_umin:
      return saturated(std::min(bound(0), bound(1)));
   case nir_op_iand:
      // Clearing low bits keeps the order of numbers.
      if (const auto mask = constant(1); mask && std::has_single_bit(~uint32_t(*mask) + 1))
         return bound(0) & uint32_t(*mask);
      return saturated(std::min(bound(0), bound(1)));
   case nir_op_ishl:
      return constant(1) ? saturated(bound(0) << (*constant(1) & 31)) : UINT32_MAX;
   case nir_op_ushr:
      return constant(1) ? saturated(bound(0) >> (*constant(1) & 31)) : saturated(bound(0));
   case nir_op_udiv:
      return constant(1) && *constant(1) ? saturated(bound(0) / *constant(1)) : UINT32_MAX;
   case nir_op_umod:
      return constant(1) && *constant(1) ? saturated(*constant(1) - 1) : UINT32_MAX;
   case nir_op_bcsel:
      return saturated(std::max(bound(1), bound(2)));
   default:
      return UINT32_MAX;
   }
}

uint32_t bound_of(const nir_scalar &s, unsigned depth)
{
   if (s.def->bit_size != 32 || depth == max_depth)
      return UINT32_MAX;
   if (nir_scalar_is_const(s))
      return uint32_t(nir_scalar_as_uint(s));
   if (nir_scalar_is_alu(s))
      return alu_bound(s, depth);
   nir_instr *instr = s.def->parent_instr;
   return instr->type == nir_instr_type_phi ? counter_bound(nir_instr_as_phi(instr), depth)
                                            : UINT32_MAX;
}

} // namespace

uint32_t largest_value(const nir_scalar &s)
{
   return bound_of(nir_scalar_chase_movs(s), 0);
}

} // namespace weft::cpu
