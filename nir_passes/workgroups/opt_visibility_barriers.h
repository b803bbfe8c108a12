// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Removes barriers that implement MakePointerAvailable and MakePointerVisible of single accesses,
/// at workgroup scope or narrower and for memory of these modes only. Barriers that the shader
/// requests, which both acquire and release, stay.
///
/// A back end that runs a workgroup on one thread needs these barriers for no mode: only a control
/// barrier lets another subgroup run, which then sees all earlier writes. A back end that marks
/// each access to shared memory as available or visible needs none for shared memory: its variables
/// are coherent.
bool opt_visibility_barriers(nir_shader *, nir_variable_mode modes);

} // namespace weft
