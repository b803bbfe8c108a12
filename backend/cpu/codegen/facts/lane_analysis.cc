// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A forward data-flow analysis. Every value starts as "anything is possible" (Top) and only loses
/// knowledge, so that loops converge: the counter of `for (i = lane; i < n; i += 64)` keeps its
/// step of 1.
///
/// Division, masks and right shifts need more than steps: no carry may pass a certain bit. In a
/// group whose first value is a multiple of 2^a, adding less than 2^a changes only the lowest a
/// bits. So with alignment 4
///
///   value   16 17 18 19 | 20 21 22 23     group 4, step 1, align 4
///   / 4      4  4  4  4 |  5  5  5  5     group 4, step 0
///   % 4      0  1  2  3 |  0  1  2  3     group 4, step 1
///   % 2      0  1  0  1 |  0  1  0  1     group 2, step 1: half the group at once

#include "backend/cpu/codegen/facts/lane_analysis.h"

#include "util/u_math.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <optional>

namespace weft::cpu {

namespace {

constexpr uint32_t top_group = 0; ///< not a pattern yet: no source has been visited
constexpr uint32_t max_align = 31;

uint32_t trailing_zeros(uint64_t v)
{
   return v == 0 ? max_align : std::min<uint32_t>(uint32_t(std::countr_zero(v)), max_align);
}

struct PatternFinder {
   uint32_t W;
   const std::vector<uint32_t> &first;
   std::vector<LanePattern> &patterns;
   IntegerRanges &ranges;
   bool changed = false;

   LanePattern get(const nir_def &def, unsigned component) const
   {
      return patterns[first[def.index] + component];
   }
   void set(const nir_def &def, unsigned component, LanePattern p)
   {
      // Ensures that adding less than the alignment neither wraps nor changes the sign.
      p.log2_align = std::min<uint32_t>(p.log2_align, def.bit_size - 1u);
      LanePattern &old = patterns[first[def.index] + component];
      if (old == p)
         return;
      old = p;
      changed = true;
   }
   LanePattern unknown() const { return {1, 0, 0}; }

