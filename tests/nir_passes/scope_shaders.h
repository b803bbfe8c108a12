// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Shaders with matrices of workgroup scope, in a workgroup of 64 invocations, for the tests of the
/// passes that divide these matrices among subgroups.

#pragma once

#include "tests/nir_passes/shaders.h"

#include <string>

namespace weft::test {

/// A shader with the statements `main`, as before plan_cmat_scope(). They may use the types A
/// (64x16 f16), B (16x32 f16) and ACC(rows, cols). They may also use the buffers h (f16), f (f32)
/// and n, and the functions sum(x, y) and shift(row, col, x).
Shader scope_shader(const std::string &main);

/// 64x32 f32, reduced over "Row", "Column" or "RowAndColumn".
std::string scope_reduction(const std::string &over);
/// A loop of products of A with a B that it loads.
std::string scope_products();

/// The text of a shader without constant or dead instructions.
std::string scope_text(nir_shader *);

} // namespace weft::test
