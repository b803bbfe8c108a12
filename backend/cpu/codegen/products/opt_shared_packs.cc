// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/products/opt_shared_packs.h"

#include "backend/cpu/codegen/products/shared_tile.h"

#include "nir_passes/evaluate_operation.h"
#include "nir_passes/workgroups/workgroup_barrier.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace weft::cpu {

namespace {

/// The numbers of groups are digits of a word.
constexpr uint32_t most_subgroups = 16, bits_of_group = 4;

/// Values that follow from the number of the subgroup.
class SubgroupValues {
public:
   explicit SubgroupValues(uint32_t subgroup) : subgroup(subgroup) {}

   std::optional<uint64_t> operator()(const nir_src &src)
   {
      const auto value =
         src.ssa->num_components == 1 ? evaluate(nir_get_scalar(src.ssa, 0)) : std::nullopt;
      return value ? std::optional(nir_const_value_as_uint(*value, src.ssa->bit_size))
                   : std::nullopt;
   }

private:
   std::optional<nir_const_value> evaluate(nir_scalar scalar)
   {
      scalar = nir_scalar_chase_movs(scalar);
      if (nir_scalar_is_const(scalar))
         return nir_scalar_as_const_value(scalar);
      const auto [at, is_new] = known.try_emplace({scalar.def, scalar.comp});
      if (is_new)
         at->second = compute(scalar);
      return at->second;
   }

   std::optional<nir_const_value> compute(const nir_scalar &scalar)
   {
      if (nir_scalar_is_intrinsic(scalar)) {
         const unsigned bits = scalar.def->bit_size;
         switch (nir_scalar_intrinsic_op(scalar)) {
         case nir_intrinsic_load_subgroup_id:
            return nir_const_value_for_raw_uint(subgroup, bits);
         case nir_intrinsic_load_subgroup_invocation: // operands of tiles are uniform
            return nir_const_value_for_raw_uint(0, bits);
         default:
            return std::nullopt;
         }
      }
      if (!nir_scalar_is_alu(scalar) || depth == most_depth)
         return std::nullopt;
      depth++;
      const auto result =
         evaluate_operation(scalar, [&](const nir_scalar &operand) { return evaluate(operand); });
      depth--;
      return result;
   }

   static constexpr uint32_t most_depth = 64;
   const uint32_t subgroup;
   uint32_t depth = 0;
   std::map<std::pair<nir_def *, unsigned>, std::optional<nir_const_value>> known;
};

bool is_workgroup_barrier(const nir_intrinsic_instr *instr)
{
   return instr->intrinsic == nir_intrinsic_barrier &&
          nir_intrinsic_execution_scope(instr) >= SCOPE_WORKGROUP;
}

struct Load {
   nir_intrinsic_instr *instr;
   SharedTile tile;
};

/// From a barrier of the workgroup to the next: loads of shared memory that nothing writes in
/// between, then products.
struct Interval {
   std::vector<Load> loads;
   std::vector<nir_src *> factors; ///< of the products, from these loads
   bool has_other_loads = false;   ///< of tiles that lie in shared memory too
};

/// Finds the intervals of a shader, and the variables whose accesses all lie in them.
class Intervals {
public:
   explicit Intervals(nir_function_impl *impl)
   {
      nir_foreach_block(block, impl) {
         current = nullptr;
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_intrinsic)
               add(nir_instr_as_intrinsic(instr));
            else if (instr->type == nir_instr_type_call)
               may_load = false;
         }
      }
   }

   /// Whether no access of the variable lies elsewhere.
   bool contain(nir_variable *variable) const
   {
      const auto found = uses_inside.find(variable);
      return found != uses_inside.end() && found->second == uses.at(variable);
   }

   std::vector<std::unique_ptr<Interval>> all;

