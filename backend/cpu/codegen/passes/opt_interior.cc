// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/passes/opt_interior.h"

#include "backend/cpu/codegen/facts/control_flow.h"
#include "backend/cpu/codegen/facts/dispatch_values.h"
#include "backend/cpu/codegen/facts/lane_offsets.h"
#include "backend/cpu/codegen/plans/memory_access.h"

#include "nir_passes/def_table.h"
#include "nir_passes/matrices/cmat_intrinsics.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_control_flow.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

namespace weft::cpu {

namespace {

/// Fewer reads do not pay for the second version.
constexpr unsigned min_reads = 6;
/// Of a shader before it is doubled.
constexpr unsigned max_instructions = 4096;

/// Of loads from buffers and global memory.
const nir_src *address_of(nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return nullptr;
   const std::optional<Access> access = decode_access(nir_instr_as_intrinsic(instr));
   return access && !access->store &&
                (access->space == Space::buffer || access->space == Space::global)
             ? access->offset
             : nullptr;
}

bool has_accesses(exec_list *list)
{
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      if (node->type != nir_cf_node_block)
         return true;
      nir_foreach_instr(instr, nir_cf_node_as_block(node)) {
         if (instr->type == nir_instr_type_intrinsic &&
             decode_access(nir_instr_as_intrinsic(instr)))
            return true;
      }
   }
   return false;
}

/// The addresses of a shader that may have two versions; none of others.
std::vector<nir_def *> addresses_of_reads(nir_function_impl *impl)
{
   unsigned instructions = 0;
   std::vector<nir_def *> addresses;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (++instructions > max_instructions || is_control_barrier(instr) || uses_tile(instr))
            return {};
         if (const nir_src *address = address_of(instr))
            addresses.push_back(address->ssa);
      }
   }
   return addresses;
}

/// The values that a value follows from.
struct Origin {
   bool is_early = false; ///< it follows from ids, push constants and descriptors
   bool varies = false;   ///< it follows from the lane's number
   bool is_float = false; ///< by conversions to float
   /// The integer that is converted, if the lane's number comes through this one only.
   nir_def *integer = nullptr;
};

class Origins {
public:
   const Origin &of(nir_def *def)
   {
      if (const auto found = known.find(def); found != known.end())
         return found->second;
      return known[def] = find(def);
   }

private:
   Origin find(nir_def *def)
   {
      switch (def->parent_instr->type) {
      case nir_instr_type_load_const:
         return {.is_early = true};
      case nir_instr_type_alu:
         return of_alu(nir_instr_as_alu(def->parent_instr));
      case nir_instr_type_intrinsic:
         return of_intrinsic(nir_instr_as_intrinsic(def->parent_instr));
      default:
         return {};
      }
   }

   static Origin of_intrinsic(const nir_intrinsic_instr *intr)
   {
      switch (intr->intrinsic) {
      case nir_intrinsic_load_subgroup_invocation:
         return {.is_early = true, .varies = true};
      case nir_intrinsic_load_subgroup_id:
      case nir_intrinsic_load_workgroup_id:
      case nir_intrinsic_load_num_workgroups:
         return {.is_early = true};
      case nir_intrinsic_load_push_constant:
         return {.is_early = nir_src_is_const(intr->src[0])};
      case nir_intrinsic_load_ubo: {
         const nir_scalar first = nir_get_scalar(const_cast<nir_def *>(&intr->def), 0);
         return {.is_early = descriptor_place(first).has_value()};
      }
      default:
         return {};
      }
   }

