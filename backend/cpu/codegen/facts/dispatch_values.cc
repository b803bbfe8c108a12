// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/dispatch_values.h"

#include "backend/cpu/abi.h"
#include "nir_passes/memory/lower_descriptors.h"

extern "C" {
#include "compiler/nir/nir_constant_expressions.h"
}

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::cpu {

namespace {

using Kind = DispatchExpression::Kind;

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

uint32_t DispatchExpressions::add_multiple_of_workgroups(uint32_t multiple, uint32_t least)
{
   const auto constant = [&](uint32_t value) {
      return append({Kind::constant, 32, 0, {}, value}, false, true);
   };
   const auto operation = [&](nir_op op, uint8_t bits, uint32_t a, uint32_t b) {
      return append({Kind::operation, bits, uint16_t(op), {a, b}, 0}, true, true);
   };
   const uint32_t count = append({Kind::num_workgroups, 32, 0, {}, 0}, true, true);
   const uint32_t rest = operation(nir_op_iand, 32, count, constant(multiple - 1));
   const uint32_t is_multiple = operation(nir_op_ieq, 1, rest, constant(0));
   const uint32_t is_enough = operation(nir_op_uge, 1, count, constant(least));
   return operation(nir_op_iand, 1, is_multiple, is_enough);
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
   case nir_intrinsic_load_ubo:
      return add_descriptor(s);
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

uint32_t DispatchExpressions::add_descriptor(const nir_scalar &s)
{
   const auto bits = uint8_t(s.def->bit_size);
   const std::optional<uint64_t> place = descriptor_place(s);
   return place ? append({Kind::descriptor, bits, 0, {}, *place}, true, true)
                : append({Kind::any, bits}, false, false);
}

uint32_t DispatchExpressions::add_operation(const nir_scalar &s)
{
   const nir_op op = nir_scalar_alu_op(s);
   const nir_op_info &info = nir_op_infos[op];
   const auto bits = uint8_t(s.def->bit_size);
   if (!takes_few_scalars(info))
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

bool follows_from_descriptors(const nir_scalar &scalar, unsigned depth)
{
   const nir_scalar s = nir_scalar_chase_movs(scalar);
   if (nir_scalar_is_const(s) || descriptor_place(s))
      return true;
   if (!nir_scalar_is_alu(s) || depth == 0)
      return false;
   const nir_op_info &info = nir_op_infos[nir_scalar_alu_op(s)];
   for (unsigned i = 0; takes_few_scalars(info) && i < info.num_inputs; i++) {
      if (!follows_from_descriptors(nir_scalar_chase_alu_src(s, i), depth - 1))
         return false;
   }
   return takes_few_scalars(info);
}

} // namespace

bool follows_from_descriptors(const nir_scalar &scalar)
{
   constexpr unsigned max_depth = 6; // lower_images.h: conditions on formats are smaller
   return follows_from_descriptors(scalar, max_depth);
}

namespace {

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
   return range_of_result(op, e.bits, all[e.sources[0]].bits,
                          {ranges[e.sources[0]], ranges[e.sources[1]], ranges[e.sources[2]]});
}

} // namespace

std::optional<uint64_t> descriptor_place(const nir_scalar &x)
{
   if (!nir_scalar_is_intrinsic(x) || nir_scalar_intrinsic_op(x) != nir_intrinsic_load_ubo)
      return {};
   const nir_intrinsic_instr *load = nir_instr_as_intrinsic(x.def->parent_instr);
   const nir_scalar slot = nir_scalar_chase_movs(nir_get_scalar(load->src[0].ssa, 0)),
                    begin = nir_scalar_chase_movs(nir_get_scalar(load->src[0].ssa, 1));
   if (!nir_scalar_is_const(slot) || !nir_scalar_is_const(begin) || !nir_src_is_const(load->src[1]))
      return {};
   const auto flags = uint32_t(nir_scalar_as_uint(slot));
   if (!(flags & inline_data_slot) || inline_bytes(flags) != unbounded_inline_bytes ||
       (flags & optional_slot) || slot_number(flags) >= max_sets)
      return {};
   const uint64_t byte = nir_scalar_as_uint(begin) + nir_src_as_uint(load->src[1]) +
                         uint64_t(x.comp) * x.def->bit_size / 8;
   return uint64_t(slot_number(flags)) << 32 | uint32_t(byte);
}

std::optional<uint64_t> descriptor_word(const DispatchExpression &e, const DispatchFacts &facts)
{
   const std::span<const std::byte> set = facts.sets[e.value >> 32];
   const uint64_t byte = uint32_t(e.value);
   if (byte + e.bits / 8 > set.size())
      return {};
   uint64_t word = 0;
   memcpy(&word, set.data() + byte, e.bits / 8);
   return word;
}

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
      case Kind::descriptor:
         if (const std::optional<uint64_t> word = descriptor_word(e, facts))
            range = {*word, *word};
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
