// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/plans/memory_access.h"

#include "nir_passes/memory/lower_descriptors.h"

namespace weft::cpu {

std::optional<Access> decode_access(nir_intrinsic_instr *intr)
{
   Access a{};
   switch (intr->intrinsic) {
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      a.space = Space::buffer;
      a.index = &intr->src[0];
      a.offset = &intr->src[1];
      break;
   case nir_intrinsic_store_ssbo:
      a.space = Space::buffer;
      a.index = &intr->src[1];
      a.offset = &intr->src[2];
      break;
   case nir_intrinsic_load_shared:
   case nir_intrinsic_shared_atomic:
   case nir_intrinsic_shared_atomic_swap:
   case nir_intrinsic_store_shared:
      a.space = Space::shared;
      break;
   case nir_intrinsic_load_global:
   case nir_intrinsic_load_global_constant:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
   case nir_intrinsic_store_global:
      a.space = Space::global;
      break;
   case nir_intrinsic_load_scratch:
   case nir_intrinsic_store_scratch:
      a.space = Space::scratch;
      break;
   case nir_intrinsic_load_push_constant:
      a.space = Space::push_constant;
      break;
   case nir_intrinsic_load_constant:
      a.space = Space::constant;
      break;
   default:
      return std::nullopt;
   }
   a.store = !nir_intrinsic_infos[intr->intrinsic].has_dest;
   if (!a.offset)
      a.offset = &intr->src[a.store ? 1 : 0];
   if (nir_intrinsic_has_base(intr))
      a.constant_offset = uint32_t(nir_intrinsic_base(intr));
   const nir_def &data = a.store ? *intr->src[0].ssa : intr->def;
   a.components = data.num_components;
   a.bytes = data.bit_size / 8;
   a.invariant = intr->intrinsic == nir_intrinsic_load_ubo ||
                 intr->intrinsic == nir_intrinsic_load_global_constant ||
                 a.space == Space::push_constant || a.space == Space::constant;
   if (nir_intrinsic_has_access(intr)) {
      // LLVM must not keep values in registers that other threads may write or read.
      const auto access = nir_intrinsic_access(intr);
      a.is_volatile = access & (ACCESS_VOLATILE | ACCESS_COHERENT);
      a.invariant |= (access & ACCESS_CAN_REORDER) != 0;
   }
   return a;
}

namespace {

/// The slot of a buffer, if it is a constant.
std::optional<uint32_t> constant_slot(const Access &access)
{
   const nir_scalar slot = nir_scalar_resolved(access.index->ssa, 0);
   if (!nir_scalar_is_const(slot))
      return std::nullopt;
   return uint32_t(nir_scalar_as_uint(slot));
}

} // namespace

bool has_bound(const Access &access)
{
   return access.space != Space::global && access.space != Space::push_constant;
}

bool has_constant_bound(const Access &access)
{
   if (access.space != Space::buffer)
      return has_bound(access);
   // The slot of a null pointer has all bits set.
   const std::optional<uint32_t> slot = constant_slot(access);
   return slot && (*slot & inline_data_slot);
}

bool has_descriptor(const Access &access)
{
   if (!access.index)
      return true;
   const std::optional<uint32_t> slot = constant_slot(access);
   return slot && nir_scalar_is_const(nir_scalar_resolved(access.index->ssa, 1)) &&
          !(*slot & optional_slot);
}

bool needs_check(const Access &access, bool robust_buffer_access)
{
   switch (access.space) {
   case Space::buffer:
      return robust_buffer_access;
   case Space::scratch:
   case Space::constant:
      return true;
   default:
      return false;
   }
}

} // namespace weft::cpu
