// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A forward data-flow analysis like lane_analysis: every value starts as "not visited yet" and
/// only loses knowledge. If lane 0's value x is a multiple of 2^k and no sum wraps around,
///
///   (x + d) >> k = (x >> k) + (d >> k)      (x + d) & (2^k - 1) = d & (2^k - 1)
///
/// If x = c modulo 2^j, and c + d is less than 2^j, the sum changes only the lowest j bits of x:
///
///   (x + d) >> k = (x >> k) + ((c + d) >> k) - (c >> k)
///   (x + d) & m = (x & m) + ((c + d) & m) - (c & m)

#include "backend/cpu/codegen/facts/lane_offsets.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace weft::cpu {

namespace {

/// If a number's two highest bits are 0, adding less than this does not reach the highest bit.
int64_t max_span(const nir_scalar &x)
{
   return int64_t(1) << std::min(x.def->bit_size - 2, 30);
}

/// A residue of at most `width` bits.
Residue residue(uint32_t bits, uint64_t value, uint32_t width)
{
   bits = std::min(bits, width);
   return {bits, bits < 64 ? value & ((uint64_t(1) << bits) - 1) : value};
}

/// The number of lowest bits that are certainly 0.
uint32_t zeros(const Residue &r)
{
   return std::min(r.bits, uint32_t(std::countr_zero(r.value)));
}

Residue common(const Residue &a, const Residue &b)
{
   return residue(std::min(a.bits, b.bits), a.value, uint32_t(std::countr_zero(a.value ^ b.value)));
}

/// The residue of a bitwise operation: its value up to the lowest bit that the sources do not
/// decide.
Residue bitwise(const Residue &a, const Residue &b, uint64_t value, bool deciding, uint32_t width)
{
   const auto decides = [&](const Residue &r, uint32_t bit) {
      return bit < r.bits && bool(r.value >> bit & 1) == deciding;
   };
   uint32_t bits = 0;
   while (bits < width &&
          ((bits < a.bits && bits < b.bits) || decides(a, bits) || decides(b, bits)))
      bits++;
   return residue(bits, value, width);
}

/// Lane 0's residue, from lane 0's sources.
Residue compute(nir_op op, const LaneOffsets *s, uint32_t width)
{
   const Residue &x = s[0].first, &y = s[1].first;
   const auto both = [&](uint64_t value) {
      return residue(std::min(x.bits, y.bits), value, width);
   };
   const auto shifted = [&](uint32_t k) {
      return x.bits > k ? residue(x.bits - k, x.value >> k, width) : Residue();
   };
   const bool is_constant = y.bits >= width;
   switch (op) {
   case nir_op_mov:
      return x;
   case nir_op_iadd:
      return both(x.value + y.value);
   case nir_op_isub:
      return both(x.value - y.value);
   case nir_op_ixor:
      return both(x.value ^ y.value);
   case nir_op_ineg:
      return residue(x.bits, -x.value, width);
   case nir_op_imul:
      return residue(std::min(x.bits + zeros(y), y.bits + zeros(x)), x.value * y.value, width);
   case nir_op_iand:
      return bitwise(x, y, x.value & y.value, false, width);
   case nir_op_ior:
      return bitwise(x, y, x.value | y.value, true, width);
   case nir_op_ishl:
   case nir_op_ushr:
      if (const uint32_t k = uint32_t(y.value & (width - 1)); y.bits >= 6)
         return op == nir_op_ushr ? shifted(k) : residue(x.bits + k, x.value << k, width);
      return {};
   case nir_op_udiv:
      if (is_constant && std::has_single_bit(y.value))
         return shifted(uint32_t(std::countr_zero(y.value)));
      return {};
   case nir_op_umod:
      if (is_constant && std::has_single_bit(y.value))
         return bitwise(x, residue(width, y.value - 1, width), x.value & (y.value - 1), false,
                        width);
      return {};
   case nir_op_u2u16:
   case nir_op_u2u32:
   case nir_op_u2u64:
   case nir_op_i2i16:
   case nir_op_i2i32:
   case nir_op_i2i64:
      return residue(x.bits, x.value, width);
   case nir_op_bcsel:
      return common(y, s[2].first);
   default:
      return {};
   }
}

/// Whether no lane's value differs from lane 0's above the lowest `bits` bits.
bool stays_within(const LaneOffsets &value, uint32_t bits)
{
   const auto [least, most] = std::ranges::minmax(value.from_first);
   const int64_t c = int64_t(value.first.value);
   bits = std::min({bits, value.first.bits, 62u});
   return c < int64_t(1) << bits && c + least >= 0 && c + most < int64_t(1) << bits;
}

void merge(LaneOffsets &result, std::span<const uint32_t> assumptions)
{
   for (const uint32_t number : assumptions) {
      const auto place = std::ranges::lower_bound(result.assumptions, number);
      if (place == result.assumptions.end() || *place != number)
         result.assumptions.insert(place, number);
   }
}

struct OffsetFinder {
   uint32_t W;
   const LaneAnalysis &patterns;
   RowStart row_start;
   std::vector<LaneOffsets> &values;
   std::vector<LaneAssumption> &assumptions;
   std::vector<bool> seen;
   bool changed = false;

