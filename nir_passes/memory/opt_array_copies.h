// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft {

/// Larger arrays are copied by loops. Components of smaller arrays may become values in registers.
constexpr uint32_t max_unrolled_copy = 256;

/// Finds copies of large arrays to private ones, element by element, which the SPIR-V front end
/// emits for values of array type. Each vector or scalar of an element becomes one copy_deref:
///
///    x0 = load_deref a[0].v, x1 = load_deref a[1].v, …
///    store_deref t[0].v, x0; store_deref t[1].v, x1; …     ─►    copy_deref t[*].v, a[*].v
///
/// The source may be in any memory, if nothing writes there between the loads and the stores.
/// Arrays with constant initial values that change later become copies of tables; if all elements
/// are equal, a loop fills them.
bool opt_array_copies(nir_shader *);

} // namespace weft
