// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the files that turn NIR into SPIR-V share: the module, the values of the shader, its
/// variables.
///
/// NIR's values are vectors of untyped bits.  Here a value is its components, each an id of SPIR-V
/// whose type is the one that the instruction behind it gives: unsigned integer, float or bool.
/// Users ask for the type that they need and get a bit cast if it is another one.  Vectors of
/// SPIR-V exist only within one instruction.

#pragma once

#include "backend/spirv/compiler.h"
#include "backend/spirv/module_builder.h"
#include "backend/spirv/reconvergence_modes.h"
#include "backend/spirv/restrict_bindings.h"

#include "nir_passes/lower_descriptors.h"

#include "compiler/nir/nir.h"
#include "compiler/spirv/GLSL.std.450.h"

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft::spirv {

enum class Kind : uint8_t { boolean, integer, real };

/// One component of a NIR value.
struct Scalar {
   Id id = 0;
   Kind kind = Kind::integer;
};

/// A buffer binding: one variable per type of unit that the shader accesses, all aliases of each
/// other.
struct BufferBinding {
   nir_variable *var; ///< the first of the shader's with this binding
   uint32_t set, binding;
   bool uniform;    ///< else storage
   bool is_array;   ///< of descriptors
   uint32_t length; ///< of that array, 0: runtime
   uint32_t bytes;  ///< of a uniform buffer
   uint32_t stride; ///< a power of two that divides the length of the buffer as the shader sees it
   unsigned access; ///< gl_access_qualifier, what all variables have

   struct View {
      Id variable, block_type;
   };
   std::map<Id, View> views; ///< by unit type
};

/// Where a memory access goes.
struct Pointer {
   Id id;
   SpvStorageClass storage;
   unsigned access = 0; ///< gl_access_qualifier of the variable, for shared memory
};

class Translator {
public:
   Translator(nir_shader *, const Driver &, const ShaderSource &);
   Result<Words> run();

   ModuleBuilder m;
   nir_shader *const shader;
   const Driver &driver;

   /// The first reason why the shader cannot be translated; emission goes on with any values.
   void fail(const std::string &reason);
   /// From `version` on part of SPIR-V itself.
   void extension(const char *name, uint32_t version = UINT32_MAX);

   // translator.cc: types and values.
   Id type(Kind, unsigned bits);
   /// Of a variable that is not in a block.
   Id type(const glsl_type *);
   Id constant(Kind, unsigned bits, uint64_t value);
   Id zero(Kind kind, unsigned bits) { return constant(kind, bits, 0); }
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

   // emit_control_flow.cc
   void emit_list(exec_list *);

   // emit_alu.cc
   void emit_alu(nir_alu_instr *);

   // emit_memory.cc, emit_atomics.cc, emit_variables.cc
   void emit_load_buffer(nir_intrinsic_instr *);
   void emit_store_buffer(nir_intrinsic_instr *);
   void emit_buffer_size(nir_intrinsic_instr *);
   void emit_load_push_constant(nir_intrinsic_instr *);
   void emit_load_global(nir_intrinsic_instr *);
   void emit_store_global(nir_intrinsic_instr *);
   void emit_load_variable(nir_intrinsic_instr *);
   void emit_store_variable(nir_intrinsic_instr *);
   /// Of buffers, shared and global memory, by address or deref.
   void emit_atomic(nir_intrinsic_instr *);
   void emit_barrier(nir_intrinsic_instr *);
   void emit_declare_register(nir_intrinsic_instr *);
   void emit_load_register(nir_intrinsic_instr *);
   void emit_store_register(nir_intrinsic_instr *);

   // emit_subgroup.cc, emit_system.cc, emit_images.cc, emit_matrices.cc: whether it is one of
   // theirs.
   bool emit_subgroup(nir_intrinsic_instr *);
   bool emit_system(nir_intrinsic_instr *);
   bool emit_image(nir_intrinsic_instr *);
   bool emit_matrix(nir_intrinsic_instr *);
   void emit_texture(nir_tex_instr *);

   /// An image, a sampler or both, as a descriptor.
   struct Resource {
      nir_variable *var; ///< null: not supported
      const glsl_type *type;
      Id pointer, value_type;
      bool non_uniform;
   };
   Resource resource(nir_deref_instr *, bool non_uniform);
   Id load_resource(const Resource &);
   /// OpTypeImage, also within a combined image and sampler.
   Id image_type(const glsl_type *, const nir_variable *);
   Id texel_type(const glsl_type *);
   void define_texel(const nir_def &, Id vector, const glsl_type *image, unsigned components);

   /// The memory operands of a load or store, SPIR-V 3.26.
   Words memory_operands(unsigned access, bool store, SpvStorageClass, unsigned alignment = 0);
   /// Atomic operations on a pointer to a scalar; data are the sources from `first` on.  What is
   /// there has the type `stored`, if that is not the one that goes with the kind.
   void emit_atomic_at(nir_intrinsic_instr *, Pointer, unsigned first, Kind, Id stored = 0);
   /// An OpConstant.
   Id scope(SpvScope);
   SpvScope device_scope();

   // Where break and continue lead.
   struct Loop {
      Id merge, next;
   };
   std::vector<Loop> loops;
   bool block_ended = false; ///< by a jump

   /// Sizes (16 | 32 | 64) of floats with instructions that keep signed zeros, infinities and NaNs.
   unsigned preserved_sizes = 0;

   /// To shared or private memory.
   Pointer variable_pointer(nir_deref_instr *);

private:
   void emit_header(Id function);
   void emit_instruction(nir_instr *);
   void emit_intrinsic(nir_intrinsic_instr *);
   void define_constant(nir_load_const_instr *);
   void define_undefined(nir_undef_instr *);
   void float_controls(Id function);

   Pointer buffer_pointer(nir_intrinsic_instr *, const nir_src &index, Id unit_type,
                          unsigned unit_bytes, const Words &place, Id accessed_type);
   Pointer buffer_pointer(nir_intrinsic_instr *instr, const nir_src &index, Id unit_type, Id unit,
                          unsigned unit_bytes)
   {
      return buffer_pointer(instr, index, unit_type, unit_bytes, {unit}, unit_type);
   }
   bool add_descriptor(const BufferBinding &, nir_intrinsic_instr *, const nir_src &index,
                       Words &operands);
   Pointer global_pointer(nir_intrinsic_instr *, Id type);
   BufferBinding *buffer(const nir_src &index);
   const BufferBinding::View &buffer_view(BufferBinding &, Id unit_type, unsigned unit_bytes);
   void require_small_storage(unsigned bits);
   Id variable(nir_variable *);
   Id resource_variable(nir_variable *);
   Id resource_type(const glsl_type *, const nir_variable *);
   void require_indexing(const glsl_type *, bool non_uniform);
   Id matrix_type(const glsl_type *);
   Id component_type_id(const glsl_type *matrix);
   Id load_matrix(const nir_src &);
   void store_matrix(const nir_src &, Id);
   Id matrix_scalar(const nir_src &, const glsl_type *matrix);
   Pointer tile_pointer(nir_intrinsic_instr *, const nir_src &address);
   Pointer component_pointer(const nir_src &matrix, const nir_src &component);
   void emit_tile_access(nir_intrinsic_instr *);
   void emit_tile_muladd(nir_intrinsic_instr *);
   void emit_matrix_op(nir_intrinsic_instr *);
   void emit_extract(nir_intrinsic_instr *);
   void emit_insert(nir_intrinsic_instr *);
   Words image_operands(unsigned access, bool store, std::optional<Id> sample);
   void load_built_in(nir_intrinsic_instr *, SpvBuiltIn);

   const std::string entry_name;
   const BindingSet restricted;
   const std::set<SpvExecutionMode> reconvergence;
   std::string error;
   std::vector<std::vector<Scalar>> values; ///< by nir_def::index
   std::unordered_map<Id, uint64_t> constant_bits;
   std::map<std::pair<Id, Kind>, Id> casts; ///< of the current block
   std::vector<BufferBinding> buffers;
   std::unordered_map<const nir_variable *, Id> variables;
   std::map<SpvBuiltIn, Id> built_ins;
   std::unordered_map<const nir_def *, std::vector<Scalar>> registers; ///< variables, by component
   Id push_constants = 0;
   unsigned first_push_constant = 0; ///< the number of the block's first word
   std::map<Id, Id> global_arrays;   ///< blocks of an array, by its type, for pointers to tiles
   bool physical_addresses = false;
};

/// Of the reductions and scans by a NIR operation; OpNop for those that SPIR-V has not.
SpvOp subgroup_arithmetic_op(nir_op, bool boolean);

/// A feature or a subgroup operation that the driver lacks and the capability asks for, in words;
/// or null.
const char *lacks(const Driver &, SpvCapability);

} // namespace weft::spirv
