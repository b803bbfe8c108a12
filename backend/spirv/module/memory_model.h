// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// How an access to memory is seen by others: scopes, memory operands and barriers of the Vulkan
/// memory model.

#pragma once

#include "backend/spirv/module/module_builder.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

class Translator;

/// An OpConstant.
Id scope(Translator &, SpvScope);
/// The widest scope that the driver has.
SpvScope device_scope(Translator &);

/// The memory operands of a load or store, SPIR-V 3.26; `access` is a gl_access_qualifier.
Words memory_operands(Translator &, unsigned access, bool store, SpvStorageClass,
                      unsigned alignment = 0);

void emit_barrier(Translator &, nir_intrinsic_instr *);

/// Of a memory access's value.
inline unsigned unit_bytes(const nir_def &value)
{
   return value.bit_size / 8 * value.num_components;
}

/// What an access of so many bits to storage buffers needs, or to global memory, which is storage
/// buffers to the capabilities.
void require_small_storage(Translator &, unsigned bits);

/// The integer that lies in such memory; what is held in more bits is converted on its way.
Id memory_type(Translator &, unsigned bits);
Id to_memory(Translator &, Id, unsigned bits);
Id from_memory(Translator &, Id, unsigned bits);

} // namespace weft::spirv
