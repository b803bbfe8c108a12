// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads, stores and barriers.  Buffers come in units (nir_passes/lower_access_units.h): a binding
/// that is accessed in units of several types is several variables, aliases of each other.

#include "backend/spirv/translator.h"

#include "util/u_math.h"

#include <algorithm>
#include <climits>

namespace weft::spirv {

namespace {

/// The kinds and sizes of a memory access's value.
unsigned unit_bytes(const nir_def &value)
{
   return value.bit_size / 8 * value.num_components;
}

/// Where the first member of a block lies.
unsigned first_offset(const glsl_type *block)
{
   unsigned first = UINT_MAX;
   for (unsigned i = 0; glsl_type_is_struct_or_ifc(block) && i < glsl_get_length(block); ++i)
      first = std::min(first, unsigned(std::max(glsl_get_struct_field_offset(block, i), 0)));
   return first == UINT_MAX ? 0 : first;
}

} // namespace

/* ---- buffers ---- */

BufferBinding *Translator::buffer(const nir_src &index)
{
   const nir_scalar slot = nir_scalar_resolved(index.ssa, 0);
   if (!nir_scalar_is_const(slot) || nir_scalar_as_uint(slot) >= buffers.size()) {
      fail("a pointer that may point to several buffers is not supported");
      return nullptr;
   }
   return &buffers[nir_scalar_as_uint(slot)];
}

/// A block with an array of units, as a descriptor or an array of them.
const BufferBinding::View &Translator::buffer_view(BufferBinding &b, Id unit_type, unsigned bytes)
{
   BufferBinding::View &view = b.views[unit_type];
   if (view.variable)
      return view;

   Id array;
   if (b.uniform) {
      array = m.distinct_type(
         SpvOpTypeArray, {unit_type, m.constant_uint(std::max(DIV_ROUND_UP(b.bytes, 16), 1u))});
   } else {
      array = m.distinct_type(SpvOpTypeRuntimeArray, {unit_type});
      require_small_storage(bytes * 8);
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
      extension("SPV_EXT_descriptor_indexing", 0x00010500);
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

/// To a unit, or to a part of it: `place` are the indices that lead there.
Pointer Translator::buffer_pointer(nir_intrinsic_instr *instr, const nir_src &index, Id unit_type,
                                   unsigned bytes, const Words &place, Id accessed_type)
{
   BufferBinding *b = buffer(index);
   if (!b)
      return {0, SpvStorageClassStorageBuffer};
   const SpvStorageClass storage =
      b->uniform ? SpvStorageClassUniform : SpvStorageClassStorageBuffer;
   Words operands = {buffer_view(*b, unit_type, bytes).variable};
   const bool non_uniform = b->is_array && add_descriptor(*b, instr, index, operands);
   operands.push_back(m.constant_uint(0));
   operands.insert(operands.end(), place.begin(), place.end());
   const Id pointer = m.emit(SpvOpAccessChain, m.type_pointer(storage, accessed_type), operands);
   if (non_uniform)
      m.decorate(pointer, SpvDecorationNonUniform);
   return {pointer, storage};
}

/// Appends the index into an array of descriptors; whether the pointer is NonUniform.
bool Translator::add_descriptor(const BufferBinding &b, nir_intrinsic_instr *instr,
                                const nir_src &index, Words &operands)
{
   const nir_scalar element = nir_scalar_resolved(index.ssa, 1);
   operands.push_back(get(element, Kind::integer));
   if (nir_scalar_is_const(element))
      return false;
   m.capability(b.uniform ? SpvCapabilityUniformBufferArrayDynamicIndexing
                          : SpvCapabilityStorageBufferArrayDynamicIndexing);
   if (!nir_intrinsic_has_access(instr) || !(nir_intrinsic_access(instr) & ACCESS_NON_UNIFORM))
      return false;
   m.capability(SpvCapabilityShaderNonUniform);
   m.capability(b.uniform ? SpvCapabilityUniformBufferArrayNonUniformIndexing
                          : SpvCapabilityStorageBufferArrayNonUniformIndexing);
   extension("SPV_EXT_descriptor_indexing", 0x00010500);
   return true;
}

void Translator::emit_load_buffer(nir_intrinsic_instr *instr)
{
   const nir_def &def = instr->def;
   const unsigned access = nir_intrinsic_access(instr);
   const Id unit = get(instr->src[1], Kind::integer);
   const Id scalar_type = m.type_uint(def.bit_size);
   if (instr->intrinsic == nir_intrinsic_load_ssbo) {
      const Id type = m.type_vector(scalar_type, def.num_components);
      const Pointer pointer = buffer_pointer(instr, instr->src[0], type, unit, unit_bytes(def));
      Words operands = {pointer.id};
      for (uint32_t word : memory_operands(access, false, pointer.storage))
         operands.push_back(word);
      return define_vector(def, m.emit(SpvOpLoad, type, operands), Kind::integer);
   }

   /* A uniform buffer is an array of 4×32 bits, whose stride every device allows; the unit counts
    * 32 bits.  Of a row only the components are read that are asked for: the buffer may end after
    * them. */
   const Id row_type = m.type_vector(scalar_type, 4), uint_type = m.type_uint(32);
   const bool known = nir_src_is_const(instr->src[1]);
   const uint32_t known_unit = known ? uint32_t(nir_src_as_uint(instr->src[1])) : 0;
   const Id row = known ? m.constant_uint(known_unit / 4)
                        : m.emit(SpvOpShiftRightLogical, uint_type, {unit, m.constant_uint(2)});
   if (def.num_components == 4) {
      const Pointer pointer = buffer_pointer(instr, instr->src[0], row_type, row, 16);
      return define_vector(def, m.emit(SpvOpLoad, row_type, {pointer.id}), Kind::integer);
   }
   const Id first = known ? 0 : m.emit(SpvOpBitwiseAnd, uint_type, {unit, m.constant_uint(3)});
   for (unsigned i = 0; i < def.num_components; ++i) {
      const Id at = known ? m.constant_uint(known_unit % 4 + i)
                    : i   ? m.emit(SpvOpIAdd, uint_type, {first, m.constant_uint(i)})
                          : first;
      const Pointer pointer =
         buffer_pointer(instr, instr->src[0], row_type, 16, {row, at}, scalar_type);
      define(def, i, m.emit(SpvOpLoad, scalar_type, {pointer.id}), Kind::integer);
   }
}

void Translator::emit_store_buffer(nir_intrinsic_instr *instr)
{
   const nir_def &value = *instr->src[0].ssa;
   const Id type = m.type_vector(m.type_uint(value.bit_size), value.num_components);
   const Id unit = get(instr->src[2], Kind::integer);
   const Id object = get_vector(instr->src[0], Kind::integer);
   const Pointer pointer = buffer_pointer(instr, instr->src[1], type, unit, unit_bytes(value));
   Words operands = {pointer.id, object};
   for (uint32_t word : memory_operands(nir_intrinsic_access(instr), true, pointer.storage))
      operands.push_back(word);
   m.emit(SpvOpStore, operands);
}

void Translator::emit_buffer_size(nir_intrinsic_instr *instr)
{
   BufferBinding *b = buffer(instr->src[0]);
   if (!b)
      return define(instr->def, 0, zero(Kind::integer, 32), Kind::integer);
   const BufferBinding::View &view = buffer_view(*b, m.type_uint(b->stride * 8), b->stride);
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
   define(instr->def, 0, m.emit(SpvOpIMul, uint_type, {length, m.constant_uint(b->stride)}),
          Kind::integer);
}

/* ---- push constants, global memory ---- */

void Translator::emit_load_push_constant(nir_intrinsic_instr *instr)
{
   const Id uint_type = m.type_uint(32);
   if (!push_constants) {
      unsigned begin = UINT_MAX, end = 0;
      const char *name = nullptr;
      nir_foreach_variable_with_modes(var, shader, nir_var_mem_push_const) {
         begin = std::min(begin, first_offset(var->type));
         end = std::max(end, glsl_get_explicit_size(var->type, false));
         name = var->name;
      }
      /* Ranges of push constants begin and end at multiples of four bytes. */
      first_push_constant = std::min(begin, end) / 4;
      const unsigned words = DIV_ROUND_UP(end, 4) - first_push_constant;
      const Id length = m.constant_uint(std::max(words, 1u));
      const Id array = m.distinct_type(SpvOpTypeArray, {uint_type, length});
      m.decorate(array, SpvDecorationArrayStride, {4});
      const Id block = m.distinct_type(SpvOpTypeStruct, {array});
      m.decorate(block, SpvDecorationBlock);
      m.decorate_member(block, 0, SpvDecorationOffset, {first_push_constant * 4});
      push_constants = m.global_variable(m.type_pointer(SpvStorageClassPushConstant, block),
                                         SpvStorageClassPushConstant);
      m.name(push_constants, name);
   }
   Id word;
   if (nir_src_is_const(instr->src[0]))
      word = m.constant_uint(uint32_t(nir_src_as_uint(instr->src[0])) - first_push_constant);
   else if (first_push_constant)
      word = m.emit(SpvOpISub, uint_type,
                    {get(instr->src[0], Kind::integer), m.constant_uint(first_push_constant)});
   else
      word = get(instr->src[0], Kind::integer);
   const Id pointer =
      m.emit(SpvOpAccessChain, m.type_pointer(SpvStorageClassPushConstant, uint_type),
             {push_constants, m.constant_uint(0), word});
   define(instr->def, 0, m.emit(SpvOpLoad, uint_type, {pointer}), Kind::integer);
}

Pointer Translator::global_pointer(nir_intrinsic_instr *instr, Id type)
{
   physical_addresses = true;
   const nir_src &address = *nir_get_io_offset_src(instr);
   const Id pointer_type = m.type_pointer(SpvStorageClassPhysicalStorageBuffer, type);
   return {m.emit(SpvOpConvertUToPtr, pointer_type, {get(address, Kind::integer)}),
           SpvStorageClassPhysicalStorageBuffer};
}

void Translator::emit_load_global(nir_intrinsic_instr *instr)
{
   const nir_def &def = instr->def;
   const Id type = m.type_vector(m.type_uint(def.bit_size), def.num_components);
   require_small_storage(def.bit_size);
   const Pointer pointer = global_pointer(instr, type);
   Words operands = {pointer.id};
   for (uint32_t word :
        memory_operands(nir_intrinsic_access(instr), false, pointer.storage, unit_bytes(def)))
      operands.push_back(word);
   define_vector(def, m.emit(SpvOpLoad, type, operands), Kind::integer);
}

void Translator::emit_store_global(nir_intrinsic_instr *instr)
{
   const nir_def &value = *instr->src[0].ssa;
   const Id type = m.type_vector(m.type_uint(value.bit_size), value.num_components);
   require_small_storage(value.bit_size);
   const Id object = get_vector(instr->src[0], Kind::integer);
   const Pointer pointer = global_pointer(instr, type);
   Words operands = {pointer.id, object};
   for (uint32_t word :
        memory_operands(nir_intrinsic_access(instr), true, pointer.storage, unit_bytes(value)))
      operands.push_back(word);
   m.emit(SpvOpStore, operands);
}

/// Global memory is storage buffers to the capabilities.
void Translator::require_small_storage(unsigned bits)
{
   if (bits == 8) {
      m.capability(SpvCapabilityStorageBuffer8BitAccess);
      extension("SPV_KHR_8bit_storage", 0x00010500);
   } else if (bits == 16) {
      m.capability(SpvCapabilityStorageBuffer16BitAccess);
   }
}

/* ---- how an access is seen by others ---- */

SpvScope Translator::device_scope()
{
   if (!driver.vulkan_memory_model_device_scope)
      return SpvScopeQueueFamily;
   m.capability(SpvCapabilityVulkanMemoryModelDeviceScope);
   return SpvScopeDevice;
}

Id Translator::scope(SpvScope s)
{
   return m.constant_uint(uint32_t(s));
}

Words Translator::memory_operands(unsigned access, bool store, SpvStorageClass storage,
                                  unsigned alignment)
{
   uint32_t mask = 0;
   Words literals;
   if (alignment) {
      mask |= SpvMemoryAccessAlignedMask;
      literals.push_back(alignment);
   }
   if (access & ACCESS_NON_TEMPORAL)
      mask |= SpvMemoryAccessNontemporalMask;
   if (storage != SpvStorageClassFunction && storage != SpvStorageClassUniform)
      mask |= SpvMemoryAccessNonPrivatePointerMask;
   if (access & ACCESS_VOLATILE)
      mask |= SpvMemoryAccessVolatileMask;
   const bool shared = storage == SpvStorageClassWorkgroup;
   /* Drivers may make barriers of it. */
   if (access & ACCESS_COHERENT && (!shared || driver.partial_barriers)) {
      mask |=
         store ? SpvMemoryAccessMakePointerAvailableMask : SpvMemoryAccessMakePointerVisibleMask;
      literals.push_back(scope(shared ? SpvScopeWorkgroup : device_scope()));
   }
   if (!mask)
      return {};
   literals.insert(literals.begin(), mask);
   return literals;
}

void Translator::emit_barrier(nir_intrinsic_instr *instr)
{
   const auto to_scope = [&](mesa_scope s) {
      switch (s) {
      case SCOPE_DEVICE:
         return device_scope();
      case SCOPE_QUEUE_FAMILY:
         return SpvScopeQueueFamily;
      case SCOPE_WORKGROUP:
         return SpvScopeWorkgroup;
      case SCOPE_SUBGROUP:
         return SpvScopeSubgroup;
      default:
         return SpvScopeInvocation;
      }
   };

   const unsigned from = nir_intrinsic_memory_semantics(instr),
                  modes = nir_intrinsic_memory_modes(instr);
   uint32_t where = 0;
   if (modes & (nir_var_mem_ssbo | nir_var_mem_global))
      where |= SpvMemorySemanticsUniformMemoryMask;
   if (modes & nir_var_mem_shared)
      where |= SpvMemorySemanticsWorkgroupMemoryMask;
   if (modes & nir_var_image)
      where |= SpvMemorySemanticsImageMemoryMask;
   uint32_t semantics = 0;
   if (where && nir_intrinsic_memory_scope(instr) != SCOPE_NONE) {
      const bool acquire = from & NIR_MEMORY_ACQUIRE, release = from & NIR_MEMORY_RELEASE;
      if (acquire || release) {
         semantics = where | (acquire && release ? SpvMemorySemanticsAcquireReleaseMask
                              : acquire          ? SpvMemorySemanticsAcquireMask
                                                 : SpvMemorySemanticsReleaseMask);
         if (from & NIR_MEMORY_MAKE_AVAILABLE && release)
            semantics |= SpvMemorySemanticsMakeAvailableMask;
         if (from & NIR_MEMORY_MAKE_VISIBLE && acquire)
            semantics |= SpvMemorySemanticsMakeVisibleMask;
      }
   }

   const mesa_scope execution = nir_intrinsic_execution_scope(instr);
   if (!driver.partial_barriers && execution <= SCOPE_SUBGROUP &&
       nir_intrinsic_memory_scope(instr) <= SCOPE_WORKGROUP)
      return;
   const Id memory = scope(to_scope(nir_intrinsic_memory_scope(instr)));
   if (execution != SCOPE_NONE && execution != SCOPE_INVOCATION)
      m.emit(SpvOpControlBarrier, {scope(to_scope(execution)), memory, m.constant_uint(semantics)});
   else if (semantics)
      m.emit(SpvOpMemoryBarrier, {memory, m.constant_uint(semantics)});
}

} // namespace weft::spirv
