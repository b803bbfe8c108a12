// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Removes the barriers that stand for the MakePointerAvailable and MakePointerVisible of single
/// accesses, at workgroup scope or narrower.  For back ends that run a workgroup on one thread,
/// where only a control barrier lets another subgroup run: what an invocation has written is there
/// for the others of its workgroup.  Barriers that the shader asks for, which both acquire and
/// release, stay.
bool opt_visibility_barriers(nir_shader *);

} // namespace weft
