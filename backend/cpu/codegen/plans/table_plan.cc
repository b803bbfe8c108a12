// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/plans/table_plan.h"

#include "nir_passes/evaluate_operation.h"

#include <llvm/Support/FormatVariadic.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

namespace weft::cpu {

namespace {

/// The most operations that a look-up replaces. It bounds the time of planning.
constexpr size_t max_table_operations = 24;

bool is_load_of_constant(const nir_scalar &s)
{
   return nir_scalar_is_intrinsic(s) && nir_scalar_intrinsic_op(s) == nir_intrinsic_load_constant;
}

/// Whether constant folding computes the bits that code computes, for all operands that are no NaN.
bool folds_exactly(nir_op op)
{
   switch (op) {
   case nir_op_iadd:
   case nir_op_isub:
   case nir_op_imul:
   case nir_op_ineg:
   case nir_op_iand:
   case nir_op_ior:
   case nir_op_ixor:
   case nir_op_inot:
   case nir_op_ishl:
   case nir_op_ishr:
   case nir_op_ushr:
   case nir_op_ieq:
   case nir_op_ine:
   case nir_op_ilt:
   case nir_op_ige:
   case nir_op_ult:
   case nir_op_uge:
   case nir_op_bcsel:
   case nir_op_b2i32:
   case nir_op_b2f32:
   case nir_op_u2u8:
   case nir_op_u2u16:
   case nir_op_u2u32:
   case nir_op_i2i8:
   case nir_op_i2i16:
   case nir_op_i2i32:
   case nir_op_u2f32:
   case nir_op_i2f32:
   case nir_op_f2f32:
   case nir_op_fadd:
   case nir_op_fmul:
   case nir_op_fneg:
   case nir_op_fabs:
      return true;
   default:
      return false;
   }
}

bool is_float(nir_alu_type type)
{
   return nir_alu_type_get_base_type(type) == nir_type_float;
}

/// Numbers of other types are used for addresses, whose form other plans need.
bool may_be_look_up(const nir_scalar &s)
{
   if (!s.def->divergent || s.def->bit_size > 32)
      return false;
   return is_load_of_constant(s) || (nir_scalar_is_alu(s) && s.def->bit_size == 32 &&
                                     is_float(nir_op_infos[nir_scalar_alu_op(s)].output_type));
}

/// An expression from its result down to the one value on which it depends.
class Expression {
public:
   using Key = std::pair<unsigned, unsigned>; ///< index of the def, component

   explicit Expression(const nir_scalar &result) { open[key(result)] = {result, 0}; }

   /// The value on which all the rest depends, if it is one.
   const nir_scalar *last() const
   {
      return open.size() == 1 ? &open.begin()->second.value : nullptr;
   }
   /// The bits of last() that the expression uses.
   uint64_t used_bits() const { return open.begin()->second.bits; }
   size_t operations() const { return expanded.size(); }
   /// Replaces the open value that is computed last by its operands. False if it cannot.
   bool expand();
   /// The result for a value of the operand `index`, by the first `count` operations.
   std::optional<uint32_t> evaluate(const nir_shader *, const nir_scalar &index, uint64_t value,
                                    size_t count) const;

private:
   struct Open {
      nir_scalar value;
      uint64_t bits; ///< that the expression uses
   };
   static Key key(const nir_scalar &s) { return {s.def->index, s.comp}; }
   void add(const nir_scalar &operand, uint64_t bits);