private:
   void add(nir_intrinsic_instr *instr)
   {
      for (unsigned i = 0; i < nir_intrinsic_infos[instr->intrinsic].num_srcs; i++) {
         if (nir_deref_instr *deref = nir_src_as_deref(instr->src[i]))
            uses[nir_deref_instr_get_variable(deref)]++;
      }
      if (is_workgroup_barrier(instr)) {
         current = all.emplace_back(std::make_unique<Interval>()).get();
         may_load = true;
      } else if (instr->intrinsic == nir_intrinsic_tile_muladd_weft) {
         may_load = false;
         add_factor(instr->src[1]);
         add_factor(instr->src[2]);
      } else if (is_tile_load(instr)) {
         add_load(instr);
      } else if (!(nir_intrinsic_infos[instr->intrinsic].flags & NIR_INTRINSIC_CAN_ELIMINATE)) {
         may_load = false;
      }
   }

   void add_load(nir_intrinsic_instr *instr)
   {
      const auto tile = shared_tile(instr->src[0]);
      if (!current || !may_load)
         return;
      if (!tile || nir_intrinsic_memory_modes(instr) != nir_var_mem_shared || is_loaded(*tile)) {
         current->has_other_loads |= weft_is_shared_tile(instr->src[0]);
         return;
      }
      current->loads.push_back({instr, *tile});
      uses_inside[tile->first]++;
   }

   void add_factor(nir_src &factor)
   {
      const auto tile = shared_tile(factor);
      if (!current || !tile || !is_loaded(*tile))
         return;
      current->factors.push_back(&factor);
      uses_inside[tile->first]++;
   }

   bool is_loaded(const SharedTile &tile) const
   {
      return std::ranges::find(current->loads, tile, &Load::tile) != current->loads.end();
   }

   Interval *current = nullptr;
   bool may_load = false; ///< memory is as it was at the barrier
   std::map<nir_variable *, uint32_t> uses, uses_inside;
};

/// The loads of a variable in an interval, and the groups of subgroups for which they are the same.
struct Sharing {
   std::vector<Load> loads;
   std::vector<uint32_t> group, rank; ///< of each subgroup: its group, and its number among those
   std::vector<uint32_t> members;     ///< of each group

   uint32_t saved() const { return uint32_t(loads.size() * (group.size() - members.size())); }

   /// The subgroups that do a load, as a mask.
   uint32_t owners(size_t load) const
   {
      uint32_t mask = 0;
      for (uint32_t s = 0; s < group.size(); s++)
         mask |= uint32_t(load * members[group[s]] / loads.size() == rank[s]) << s;
      return mask;
   }
};

/// Nothing if the places of the loads do not follow from the subgroup's number.
std::optional<Sharing> find_sharing(std::vector<Load> loads, std::vector<SubgroupValues> &values)
{
   Sharing sharing;
   sharing.loads = std::move(loads);
   std::vector<std::vector<uint64_t>> places; // of each group
   for (SubgroupValues &value_of : values) {
      std::vector<uint64_t> place;
      for (const Load &load : sharing.loads) {
         for (const unsigned source : {1u, 2u}) {
            const auto value = value_of(load.instr->src[source]);
            if (!value)
               return {};
            place.push_back(*value);
         }
      }
      const auto found = std::ranges::find(places, place);
      const auto group = uint32_t(found - places.begin());
      if (found == places.end()) {
         places.push_back(place);
         sharing.members.push_back(0);
      }
      sharing.group.push_back(group);
      sharing.rank.push_back(sharing.members[group]++);
   }
   return sharing;
}

class SharedPacks {
public:
   SharedPacks(nir_function_impl *impl, uint32_t subgroups, uint32_t bytes)
       : b(nir_builder_create(impl)), bytes_left(bytes)
   {
      for (uint32_t s = 0; s < subgroups; s++)
         values.emplace_back(s);
   }

   /// Divides the interval's loads. Whether it has enough that are the same.
   bool share(const Interval &interval, const Intervals &intervals)
   {
      if (interval.has_other_loads)
         return false;
      const std::vector<Sharing> all = find(interval, intervals);
      uint32_t saved = 0;
      for (const Sharing &sharing : all)
         saved += sharing.saved();
      // A barrier costs a subgroup about as much as a load.
      if (saved <= values.size())
         return false;
      b.cursor = nir_before_impl(b.impl);
      subgroup = nir_load_subgroup_id(&b);
      b.cursor = nir_after_instr(&interval.loads.back().instr->instr);
      barrier = &workgroup_barrier(&b)->instr;
      for (const Sharing &sharing : all)
         use(sharing, interval);
      move_others(all, interval);
      return true;
   }

private:
   std::vector<Sharing> find(const Interval &interval, const Intervals &intervals)
   {
      std::map<nir_variable *, std::vector<Load>> loads;
      for (const Load &load : interval.loads)
         loads[load.tile.first].push_back(load);
      std::vector<Sharing> found;
      for (const auto &[variable, loads] : loads) {
         if (!intervals.contain(variable))
            continue;
         auto sharing = find_sharing(loads, values);
         if (!sharing || sharing->saved() == 0 || shared_tiles_bytes(type(*sharing)) > bytes_left)
            continue;
         bytes_left -= shared_tiles_bytes(type(*sharing));
         found.push_back(std::move(*sharing));
      }
      return found;
   }