   Origin of_alu(const nir_alu_instr *alu)
   {
      Origin all = {.is_early = true};
      for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++) {
         nir_def *source = alu->src[i].src.ssa;
         const Origin own = of(source);
         all.is_early &= own.is_early;
         if (!own.varies)
            continue;
         const bool is_converted = alu->op == nir_op_i2f32 || alu->op == nir_op_u2f32;
         nir_def *integer = is_converted ? source : own.integer;
         const bool is_float = own.is_float || is_converted;
         all.is_early &= !(is_converted && own.is_float) &&
                         (!all.varies || (is_float == all.is_float && integer == all.integer));
         all.varies = true;
         all.is_float = is_float;
         all.integer = integer;
      }
      return all;
   }

   std::unordered_map<const nir_def *, Origin> known;
};

/// A value that is simpler in the interior.
struct Fact {
   enum class Is {
      operand,    ///< it is `other`
      in_row,     ///< it is `other` and a difference that all lanes share
      true_value, ///< in all lanes
      false_value,
   };
   nir_def *value;
   Is is;
   nir_def *other = nullptr;
};

class Facts {
public:
   explicit Facts(nir_function_impl *impl)
   {
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_alu)
               add(nir_instr_as_alu(instr));
         }
         if (nir_if *nif = nir_block_get_following_if(block))
            add(nif);
      }
   }

   std::vector<Fact> facts; ///< in the order of their values

   /// Whether a fact about coordinates makes the value simpler.
   bool simplify(nir_def *def)
   {
      if (const auto found = simplified.find(def); found != simplified.end())
         return found->second;
      bool is = false;
      if (def->parent_instr->type == nir_instr_type_alu) {
         const nir_alu_instr *alu = nir_instr_as_alu(def->parent_instr);
         for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++)
            is = is || simplify(alu->src[i].src.ssa);
      }
      return simplified[def] = is;
   }

private:
   void add(nir_alu_instr *alu)
   {
      if (alu->def.num_components != 1)
         return;
      switch (alu->op) {
      case nir_op_imin:
      case nir_op_imax:
      case nir_op_umin:
      case nir_op_umax:
         for (unsigned i = 0; i < 2; i++)
            add_clamp(&alu->def, alu->src[i].src.ssa, alu->src[1 - i].src.ssa);
         break;
      case nir_op_f2i32:
      case nir_op_f2u32:
         add_row(&alu->def);
         break;
      default:
         break;
      }
   }

   void add_clamp(nir_def *result, nir_def *number, nir_def *limit)
   {
      const Origin of_number = origins.of(number), of_limit = origins.of(limit);
      if (of_number.is_early && of_number.varies && number->num_components == 1 &&
          of_limit.is_early && !of_limit.varies)
         add_coordinate({result, Fact::Is::operand, number});
   }

   void add_row(nir_def *number)
   {
      const Origin &origin = origins.of(number);
      if (origin.is_early && origin.is_float && origin.integer->num_components == 1 &&
          origin.integer->bit_size == 32)
         add_coordinate({number, Fact::Is::in_row, origin.integer});
   }

   void add_coordinate(const Fact &fact)
   {
      facts.push_back(fact);
      simplified[fact.value] = true;
   }

   void add(nir_if *nif)
   {
      const bool in_then = has_accesses(&nif->then_list), in_else = has_accesses(&nif->else_list);
      if (in_then != in_else)
         add_condition(nif->condition.ssa, in_then);
   }

   void add_condition(nir_def *condition, bool is_true)
   {
      const Origin origin = origins.of(condition);
      if (!origin.is_early || !origin.varies || condition->num_components != 1)
         return;
      const nir_alu_instr *alu = nir_instr_as_alu(condition->parent_instr);
      if (alu->op == nir_op_inot) {
         add_condition(alu->src[0].src.ssa, !is_true);
      } else if (alu->op == (is_true ? nir_op_iand : nir_op_ior)) {
         add_condition(alu->src[0].src.ssa, is_true);
         add_condition(alu->src[1].src.ssa, is_true);
      } else if (std::ranges::find(facts, condition, &Fact::value) == facts.end()) {
         facts.push_back({condition, is_true ? Fact::Is::true_value : Fact::Is::false_value});
      }
   }

   Origins origins;
   std::unordered_map<const nir_def *, bool> simplified;
};

