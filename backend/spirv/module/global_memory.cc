// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/global_memory.h"

#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/translator.h"

namespace weft::spirv {

GlobalMemory::GlobalMemory(Translator &translator) : t(translator), m(translator.m) {}

Pointer GlobalMemory::pointer_to(nir_intrinsic_instr *instr, Id type)
{
   used = true;
   const nir_src &address = *nir_get_io_offset_src(instr);
   const Id pointer_type = m.type_pointer(SpvStorageClassPhysicalStorageBuffer, type);
   return {m.emit(SpvOpConvertUToPtr, pointer_type, {t.get(address, Kind::integer)}),
           SpvStorageClassPhysicalStorageBuffer};
}

void GlobalMemory::emit_load(nir_intrinsic_instr *instr)
{
   const nir_def &def = instr->def;
   /* Units narrower than words are scalars (lower_access_units.h). */
   const Id type = m.type_vector(memory_type(t, def.bit_size), def.num_components);
   require_small_storage(t, def.bit_size);
   const Pointer pointer = pointer_to(instr, type);
   Words operands = {pointer.id};
   for (uint32_t word :
        memory_operands(t, nir_intrinsic_access(instr), false, pointer.storage, unit_bytes(def)))
      operands.push_back(word);
   const Id loaded = m.emit(SpvOpLoad, type, operands);
   t.define_vector(def, from_memory(t, loaded, def.bit_size), Kind::integer);
}

void GlobalMemory::emit_store(nir_intrinsic_instr *instr)
{
   const nir_def &value = *instr->src[0].ssa;
   const Id type = m.type_vector(memory_type(t, value.bit_size), value.num_components);
   require_small_storage(t, value.bit_size);
   const Id object = to_memory(t, t.get_vector(instr->src[0], Kind::integer), value.bit_size);
   const Pointer pointer = pointer_to(instr, type);
   Words operands = {pointer.id, object};
   for (uint32_t word :
        memory_operands(t, nir_intrinsic_access(instr), true, pointer.storage, unit_bytes(value)))
      operands.push_back(word);
   m.emit(SpvOpStore, operands);
}

Pointer GlobalMemory::array_pointer(Id address, Id unit_type, unsigned bits)
{
   used = true;
   require_small_storage(t, bits);
   Id &block = blocks[unit_type];
   if (!block) {
      const Id array = m.distinct_type(SpvOpTypeRuntimeArray, {unit_type});
      m.decorate(array, SpvDecorationArrayStride, {bits / 8});
      block = m.distinct_type(SpvOpTypeStruct, {array});
      m.decorate(block, SpvDecorationBlock);
      m.decorate_member(block, 0, SpvDecorationOffset, {0});
   }
   const auto storage = SpvStorageClassPhysicalStorageBuffer;
   const Id base = m.emit(SpvOpConvertUToPtr, m.type_pointer(storage, block), {address});
   const Id zero = m.constant_uint(0);
   return {m.emit(SpvOpAccessChain, m.type_pointer(storage, unit_type), {base, zero, zero}),
           storage};
}

} // namespace weft::spirv
