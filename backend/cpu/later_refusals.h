// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/memory/binding_layout.h"

#include "compiler/nir/nir.h"

#include <span>

namespace weft::cpu {

/// Whether finish_for_cpu() may refuse a shader that read_for_cpu() accepted. Such a shader uses
/// images or missing bindings, accesses private memory as another type, or may need more memory
/// than the limits allow. True of some shaders that are not refused, because later passes remove
/// code.
bool may_be_refused_later(nir_shader *, std::span<const BindingLayout>);

} // namespace weft::cpu