   LaneOffsets same(const Residue &first) const
   {
      return {std::vector<int64_t>(W, 0), first, {}, first};
   }

   void set(const nir_def &def, unsigned component, const LaneOffsets &value)
   {
      const uint32_t number = patterns.number(def, component);
      changed |= !seen[number] || values[number] != value;
      seen[number] = true;
      values[number] = value;
   }

   void add_assumption(LaneOffsets &result, const nir_scalar &x, uint64_t mask, uint64_t most = 0)
   {
      if (mask == 0)
         return;
      const LaneAssumption assumption = {x.def, x.comp, mask, most};
      auto found = std::ranges::find(assumptions, assumption);
      if (found == assumptions.end())
         found = assumptions.insert(assumptions.end(), assumption);
      const uint32_t numbers[] = {uint32_t(found - assumptions.begin())};
      merge(result, numbers);
   }

   /// The lowest k bits of lane 0's value: known, or assumed to be 0; nothing if neither is
   /// possible.
   static std::optional<uint64_t> low_bits(const LaneOffsets &value, unsigned k, uint64_t &assumed)
   {
      const uint64_t low = (uint64_t(1) << k) - 1;
      if (value.first.bits >= k)
         return value.first.value & low;
      if (value.first.value != 0)
         return std::nullopt;
      assumed |= low;
      return 0;
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
   LaneOffsets extend(const nir_scalar &x, LaneOffsets value);
};

bool are_multiples(std::span<const int64_t> numbers, uint64_t power)
{
   return std::ranges::all_of(numbers, [&](int64_t n) { return (uint64_t(n) & (power - 1)) == 0; });
}

bool are_same(const LaneOffsets &value)
{
   return std::ranges::all_of(value.from_first, [](int64_t n) { return n == 0; });
}

/// A right shift of an unsigned number.
LaneOffsets OffsetFinder::shift(const nir_scalar &x, LaneOffsets value, unsigned k)
{
   if (stays_within(value, x.def->bit_size)) {
      const uint64_t c = value.first.value;
      for (int64_t &n : value.from_first)
         n = int64_t((c + uint64_t(n)) >> k) - int64_t(c >> k);
      return value;
   }
   const auto [least, most] = std::ranges::minmax(value.from_first);
   if (least < 0 || most >= max_span(x))
      return {};
   uint64_t assumed = 0, low = 0;
   if (!are_multiples(value.from_first, uint64_t(1) << k)) {
      const std::optional<uint64_t> bits = low_bits(value, k, assumed);
      if (!bits)
         return {};
      low = *bits;
   }
   /* Distances below 2^k cannot wrap around if the low bits are assumed to be 0. */
   if ((assumed == 0 || most >= int64_t(1) << k) && !are_same(value) &&
       !patterns.ranges().is_below_half(x))
      assumed |= uint64_t(3) << (x.def->bit_size - 2);
   add_assumption(value, x, assumed);
   for (int64_t &n : value.from_first)
      n = int64_t(low + uint64_t(n)) >> k;
   return value;
}

LaneOffsets OffsetFinder::mask(const nir_scalar &x, LaneOffsets value, uint64_t mask)
{
   const unsigned bits = x.def->bit_size;
   const auto keep = [&](uint64_t c, uint64_t kept) {
      for (int64_t &n : value.from_first)
         n = wrap(((c + uint64_t(n)) & kept) - (c & kept), bits);
      return value;
   };
   if (stays_within(value, bits))
      return keep(value.first.value, mask);
   const uint64_t all = ~uint64_t(0) >> (64 - bits), lowest = mask & -mask;
   /* The mask keeps all bits from some bit on, or all bits below some bit. */
   const bool is_high = ((mask + lowest) & all) == 0;
   const unsigned k = is_high ? unsigned(std::countr_zero(lowest)) : unsigned(std::bit_width(mask));
   if (k == 64)
      return {};
   uint64_t assumed = 0, low = 0;
   if (!are_multiples(value.from_first, uint64_t(1) << k)) {
      const std::optional<uint64_t> known = low_bits(value, k, assumed);
      if (!known)
         return {};
      low = *known;
      const auto [least, most] = std::ranges::minmax(value.from_first);
      const bool rises = assumed == mask && least >= 0 && uint64_t(most) <= mask;
      add_assumption(value, x, assumed,
                     row_start == RowStart::anywhere && rises ? mask - uint64_t(most) : 0);
   }
   return keep(low, is_high ? ~uint64_t(0) << k : mask);
}

LaneOffsets OffsetFinder::extend(const nir_scalar &x, LaneOffsets value)
{
   if (stays_within(value, x.def->bit_size - 1))
      return value;
   const auto [least, most] = std::ranges::minmax(value.from_first);
   if (least < 0 || most >= max_span(x))
      return {};
   if (!are_same(value) && !patterns.ranges().is_below_half(x))
      add_assumption(value, x, uint64_t(3) << (x.def->bit_size - 2));
   return value;
}

/// Returns nothing while a source has not been visited.
std::optional<LaneOffsets> OffsetFinder::alu(nir_alu_instr *instr, unsigned c)
{
   const nir_op_info &info = nir_op_infos[instr->op];
   const unsigned bits = instr->def.bit_size;
   LaneOffsets s[NIR_ALU_MAX_INPUTS], result = same({});
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
   result.first = compute(instr->op, s, bits);
   const auto compute_assumed = [&] {
      LaneOffsets sources[NIR_ALU_MAX_INPUTS];
      for (unsigned i = 0; i < info.num_inputs; i++)
         sources[i].first = s[i].assumed;
      return compute(instr->op, sources, bits);
   };
   result.assumed = compute_assumed();
   if (!known && instr->def.divergent)
      return LaneOffsets();
   if (steady || !instr->def.divergent)
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
      value.first = result.first;
      if (value.from_first.empty())
         return value;
      // Uses the lowest bits that this operation's own assumption about an operand makes 0.
      for (const uint32_t number : value.assumptions) {
         const LaneAssumption &a = assumptions[number];
         for (unsigned i = 0; i < info.num_inputs; i++) {
            const uint32_t low = uint32_t(std::countr_one(a.mask));
            if (a.def == x[i].def && a.component == x[i].comp && a.most == 0 &&
                low > s[i].assumed.bits)
               s[i].assumed = {low, 0};
         }
      }
      value.assumed = compute_assumed();
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
      // An OR of numbers without common bits is their sum.
      for (unsigned i = 0; i < 2 && bits > 1 && bits <= 32; i++) {
         const unsigned above = unsigned(std::bit_width(patterns.ranges().of(x[i]).high));
         if (above < bits && zeros(s[1 - i].first) >= above &&
             are_multiples(s[1 - i].from_first, uint64_t(1) << above))
            return each([&](uint32_t l) { return of(0, l) + of(1, l); });
      }
      break;
   case nir_op_ixor:
      // All lanes have the same bits above the bits in which they differ, so XOR changes these high
      // bits alike.
      for (unsigned i = 0; i < 2 && bits > 1; i++) {
         const LaneOffsets &value = s[1 - i];
         if (const auto k = constant(i); k && stays_within(value, bits)) {
            const uint64_t c = value.first.value, low = residue(value.first.bits, *k, bits).value;
            return each([&](uint32_t l) { return ((c + of(1 - i, l)) ^ low) - (c ^ low); });
         }
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
      return with_assumptions(extend(x[0], s[0]));
   case nir_op_bcsel:
      if (are_same(s[0]) && s[1].from_first == s[2].from_first)
         return each([&](uint32_t l) { return of(1, l); });
      break;
   default:
      break;
   }
   return LaneOffsets();
}

void OffsetFinder::visit_phi(nir_phi_instr *phi)
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
         value->first = value->assumed = common(value->first, values[number].first);
         /* An assumption is about a value where it is used, not about one of another branch or
          * iteration. */
         agree &= values[number].from_first == value->from_first &&
                  values[number].assumptions.empty() && value->assumptions.empty();
      }
      if (value && !phi->def.divergent)
         set(phi->def, c, same(value->first));
      else if (value || !agree)
         set(phi->def, c, agree ? *value : LaneOffsets());
   }
}