   std::map<Key, Open> open;
   std::vector<nir_scalar> expanded; ///< users before their operands
};

void Expression::add(const nir_scalar &operand, uint64_t bits)
{
   const nir_scalar s = nir_scalar_chase_movs(operand);
   if (nir_scalar_is_const(s))
      return;
   Open &known = open.try_emplace(key(s), Open{s, 0}).first->second;
   known.bits |= bits;
}

bool Expression::expand()
{
   const nir_scalar s = std::prev(open.end())->second.value;
   const bool is_load = is_load_of_constant(s);
   if (!is_load && !(nir_scalar_is_alu(s) && folds_exactly(nir_scalar_alu_op(s))))
      return false;
   open.erase(std::prev(open.end()));
   expanded.push_back(s);
   if (is_load) {
      add(nir_get_scalar(nir_instr_as_intrinsic(s.def->parent_instr)->src[0].ssa, 0), UINT64_MAX);
      return !open.empty();
   }
   const nir_op op = nir_scalar_alu_op(s);
   for (unsigned i = 0; i < nir_op_infos[op].num_inputs; i++) {
      uint64_t bits = UINT64_MAX;
      if (op == nir_op_iand) {
         const nir_scalar other = nir_scalar_chase_movs(nir_scalar_chase_alu_src(s, 1 - i));
         if (nir_scalar_is_const(other))
            bits = nir_scalar_as_uint(other);
      }
      add(nir_scalar_chase_alu_src(s, i), bits);
   }
   return !open.empty();
}

std::optional<nir_const_value> read_constant(const nir_shader *shader, const nir_scalar &s,
                                             uint64_t offset)
{
   const nir_intrinsic_instr *load = nir_instr_as_intrinsic(s.def->parent_instr);
   const unsigned bytes = s.def->bit_size / 8;
   const uint64_t at = uint64_t(nir_intrinsic_base(load)) + offset + s.comp * bytes;
   if (offset > UINT32_MAX || bytes == 0 || at + bytes > shader->constant_data_size)
      return std::nullopt;
   uint64_t bits = 0;
   static_assert(std::endian::native == std::endian::little);
   std::memcpy(&bits, static_cast<const char *>(shader->constant_data) + at, bytes);
   return nir_const_value_for_raw_uint(bits, s.def->bit_size);
}

std::optional<uint32_t> Expression::evaluate(const nir_shader *shader, const nir_scalar &index,
                                             uint64_t value, size_t count) const
{
   std::map<Key, nir_const_value> values;
   values[key(index)] = nir_const_value_for_raw_uint(value, index.def->bit_size);
   const auto value_of = [&](const nir_scalar &operand) -> std::optional<nir_const_value> {
      const nir_scalar s = nir_scalar_chase_movs(operand);
      return nir_scalar_is_const(s) ? nir_scalar_as_const_value(s) : values.at(key(s));
   };
   for (size_t i = count; i-- > 0;) {
      const nir_scalar &s = expanded[i];
      std::optional<nir_const_value> result;
      bool has_nan = false;
      const auto look_for_nan = [&](nir_alu_type type, const nir_const_value &v, unsigned bits) {
         has_nan |= is_float(type) && std::isnan(nir_const_value_as_float(v, bits));
      };
      if (is_load_of_constant(s)) {
         const nir_src &offset = nir_instr_as_intrinsic(s.def->parent_instr)->src[0];
         const nir_const_value at = *value_of(nir_get_scalar(offset.ssa, 0));
         result = read_constant(shader, s, nir_const_value_as_uint(at, offset.ssa->bit_size));
      } else {
         const nir_op_info &info = nir_op_infos[nir_scalar_alu_op(s)];
         unsigned number = 0;
         result = evaluate_operation(s, [&](const nir_scalar &operand) {
            const std::optional<nir_const_value> v = value_of(operand);
            look_for_nan(info.input_types[number++], *v, operand.def->bit_size);
            return v;
         });
         if (result)
            look_for_nan(info.output_type, *result, s.def->bit_size);
      }
      if (!result || has_nan)
         return std::nullopt;
      values[key(s)] = *result;
   }
   const nir_scalar &s = expanded.front();
   return uint32_t(nir_const_value_as_uint(values.at(key(s)), s.def->bit_size));
}

class TablePlanner {
public:
   TablePlanner(nir_shader *shader, const HostTarget &target, IntegerRanges &ranges)
       : shader(shader), ranges(ranges), lanes(target.vector_bits / 32),
         most(lanes * (target.shuffles_two_registers ? 2 : 1))
   {
   }

   std::optional<TablePlan> plan(const nir_scalar &result);

private:
   /// An index of a table for the first operations of an expression.
   struct Index {
      nir_scalar value;
      ValueRange range;
      unsigned entries;
      size_t operations;
   };

   std::optional<Index> index_of(const Expression &, const nir_block *);

   nir_shader *const shader;
   IntegerRanges &ranges;
   const unsigned lanes, most; ///< entries in one register; the most entries
};

/// Other blocks may have been emitted twice (guard_plan.h): later blocks can use only the values
/// that they use in NIR.
std::optional<TablePlanner::Index> TablePlanner::index_of(const Expression &expression,
                                                          const nir_block *block)
{
   const nir_scalar *last = expression.last();
   if (!last || !last->def->divergent || last->def->parent_instr->block != block ||
       last->def->bit_size < 8 || last->def->bit_size > 32)
      return std::nullopt;
   const ValueRange range = ranges.of(*last);
   for (unsigned entries = lanes; entries <= most; entries *= 2) {
      if (expression.used_bits() < entries)
         return Index{*last, {0, entries - 1}, entries, expression.operations()};
      if (range.high - range.low < entries)
         return Index{*last, range, entries, expression.operations()};
   }
   return std::nullopt;
}

std::optional<TablePlan> TablePlanner::plan(const nir_scalar &result)
{
   Expression expression(result);
   std::optional<Index> index;
   while (expression.operations() < max_table_operations && expression.expand()) {
      // The deepest index saves most, but two registers cost more than one.
      const auto found = index_of(expression, result.def->parent_instr->block);
      if (found && (!index || found->entries <= index->entries))
         index = found;
   }
   if (!index)
      return std::nullopt;
   const size_t cost = index->entries / lanes;
   if (index->operations <= cost && !is_load_of_constant(result))
      return std::nullopt;
   TablePlan table = {index->value, std::vector<uint32_t>(index->entries)};
   for (uint64_t v = index->range.low; v <= index->range.high; v++) {
      const auto entry = expression.evaluate(shader, index->value, v, index->operations);
      if (!entry)
         return std::nullopt;
      table.entries[v % index->entries] = *entry;
   }
   return table;
}

} // namespace

std::string describe(const TablePlan &table)
{
   std::string text = llvm::formatv("%{0}.{1}:", table.index.def->index, table.index.comp);
   for (const uint32_t entry : table.entries)
      text += llvm::formatv(" {0:x-}", entry);
   return text;
}

TablePlans::TablePlans(nir_shader *shader, const HostTarget &target, IntegerRanges &ranges)
{
   TablePlanner planner(shader, target, ranges);
   nir_foreach_block(block, nir_shader_get_entrypoint(shader)) {
      nir_foreach_instr(instr, block) {
         nir_def *def = nir_instr_def(instr);
         if (!def)
            continue;
         for (unsigned c = 0; c < def->num_components; c++) {
            const nir_scalar scalar = nir_get_scalar(def, c);
            if (!may_be_look_up(scalar))
               continue;
            if (std::optional<TablePlan> table = planner.plan(scalar))
               tables.try_emplace({def, c}, std::move(*table));
         }
      }
   }
}

const TablePlan *TablePlans::of(const nir_def &def, unsigned component) const
{
   const auto found = tables.find({&def, component});
   return found == tables.end() ? nullptr : &found->second;
}

} // namespace weft::cpu
