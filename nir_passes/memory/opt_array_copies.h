// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft {

/// Arrays with more components are copied by loops.  The components of smaller ones may become
/// values, in registers.
constexpr uint32_t max_unrolled_copy = 256;

/// Finds where a large array is copied to a private one element by element, which the SPIR-V front
/// end makes of a value that is an array, and makes one copy_deref for each vector or scalar of an
/// element:
///
///    x0 = load_deref a[0].v, x1 = load_deref a[1].v, …
///    store_deref t[0].v, x0; store_deref t[1].v, x1; …     ─►    copy_deref t[*].v, a[*].v
///
/// The array that is copied may be in any memory, if nothing writes there between the loads and the
/// stores.  Arrays that begin as constants and change then are copies of tables, or filled in a
/// loop where all elements are the same.
bool opt_array_copies(nir_shader *);

} // namespace weft
