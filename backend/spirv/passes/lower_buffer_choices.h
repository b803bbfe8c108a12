// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

/// SPIR-V's variable pointers let one access go to one buffer or another.  Here an access names its
/// variable: one of several becomes a tree of branches, with an access to each buffer that the
/// pointer may point to.  Elements of an array of descriptors are buffers of their own if all that
/// are meant are known, else an index.
///
/// Addresses are (slot, element, offset) as lower_descriptors() makes them of own_bindings();
/// afterwards every slot is a constant.  An access by a null pointer reads zeros and writes
/// nothing.
///
/// An Error where that would be too many accesses.
Result<bool> lower_buffer_choices(nir_shader *);

} // namespace weft::spirv
