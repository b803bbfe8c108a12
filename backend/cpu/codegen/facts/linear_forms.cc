// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/linear_forms.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace weft::cpu {

/// Represents a right shift or a mask as the first such operation on a comparable sum, plus a
/// constant.
bool LinearForms::add_operation(LinearForm &form, const nir_scalar &x, uint32_t factor)
{
   const nir_op op = nir_scalar_alu_op(x);
   const nir_scalar operand = nir_scalar_chase_alu_src(x, 1);
   if (!nir_scalar_is_const(operand))
      return false;
   uint32_t number = uint32_t(nir_scalar_as_uint(operand));
   uint32_t let_through; // the operation passes multiples of this
   if (op == nir_op_ushr) {
      number &= 31;
      let_through = 1u << number;
   } else if (std::has_single_bit(number + 1)) {
      let_through = number + 1;
   } else if (std::has_single_bit(-number)) {
      let_through = -number;
   } else {
      return false;
   }
   const nir_scalar source = nir_scalar_chase_alu_src(x, 0);
   LinearForm sum;
   add_to(sum, source, 1);
   const uint32_t high = sum.constant & ~(let_through - 1);
   const auto [found, is_new] = operations.try_emplace({op, number, sum.terms, sum.constant - high},
                                                       First{x, source, high, sum.assumptions});
   const First &first = found->second;
   const uint32_t further = high - first.high;
   constexpr uint32_t max_distance = 1u << 29;
   if (further >= max_distance)
      return false;
   form.terms[{first.result.def, first.result.comp}] += factor;
   if (op == nir_op_ushr) {
      form.constant += (further >> number) * factor;
      // Assumes that no sum between the first one and this one wraps around.
      if (further)
         form.assumptions.push_back({first.source.def, first.source.comp, 3u << 30});
   } else if (let_through != number + 1) {
      form.constant += further * factor;
   }
   std::ranges::copy(sum.assumptions, std::back_inserter(form.assumptions));
   std::ranges::copy(first.assumptions, std::back_inserter(form.assumptions));
   return true;
}

void LinearForms::add_to(LinearForm &form, nir_scalar x, uint32_t factor)
{
   constexpr unsigned max_steps = 128;
   const Residue &first = offsets.offsets(x).first;
   if (first.bits >= 32) {
      form.constant += uint32_t(first.value) * factor;
      return;
   }
   x = nir_scalar_chase_movs(x);
   if (nir_scalar_is_alu(x) && steps++ < max_steps) {
      const auto source = [&](unsigned i) { return nir_scalar_chase_alu_src(x, i); };
      const auto add = [&](unsigned i, uint32_t times) { add_to(form, source(i), factor * times); };
      const auto constant = [&](unsigned i) { return uint32_t(nir_scalar_as_uint(source(i))); };
      switch (nir_scalar_alu_op(x)) {
      case nir_op_iadd:
         add(0, 1);
         add(1, 1);
         return;
      case nir_op_isub:
         add(0, 1);
         add(1, uint32_t(-1));
         return;
      case nir_op_ineg:
         add(0, uint32_t(-1));
         return;
      case nir_op_imul:
         for (unsigned i = 0; i < 2; i++) {
            if (nir_scalar_is_const(source(i)))
               return add(1 - i, constant(i));
         }
         break;
      case nir_op_ishl:
         if (nir_scalar_is_const(source(1)))
            return add(0, uint32_t(1) << (constant(1) & 31));
         break;
      case nir_op_ushr:
      case nir_op_iand:
         if (add_operation(form, x, factor))
            return;
         break;
      default:
         break;
      }
   }
   form.terms[{x.def, x.comp}] += factor;
}

LinearForm LinearForms::of(const nir_scalar &x)
{
   LinearForm form;
   steps = 0;
   add_to(form, x, 1);
   return form;
}

} // namespace weft::cpu
