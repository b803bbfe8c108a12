// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft::spirv {

/// Whether the image of a texture operation has one level of detail: a buffer or a multisampled
/// image. SPIR-V's operations on such images take no level.
bool has_single_level(const nir_tex_instr &);

/// Removes the level of detail from operations on images with one level.
bool lower_single_levels(nir_shader *);

} // namespace weft::spirv