/// The least and the greatest distance of a lane's value from lane 0's.
struct Extent {
   int64_t least, greatest;
};

class Extents {
public:
   Extents(nir_shader *shader, uint32_t W) : patterns(shader, W), analysis(shader, W, patterns) {}

   std::optional<Extent> of(nir_def *def) const
   {
      const LaneOffsets &offsets = analysis.offsets(nir_get_scalar(def, 0));
      if (def->num_components != 1 || offsets.from_first.empty() || !offsets.assumptions.empty())
         return std::nullopt;
      const auto [least, greatest] = std::ranges::minmax(offsets.from_first);
      return Extent{least, greatest};
   }

private:
   const LaneAnalysis patterns;
   const LaneOffsetAnalysis analysis;
};

/// The order of numbers by which an operation decides. If it decides the same for two numbers, it
/// does so for all between them.
enum class Order { none, of_signed, of_unsigned };

Order order_of(nir_op op)
{
   switch (op) {
   case nir_op_imin:
   case nir_op_imax:
   case nir_op_ilt:
   case nir_op_ige:
      return Order::of_signed;
   case nir_op_umin:
   case nir_op_umax:
   case nir_op_ult:
   case nir_op_uge:
      return Order::of_unsigned;
   default:
      return Order::none;
   }
}

/// Emits the decision and both versions.
class Splitter {
public:
   Splitter(nir_function_impl *impl, const Extents &extents)
       : impl(impl), b(nir_builder_create(impl)), extents(extents)
   {
   }

   void run(const std::vector<Fact> &facts)
   {
      nir_cf_list general, interior;
      nir_cf_extract(&general, nir_before_impl(impl), nir_after_impl(impl));
      const DefTable clones;
      nir_cf_list_clone(&interior, &general, &impl->cf_node, clones.get());

      b.cursor = nir_before_impl(impl);
      nir_def *all_hold = nir_imm_true(&b);
      for (const Fact &fact : facts)
         all_hold = nir_iand(&b, all_hold, holds(fact));
      nir_push_if(&b, nir_vote_all(&b, 1, all_hold));
      nir_cf_reinsert(&interior, b.cursor);
      nir_push_else(&b, nullptr);
      nir_cf_reinsert(&general, b.cursor);
      nir_pop_if(&b, nullptr);

      // Backwards: a clamped number may be clamped again.
      for (size_t i = facts.size(); i-- > 0;)
         use(facts[i], clones);
   }

private:
   /// A condition, uniform or of each lane.
   nir_def *holds(const Fact &fact)
   {
      switch (fact.is) {
      case Fact::Is::operand: {
         nir_def *is_same = decide_at_ends(
            fact, [&](nir_def *result, nir_def *number) { return nir_ieq(&b, result, number); });
         if (!is_same)
            is_same = nir_ieq(&b, early(fact.value), early(fact.other));
         simpler[fact.value] = fact.other;
         return is_same;
      }
      case Fact::Is::in_row: {
         nir_def *difference = nir_isub(&b, early(fact.value), early(fact.other)),
                 *of_first = nir_read_first_invocation(&b, difference);
         differences[fact.value] = of_first;
         return nir_ieq(&b, difference, of_first);
      }
      case Fact::Is::true_value:
      case Fact::Is::false_value: {
         const auto is_expected = [&](nir_def *value, nir_def *) {
            return fact.is == Fact::Is::true_value ? value : nir_inot(&b, value);
         };
         nir_def *decided = decide_at_ends(fact, is_expected);
         return decided ? decided : is_expected(early(fact.value), nullptr);
      }
      }
      unreachable("a fact");
   }

