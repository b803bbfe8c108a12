// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

/// SPIR-V's variable pointers let one access go to one of several buffers, but an access that this
/// back end emits names its variable. Such an access becomes a tree of branches, with one access
/// for each buffer that the pointer may point to. Elements of an array of descriptors are separate
/// buffers if all possible elements are known, else an index.
///
/// Addresses are (slot, element, offset) as lower_descriptors() makes them of own_bindings();
/// afterwards every slot is a constant. An access by a null pointer reads zeros and writes nothing.
///
/// Returns an Error if that would need too many accesses.
Result<bool> lower_buffer_choices(nir_shader *);

} // namespace weft::spirv
