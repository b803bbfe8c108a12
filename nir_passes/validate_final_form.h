// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// The contract between spirv_to_target() and a back end: an Error for the first instruction that is not in it, such
/// as those of images.  validate_final_form.cc lists what a back end must translate.
Result<bool> validate_final_form(nir_shader *);

} // namespace weft
