// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the files that turn NIR into SPIR-V share: the module and the values of the shader, and
/// what some of them keep from instruction to instruction.
///
/// NIR's values are vectors of untyped bits.  Here a value is its components, each an id of SPIR-V
/// whose type is the one that the instruction behind it gives: unsigned integer, float or bool.
/// Users ask for the type that they need and get a bit cast if it is another one.  Vectors of
/// SPIR-V exist only within one instruction.

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
   /// The values of the shader's entry point are numbered.
   Translator(nir_shader *, const Driver &, const ShaderSource &);

   ModuleBuilder m;
   nir_shader *const shader;
   const Driver &driver;
   const BindingSet restricted; ///< bindings that the source says no others alias

   /// The first reason why the shader cannot be translated; emission goes on with any values.
   void fail(const std::string &reason);
   const std::string &failure() const { return error; }
   /// From `version` on part of SPIR-V itself.
   void extension(const char *name, uint32_t version = UINT32_MAX);

   // Types and constants.
   /// What values of so many bits are held in.  Without shaderInt16 those of 16 bits are the lower
   /// halves of 32-bit ones, and their upper halves are 0.
   unsigned held_bits(unsigned bits) const
   {
      return (bits == 16 && !driver.int16) || (bits == 8 && !driver.int8) ? 32 : bits;
   }
   Id type(Kind, unsigned bits);
   /// Without their arithmetic, floats of 16 bits are integers.
   Kind kind_of(const glsl_type *) const;
   /// Of a variable that is not in a block.
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
   /// Takes a vector (or scalar) apart.
   void define_vector(const nir_def &, Id, Kind);
   Id cast(Id, Kind from, Kind to, unsigned bits);
   Id vector(Kind, unsigned bits, const Words &components);
   Id extract(Id composite, Id component_type, unsigned index);
   Id glsl450(GLSLstd450, Id type, std::initializer_list<uint32_t> operands);
   /// Begins a block: bit casts of earlier ones may not dominate it.
   void begin_block(Id label);

   // What is kept of one kind of instruction.
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

/// A feature or a subgroup operation that the driver lacks and the capability asks for, in words;
/// or null.
const char *lacks(const Driver &, SpvCapability);

} // namespace weft::spirv
