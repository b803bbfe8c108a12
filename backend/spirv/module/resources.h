// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Images, samplers and texel buffers: variables of opaque types, which each use loads.

#pragma once

#include "backend/spirv/module/module_builder.h"

#include "compiler/nir/nir.h"

#include <unordered_map>

namespace weft::spirv {

class Translator;

/// A descriptor of an image, a sampler or both.
struct Resource {
   nir_variable *var; ///< null: not supported
   const glsl_type *type;
   Id pointer, value_type;
   bool non_uniform;
};

bool is_multisampled(const glsl_type *);
bool has_signed_texels(const glsl_type *);

class Resources {
public:
   explicit Resources(Translator &);

   Resource find(nir_deref_instr *, bool non_uniform);
   Id load(const Resource &);
   /// OpTypeImage; for a combined image and sampler, the type of its image.
   Id image_type(const glsl_type *, const nir_variable *);
   Id texel_type(const glsl_type *);
   /// Defines a NIR value from a vector of texel_type().
   void define_texel(const nir_def &, Id vector, const glsl_type *image, unsigned components);

private:
   Id variable(nir_variable *);
   Id type_of(const glsl_type *, const nir_variable *);
   void require_indexing(const glsl_type *, bool non_uniform);

   Translator &t;
   ModuleBuilder &m;
   std::unordered_map<const nir_variable *, Id> variables;
};

} // namespace weft::spirv
