// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/implied_values.h"

#include "backend/cpu/codegen/facts/dispatch_values.h"

#include <functional>
#include <optional>
#include <vector>

namespace weft::cpu {

namespace {

/// The place of a push constant or of a word of a descriptor; nothing for other values.
std::optional<uint64_t> place_of(const nir_scalar &x)
{
   constexpr uint64_t in_descriptors = uint64_t(1) << 63;
   if (const std::optional<uint64_t> place = descriptor_place(x))
      return in_descriptors | *place;
   if (!nir_scalar_is_intrinsic(x) ||
       nir_scalar_intrinsic_op(x) != nir_intrinsic_load_push_constant)
      return {};
   const nir_intrinsic_instr *load = nir_instr_as_intrinsic(x.def->parent_instr);
   if (!nir_src_is_const(load->src[0]))
      return {};
   return nir_intrinsic_base(load) + nir_src_as_uint(load->src[0]) +
          uint64_t(x.comp) * x.def->bit_size / 8;
}

/// The scalar and, if it is a push constant or a word of a descriptor, all other loads of it.
std::vector<nir_scalar> all_of(nir_function_impl *impl, const nir_scalar &x)
{
   const std::optional<uint64_t> byte = place_of(x);
   if (!byte)
      return {x};
   std::vector<nir_scalar> all;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         nir_def *def = nir_instr_def(instr);
         for (unsigned c = 0; def && c < def->num_components; c++) {
            const nir_scalar same = {def, c};
            if (def->bit_size == x.def->bit_size && place_of(same) == byte)
               all.push_back(same);
         }
      }
   }
   return all;
}

struct Replacer {
   nir_builder *b;

   /// Replaces the uses of a scalar by a value that is computed from it.
   void replace(const nir_scalar &x, const std::function<nir_def *(nir_def *)> &compute)
   {
      if (nir_scalar_is_const(x))
         return;
      for (const nir_scalar &same : all_of(b->impl, x)) {
         b->cursor = nir_after_instr_and_phis(same.def->parent_instr);
         nir_def *value = compute(nir_channel(b, same.def, same.comp));
         if (same.def->num_components > 1)
            value = nir_vector_insert_imm(b, same.def, value, same.comp);
         nir_def_rewrite_uses_after(same.def, value, value->parent_instr);
      }
   }

   void condition(const nir_scalar &x, bool value, unsigned depth = 0)
   {
      constexpr unsigned max_depth = 32;
      const nir_scalar s = nir_scalar_chase_movs(x);
      if (depth == max_depth || !nir_scalar_is_alu(s))
         return;
      const auto source = [&](unsigned i) {
         return nir_scalar_chase_movs(nir_scalar_chase_alu_src(s, i));
      };
      switch (nir_scalar_alu_op(s)) {
      case nir_op_inot:
         condition(source(0), !value, depth + 1);
         break;
      case nir_op_iand:
      case nir_op_ior:
         if (value == (nir_scalar_alu_op(s) == nir_op_iand)) {
            condition(source(0), value, depth + 1);
            condition(source(1), value, depth + 1);
         }
         break;
      case nir_op_ieq:
      case nir_op_ine:
         if (value == (nir_scalar_alu_op(s) == nir_op_ieq)) {
            equal(source(0), source(1));
            equal(source(1), source(0));
         }
         break;
      default:
         break;
      }
      replace(s, [&](nir_def *) { return nir_imm_bool(b, value); });
   }

   void equal(const nir_scalar &x, const nir_scalar &constant)
   {
      if (!nir_scalar_is_const(constant))
         return;
      const uint64_t value = nir_scalar_as_uint(constant);
      if (value == 0 && nir_scalar_is_alu(x) && nir_scalar_alu_op(x) == nir_op_iand) {
         for (const unsigned i : {0u, 1u}) {
            const nir_scalar mask = nir_scalar_chase_alu_src(x, i);
            if (nir_scalar_is_const(mask))
               clear(nir_scalar_chase_movs(nir_scalar_chase_alu_src(x, 1 - i)),
                     nir_scalar_as_uint(mask));
         }
      }
      const unsigned bits = x.def->bit_size;
      replace(x, [&](nir_def *) { return nir_imm_intN_t(b, value, bits); });
   }

   /// Shows that the bits of the mask are 0.
   void clear(const nir_scalar &x, uint64_t mask)
   {
      replace(x, [&](nir_def *value) { return nir_iand_imm(b, value, ~mask); });
   }
};

} // namespace

void replace_implied_values(nir_builder *b, nir_scalar condition, bool value)
{
   Replacer{b}.condition(condition, value);
}

} // namespace weft::cpu
