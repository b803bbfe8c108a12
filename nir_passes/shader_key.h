// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the keys of both back ends have in common (shader_cache/cache_key.h).  Structs are taken
/// apart with all their members by name: with one more this does not compile.

#pragma once

#include "nir_passes/matrix_support.h"
#include "nir_passes/shader_source.h"
#include "shader_cache/cache_key.h"

#include <span>

namespace weft {

void add_to_key(KeyBuilder &, const ShaderSource &);
void add_to_key(KeyBuilder &, std::span<const MatrixOperation>);
void add_to_key(KeyBuilder &, std::span<const FlexibleOperation>);

} // namespace weft