void OffsetFinder::visit(nir_instr *instr)
{
   nir_def *def = nir_instr_def(instr);
   if (!def)
      return;
   if (instr->type == nir_instr_type_phi)
      return visit_phi(nir_instr_as_phi(instr));
   for (unsigned c = 0; c < def->num_components; c++) {
      LaneOffsets value = def->divergent ? LaneOffsets() : same({});
      if (instr->type == nir_instr_type_load_const) {
         const uint64_t constant =
            nir_const_value_as_uint(nir_instr_as_load_const(instr)->value[c], def->bit_size);
         value.first = value.assumed = residue(def->bit_size, constant, def->bit_size);
      } else if (instr->type == nir_instr_type_alu) {
         const std::optional<LaneOffsets> computed = alu(nir_instr_as_alu(instr), c);
         if (!computed)
            continue;
         value = *computed;
      } else if (instr->type == nir_instr_type_intrinsic &&
                 nir_instr_as_intrinsic(instr)->intrinsic ==
                    nir_intrinsic_load_subgroup_invocation) {
         for (uint32_t l = 0; l < W; l++)
            value.from_first.push_back(l);
         value.first = value.assumed = residue(def->bit_size, 0, def->bit_size);
      }
      set(*def, c, value);
   }
}

} // namespace

LaneOffsets weighted_sum(std::initializer_list<std::pair<const LaneOffsets *, uint32_t>> summands)
{
   LaneOffsets sum;
   for (const auto &[value, weight] : summands) {
      if (value->from_first.empty())
         return {};
      sum.from_first.resize(value->from_first.size());
      for (size_t l = 0; l < sum.from_first.size(); l++)
         sum.from_first[l] = wrap(uint64_t(sum.from_first[l] + value->from_first[l] * weight), 32);
      merge(sum, value->assumptions);
   }
   return sum;
}

LaneOffsetAnalysis::LaneOffsetAnalysis(nir_shader *shader, uint32_t subgroup_size,
                                       const LaneAnalysis &patterns, RowStart row_start)
    : patterns(patterns)
{
   values.resize(patterns.size());
   OffsetFinder{subgroup_size, patterns,    row_start,
                values,        assumptions, std::vector<bool>(values.size())}
      .run(nir_shader_get_entrypoint(shader));
}

} // namespace weft::cpu
