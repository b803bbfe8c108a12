// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/target.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Lowers all cmat_* intrinsics and matrix types.  A matrix becomes a function_temp array with one
/// scalar for each component of the invocation: by the element map (element_map.h) with
/// Target::native_tiles, else by the register map (register_map.h); inside arrays and structs too.
///
/// * construct, extract, insert, copy, length and the arithmetic work component by component.
/// * load, store and muladd: with Target::native_tiles, a tile_*_weft intrinsic on the arrays; else
/// per-component
///   memory accesses, and products of components that every invocation has at hand.
///
/// Assumes one function, as after spirv_to_nir(), and types that validate_cmat() let through.  The
/// memory that matrices are loaded from is still named by derefs, whose type gives the unit of the
/// stride: this runs before nir_lower_explicit_io.
bool lower_cmat(nir_shader *, const Target &);

} // namespace weft
