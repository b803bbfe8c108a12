// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/spirv/compiler.h"

#include "compiler/nir/nir.h"

namespace weft::spirv {

/// Translates what lower_for_driver() has made of this source.  An Error for what it cannot translate, or what needs a capability that the driver lacks.
Result<std::vector<uint32_t>> nir_to_spirv(nir_shader *, const Driver &, const ShaderSource &);

} // namespace weft::spirv
