// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A SPIR-V module as functions, blocks and instructions, which can be changed and written again.
/// The rewriter of tests' shaders (forms.h) uses it.  The module has to be valid.  SPIRV-Tools'
/// grammar says which words are ids.

#pragma once

#include "tests/oracle/random.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <unordered_map>
#include <vector>

namespace weft::forms {

struct Instruction {
   spv::Op opcode;
   uint32_t type = 0, result = 0;  ///< 0 if there is none
   std::vector<uint32_t> operands; ///< the words after these
   std::vector<uint32_t> uses;     ///< which of the operands are ids

   /// An instruction whose operands are first ids, then literals.
   static Instruction make(spv::Op, uint32_t type, uint32_t result,
                           const std::vector<uint32_t> &ids,
                           const std::vector<uint32_t> &literals = {});
};

struct Block {
   uint32_t label = 0;
   std::vector<Instruction> body; ///< without the label

   /// The index of the first instruction that ends the block, which may be a merge instruction.
   size_t end() const;
   /// The index of the first instruction behind the phis and variables.
   size_t begin() const;
   /// The labels of the blocks that may follow, each once.
   std::vector<uint32_t> successors() const;
};

struct Function {
   Instruction begin;
   std::vector<Instruction> parameters;
   std::vector<Block> blocks; ///< the first is the entry block; none in a declaration
};

/// The literals that lead from a composite to a part of it.
using IndexPath = std::vector<uint32_t>;

class Module {
public:
   explicit Module(std::span<const uint32_t> words);
   std::vector<uint32_t> words() const;

   std::vector<Instruction> preamble; ///< all before the first function
   std::vector<Function> functions;

   uint32_t new_id() { return bound++; }
   uint32_t version() const { return header[1]; }

   /// A type, constant or global variable, or null.
   const Instruction *global(uint32_t id) const;
   spv::Op type_opcode(uint32_t type) const;

   /// Whether values of a type may be kept in variables of functions, and be parts of other values
   /// that may: numbers, booleans, matrices and composites of them, without a layout.
   bool is_plain(uint32_t type) const;
   bool is_matrix(uint32_t type) const; ///< a cooperative one
   bool holds_matrix(uint32_t type) const;
   bool can_select(uint32_t type) const; ///< by OpSelect and one boolean
   /// Structs, arrays of a known length, vectors and GLSL's own matrices.
   uint32_t member_count(uint32_t type) const;
   uint32_t member_type(uint32_t type, uint32_t member) const;
   /// The component type of a cooperative matrix, if invocations may compute with single
   /// components.
   std::optional<uint32_t> component_type(uint32_t matrix) const;
   /// Scalars in a type, a cooperative matrix counting as one.
   uint32_t size(uint32_t type) const;

   std::optional<uint32_t> constant_value(uint32_t id) const; ///< of a constant of 32 bits

   // The next functions add a declaration if it is absent.
   uint32_t constant(uint32_t value);
   uint32_t bool_constant(bool value);
   uint32_t null(uint32_t type);
   uint32_t undefined(uint32_t type);
   uint32_t bool_type();
   uint32_t function_pointer(uint32_t type);
   uint32_t array_type(uint32_t element, uint32_t length);
   uint32_t struct_type(const std::vector<uint32_t> &members);
   uint32_t function_type(uint32_t result, const std::vector<uint32_t> &parameters);
   /// Another type that logically matches: new structs and arrays with the same members.
   uint32_t copy_of_type(uint32_t type);

   bool has_capability(spv::Capability) const;
   bool has_decoration(uint32_t id, spv::Decoration) const;
   /// Whether an id has a decoration other than for precision.
   bool is_decorated(uint32_t id) const;
   /// Forgets the names and decorations of ids that are gone.
   void remove_annotations(const std::set<uint32_t> &ids);

private:
   std::vector<uint32_t> header;
   uint32_t bound;
   std::unordered_map<uint32_t, size_t> globals; ///< places in the preamble
   std::map<std::vector<uint32_t>, uint32_t> added;
   std::set<uint32_t> decorated;

   uint32_t add(const Instruction &, bool reuse = true);
   uint32_t uint_type();
};

} // namespace weft::forms
