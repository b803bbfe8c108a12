// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/compiler.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

/// Translates the NIR that lower_for_driver() made from this source. Returns an Error for an
/// instruction without a translation, or one that needs a capability which the driver lacks.
Result<std::vector<uint32_t>> nir_to_spirv(nir_shader *, const Driver &, const ShaderSource &);

} // namespace weft::spirv
