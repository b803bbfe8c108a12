// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Gives each member of structs with matrices a variable of its own. An array of structs becomes
/// one array for each member:
///
///    struct { uint, matrix } s[2]   ─►   uint s_0[2], matrix s_1[2]
///
/// NIR's own passes do not split variables of which intrinsics on matrices use a part, so numbers
/// beside matrices would never become values. Variables that are copied as a whole, or cast, stay.
///
/// Assumes one function, before lower_cmat().
bool split_cmat_structs(nir_shader *);

} // namespace weft
