// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_memory.h"

#include "nir_passes/matrices/cmat_description.h"

#include "compiler/nir/nir_deref.h"

namespace weft::cmat {

Memory::Memory(nir_builder *b, nir_deref_instr *pointer, nir_def *stride,
               const glsl_cmat_description &matrix, bool robust_access)
    : b(b), base(cmat_unit_pointer(b, pointer, matrix)), unit(pointee_bytes(base)),
      component(component_bits(matrix) / 8)
{
   if (robust_access && nir_deref_mode_is(pointer, nir_var_mem_ssbo))
      find_bounds(pointer, stride, base);
   else
      unit_stride = scale(nir_u2u32(b, stride), pointee_bytes(pointer), unit);
}

void Memory::find_bounds(nir_deref_instr *pointer, nir_def *stride, const nir_deref_instr *units)
{
   const Bounds bounds = cmat::bounds(b, pointer, stride, component);
   nir_def *size = nir_uadd_sat(b, bounds.end, nir_imm_int(b, int(component - 1)));
   nir_def *outside = nir_iand_imm(b, nir_uadd_sat(b, size, nir_imm_int(b, 15)), ~uint64_t(15));
   while (nir_deref_instr *parent = nir_deref_instr_parent(pointer))
      pointer = parent;
   base = nir_build_deref_cast(b, pointer->parent.ssa, pointer->modes, units->type, unit);
   /* Drivers compute offsets in 32 bits. Offsets of parts and the stride are limited to `outside`:
    * a part or line that begins outside of the buffer stays outside, and no offset wraps around. */
   unit_stride = nir_udiv_imm(b, nir_umin(b, bounds.stride, outside), unit);
   robust = {bounds, outside};
}

nir_deref_instr *Memory::element(nir_def *line, nir_def *place) const
{
   nir_def *index;
   if (robust) {
      nir_def *bytes = offset(b, robust->bounds, line, place);
      index = nir_udiv_imm(b, nir_umin(b, bytes, robust->outside), unit);
   } else {
      index = nir_iadd(b, nir_imul(b, unit_stride, line), scale(place, component, unit));
   }
   return nir_build_deref_ptr_as_array(b, base, nir_u2uN(b, index, base->def.bit_size));
}

/// value * factor / divisor, which must be a whole number.
nir_def *Memory::scale(nir_def *value, uint32_t factor, uint32_t divisor) const
{
   if (factor % divisor == 0)
      return nir_imul_imm(b, value, factor / divisor);
   return nir_udiv_imm(b, nir_imul_imm(b, value, factor), divisor);
}

} // namespace weft::cmat
