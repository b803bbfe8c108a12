// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The words of a SPIR-V module under construction: sections in the order of SPIR-V 2.4, types and
/// constants without duplicates. Knows the grammar's layout, not the meaning of instructions.

#pragma once

#include "compiler/spirv/spirv.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft::spirv {

using Id = uint32_t;
using Words = std::vector<uint32_t>;

class ModuleBuilder {
public:
   Id new_id() { return ++last_id; }

   // Declarations of the module.
   void capability(SpvCapability c) { capabilities.insert(c); }
   void extension(const std::string &name) { extensions.insert(name); }
   Id extended_instructions(const char *name);
   void memory_model(SpvAddressingModel, SpvMemoryModel);
   void entry_point(SpvExecutionModel, Id function, const std::string &name,
                    std::span<const Id> interface);
   void execution_mode(Id function, SpvExecutionMode,
                       std::initializer_list<uint32_t> operands = {});
   void name(Id, const char *);
   void decorate(Id, SpvDecoration, std::initializer_list<uint32_t> operands = {});
   void decorate_member(Id type, uint32_t member, SpvDecoration,
                        std::initializer_list<uint32_t> operands = {});

   /// The type with these operands; equal types share an id.
   Id type(SpvOp, const Words &operands = {});
   /// A new type, for decorations that must not affect equal types.
   Id distinct_type(SpvOp, const Words &operands);
   /// Int, float and bool by bits.
   Id type_int(unsigned bits, bool is_signed);
   Id type_uint(unsigned bits) { return type_int(bits, false); }
   Id type_float(unsigned bits);
   Id type_bool() { return type(SpvOpTypeBool); }
   Id type_void() { return type(SpvOpTypeVoid); }
   Id type_vector(Id component, unsigned count)
   {
      return count == 1 ? component : type(SpvOpTypeVector, {component, count});
   }
   Id type_pointer(SpvStorageClass storage, Id to)
   {
      return type(SpvOpTypePointer, {uint32_t(storage), to});
   }

   /// OpConstant of a number's bits; equal constants share an id.
   Id constant(Id type, unsigned bits, uint64_t value);
   Id constant_bool(bool value);
   Id constant_uint(uint32_t value) { return constant(type_uint(32), 32, value); }
   Id constant_composite(Id type, const Words &parts);
   Id constant_null(Id type);

   Id global_variable(Id pointer_type, SpvStorageClass, std::optional<Id> initializer = {});
   const std::vector<Id> &global_variables() const { return globals; }

   // The module's only function.
   void begin_function(Id function, Id type);
   void end_function();
   /// Declares a variable at the beginning of the function, wherever code is being emitted.
   Id local_variable(Id pointer_type);
   void label(Id);
   /// Emits an instruction with a result.
   Id emit(SpvOp, Id type, std::initializer_list<uint32_t> operands);
   Id emit(SpvOp, Id type, const Words &operands);
   /// Emits an instruction without a result.
   void emit(SpvOp, std::initializer_list<uint32_t> operands);
   void emit(SpvOp, const Words &operands);

   const std::set<SpvCapability> &used_capabilities() const { return capabilities; }
   Words finish(uint32_t version) const;

private:
   Id define(Words &section, SpvOp, Id type, const Words &operands);

   Id last_id = 0;
   std::set<SpvCapability> capabilities;
   std::set<std::string> extensions;
   std::map<std::string, Id> imports;
   Words model, entries, modes, names, decorations, definitions, function_head, locals, body;
   std::map<Words, Id> types, constants;
   std::vector<Id> globals;
};

} // namespace weft::spirv
