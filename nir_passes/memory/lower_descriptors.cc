// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/lower_descriptors.h"

#include <algorithm>
#include <string>
#include <vector>

namespace weft {

namespace {

/// A resource index becomes (slot, offset of the descriptor, stride of its array). A descriptor
/// becomes the address of its buffer's first byte, (slot, offset of the descriptor, 0).
class DescriptorLowering {
public:
   DescriptorLowering(nir_shader *nir, std::span<const BindingLayout> bindings)
       : bindings(bindings), b(nir_builder_create(nir_shader_get_entrypoint(nir)))
   {
   }

   Result<bool> run()
   {
      for (nir_intrinsic_instr *instr : collect()) {
         b.cursor = nir_before_instr(&instr->instr);
         nir_def *address = lower(instr);
         if (!address)
            return Error{error};
         nir_def_replace(&instr->def, address);
         progress = true;
      }
      nir_metadata_preserve(b.impl, progress ? nir_metadata_control_flow : nir_metadata_all);
      return progress;
   }

private:
   /// All resource intrinsics, indices before the intrinsics that use them.
   std::vector<nir_intrinsic_instr *> collect()
   {
      std::vector<nir_intrinsic_instr *> work;
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
            switch (intrinsic->intrinsic) {
            case nir_intrinsic_vulkan_resource_index:
            case nir_intrinsic_vulkan_resource_reindex:
            case nir_intrinsic_load_vulkan_descriptor:
               work.push_back(intrinsic);
               break;
            default:
               break;
            }
         }
      }
      return work;
   }

   nir_def *lower(nir_intrinsic_instr *instr)
   {
      switch (instr->intrinsic) {
      case nir_intrinsic_vulkan_resource_index:
         return lower_index(instr);
      case nir_intrinsic_vulkan_resource_reindex:
         return lower_reindex(instr);
      default:
         return lower_descriptor(instr);
      }
   }

   nir_def *lower_index(nir_intrinsic_instr *instr)
   {
      const Result<BindingLayout> d =
         find_binding(bindings, nir_intrinsic_desc_set(instr), nir_intrinsic_binding(instr));
      if (!d) {
         error = d.error().message;
         return nullptr;
      }
      if (d->inline_data) {
         if (d->count > max_inline_bytes) {
            error =
               "an inline uniform block of " + std::to_string(d->count) + " bytes is too large";
            return nullptr;
         }
         return nir_imm_ivec3(&b, int(d->slot | d->count << 8 | inline_data_slot), int(d->offset),
                              0);
      }
      const DescriptorPlace place = descriptor_place(&b, *d, nir_u2u32(&b, instr->src[0].ssa));
      return nir_vec3(&b, nir_imm_int(&b, int(place.slot)), place.offset,
                      nir_imm_int(&b, int(d->stride)));
   }

   /// Adds to the index into an array of descriptors.
   nir_def *lower_reindex(nir_intrinsic_instr *instr)
   {
      nir_def *base = instr->src[0].ssa;
      nir_def *step = nir_imul(&b, nir_u2u32(&b, instr->src[1].ssa), nir_channel(&b, base, 2));
      return nir_vector_insert_imm(&b, base, nir_iadd(&b, nir_channel(&b, base, 1), step), 1);
   }

   /// Replaces the stride, which is no longer needed, by an offset of 0 into the buffer.
   nir_def *lower_descriptor(nir_intrinsic_instr *instr)
   {
      return nir_vector_insert_imm(&b, instr->src[0].ssa, nir_imm_int(&b, 0), 2);
   }

   std::span<const BindingLayout> bindings;
   nir_builder b;
   std::string error;
   bool progress = false;
};

} // namespace

Result<BindingLayout> find_binding(std::span<const BindingLayout> bindings, uint32_t set,
                                   uint32_t binding)
{
   const auto it = std::ranges::find_if(
      bindings, [&](const BindingLayout &d) { return d.set == set && d.binding == binding; });
   if (it != bindings.end())
      return *it;
   return Error{"the shader uses the binding " + std::to_string(binding) +
                " of the descriptor set " + std::to_string(set) +
                ", which the pipeline layout lacks"};
}

DescriptorPlace descriptor_place(nir_builder *b, const BindingLayout &layout, nir_def *index)
{
   if (layout.count > 0)
      index = nir_umin(b, index, nir_imm_int(b, int(layout.count - 1)));
   return {layout.slot | (layout.variable_count ? optional_slot : 0),
           nir_iadd_imm(b, nir_imul_imm(b, index, layout.stride), layout.offset)};
}

Result<bool> lower_descriptors(nir_shader *nir, std::span<const BindingLayout> bindings)
{
   return DescriptorLowering(nir, bindings).run();
}

std::vector<BindingLayout> own_bindings(nir_shader *nir)
{
   std::vector<BindingLayout> bindings;
   nir_foreach_variable_with_modes(var, nir, nir_var_mem_ubo | nir_var_mem_ssbo) {
      const uint32_t set = var->data.descriptor_set, binding = var->data.binding;
      const bool known = std::ranges::any_of(
         bindings, [&](const BindingLayout &d) { return d.set == set && d.binding == binding; });
      if (!known)
         bindings.push_back({set, binding, uint32_t(bindings.size()), 0, 1, 0, false});
   }
   return bindings;
}

} // namespace weft