   void visit(nir_instr *);
   void visit_intrinsic(nir_intrinsic_instr *);
   void visit_alu(nir_alu_instr *);
   void visit_phi(nir_phi_instr *);
   LanePattern alu(nir_alu_instr *, unsigned component);
};

LanePattern add(LanePattern a, LanePattern b, int sign, unsigned bits)
{
   const uint32_t group = std::min(a.group, b.group);
   a = shrink(a, group);
   b = shrink(b, group);
   return {group, wrap(uint64_t(a.step) + uint64_t(sign) * uint64_t(b.step), bits),
           std::min(a.log2_align, b.log2_align)};
}

LanePattern multiply(LanePattern a, uint64_t constant, unsigned bits)
{
   const uint32_t align = std::min(a.log2_align + trailing_zeros(constant), max_align);
   return {a.group, wrap(uint64_t(a.step) * constant, bits), align};
}

/// The knowledge that both patterns imply.
LanePattern meet(LanePattern a, LanePattern b)
{
   if (a.group == top_group)
      return b;
   if (b.group == top_group)
      return a;
   for (uint32_t group = std::min(a.group, b.group); group > 1; group /= 2) {
      const LanePattern x = shrink(a, group), y = shrink(b, group);
      if (x.step == y.step)
         return {group, x.step, std::min(x.log2_align, y.log2_align)};
   }
   return {1, 0, std::min(shrink(a, 1).log2_align, shrink(b, 1).log2_align)};
}

/// The pattern that `f` finds for the largest possible group.
LanePattern largest(LanePattern p, const std::function<std::optional<LanePattern>(LanePattern)> &f)
{
   for (uint32_t group = p.group; group > 1; group /= 2) {
      if (auto result = f(shrink(p, group)))
         return *result;
   }
   const auto single = f(shrink(p, 1));
   return single ? *single : LanePattern{1, 0, 0};
}

/// The extent of a group's values: v[l] - v[first] < extent.
uint64_t extent(LanePattern p)
{
   return uint64_t(p.step) * (p.group - 1) + 1;
}

/// Whether adding the steps to a group's first value never carries into bit log2_align.
bool stays_below_align(LanePattern p)
{
   return p.step >= 0 && p.step < (1 << 24) && extent(p) <= uint64_t(1) << p.log2_align;
}

/// A group's extent, rounded up to a power of two. Only for patterns that stay below their
/// alignment: the extent of negative steps, for instance, does not fit 64 bits.
uint64_t span(LanePattern p)
{
   assert(stays_below_align(p));
   return std::bit_ceil(extent(p));
}

LanePattern divide(LanePattern p, uint64_t d, bool no_wrap)
{
   return largest(p, [&](LanePattern q) -> std::optional<LanePattern> {
      const uint32_t align = std::has_single_bit(d) && q.log2_align > trailing_zeros(d)
                                ? q.log2_align - trailing_zeros(d)
                                : 0;
      if (q.step == 0)
         return LanePattern{q.group, 0, align};
      if (q.step > 0 && uint64_t(q.step) % d == 0 && (no_wrap || stays_below_align(q)))
         return LanePattern{q.group, int64_t(uint64_t(q.step) / d), align};
      // If d is a multiple of the span, the group lies within one multiple of d.
      if (stays_below_align(q) && d % span(q) == 0)
         return LanePattern{q.group, 0, align};
      return std::nullopt;
   });
}

LanePattern modulo(LanePattern p, uint64_t d)
{
   return largest(p, [&](LanePattern q) -> std::optional<LanePattern> {
      const uint32_t align = std::min(q.log2_align, trailing_zeros(d));
      if (q.step == 0)
         return LanePattern{q.group, 0, align};
      if (std::has_single_bit(d) && uint64_t(q.step) % d == 0)
         return LanePattern{q.group, 0, align};
      if (stays_below_align(q) && d % span(q) == 0)
         return LanePattern{q.group, q.step, align};
      return std::nullopt;
   });
}

LanePattern bit_and(LanePattern p, uint64_t mask, unsigned bits)
{
   const uint64_t value_mask = ~uint64_t(0) >> (64 - bits);
   return largest(p, [&](LanePattern q) -> std::optional<LanePattern> {
      const uint32_t align = std::max(q.log2_align, trailing_zeros(mask));
      if (q.step == 0)
         return LanePattern{q.group, 0, align};
      if (std::has_single_bit(mask + 1) && uint64_t(q.step) % (mask + 1) == 0)
         return LanePattern{q.group, 0, std::min(align, max_align)};
      // The mask keeps all bits that the steps change.
      const uint64_t low = mask & -mask;
      if (((mask + low) & value_mask) == 0 && uint64_t(q.step) % low == 0)
         return LanePattern{q.group, q.step, align};
      if (!stays_below_align(q))
         return std::nullopt;
      bool all = true, none = true;
      for (uint64_t i = 0; i < q.group; i++) {
         const uint64_t bits = i * uint64_t(q.step);
         all &= (bits & mask) == bits;
         none &= (bits & mask) == 0;
      }
      if (all)
         return LanePattern{q.group, q.step, align};
      if (none)
         return LanePattern{q.group, 0, align};
      return std::nullopt;
   });
}

/// Extends to more bits, where the narrow steps do not wrap around.
LanePattern extend(LanePattern p, bool no_wrap)
{
   return largest(p, [&](LanePattern q) -> std::optional<LanePattern> {
      if (q.step == 0 || stays_below_align(q) || (no_wrap && q.step > 0))
         return q;
      return std::nullopt;
   });
}

std::optional<uint64_t> constant_source(const nir_alu_instr *alu, unsigned i, unsigned component)
{
   if (!nir_src_is_const(alu->src[i].src))
      return std::nullopt;
   return nir_src_comp_as_uint(alu->src[i].src, alu->src[i].swizzle[component]);
}

LanePattern PatternFinder::alu(nir_alu_instr *instr, unsigned c)
{
   const nir_op_info &info = nir_op_infos[instr->op];
   const unsigned bits = instr->def.bit_size;
   if (nir_op_is_vec(instr->op))
      return get(*instr->src[c].src.ssa, instr->src[c].swizzle[0]);

   LanePattern s[NIR_ALU_MAX_INPUTS];
   uint32_t group = W;
   bool steady = true; // no source changes within a group
   for (unsigned i = 0; i < info.num_inputs; i++) {
      // Operations on whole vectors use all components.
      const unsigned n = info.input_sizes[i] ? info.input_sizes[i] : 1;
      for (unsigned k = 0; k < n; k++) {
         const LanePattern p =
            get(*instr->src[i].src.ssa, instr->src[i].swizzle[info.input_sizes[i] ? k : c]);
         if (p.group == top_group)
            return {top_group, 0, 0};
         group = std::min(group, p.step == 0 ? p.group : 1);
         steady &= p.step == 0;
         s[i] = p;
      }
   }
   const auto constant = [&](unsigned i) { return constant_source(instr, i, c); };
   const auto source = [&](unsigned i) {
      return nir_get_scalar(instr->src[i].src.ssa, instr->src[i].swizzle[c]);
   };
   const auto below_half = [&](unsigned i) { return ranges.is_below_half(source(i)); };
   switch (instr->op) {
   case nir_op_mov:
      return s[0];
   case nir_op_iadd:
      return add(s[0], s[1], 1, bits);
   case nir_op_isub:
      return add(s[0], s[1], -1, bits);
   case nir_op_ineg:
      return multiply(s[0], ~uint64_t(0), bits);
   case nir_op_imul:
      for (unsigned i = 0; i < 2; i++) {
         if (auto k = constant(i))
            return multiply(s[1 - i], *k, bits);
      }
      if (steady)
         return {group, 0, std::min(s[0].log2_align + s[1].log2_align, max_align)};
      break;
   case nir_op_ishl:
      if (auto k = constant(1))
         return multiply(s[0], uint64_t(1) << (*k & (bits - 1)), bits);
      break;
   case nir_op_ushr:
      if (auto k = constant(1))
         return divide(s[0], uint64_t(1) << (*k & (bits - 1)), below_half(0));
      break;
   case nir_op_ishr:
      if (auto k = constant(1); k && below_half(0))
         return divide(s[0], uint64_t(1) << (*k & (bits - 1)), true);
      break;
   case nir_op_udiv:
      if (auto k = constant(1); k && *k)
         return divide(s[0], *k, below_half(0));
      break;
   case nir_op_umod:
      if (auto k = constant(1); k && *k)
         return modulo(s[0], *k);
      break;
   case nir_op_iand:
      for (unsigned i = 0; i < 2 && bits > 1; i++) {
         if (auto k = constant(i))
            return bit_and(s[1 - i], *k, bits);
      }
      break;
   case nir_op_ior:
      // An OR of numbers without common bits is their sum.
      for (unsigned i = 0; i < 2 && bits > 1; i++) {
         const LanePattern high = s[1 - i];
         if (high.step == 0 && ranges.of(source(i)).high < uint64_t(1) << high.log2_align)
            return add(s[0], s[1], 1, bits);
      }
      break;
   case nir_op_u2u32:
   case nir_op_u2u64:
   case nir_op_u2u16:
   case nir_op_i2i32:
   case nir_op_i2i64:
   case nir_op_i2i16: {
      const unsigned from = instr->src[0].src.ssa->bit_size;
      if (from == 1)
         break;
      if (bits <= from) {
         s[0].step = wrap(uint64_t(s[0].step), bits);
         return s[0];
      }
      return extend(s[0], below_half(0));
   }
   case nir_op_bcsel:
      if (s[0].step == 0) {
         LanePattern p = meet(s[1], s[2]);
         return shrink(p, std::min(p.group, s[0].group));
      }
      break;
   default:
      break;
   }
   return {group, 0, 0};
}

void PatternFinder::visit_phi(nir_phi_instr *phi)
{
   for (unsigned c = 0; c < phi->def.num_components; c++) {
      LanePattern p{top_group, 0, 0};
      nir_foreach_phi_src(src, phi) p = meet(p, get(*src->src.ssa, c));
      if (joins_lanes(phi) && p.group != top_group)
         p = {1, 0, shrink(p, 1).log2_align};
      set(phi->def, c, p);
   }
}

void PatternFinder::visit_alu(nir_alu_instr *instr)
{
   for (unsigned c = 0; c < instr->def.num_components; c++)
      set(instr->def, c, alu(instr, c));
}

void PatternFinder::visit_intrinsic(nir_intrinsic_instr *intr)
{
   if (!nir_intrinsic_infos[intr->intrinsic].has_dest)
      return;
   for (unsigned c = 0; c < intr->def.num_components; c++) {
      LanePattern p = unknown();
      if (intr->intrinsic == nir_intrinsic_load_subgroup_invocation)
         p = {W, 1, max_align}; // lane 0 is 0
      else if (!intr->def.divergent)
         p = {W, 0, 0};
      set(intr->def, c, p);
   }
}

void PatternFinder::visit(nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_alu:
      return visit_alu(nir_instr_as_alu(instr));
   case nir_instr_type_phi:
      return visit_phi(nir_instr_as_phi(instr));
   case nir_instr_type_intrinsic:
      return visit_intrinsic(nir_instr_as_intrinsic(instr));
   case nir_instr_type_load_const: {
      nir_load_const_instr *load = nir_instr_as_load_const(instr);
      for (unsigned c = 0; c < load->def.num_components; c++)
         set(load->def, c,
             {W, 0, trailing_zeros(nir_const_value_as_uint(load->value[c], load->def.bit_size))});
      return;
   }
   case nir_instr_type_undef: {
      nir_undef_instr *undef = nir_instr_as_undef(instr);
      for (unsigned c = 0; c < undef->def.num_components; c++)
         set(undef->def, c, {W, 0, max_align}); // undef translates to zero
      return;
   }
   default:
      return;
   }
}

} // namespace

