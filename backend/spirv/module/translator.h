// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// State that the files which emit SPIR-V share: the module, the shader's values, and the state of
/// the emitters.
///
/// NIR's values are vectors of untyped bits. Here a value is its components, each an id of SPIR-V
/// whose type is the one that the defining instruction gives: unsigned integer, float or bool.
/// Users request the type that they need and get a bit cast if it differs. Vectors of SPIR-V exist
/// only within one instruction.

#pragma once

#include "backend/spirv/compiler.h"
#include "backend/spirv/module/buffers.h"
#include "backend/spirv/module/built_ins.h"
#include "backend/spirv/module/float_controls.h"
#include "backend/spirv/module/global_memory.h"
#include "backend/spirv/module/module_builder.h"
#include "backend/spirv/module/push_constants.h"
#include "backend/spirv/module/resources.h"
#include "backend/spirv/module/restrict_bindings.h"
#include "backend/spirv/module/values.h"
#include "backend/spirv/module/variables.h"

#include "compiler/nir/nir.h"
#include "compiler/spirv/GLSL.std.450.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft::spirv {

class Translator {
public:
   /// Numbers the values of the shader's entry point.
   Translator(nir_shader *, const Driver &, const ShaderSource &);

   ModuleBuilder m;
   nir_shader *const shader;
   const Driver &driver;
   const BindingSet restricted; ///< bindings that the source declares free of aliases

   /// Records the first reason why the shader cannot be translated; emission continues with
   /// arbitrary values.
   void fail(const std::string &reason);
   const std::string &failure() const { return error; }
   /// Declares an extension, which is part of SPIR-V itself from `version` on.
   void extension(const char *name, uint32_t version = UINT32_MAX);

   // Types and constants. The number of bits that hold a value: without shaderInt16, 16-bit values
   // are the lower halves of 32-bit values whose upper halves are 0.
   unsigned held_bits(unsigned bits) const
   {
      return (bits == 16 && !driver.int16) || (bits == 8 && !driver.int8) ? 32 : bits;
   }
   Id type(Kind, unsigned bits);
   /// Without 16-bit float arithmetic, 16-bit floats are integers.
   Kind kind_of(const glsl_type *) const;
   /// The type of a variable outside of blocks.
   Id type(const glsl_type *);
   Id constant(Kind, unsigned bits, uint64_t value);
   Id zero(Kind kind, unsigned bits) { return constant(kind, bits, 0); }

   // Values.
   Scalar scalar(nir_scalar);
   Id get(nir_scalar, Kind);
   Id get(const nir_src &, unsigned component, Kind);
   Id get(const nir_src &source, Kind kind) { return get(source, 0, kind); }
   /// All components as one vector (or scalar).
   Id get_vector(const nir_src &, Kind, unsigned components = 0);
   void define(const nir_def &, unsigned component, Id, Kind);
   /// Defines all components from a vector (or scalar).
   void define_vector(const nir_def &, Id, Kind);
   Id cast(Id, Kind from, Kind to, unsigned bits);
   Id vector(Kind, unsigned bits, const Words &components);
   Id extract(Id composite, Id component_type, unsigned index);
   Id glsl450(GLSLstd450, Id type, std::initializer_list<uint32_t> operands);
   /// Begins a block and forgets cached bit casts: a cast of an earlier block may not dominate this
   /// one.
   void begin_block(Id label);

   // State per kind of instruction.
   BuiltIns built_ins;
   FloatControls float_controls;
   Buffers buffers;
   GlobalMemory global_memory;
   PushConstants push_constants;
   Resources resources;
   Variables variables;

private:
   Id cast_half(Id, Kind from, Kind to);

   std::string error;
   std::vector<std::vector<Scalar>> values; ///< by nir_def::index
   std::unordered_map<Id, uint64_t> constant_bits;
   std::map<std::pair<Id, Kind>, Id> casts; ///< of the current block
};

/// Names the feature or subgroup operation that the capability needs and the driver lacks; null if
/// the driver lacks none.
const char *lacks(const Driver &, SpvCapability);

} // namespace weft::spirv
