// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Visibility of memory accesses: scopes, memory operands and barriers of the Vulkan memory model.

#pragma once

#include "backend/spirv/module/module_builder.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

class Translator;

/// A scope as an OpConstant.
Id scope(Translator &, SpvScope);
/// The widest scope that the driver supports.
SpvScope device_scope(Translator &);

/// The memory operands of a load or store, SPIR-V 3.26; `access` is a gl_access_qualifier.
Words memory_operands(Translator &, unsigned access, bool store, SpvStorageClass,
                      unsigned alignment = 0);

void emit_barrier(Translator &, nir_intrinsic_instr *);

/// The size of a memory access's value.
inline unsigned unit_bytes(const nir_def &value)
{
   return value.bit_size / 8 * value.num_components;
}

/// Requires the capability for accesses of `bits` bits to storage buffers or global memory; the
/// capabilities are the same for both.
void require_small_storage(Translator &, unsigned bits);

/// The integer type in storage buffers or global memory. Values that registers hold in more bits
/// are converted by to_memory() and from_memory().
Id memory_type(Translator &, unsigned bits);
Id to_memory(Translator &, Id, unsigned bits);
Id from_memory(Translator &, Id, unsigned bits);

} // namespace weft::spirv
