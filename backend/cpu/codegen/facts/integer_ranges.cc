// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/integer_ranges.h"

#include "util/hash_table.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace weft::cpu {

namespace {

/// Deeper operands have any value: the recursion must end within the stack.
constexpr unsigned max_depth = 64;

uint64_t all_ones(unsigned bits)
{
   return UINT64_MAX >> (64 - bits);
}

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
      if (bits == 1)
         return {a.low & b.low, a.high & b.high};
      // Rounding down to a multiple of a power of two keeps the order.
      if (b.is_known() && std::has_single_bit((~b.low & all_ones(bits)) + 1))
         return {a.low & b.low, a.high & b.low};
      return {0, std::min(a.high, b.high)};
   case nir_op_ior:
      return {std::max(a.low, b.low),
              std::min(std::bit_ceil((a.high | b.high) + 1) - 1, a.high + b.high)};
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

nir_scalar source(const nir_scalar &alu, unsigned number)
{
   return nir_scalar_chase_movs(nir_scalar_chase_alu_src(alu, number));
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

} // namespace

ValueRange any_of(unsigned bits)
{
   return {0, all_ones(bits)};
}

bool takes_few_scalars(const nir_op_info &info)
{
   return info.output_size <= 1 && info.num_inputs <= 3 &&
          std::all_of(info.input_sizes, info.input_sizes + info.num_inputs,
                      [](uint8_t size) { return size <= 1; });
}

ValueRange range_of_result(nir_op op, unsigned bits, unsigned source_bits,
                           const std::array<ValueRange, 3> &operands)
{
   return RangeOperation{op, bits, source_bits, operands[0], operands[1], operands[2]}.result();
}

IntegerRanges::IntegerRanges(nir_shader *shader)
    : shader(shader), nir_bounds(_mesa_pointer_hash_table_create(nullptr))
{
}

IntegerRanges::~IntegerRanges()
{
   _mesa_hash_table_destroy(nir_bounds, nullptr);
}

bool IntegerRanges::is_below_half(const nir_scalar &x)
{
   return of(x).high <= all_ones(x.def->bit_size) / 2;
}

ValueRange IntegerRanges::of(const nir_scalar &scalar)
{
   const nir_scalar s = nir_scalar_chase_movs(scalar);
   const std::pair<const nir_def *, unsigned> key(s.def, s.comp);
   if (const auto found = known.find(key); found != known.end())
      return found->second;
   const ValueRange range = compute(s);
   known.emplace(key, range);
   return range;
}

ValueRange IntegerRanges::compute(const nir_scalar &s)
{
   const unsigned bits = s.def->bit_size;
   if (nir_scalar_is_const(s))
      return {nir_scalar_as_uint(s), nir_scalar_as_uint(s)};
   ValueRange range = any_of(bits);
   if (bits > 32 || depth == max_depth)
      return range;
   depth++;
   if (nir_scalar_is_alu(s))
      range = of_operation(s);
   else if (s.def->parent_instr->type == nir_instr_type_phi && bits == 32)
      range.high = counter_bound(nir_instr_as_phi(s.def->parent_instr));
   depth--;
   if (bits >= 8)
      range.high =
         std::min<uint64_t>(range.high, nir_unsigned_upper_bound(shader, nir_bounds, s, nullptr));
   return range;
}

ValueRange IntegerRanges::of_operation(const nir_scalar &s)
{
   const nir_op op = nir_scalar_alu_op(s);
   const nir_op_info &info = nir_op_infos[op];
   if (!takes_few_scalars(info))
      return any_of(s.def->bit_size);
   std::array<ValueRange, 3> operands = {};
   for (unsigned i = 0; i < info.num_inputs; i++) {
      const nir_scalar operand = source(s, i);
      if (operand.def->bit_size > 32)
         return any_of(s.def->bit_size);
      operands[i] = of(operand);
   }
   return range_of_result(op, s.def->bit_size, source(s, 0).def->bit_size, operands);
}

/// The bound of a counter: a phi that starts with a value and grows by a constant per iteration.
/// The loop ends once the counter reaches a constant.
uint64_t IntegerRanges::counter_bound(nir_phi_instr *phi)
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
   const uint64_t first = of(begin).high;
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
         return std::max(first, last);
   }
   return UINT32_MAX;
}

} // namespace weft::cpu