int64_t wrap(uint64_t v, unsigned bits)
{
   return util_mask_sign_extend(v, bits);
}

bool joins_lanes(const nir_phi_instr *phi)
{
   if (!phi->def.divergent)
      return false;
   nir_block *block = phi->instr.block;
   nir_cf_node *before = nir_cf_node_prev(&block->cf_node);
   if (before && before->type == nir_cf_node_if)
      return nir_cf_node_as_if(before)->condition.ssa->divergent &&
             exec_list_length(&phi->srcs) > 1;
   if (before && before->type == nir_cf_node_loop)
      return nir_cf_node_as_loop(before)->divergent_break;
   return nir_cf_node_as_loop(block->cf_node.parent)->divergent_continue;
}

LanePattern shrink(LanePattern p, uint32_t group)
{
   if (p.group == top_group || group >= p.group)
      return p;
   // The first values of the smaller groups are group * step apart.
   const uint32_t apart = p.step == 0 ? max_align : trailing_zeros(uint64_t(p.step) * group);
   return {group, group == 1 ? 0 : p.step, std::min(p.log2_align, apart)};
}

LaneAnalysis::LaneAnalysis(nir_shader *shader, uint32_t subgroup_size)
    : W(subgroup_size), integer_ranges(std::make_unique<IntegerRanges>(shader))
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   first.resize(impl->ssa_alloc);
   uint32_t count = 0;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (nir_def *def = nir_instr_def(instr)) {
            first[def->index] = count;
            count += def->num_components;
         }
      }
   }
   patterns.resize(count, {top_group, 0, 0});

   PatternFinder finder{W, first, patterns, *integer_ranges};
   do {
      finder.changed = false;
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block)
            finder.visit(instr);
      }
   } while (finder.changed);
   for (LanePattern &p : patterns) {
      if (p.group == top_group)
         p = {1, 0, 0}; // unreachable code
   }
}

LanePattern LaneAnalysis::pattern(const nir_def &def, uint32_t component) const
{
   if (!def.divergent)
      return {W, 0, patterns[number(def, component)].log2_align};
   return patterns[number(def, component)];
}

} // namespace weft::cpu
