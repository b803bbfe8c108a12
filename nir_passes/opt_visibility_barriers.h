// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Removes the barriers that stand for the MakePointerAvailable and MakePointerVisible of single
/// accesses, at workgroup scope or narrower and for memory of these modes only.  Barriers that the
/// shader asks for, which both acquire and release, stay.
///
/// Back ends that run a workgroup on one thread need them for no mode: only a control barrier lets
/// another subgroup run, and what an invocation has written is there for the others.  Those that
/// say it with each access to shared memory find its variables marked as coherent.
bool opt_visibility_barriers(nir_shader *, nir_variable_mode modes);

} // namespace weft
