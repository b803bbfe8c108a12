// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A forward data-flow analysis like lane_analysis: every value starts as "not seen yet" and only
/// loses knowledge.  With lane 0's value x a multiple of 2^k, and no sum that wraps around,
///
///    (x + d) >> k = (x >> k) + (d >> k)      (x + d) & (2^k - 1) = d & (2^k - 1)

#include "backend/cpu/codegen/lane_offsets.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace weft::cpu {

namespace {

/// Sums of a number whose two highest bits are 0 with less than this do not reach the highest bit.
int64_t max_span(const nir_scalar &x)
{
   return int64_t(1) << std::min(x.def->bit_size - 2, 30);
}

struct Analysis {
   nir_shader *shader;
   uint32_t W;
   const LaneAnalysis &patterns;
   std::vector<LaneOffsets> &values;
   std::vector<LaneAssumption> &assumptions;
   hash_table *ranges;
   std::vector<bool> seen;
   bool changed = false;

   LaneOffsets same() const { return {std::vector<int64_t>(W, 0), {}}; }

   void set(const nir_def &def, unsigned component, const LaneOffsets &value)
   {
      const uint32_t number = patterns.number(def, component);
      changed |= !seen[number] || values[number] != value;
      seen[number] = true;
      values[number] = value;
   }

   bool is_below_half(const nir_scalar &x)
   {
      return x.def->bit_size <= 32 && nir_unsigned_upper_bound(shader, ranges, x, nullptr) <
                                         uint64_t(1) << (x.def->bit_size - 1);
   }

   void add_assumption(LaneOffsets &result, const nir_scalar &x, uint64_t mask)
   {
      if (mask == 0)
         return;
      const LaneAssumption assumption = {x.def, x.comp, mask};
      auto found = std::ranges::find(assumptions, assumption);
      if (found == assumptions.end())
         found = assumptions.insert(assumptions.end(), assumption);
      const uint32_t numbers[] = {uint32_t(found - assumptions.begin())};
      merge(result, numbers);
   }

   static void merge(LaneOffsets &result, std::span<const uint32_t> numbers)
   {
      for (const uint32_t number : numbers) {
         const auto place = std::ranges::lower_bound(result.assumptions, number);
         if (place == result.assumptions.end() || *place != number)
            result.assumptions.insert(place, number);
      }
   }

   /// What is not known of x's lowest k bits being 0.
   uint64_t unknown_low_bits(const nir_scalar &x, unsigned k) const
   {
      const unsigned known = patterns.pattern(*x.def, x.comp).log2_align;
      return known >= k ? 0 : (uint64_t(1) << k) - 1;
   }

   void run(nir_function_impl *impl)
   {
      do {
         changed = false;
         nir_foreach_block(block, impl) {
            nir_foreach_instr(instr, block)
               visit(instr);
         }
      } while (changed);
   }

