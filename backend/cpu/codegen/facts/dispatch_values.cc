// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/dispatch_values.h"

extern "C" {
#include "compiler/nir/nir_constant_expressions.h"
}

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::cpu {

namespace {

using Kind = DispatchExpression::Kind;

uint64_t all_ones(unsigned bits)
{
   return UINT64_MAX >> (64 - bits);
}

ValueRange any_of(unsigned bits)
{
   return {0, all_ones(bits)};
}

/// Whether the result and the operands are scalars, and an expression has room for the operands.
bool takes_scalars(const nir_op_info &info)
{
   return info.output_size <= 1 && info.num_inputs <= std::size(DispatchExpression().sources) &&
          std::all_of(info.input_sizes, info.input_sizes + info.num_inputs,
                      [](uint8_t size) { return size <= 1; });
}

/// Whether one known source may determine the result.
bool knows_by_one(nir_op op, unsigned bits)
{
   return bits == 1 && (op == nir_op_iand || op == nir_op_ior);
}

} // namespace

DispatchExpressions::DispatchExpressions(const nir_shader *shader, uint32_t subgroup_size)
    : W(subgroup_size), invocations(uint32_t(shader->info.workgroup_size[0]) *
                                    shader->info.workgroup_size[1] * shader->info.workgroup_size[2])
{
}

uint32_t DispatchExpressions::append(const DispatchExpression &expression, bool depends_on_dispatch,
                                     bool is_followed)
{
   expressions.push_back(expression);
   depends.push_back(depends_on_dispatch);
   follows.push_back(is_followed);
   bool one_differs = expression.kind == Kind::workgroup_id;
   for (unsigned i = 0;
        expression.kind == Kind::operation && i < nir_op_infos[expression.op].num_inputs; i++)
      one_differs |= differs[expression.sources[i]];
   differs.push_back(one_differs);
   return uint32_t(expressions.size() - 1);
}

uint32_t DispatchExpressions::add(const nir_scalar &scalar)
{
   const nir_scalar s = nir_scalar_chase_movs(scalar);
   const std::pair<const nir_def *, unsigned> key(s.def, s.comp);
   if (const auto found = numbers.find(key); found != numbers.end())
      return found->second;
   const uint32_t number = add_new(s);
   numbers[key] = number;
   return number;
}

uint32_t DispatchExpressions::add_new(const nir_scalar &s)
{
   const auto bits = uint8_t(s.def->bit_size);
   if (nir_scalar_is_const(s))
      return append({Kind::constant, bits, 0, {}, nir_scalar_as_uint(s)}, false, true);
   const nir_instr *instr = s.def->parent_instr;
   if (instr->type == nir_instr_type_intrinsic)
      return add_intrinsic(nir_instr_as_intrinsic(const_cast<nir_instr *>(instr)), s);
   if (instr->type == nir_instr_type_alu)
      return add_operation(s);
   return append({Kind::any, bits}, false, false);
}

uint32_t DispatchExpressions::add_intrinsic(const nir_intrinsic_instr *intrinsic,
                                            const nir_scalar &s)
{
   const auto bits = uint8_t(s.def->bit_size);
   switch (intrinsic->intrinsic) {
   case nir_intrinsic_load_push_constant:
      if (!nir_src_is_const(intrinsic->src[0]))
         break;
      return append({Kind::push_constant,
                     bits,
                     0,
                     {},
                     nir_intrinsic_base(intrinsic) + nir_src_as_uint(intrinsic->src[0]) +
                        uint64_t(s.comp) * bits / 8},
                    true, true);
   case nir_intrinsic_load_workgroup_id:
      return append({Kind::workgroup_id, bits, 0, {}, s.comp}, true, true);
   case nir_intrinsic_load_num_workgroups:
      return append({Kind::num_workgroups, bits, 0, {}, s.comp}, true, true);
   case nir_intrinsic_load_subgroup_id:
      return append({Kind::invocation, bits, 0, {}, DIV_ROUND_UP(invocations, W)}, false, true);
   case nir_intrinsic_load_subgroup_invocation:
      return append({Kind::invocation, bits, 0, {}, std::min(W, invocations)}, false, true);
   default:
      break;
   }
   return append({Kind::any, bits}, false, false);
}

uint32_t DispatchExpressions::add_operation(const nir_scalar &s)
{
   const nir_op op = nir_scalar_alu_op(s);
   const nir_op_info &info = nir_op_infos[op];
   const auto bits = uint8_t(s.def->bit_size);
   if (!takes_scalars(info))
      return append({Kind::any, bits}, false, false);
   DispatchExpression expression = {Kind::operation, bits, uint16_t(op), {}, 0};
   bool one_depends = false, all_follow = true, one_follows = false;
   for (unsigned i = 0; i < info.num_inputs; i++) {
      const uint32_t source = add(nir_scalar_chase_alu_src(s, i));
      expression.sources[i] = source;
      one_depends |= depends[source];
      all_follow &= follows[source];
      one_follows |= may_be_known(source);
   }
   return append(expression, one_depends, all_follow || (one_follows && knows_by_one(op, bits)));
}

namespace {

/// A range of two's-complement numbers. A range with both signs would be two ranges and is not
/// represented.
struct SignedRange {
   int64_t low, high;
};

std::optional<SignedRange> as_signed(const ValueRange &r, unsigned bits)
{
   const uint64_t sign = uint64_t(1) << (bits - 1);
   if ((r.low & sign) != (r.high & sign))
      return std::nullopt;
   const auto extend = [&](uint64_t v) { return int64_t(v << (64 - bits)) >> (64 - bits); };
   return SignedRange{extend(r.low), extend(r.high)};
}

/// The range of a boolean that may be true, false or either.
ValueRange boolean(bool is_true, bool is_false)
{
   return {is_true ? 1u : 0u, is_false ? 0u : 1u};
}

/// Evaluates an operation on ranges of numbers of up to 32 bits.
struct RangeOperation {
   nir_op op;
   unsigned bits, source_bits;
   ValueRange a, b, c; ///< ranges of the operands, as many as the operation has

   ValueRange any() const { return any_of(bits); }

   /// The range of a sum or difference computed in more bits, if all its values wrap equally often.
   ValueRange wrapped(uint64_t low, uint64_t high) const
   {
      return low >> bits == high >> bits ? ValueRange{low & all_ones(bits), high & all_ones(bits)}
                                         : any();
   }
   ValueRange fitting(uint64_t low, uint64_t high) const
   {
      return high <= all_ones(bits) ? ValueRange{low, high} : any();
   }
   template <typename Less>
   ValueRange compared(Less less) const
   {
      return boolean(less(a.high, b.low), !less(a.low, b.high));
   }
   bool is_positive(const ValueRange &r) const { return r.high >> (source_bits - 1) == 0; }

   ValueRange signed_less(bool or_equal_negated) const
   {
      const auto x = as_signed(a, source_bits), y = as_signed(b, source_bits);
      if (!x || !y)
         return any();
      const ValueRange less = boolean(x->high < y->low, x->low >= y->high);
      return or_equal_negated ? ValueRange{1 - less.high, 1 - less.low} : less;
   }
   ValueRange quotient() const
   {
      return b.low ? ValueRange{a.low / b.high, a.high / b.low} : any();
   }
   ValueRange remainder() const
   {
      if (b.low == 0)
         return any();
      return a.high < b.low ? a : ValueRange{0, std::min(a.high, b.high - 1)};
   }

   ValueRange result() const;
};

ValueRange RangeOperation::result() const
{
   switch (op) {
   case nir_op_iadd:
      return wrapped(a.low + b.low, a.high + b.high);
   case nir_op_isub: {
      const uint64_t wrap = all_ones(bits) + 1;
      return wrapped(wrap + a.low - b.high, wrap + a.high - b.low);
   }
   case nir_op_ineg: {
      const uint64_t wrap = all_ones(bits) + 1;
      return wrapped(wrap - a.high, wrap - a.low);
   }
   case nir_op_imul:
      return fitting(a.low * b.low, a.high * b.high);
   case nir_op_ishl:
      return b.is_known() ? fitting(a.low << (b.low % bits), a.high << (b.low % bits)) : any();
   case nir_op_ishr:
      if (!is_positive(a))
         return any();
      [[fallthrough]];
   case nir_op_ushr:
      return b.is_known() ? ValueRange{a.low >> (b.low % bits), a.high >> (b.low % bits)}
                          : ValueRange{0, a.high};
   case nir_op_idiv:
   case nir_op_irem:
   case nir_op_imod:
      if (!is_positive(a) || !is_positive(b))
         return any();
      return op == nir_op_idiv ? quotient() : remainder();
   case nir_op_udiv:
      return quotient();
   case nir_op_umod:
      return remainder();
   case nir_op_imin:
   case nir_op_imax:
      if (!is_positive(a) || !is_positive(b))
         return any();
      return op == nir_op_imin ? ValueRange{std::min(a.low, b.low), std::min(a.high, b.high)}
                               : ValueRange{std::max(a.low, b.low), std::max(a.high, b.high)};
   case nir_op_umin:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
   case nir_op_umax:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
   case nir_op_iand:
      return bits == 1 ? ValueRange{a.low & b.low, a.high & b.high}
                       : ValueRange{0, std::min(a.high, b.high)};
   case nir_op_ior:
      return {std::max(a.low, b.low), std::bit_ceil((a.high | b.high) + 1) - 1};
   case nir_op_inot:
      return {all_ones(bits) - a.high, all_ones(bits) - a.low};
   case nir_op_ult:
      return compared([](uint64_t x, uint64_t y) { return x < y; });
   case nir_op_uge: {
      const ValueRange less = compared([](uint64_t x, uint64_t y) { return x < y; });
      return {1 - less.high, 1 - less.low};
   }
   case nir_op_ilt:
      return signed_less(false);
   case nir_op_ige:
      return signed_less(true);
   case nir_op_ieq:
      return boolean(a.is_known() && a == b, a.high < b.low || b.high < a.low);
   case nir_op_ine:
      return boolean(a.high < b.low || b.high < a.low, a.is_known() && a == b);
   case nir_op_bcsel:
      if (a.is_known())
         return a.low ? b : c;
      return {std::min(b.low, c.low), std::max(b.high, c.high)};
   case nir_op_b2i8:
   case nir_op_b2i16:
   case nir_op_b2i32:
   case nir_op_u2u8:
   case nir_op_u2u16:
   case nir_op_u2u32:
      return fitting(a.low, a.high);
   case nir_op_i2i8:
   case nir_op_i2i16:
   case nir_op_i2i32:
      return is_positive(a) ? fitting(a.low, a.high) : any();
   default:
      return any();
   }
}

/// Evaluation in C would trap for the least number divided by -1.
bool may_trap(nir_op op)
{
   return op == nir_op_idiv || op == nir_op_irem || op == nir_op_imod;
}

/// Evaluates an operation whose sources are all known.
ValueRange compute(const DispatchExpression &e, const nir_op_info &info,
                   std::span<const DispatchExpression> all, std::span<const ValueRange> ranges)
{
   nir_const_value sources[3], result = {}, *pointers[3];
   // Follows nir_opt_constant_folding().
   unsigned bit_size = nir_alu_type_get_type_size(info.output_type) ? 0 : e.bits;
   for (unsigned i = 0; i < info.num_inputs; i++) {
      const unsigned bits = all[e.sources[i]].bits;
      if (bit_size == 0 && !nir_alu_type_get_type_size(info.input_types[i]))
         bit_size = bits;
      sources[i] = nir_const_value_for_raw_uint(ranges[e.sources[i]].low, bits);
      pointers[i] = &sources[i];
   }
   nir_eval_const_opcode(nir_op(e.op), &result, 1, bit_size ? bit_size : 32, pointers, 0);
   const uint64_t value = nir_const_value_as_uint(result, e.bits);
   return {value, value};
}

ValueRange range_of(const DispatchExpression &e, std::span<const DispatchExpression> all,
                    std::span<const ValueRange> ranges)
{
   const auto op = nir_op(e.op);
   const nir_op_info &info = nir_op_infos[op];
   bool known = !may_trap(op), small = e.bits <= 32;
   for (unsigned i = 0; i < info.num_inputs; i++) {
      known &= ranges[e.sources[i]].is_known();
      small &= all[e.sources[i]].bits <= 32;
   }
   if (known)
      return compute(e, info, all, ranges);
   if (!small)
      return any_of(e.bits);
   return RangeOperation{op,
                         e.bits,
                         all[e.sources[0]].bits,
                         ranges[e.sources[0]],
                         ranges[e.sources[1]],
                         ranges[e.sources[2]]}
      .result();
}

} // namespace

WorkgroupRanges all_workgroups(const DispatchFacts &facts)
{
   WorkgroupRanges ranges;
   for (unsigned d = 0; d < 3; d++) {
      const uint64_t base = facts.base_workgroup[d], count = facts.num_workgroups[d];
      ranges[d] = count ? ValueRange{base, base + count - 1} : any_of(32);
   }
   return ranges;
}

std::vector<ValueRange> evaluate(std::span<const DispatchExpression> expressions,
                                 const DispatchFacts &facts, const WorkgroupRanges &workgroups)
{
   std::vector<ValueRange> ranges;
   ranges.reserve(expressions.size());
   for (const DispatchExpression &e : expressions) {
      ValueRange range = any_of(e.bits);
      switch (e.kind) {
      case Kind::any:
         break;
      case Kind::constant:
         range = {e.value, e.value};
         break;
      case Kind::push_constant:
         if (e.value + e.bits / 8 <= facts.push_constants.size()) {
            uint64_t value = 0;
            memcpy(&value, facts.push_constants.data() + e.value, e.bits / 8);
            range = {value, value};
         }
         break;
      case Kind::workgroup_id:
         range = workgroups[e.value];
         break;
      case Kind::num_workgroups:
         if (facts.num_workgroups[e.value])
            range = {facts.num_workgroups[e.value], facts.num_workgroups[e.value]};
         break;
      case Kind::invocation:
         range = {0, e.value - 1};
         break;
      case Kind::operation:
         range = range_of(e, expressions, ranges);
         break;
      }
      ranges.push_back(range);
   }
   return ranges;
}

} // namespace weft::cpu
