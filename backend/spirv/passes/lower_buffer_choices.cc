// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/passes/lower_buffer_choices.h"

#include "nir_passes/compile_limits.h"
#include "nir_passes/memory/lower_descriptors.h"

#include "compiler/nir/nir_builder.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace weft::spirv {

namespace {

/// The binding of a slot.
struct Binding {
   bool uniform;
   std::optional<uint32_t> length; ///< of an array of descriptors, 0: runtime
};

std::vector<Binding> list_bindings(nir_shader *nir)
{
   std::vector<Binding> list;
   for (const BindingLayout &layout : own_bindings(nir)) {
      Binding binding = {};
      nir_foreach_variable_with_modes(var, nir, nir_var_mem_ubo | nir_var_mem_ssbo) {
         if (uint32_t(var->data.descriptor_set) != layout.set ||
             uint32_t(var->data.binding) != layout.binding)
            continue;
         binding.uniform |= var->data.mode == nir_var_mem_ubo;
         if (glsl_type_is_array(var->type))
            binding.length = std::max(binding.length.value_or(0), glsl_get_aoa_size(var->type));
      }
      list.push_back(binding);
   }
   return list;
}

/// The source of an intrinsic that holds the buffer's slot and element; null if there is none.
nir_src *buffer_source(nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_get_ssbo_size:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      return &instr->src[0];
   case nir_intrinsic_store_ssbo:
      return &instr->src[1];
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
      if (!(nir_intrinsic_memory_modes(instr) & nir_var_mem_ssbo))
         return nullptr;
      return &instr->src[instr->intrinsic == nir_intrinsic_tile_load_weft ? 1 : 0];
   default:
      return nullptr;
   }
}

/// A possible target of a pointer.
struct Choice {
   uint32_t slot;
   std::optional<uint32_t> element; ///< nothing: the element in the address

   auto operator<=>(const Choice &) const = default;
};

/// The buffers that an address may refer to.
class Choices {
public:
   std::vector<Choice> list; ///< sorted, without duplicates
   bool may_be_null = false;

   Choices(std::span<const Binding> bindings, bool uniform, const nir_src &address)
       : bindings(bindings), uniform(uniform)
   {
      add(nir_scalar_resolved(address.ssa, 0), nir_scalar_resolved(address.ssa, 1));
      /* An unknown element includes all known ones. */
      const std::set<Choice> all = found;
      std::erase_if(found, [&](const Choice &c) {
         return c.element && all.contains(Choice{c.slot, std::nullopt});
      });
      list.assign(found.begin(), found.end());
   }

private:
   /// Addresses with more forms than this may refer to any buffer.
   static constexpr size_t max_forms = 1024;

   void add(nir_scalar slot, nir_scalar element)
   {
      if (!seen.emplace(slot.def, slot.comp, element.def, element.comp).second)
         return;
      if (seen.size() > max_forms)
         return add_all();
      const bool known = nir_scalar_is_const(slot);
      if (known && (nir_scalar_is_const(element) ||
                    !split_one(element, [&](nir_scalar e) { add(slot, e); })))
         return add_known(uint32_t(nir_scalar_as_uint(slot)), element);
      if (known || split_both(slot, element) ||
          split_one(slot, [&](nir_scalar s) { add(s, element); }) ||
          split_one(element, [&](nir_scalar e) { add(slot, e); }))
         return;
      add_all();
   }

   void add_known(uint32_t slot, nir_scalar element)
   {
      if (slot >= bindings.size()) {
         may_be_null = true;
         return;
      }
      const std::optional<uint32_t> length = bindings[slot].length;
      if (!length) {
         found.insert({slot, 0});
      } else if (nir_scalar_is_const(element) &&
                 (*length == 0 || nir_scalar_as_uint(element) < *length)) {
         found.insert({slot, uint32_t(nir_scalar_as_uint(element))});
      } else {
         found.insert({slot, std::nullopt});
      }
   }

   void add_all()
   {
      may_be_null = true;
      for (uint32_t slot = 0; slot < bindings.size(); ++slot) {
         if (bindings[slot].uniform == uniform)
            found.insert({slot, bindings[slot].length ? std::nullopt : std::optional(0u)});
      }
   }

   /// Calls `next` with each possible value of a number; false if the number is not a choice.
   template <typename Next>
   static bool split_one(nir_scalar number, const Next &next)
   {
      if (number.def->parent_instr->type == nir_instr_type_phi) {
         nir_foreach_phi_src(source, nir_instr_as_phi(number.def->parent_instr))
            next(nir_scalar_resolved(source->src.ssa, number.comp));
         return true;
      }
      if (!nir_scalar_is_alu(number) || nir_scalar_alu_op(number) != nir_op_bcsel)
         return false;
      for (const unsigned source : {1, 2})
         next(nir_scalar_chase_movs(nir_scalar_chase_alu_src(number, source)));
      return true;
   }

