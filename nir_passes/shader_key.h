// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The part of the cache key that both back ends share (shader_cache/cache_key.h). Structs are
/// decomposed by structured bindings: a new member makes this fail to compile.

#pragma once

#include "nir_passes/matrix_support.h"
#include "nir_passes/shader_source.h"
#include "shader_cache/cache_key.h"

#include <span>

namespace weft {

/// Adds the SPIR-V, the entry point and the specialization constants.
void add_to_key(KeyBuilder &, const ShaderSource &);
/// Add the operations in their order.
void add_to_key(KeyBuilder &, std::span<const MatrixOperation>);
void add_to_key(KeyBuilder &, std::span<const FlexibleOperation>);

} // namespace weft
