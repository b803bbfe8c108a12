// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Images, samplers and texel buffers: variables of opaque types, loaded where they are used.

#pragma once

#include "backend/spirv/module/module_builder.h"

#include "compiler/nir/nir.h"

#include <unordered_map>

namespace weft::spirv {

class Translator;

/// An image, a sampler or both, as a descriptor.
struct Resource {
   nir_variable *var; ///< null: not supported
   const glsl_type *type;
   Id pointer, value_type;
   bool non_uniform;
};

bool is_multisampled(const glsl_type *);

class Resources {
public:
   explicit Resources(Translator &);

   Resource find(nir_deref_instr *, bool non_uniform);
   Id load(const Resource &);
   /// OpTypeImage, also within a combined image and sampler.
   Id image_type(const glsl_type *, const nir_variable *);
   Id texel_type(const glsl_type *);
   /// A vector of texel_type() as a NIR value.
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