   void visit(nir_instr *);
   void visit_phi(nir_phi_instr *);
   std::optional<LaneOffsets> alu(nir_alu_instr *, unsigned component);
   LaneOffsets shift(const nir_scalar &x, LaneOffsets value, unsigned k);
   LaneOffsets mask(const nir_scalar &x, LaneOffsets value, uint64_t mask);
   LaneOffsets widen(const nir_scalar &x, LaneOffsets value);
};

bool are_multiples(std::span<const int64_t> numbers, uint64_t power)
{
   return std::ranges::all_of(numbers, [&](int64_t n) { return (uint64_t(n) & (power - 1)) == 0; });
}

bool are_same(const LaneOffsets &value)
{
   return std::ranges::all_of(value.from_first, [](int64_t n) { return n == 0; });
}

/// To the right, of a number without a sign.
LaneOffsets Analysis::shift(const nir_scalar &x, LaneOffsets value, unsigned k)
{
   const auto [least, most] = std::ranges::minmax(value.from_first);
   if (least < 0 || most >= max_span(x))
      return {};
   uint64_t mask = 0;
   if (!are_multiples(value.from_first, uint64_t(1) << k))
      mask = unknown_low_bits(x, k);
   /* Below the next multiple of 2^k nothing wraps around. */
   if ((mask == 0 || most >= int64_t(1) << k) && !are_same(value) && !is_below_half(x))
      mask |= uint64_t(3) << (x.def->bit_size - 2);
   add_assumption(value, x, mask);
   for (int64_t &n : value.from_first)
      n >>= k;
   return value;
}

LaneOffsets Analysis::mask(const nir_scalar &x, LaneOffsets value, uint64_t mask)
{
   const unsigned bits = x.def->bit_size;
   const uint64_t all = ~uint64_t(0) >> (64 - bits), low = mask & -mask;
   /* Down to a bit, or up to one. */
   const bool is_high = ((mask + low) & all) == 0;
   const unsigned k = is_high ? unsigned(std::countr_zero(low)) : unsigned(std::bit_width(mask));
   if (k == 64)
      return {};
   if (!are_multiples(value.from_first, uint64_t(1) << k)) {
      add_assumption(value, x, unknown_low_bits(x, k));
   } else if (is_high) {
      return value;
   } else {
      return {std::vector<int64_t>(W, 0), value.assumptions};
   }
   for (int64_t &n : value.from_first)
      n = wrap(uint64_t(n) & (is_high ? ~uint64_t(0) << k : mask), bits);
   return value;
}

LaneOffsets Analysis::widen(const nir_scalar &x, LaneOffsets value)
{
   const auto [least, most] = std::ranges::minmax(value.from_first);
   if (least < 0 || most >= max_span(x))
      return {};
   if (!are_same(value) && !is_below_half(x))
      add_assumption(value, x, uint64_t(3) << (x.def->bit_size - 2));
   return value;
}

/// Nothing while a source has not been seen.
std::optional<LaneOffsets> Analysis::alu(nir_alu_instr *instr, unsigned c)
{
   const nir_op_info &info = nir_op_infos[instr->op];
   const unsigned bits = instr->def.bit_size;
   LaneOffsets s[NIR_ALU_MAX_INPUTS], result = same();
   nir_scalar x[NIR_ALU_MAX_INPUTS];
   bool known = true, steady = true;
   for (unsigned i = 0; i < info.num_inputs; i++) {
      const bool is_vec = nir_op_is_vec(instr->op);
      if (is_vec && i != c)
         continue;
      // Operations on whole vectors use all components.
      const unsigned n = info.input_sizes[i] && !is_vec ? info.input_sizes[i] : 1;
      for (unsigned k = 0; k < n; k++) {
         const unsigned swizzle = instr->src[i].swizzle[info.input_sizes[i] ? k : c];
         x[i] = nir_get_scalar(instr->src[i].src.ssa, is_vec ? instr->src[i].swizzle[0] : swizzle);
         const uint32_t number = patterns.number(*x[i].def, x[i].comp);
         if (!seen[number])
            return std::nullopt;
         s[i] = values[number];
         known &= !s[i].from_first.empty();
         steady &= !s[i].from_first.empty() && are_same(s[i]);
         merge(result, s[i].assumptions);
      }
      if (is_vec)
         return s[i];
   }
   if (!known)
      return LaneOffsets();
   if (steady)
      return result;

   const auto constant = [&](unsigned i) -> std::optional<uint64_t> {
      if (!nir_scalar_is_const(x[i]))
         return std::nullopt;
      return nir_scalar_as_uint(x[i]);
   };
   const auto each = [&](const auto &f) {
      for (uint32_t l = 0; l < W; l++)
         result.from_first[l] = wrap(f(l), bits);
      return result;
   };
   const auto of = [&](unsigned i, uint32_t l) { return uint64_t(s[i].from_first[l]); };
   const auto with_assumptions = [&](LaneOffsets value) {
      if (!value.from_first.empty())
         merge(value, result.assumptions);
      return value;
   };
   switch (instr->op) {
   case nir_op_mov:
      return s[0];
   case nir_op_iadd:
      return each([&](uint32_t l) { return of(0, l) + of(1, l); });
   case nir_op_isub:
      return each([&](uint32_t l) { return of(0, l) - of(1, l); });
   case nir_op_ineg:
      return each([&](uint32_t l) { return -of(0, l); });
   case nir_op_imul:
      for (unsigned i = 0; i < 2; i++) {
         if (const auto k = constant(i))
            return each([&](uint32_t l) { return of(1 - i, l) * *k; });
      }
      break;
   case nir_op_ishl:
      if (const auto k = constant(1))
         return each([&](uint32_t l) { return of(0, l) << (*k & (bits - 1)); });
      break;
   case nir_op_ushr:
      if (const auto k = constant(1))
         return with_assumptions(shift(x[0], s[0], unsigned(*k & (bits - 1))));
      break;
   case nir_op_udiv:
      if (const auto d = constant(1); d && std::has_single_bit(*d))
         return with_assumptions(shift(x[0], s[0], unsigned(std::countr_zero(*d))));
      break;
   case nir_op_umod:
      if (const auto d = constant(1); d && std::has_single_bit(*d) && *d > 1)
         return with_assumptions(mask(x[0], s[0], *d - 1));
      break;
   case nir_op_iand:
      for (unsigned i = 0; i < 2 && bits > 1; i++) {
         if (const auto k = constant(i); k && *k)
            return with_assumptions(mask(x[1 - i], s[1 - i], *k));
      }
      break;
   case nir_op_ior:
      // No bit in common: it is a sum.
      for (unsigned i = 0; i < 2 && bits > 1 && bits <= 32; i++) {
         const unsigned above =
            std::bit_width(nir_unsigned_upper_bound(shader, ranges, x[i], nullptr));
         if (above < bits && unknown_low_bits(x[1 - i], above) == 0 &&
             are_multiples(s[1 - i].from_first, uint64_t(1) << above))
            return each([&](uint32_t l) { return of(0, l) + of(1, l); });
      }
      break;
   case nir_op_u2u32:
   case nir_op_u2u64:
   case nir_op_u2u16:
   case nir_op_i2i32:
   case nir_op_i2i64:
   case nir_op_i2i16:
      if (x[0].def->bit_size == 1)
         break;
      if (bits <= x[0].def->bit_size)
         return each([&](uint32_t l) { return of(0, l); });
      return with_assumptions(widen(x[0], s[0]));
   case nir_op_bcsel:
      if (are_same(s[0]) && s[1].from_first == s[2].from_first)
         return each([&](uint32_t l) { return of(1, l); });
      break;
   default:
      break;
   }
   return LaneOffsets();
}

void Analysis::visit_phi(nir_phi_instr *phi)
{
   for (unsigned c = 0; c < phi->def.num_components; c++) {
      std::optional<LaneOffsets> value;
      bool agree = !joins_lanes(phi);
      nir_foreach_phi_src(src, phi)
      {
         const uint32_t number = patterns.number(*src->src.ssa, c);
         if (!seen[number])
            continue;
         if (!value)
            value = values[number];
         /* What is assumed is a value at its own place, not one of another branch or iteration. */
         agree &= values[number].from_first == value->from_first &&
                  values[number].assumptions.empty() && value->assumptions.empty();
      }
      if (value || !agree)
         set(phi->def, c, agree ? *value : LaneOffsets());
   }
}

void Analysis::visit(nir_instr *instr)
{
   nir_def *def = nir_instr_def(instr);
   if (!def)
      return;
   if (!def->divergent) {
      for (unsigned c = 0; c < def->num_components; c++)
         set(*def, c, same());
      return;
   }
   if (instr->type == nir_instr_type_phi)
      return visit_phi(nir_instr_as_phi(instr));
   for (unsigned c = 0; c < def->num_components; c++) {
      LaneOffsets value;
      if (instr->type == nir_instr_type_alu) {
         const std::optional<LaneOffsets> computed = alu(nir_instr_as_alu(instr), c);
         if (!computed)
            continue;
         value = *computed;
      } else if (instr->type == nir_instr_type_intrinsic &&
                 nir_instr_as_intrinsic(instr)->intrinsic ==
                    nir_intrinsic_load_subgroup_invocation) {
         for (uint32_t l = 0; l < W; l++)
            value.from_first.push_back(l);
      }
      set(*def, c, value);
   }
}

} // namespace

LaneOffsetAnalysis::LaneOffsetAnalysis(nir_shader *shader, uint32_t subgroup_size,
                                       const LaneAnalysis &patterns)
    : patterns(patterns)
{
   values.resize(patterns.size());
   hash_table *ranges = _mesa_pointer_hash_table_create(nullptr);
   Analysis{shader,
            subgroup_size,
            patterns,
            values,
            assumptions,
            ranges,
            std::vector<bool>(values.size())}
      .run(nir_shader_get_entrypoint(shader));
   _mesa_hash_table_destroy(ranges, nullptr);
}

} // namespace weft::cpu
