// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// The gradients of samples and queries with an implicit level of detail. NIR has the operands ddx
/// and ddy for explicit gradients only, and these allow no bias.
constexpr nir_tex_src_type implicit_ddx = nir_tex_src_backend1, implicit_ddy = nir_tex_src_backend2;

} // namespace weft