   /// decide(result, number) for all lanes, where the value orders a number and a limit that is
   /// uniform; null if the lanes' numbers are not between two of them.
   template <typename Decide>
   nir_def *decide_at_ends(const Fact &fact, const Decide &decide)
   {
      const nir_alu_instr *alu = nir_instr_as_alu(fact.value->parent_instr);
      const Order order = order_of(alu->op);
      for (unsigned i = 0; order != Order::none && i < 2; i++) {
         nir_def *number = simplest(alu->src[i].src.ssa),
                 *limit = simplest(alu->src[1 - i].src.ssa);
         const std::optional<Extent> of_number = extents.of(number), of_limit = extents.of(limit);
         if (!of_number || !of_limit || of_limit->least != of_limit->greatest)
            continue;
         nir_def *first = nir_read_first_invocation(&b, early(number)),
                 *least = nir_iadd_imm(&b, first, of_number->least),
                 *greatest = nir_iadd_imm(&b, first, of_number->greatest),
                 *uniform_limit = nir_read_first_invocation(&b, early(limit));
         const auto decide_at = [&](nir_def *end) {
            return decide(i == 0 ? nir_build_alu2(&b, alu->op, end, uniform_limit)
                                 : nir_build_alu2(&b, alu->op, uniform_limit, end),
                          end);
         };
         nir_def *are_ordered =
            order == Order::of_signed ? nir_ige(&b, greatest, least) : nir_uge(&b, greatest, least);
         return nir_iand(&b, are_ordered, nir_iand(&b, decide_at(least), decide_at(greatest)));
      }
      return nullptr;
   }

   /// The value at the shader's beginning. It may use the facts before it: if one of them does not
   /// hold, no other counts.
   nir_def *early(nir_def *def)
   {
      def = simplest(def);
      if (nir_def *found = earlier.find(def))
         return found;
      nir_foreach_src(
         def->parent_instr,
         [](nir_src *src, void *data) {
            auto *self = static_cast<Splitter *>(data);
            self->earlier.insert(src->ssa, self->early(src->ssa));
            return true;
         },
         this);
      nir_instr *clone = nir_instr_clone_deep(b.shader, def->parent_instr, earlier.get());
      nir_builder_instr_insert(&b, clone);
      return nir_instr_def(clone);
   }

   nir_def *simplest(nir_def *def) const
   {
      for (auto found = simpler.find(def); found != simpler.end(); found = simpler.find(def))
         def = found->second;
      return def;
   }

   /// Makes the interior's version simpler.
   void use(const Fact &fact, const DefTable &clones)
   {
      nir_def *value = clones.find(fact.value);
      b.cursor = nir_after_instr(value->parent_instr);
      switch (fact.is) {
      case Fact::Is::operand:
         nir_def_rewrite_uses(value, clones.find(fact.other));
         break;
      case Fact::Is::in_row:
         nir_def_rewrite_uses(value,
                              nir_iadd(&b, clones.find(fact.other), differences.at(fact.value)));
         break;
      case Fact::Is::true_value:
      case Fact::Is::false_value:
         nir_def_rewrite_uses(value, nir_imm_bool(&b, fact.is == Fact::Is::true_value));
         break;
      }
   }

   nir_function_impl *const impl;
   nir_builder b;
   const Extents &extents;
   DefTable earlier;
   std::unordered_map<nir_def *, nir_def *> simpler, differences;
};

} // namespace

bool opt_interior(nir_shader *shader, uint32_t subgroup_size)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   const std::vector<nir_def *> addresses = addresses_of_reads(impl);
   bool pays = addresses.size() >= min_reads;
   if (pays) {
      Facts found(impl);
      pays = std::ranges::count_if(
                addresses, [&](nir_def *address) { return found.simplify(address); }) >= min_reads;
      if (pays) {
         nir_divergence_analysis(shader);
         nir_index_ssa_defs(impl);
         const Extents extents(shader, subgroup_size);
         Splitter(impl, extents).run(found.facts);
      }
   }
   nir_metadata_preserve(impl, pays ? nir_metadata_none : nir_metadata_all);
   return pays;
}

} // namespace weft::cpu
