// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir_builder.h"

#include <functional>

namespace weft {

/// Emits a loop that is not unrolled here: calls `body` once, with a value that runs from 0 to
/// count - 1.
void build_loop(nir_builder *, nir_def *count, const std::function<void(nir_def *)> &body);
void build_loop(nir_builder *, uint32_t count, const std::function<void(nir_def *)> &body);

} // namespace weft
