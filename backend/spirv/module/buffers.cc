// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/buffers.h"

#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/translator.h"

#include "nir_passes/memory/lower_descriptors.h"

#include "util/u_math.h"

#include <algorithm>

namespace weft::spirv {

namespace {

std::vector<Buffers::Binding> list_buffers(nir_shader *nir)
{
   std::vector<Buffers::Binding> buffers;
   for (const BindingLayout &d : own_bindings(nir)) {
      Buffers::Binding b = {};
      b.set = d.set;
      b.binding = d.binding;
      b.stride = 4;
      nir_foreach_variable_with_modes(var, nir, nir_var_mem_ubo | nir_var_mem_ssbo) {
         if (uint32_t(var->data.descriptor_set) != d.set ||
             uint32_t(var->data.binding) != d.binding)
            continue;
         /* A block's qualifiers are promises: they hold if all its variables make them. */
         b.access = b.var ? b.access & var->data.access : var->data.access;
         if (!b.var)
            b.var = var;
         b.uniform |= var->data.mode == nir_var_mem_ubo;
         b.is_array |= glsl_type_is_array(var->type);
         if (glsl_type_is_array(var->type))
            b.length = std::max(b.length, glsl_get_aoa_size(var->type));
         const glsl_type *block = glsl_without_array(var->type);
         b.bytes = std::max(b.bytes, glsl_get_explicit_size(block, false));
         const unsigned fields = glsl_type_is_struct_or_ifc(block) ? glsl_get_length(block) : 0;
         if (fields) {
            const glsl_type *last = glsl_get_struct_field(block, fields - 1);
            const unsigned offset =
               unsigned(std::max(glsl_get_struct_field_offset(block, fields - 1), 0));
            const unsigned stride = glsl_get_explicit_stride(last);
            const unsigned odd = offset | stride | 4;
            b.stride = std::min(b.stride, odd & -odd);
         }
      }
      buffers.push_back(std::move(b));
   }
   return buffers;
}

} // namespace

Buffers::Buffers(Translator &translator)
    : t(translator), m(translator.m), bindings(list_buffers(translator.shader))
{
}

Buffers::Binding *Buffers::find(const nir_src &index)
{
   const nir_scalar slot = nir_scalar_resolved(index.ssa, 0);
   if (!nir_scalar_is_const(slot) || nir_scalar_as_uint(slot) >= bindings.size()) {
      t.fail("a pointer that may point to several buffers is not supported");
      return nullptr;
   }
   return &bindings[nir_scalar_as_uint(slot)];
}

/// A block with an array of units, as a descriptor or an array of descriptors.
const Buffers::Binding::View &Buffers::view_of(Binding &b, Id unit_type, unsigned bytes)
{
   Binding::View &view = b.views[unit_type];
   if (view.variable)
      return view;

   Id array;
   if (b.uniform) {
      array = m.distinct_type(
         SpvOpTypeArray, {unit_type, m.constant_uint(std::max(DIV_ROUND_UP(b.bytes, 16), 1u))});
   } else {
      array = m.distinct_type(SpvOpTypeRuntimeArray, {unit_type});
      require_small_storage(t, bytes * 8);
   }
   m.decorate(array, SpvDecorationArrayStride, {bytes});
   const Id block = m.distinct_type(SpvOpTypeStruct, {array});
   m.decorate(block, SpvDecorationBlock);
   m.decorate_member(block, 0, SpvDecorationOffset, {0});
   if (b.uniform || b.access & ACCESS_NON_WRITEABLE)
      m.decorate_member(block, 0, SpvDecorationNonWritable);
   if (b.access & ACCESS_NON_READABLE)
      m.decorate_member(block, 0, SpvDecorationNonReadable);

   Id type = block;
   if (b.is_array && b.length == 0) {
      type = m.type(SpvOpTypeRuntimeArray, {block});
      m.capability(SpvCapabilityRuntimeDescriptorArray);
      t.extension("SPV_EXT_descriptor_indexing", 0x00010500);
   } else if (b.is_array) {
      type = m.type(SpvOpTypeArray, {block, m.constant_uint(b.length)});
   }
   const SpvStorageClass storage =
      b.uniform ? SpvStorageClassUniform : SpvStorageClassStorageBuffer;
   const Id variable = m.global_variable(m.type_pointer(storage, type), storage);
   m.name(variable, b.var->name);
   m.decorate(variable, SpvDecorationDescriptorSet, {b.set});
   m.decorate(variable, SpvDecorationBinding, {b.binding});
   view = {variable, block};
   return view;
}

/// A pointer to a unit or to a part of it; `place` lists the indices that lead there.
Pointer Buffers::pointer_to(nir_intrinsic_instr *instr, const nir_src &index, Id unit_type,
                            unsigned bytes, const Words &place, Id accessed_type)
{
   Binding *b = find(index);
   if (!b)
      return {0, SpvStorageClassStorageBuffer};
   const SpvStorageClass storage =
      b->uniform ? SpvStorageClassUniform : SpvStorageClassStorageBuffer;
   Words operands = {view_of(*b, unit_type, bytes).variable};
   const bool non_uniform = b->is_array && add_descriptor(*b, instr, index, operands);
   operands.push_back(m.constant_uint(0));
   operands.insert(operands.end(), place.begin(), place.end());
   const Id pointer = m.emit(SpvOpAccessChain, m.type_pointer(storage, accessed_type), operands);
   if (non_uniform)
      m.decorate(pointer, SpvDecorationNonUniform);
   return {pointer, storage};
}

/// Appends the index into an array of descriptors; returns whether the pointer is NonUniform.
bool Buffers::add_descriptor(const Binding &b, nir_intrinsic_instr *instr, const nir_src &index,
                             Words &operands)
{
   const nir_scalar element = nir_scalar_resolved(index.ssa, 1);
   operands.push_back(t.get(element, Kind::integer));
   if (nir_scalar_is_const(element))
      return false;
   m.capability(b.uniform ? SpvCapabilityUniformBufferArrayDynamicIndexing
                          : SpvCapabilityStorageBufferArrayDynamicIndexing);
   if (!nir_intrinsic_has_access(instr) || !(nir_intrinsic_access(instr) & ACCESS_NON_UNIFORM))
      return false;
   m.capability(SpvCapabilityShaderNonUniform);
   m.capability(b.uniform ? SpvCapabilityUniformBufferArrayNonUniformIndexing
                          : SpvCapabilityStorageBufferArrayNonUniformIndexing);
   t.extension("SPV_EXT_descriptor_indexing", 0x00010500);
   return true;
}

void Buffers::emit_load(nir_intrinsic_instr *instr)
{
   const nir_def &def = instr->def;
   const unsigned access = nir_intrinsic_access(instr);
   const Id unit = t.get(instr->src[1], Kind::integer);
   const Id scalar_type = memory_type(t, def.bit_size);
   if (instr->intrinsic == nir_intrinsic_load_ssbo) {
      const Id type = m.type_vector(scalar_type, def.num_components);
      const Pointer pointer = pointer_to(instr, instr->src[0], type, unit, unit_bytes(def));
      Words operands = {pointer.id};
      for (uint32_t word : memory_operands(t, access, false, pointer.storage))
         operands.push_back(word);
      const Id loaded = m.emit(SpvOpLoad, type, operands);
      return t.define_vector(def, from_memory(t, loaded, def.bit_size), Kind::integer);
   }

   /* A uniform buffer is an array of 4×32 bits, a stride that every device allows; the unit counts
    * 32 bits. Only the requested components of a row are read: the buffer may end after them. */
   const Id row_type = m.type_vector(scalar_type, 4), uint_type = m.type_uint(32);
   const bool known = nir_src_is_const(instr->src[1]);
   const uint32_t known_unit = known ? uint32_t(nir_src_as_uint(instr->src[1])) : 0;
   const Id row = known ? m.constant_uint(known_unit / 4)
                        : m.emit(SpvOpShiftRightLogical, uint_type, {unit, m.constant_uint(2)});
   if (def.num_components == 4) {
      const Pointer pointer = pointer_to(instr, instr->src[0], row_type, row, 16);
      return t.define_vector(def, m.emit(SpvOpLoad, row_type, {pointer.id}), Kind::integer);
   }
   const Id first = known ? 0 : m.emit(SpvOpBitwiseAnd, uint_type, {unit, m.constant_uint(3)});
   for (unsigned i = 0; i < def.num_components; ++i) {
      const Id at = known ? m.constant_uint(known_unit % 4 + i)
                    : i   ? m.emit(SpvOpIAdd, uint_type, {first, m.constant_uint(i)})
                          : first;
      const Pointer pointer =
         pointer_to(instr, instr->src[0], row_type, 16, {row, at}, scalar_type);
      t.define(def, i, m.emit(SpvOpLoad, scalar_type, {pointer.id}), Kind::integer);
   }
}

void Buffers::emit_store(nir_intrinsic_instr *instr)
{
   const nir_def &value = *instr->src[0].ssa;
   const Id type = m.type_vector(memory_type(t, value.bit_size), value.num_components);
   const Id unit = t.get(instr->src[2], Kind::integer);
   const Id object = to_memory(t, t.get_vector(instr->src[0], Kind::integer), value.bit_size);
   const Pointer pointer = pointer_to(instr, instr->src[1], type, unit, unit_bytes(value));
   Words operands = {pointer.id, object};
   for (uint32_t word : memory_operands(t, nir_intrinsic_access(instr), true, pointer.storage))
      operands.push_back(word);
   m.emit(SpvOpStore, operands);
}

void Buffers::emit_size(nir_intrinsic_instr *instr)
{
   Binding *b = find(instr->src[0]);
   if (!b)
      return t.define(instr->def, 0, t.zero(Kind::integer, 32), Kind::integer);
   /* For drivers without elements of this size, all buffers are arrays of words. */
   const unsigned stride = t.driver.has_buffer_elements(b->stride * 8) ? b->stride : 4;
   const Binding::View &view = view_of(*b, memory_type(t, stride * 8), stride);
   Id base = view.variable;
   if (b->is_array) {
      Words operands = {base};
      const bool non_uniform = add_descriptor(*b, instr, instr->src[0], operands);
      base = m.emit(SpvOpAccessChain, m.type_pointer(SpvStorageClassStorageBuffer, view.block_type),
                    operands);
      if (non_uniform)
         m.decorate(base, SpvDecorationNonUniform);
   }
   const Id uint_type = m.type_uint(32);
   const Id length = m.emit(SpvOpArrayLength, uint_type, {base, 0});
   t.define(instr->def, 0, m.emit(SpvOpIMul, uint_type, {length, m.constant_uint(stride)}),
            Kind::integer);
}

void Buffers::decorate()
{
   for (const Binding &b : bindings) {
      for (const auto &[type, view] : b.views) {
         if (b.uniform)
            continue;
         if (b.views.size() > 1 || !(b.access & ACCESS_RESTRICT))
            m.decorate(view.variable, SpvDecorationAliased);
         else if (t.restricted.contains({b.set, b.binding}))
            m.decorate(view.variable, SpvDecorationRestrict);
      }
   }
}

} // namespace weft::spirv