   /// Splits a choice that selects slot and element together.
   bool split_both(nir_scalar slot, nir_scalar element)
   {
      const nir_instr *x = slot.def->parent_instr, *y = element.def->parent_instr;
      if (x->type == nir_instr_type_phi && y->type == nir_instr_type_phi && x->block == y->block) {
         nir_foreach_phi_src(source, nir_instr_as_phi(slot.def->parent_instr))
         {
            const nir_src *other = &nir_phi_get_src_from_block(
                                       nir_instr_as_phi(element.def->parent_instr), source->pred)
                                       ->src;
            add(nir_scalar_resolved(source->src.ssa, slot.comp),
                nir_scalar_resolved(other->ssa, element.comp));
         }
         return true;
      }
      const auto is_select = [](nir_scalar s) {
         return nir_scalar_is_alu(s) && nir_scalar_alu_op(s) == nir_op_bcsel;
      };
      if (!is_select(slot) || !is_select(element))
         return false;
      const auto source = [](nir_scalar s, unsigned number) {
         return nir_scalar_chase_movs(nir_scalar_chase_alu_src(s, number));
      };
      if (!nir_scalar_equal(source(slot, 0), source(element, 0)))
         return false;
      for (const unsigned number : {1, 2})
         add(source(slot, number), source(element, number));
      return true;
   }

   const std::span<const Binding> bindings;
   const bool uniform;
   std::set<Choice> found;
   std::set<std::tuple<const nir_def *, unsigned, const nir_def *, unsigned>> seen;
};

class BufferChoices {
public:
   explicit BufferChoices(nir_shader *nir)
       : b(nir_builder_create(nir_shader_get_entrypoint(nir))), bindings(list_bindings(nir))
   {
   }

   Result<bool> run()
   {
      std::vector<nir_intrinsic_instr *> work;
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
            const nir_src *source = buffer_source(intrinsic);
            if (source && !nir_scalar_is_const(nir_scalar_resolved(source->ssa, 0)))
               work.push_back(intrinsic);
         }
      }
      uint64_t accesses = 0;
      for (nir_intrinsic_instr *instr : work) {
         const Choices choices(bindings, instr->intrinsic == nir_intrinsic_load_ubo,
                               *buffer_source(instr));
         accesses += choices.list.size();
         if (accesses > limits::instructions)
            return Error{"pointers that may point to several buffers are used too often"};
         lower(instr, choices);
      }
      nir_metadata_preserve(b.impl, work.empty() ? nir_metadata_all : nir_metadata_none);
      return !work.empty();
   }

private:
   void lower(nir_intrinsic_instr *instr, const Choices &choices)
   {
      b.cursor = nir_before_instr(&instr->instr);
      nir_def *result = access(instr, choices.list, choices.may_be_null);
      if (result)
         nir_def_rewrite_uses(&instr->def, result);
      nir_instr_remove(&instr->instr);
   }

   /// Returns the result, if the instruction has one.
   nir_def *access(nir_intrinsic_instr *instr, std::span<const Choice> choices, bool may_be_null)
   {
      nir_def *address = buffer_source(instr)->ssa;
      nir_def *slot = nir_channel(&b, address, 0);
      if (choices.empty())
         return zero(instr);
      const Choice &first = choices.front();
      if (choices.size() == 1 && may_be_null) {
         return branch(
            instr, nir_ieq_imm(&b, slot, first.slot), [&] { return access(instr, choices, false); },
            [&] { return zero(instr); });
      }
      if (choices.size() == 1)
         return access_one(instr, first);

      size_t half = choices.size() / 2;
      nir_def *is_below;
      if (first.slot != choices.back().slot) {
         const uint32_t middle = choices[half].slot;
         const auto at = std::ranges::lower_bound(
            choices, middle > first.slot ? middle : middle + 1, {}, &Choice::slot);
         half = size_t(at - choices.begin());
         is_below = nir_ult_imm(&b, slot, at->slot);
      } else {
         is_below = nir_ult_imm(&b, nir_channel(&b, address, 1), *choices[half].element);
      }
      return branch(
         instr, is_below, [&] { return access(instr, choices.first(half), may_be_null); },
         [&] { return access(instr, choices.subspan(half), may_be_null); });
   }

   template <typename Then, typename Else>
   nir_def *branch(nir_intrinsic_instr *instr, nir_def *condition, const Then &then,
                   const Else &otherwise)
   {
      nir_if *nif = nir_push_if(&b, condition);
      nir_def *x = then();
      nir_push_else(&b, nif);
      nir_def *y = otherwise();
      nir_pop_if(&b, nif);
      return nir_intrinsic_infos[instr->intrinsic].has_dest ? nir_if_phi(&b, x, y) : nullptr;
   }

   nir_def *access_one(nir_intrinsic_instr *instr, const Choice &choice)
   {
      nir_intrinsic_instr *copy = nir_instr_as_intrinsic(nir_instr_clone(b.shader, &instr->instr));
      nir_src *source = buffer_source(copy);
      nir_def *address =
         nir_vector_insert_imm(&b, source->ssa, nir_imm_int(&b, int(choice.slot)), 0);
      if (choice.element)
         address = nir_vector_insert_imm(&b, address, nir_imm_int(&b, int(*choice.element)), 1);
      *source = nir_src_for_ssa(address);
      nir_builder_instr_insert(&b, &copy->instr);
      return nir_intrinsic_infos[instr->intrinsic].has_dest ? &copy->def : nullptr;
   }

   nir_def *zero(nir_intrinsic_instr *instr)
   {
      return nir_intrinsic_infos[instr->intrinsic].has_dest
                ? nir_imm_zero(&b, instr->def.num_components, instr->def.bit_size)
                : nullptr;
   }

   nir_builder b;
   const std::vector<Binding> bindings;
};

} // namespace

Result<bool> lower_buffer_choices(nir_shader *nir)
{
   return BufferChoices(nir).run();
}

} // namespace weft::spirv
