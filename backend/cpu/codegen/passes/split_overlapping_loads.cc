// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/passes/split_overlapping_loads.h"

#include "backend/cpu/codegen/facts/lane_analysis.h"
#include "backend/cpu/codegen/plans/memory_access.h"

#include "compiler/nir/nir_builder.h"

namespace weft::cpu {

namespace {

/// The address of a load from buffers, shared or global memory; null for other intrinsics.
const nir_src *offset_of(nir_intrinsic_instr *intr)
{
   const std::optional<Access> access = decode_access(intr);
   const bool may_overlap = access && !access->store &&
                            (access->space == Space::buffer || access->space == Space::shared ||
                             access->space == Space::global);
   return may_overlap ? access->offset : nullptr;
}

/// Whether the load's elements may overlap.
bool is_candidate(nir_intrinsic_instr *intr)
{
   return offset_of(intr) && intr->def.num_components > 1 && intr->def.divergent;
}

/// Whether addresses grow by one component from lane to lane, in groups that fill a vector each.
bool overlaps(nir_intrinsic_instr *intr, const LaneAnalysis &lanes)
{
   constexpr unsigned least_bytes = 16;
   const unsigned bytes = intr->def.bit_size / 8;
   const LanePattern pattern = lanes.pattern(*offset_of(intr));
   return pattern.step == bytes && pattern.group * bytes >= least_bytes;
}

nir_def *load_component(nir_builder *b, nir_intrinsic_instr *whole, unsigned component)
{
   auto *load = nir_instr_as_intrinsic(nir_instr_clone(b->shader, &whole->instr));
   const unsigned bytes = component * whole->def.bit_size / 8;
   const auto place = unsigned(offset_of(whole) - whole->src);
   load->num_components = 1;
   load->def.num_components = 1;
   load->src[place] = nir_src_for_ssa(nir_iadd_imm(b, whole->src[place].ssa, bytes));
   const unsigned multiple = nir_intrinsic_align_mul(whole);
   nir_intrinsic_set_align(load, multiple, (nir_intrinsic_align_offset(whole) + bytes) % multiple);
   nir_builder_instr_insert(b, &load->instr);
   return &load->def;
}

} // namespace

bool split_overlapping_loads(nir_shader *shader, uint32_t subgroup_size)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   std::vector<nir_intrinsic_instr *> found;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_intrinsic && is_candidate(nir_instr_as_intrinsic(instr)))
            found.push_back(nir_instr_as_intrinsic(instr));
      }
   }
   if (!found.empty()) {
      nir_index_ssa_defs(impl);
      const LaneAnalysis lanes(shader, subgroup_size);
      std::erase_if(found, [&](nir_intrinsic_instr *load) { return !overlaps(load, lanes); });
   }
   nir_builder b = nir_builder_create(impl);
   for (nir_intrinsic_instr *load : found) {
      b.cursor = nir_before_instr(&load->instr);
      nir_def *components[NIR_MAX_VEC_COMPONENTS];
      for (unsigned c = 0; c < load->def.num_components; c++)
         components[c] = load_component(&b, load, c);
      nir_def_replace(&load->def, nir_vec(&b, components, load->def.num_components));
   }
   nir_metadata_preserve(impl, found.empty() ? nir_metadata_all : nir_metadata_control_flow);
   return !found.empty();
}

} // namespace weft::cpu
