// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Ownership of a nir_shader.

#pragma once

#include "nir_passes/pass_control.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir.h"

#include <memory>

namespace weft {

/// Keeps glsl_types' table of interned types alive. Every thread that uses NIR holds one, or a
/// Shader.
class TypeTable {
public:
   TypeTable() { glsl_type_singleton_init_or_ref(); }
   TypeTable(const TypeTable &) : TypeTable() {}
   TypeTable &operator=(const TypeTable &) { return *this; }
   ~TypeTable() { glsl_type_singleton_decref(); }
};

struct ShaderDeleter {
   TypeTable types;
   void operator()(nir_shader *shader) const { ralloc_free(shader); }
};

using Shader = std::unique_ptr<nir_shader, ShaderDeleter>;

} // namespace weft