   static const glsl_type *type(const Sharing &sharing)
   {
      const glsl_type *tile = glsl_get_array_element(sharing.loads[0].tile.first->type);
      return glsl_array_type(glsl_array_type(tile, uint32_t(sharing.loads.size()), 0),
                             uint32_t(sharing.members.size()), 0);
   }

   void use(const Sharing &sharing, const Interval &interval)
   {
      nir_variable *tiles = create_shared_tiles(b.shader, type(sharing), "shared_factors");
      nir_def *group = group_of(sharing);
      const auto tile = [&](size_t number) {
         nir_deref_instr *of_group = build_shared_tile(&b, tiles, group);
         return &nir_build_deref_array(&b, of_group, nir_imm_int64(&b, int64_t(number)))->def;
      };
      for (nir_src *factor : interval.factors) {
         const auto load = std::ranges::find(sharing.loads, shared_tile(*factor), &Load::tile);
         if (load == sharing.loads.end())
            continue;
         b.cursor = nir_before_instr(nir_src_parent_instr(factor));
         nir_src_rewrite(factor, tile(size_t(load - sharing.loads.begin())));
      }
      b.cursor = nir_before_instr(barrier);
      for (size_t i = 0; i < sharing.loads.size();) {
         const uint32_t owners = sharing.owners(i);
         nir_push_if(&b, is_among(owners));
         for (; i < sharing.loads.size() && sharing.owners(i) == owners; i++) {
            nir_intrinsic_instr *load = sharing.loads[i].instr;
            nir_src_rewrite(&load->src[0], tile(i));
            nir_instr_move(b.cursor, &load->instr);
            b.cursor = nir_after_instr(&load->instr);
         }
         nir_pop_if(&b, nullptr);
      }
   }

   /// All subgroups load their own tiles to the same place, from which they multiply before another
   /// subgroup runs. So these loads must come after the barrier.
   void move_others(const std::vector<Sharing> &all, const Interval &interval)
   {
      nir_instr *last = barrier;
      for (const Load &load : interval.loads) {
         const bool is_divided = std::ranges::any_of(all, [&](const Sharing &sharing) {
            return sharing.loads[0].tile.first == load.tile.first;
         });
         if (is_divided)
            continue;
         nir_instr_move(nir_after_instr(last), &load.instr->instr);
         last = &load.instr->instr;
      }
   }

   nir_def *group_of(const Sharing &sharing)
   {
      uint64_t digits = 0;
      for (uint32_t s = 0; s < sharing.group.size(); s++)
         digits |= uint64_t(sharing.group[s]) << (bits_of_group * s);
      b.cursor = nir_after_instr(subgroup->parent_instr);
      nir_def *shifted = nir_ushr(&b, nir_imm_int64(&b, int64_t(digits)),
                                  nir_imul_imm(&b, subgroup, bits_of_group));
      return nir_iand_imm(&b, shifted, (1 << bits_of_group) - 1);
   }

   nir_def *is_among(uint32_t mask)
   {
      return nir_ine_imm(&b, nir_iand_imm(&b, nir_ishl(&b, nir_imm_int(&b, 1), subgroup), mask), 0);
   }

   nir_builder b;
   std::vector<SubgroupValues> values; ///< of each subgroup
   uint32_t bytes_left;
   nir_def *subgroup = nullptr;
   nir_instr *barrier = nullptr; ///< behind the loads
};

} // namespace

bool opt_shared_packs(nir_shader *nir, uint32_t subgroup_size, uint32_t bytes)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   const uint16_t *size = nir->info.workgroup_size;
   const uint32_t subgroups =
      (uint32_t(size[0]) * size[1] * size[2] + subgroup_size - 1) / subgroup_size;
   bool progress = false;
   if (subgroups > 1 && subgroups <= most_subgroups) {
      SharedPacks shared(impl, subgroups, bytes);
      const Intervals intervals(impl);
      for (const auto &interval : intervals.all)
         progress |= shared.share(*interval, intervals);
   }
   nir_metadata_preserve(impl, progress ? nir_metadata_none : nir_metadata_all);
   return progress;
}

} // namespace weft::cpu
