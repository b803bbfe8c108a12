// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The composites that hold the matrices in generated modules, and the assembly that takes them
/// apart.

#pragma once

#include "nir_passes/matrix_support.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::modules {

/// A kind of matrices.
struct Kind {
   const char *name;
   ComponentType type;
   uint32_t rows, cols;
   const char *component;    ///< OpTypeFloat …
   const char *matrix;       ///< OpTypeCooperativeMatrix… of %component
   const char *declarations; ///< capabilities, then extensions
   bool is_nv = false;
   const char *add = "OpFAdd"; ///< null where there is no arithmetic
   uint32_t invocations = 64;
   const char *three = "3"; ///< the assembler has bits for encodings that are not IEEE 754's

   uint32_t elements() const { return rows * cols; }
};

extern const std::vector<Kind> kinds;

/// A type with matrices at its leaves, beside numbers.
struct Shape {
   enum class Form { matrix, number, vector, array, structure } form;
   std::vector<Shape> parts; ///< of an array all alike

   bool is_composite() const { return form == Form::array || form == Form::structure; }
   const Shape &at(const std::vector<uint32_t> &path) const;
};

struct Leaf {
   std::vector<uint32_t> path;
   Shape::Form form;
   uint32_t number; ///< of the matrices, or of the words of numbers before it
};

std::vector<Leaf> leaves(const Shape &);

struct NamedShape {
   const char *name;
   Shape shape;
};

extern const std::vector<NamedShape> shapes;

/// A module in the making.
class Assembly {
public:
   explicit Assembly(const Kind &kind) : kind(kind) {}

   /// "%12 = OpFoo %a %b" with the instruction and the operands as given; the result's id.
   std::string emit(const std::string &instruction);
   void act(const std::string &instruction) { body += "  " + instruction + "\n"; }
   std::string label();
   void begin(const std::string &label) { body += label + " = OpLabel\n"; }
   std::string declare(const std::string &instruction);

   /// The type of a shape.  A twin has other structs and arrays of the same members.
   std::string type(const Shape &, bool twin = false);
   std::string pointer(const Shape &, const char *storage = "Function");
   /// The constant of a shape all of whose numbers are 3.
   std::string constant(const Shape &);
   std::string null(const Shape &);
   std::string uint(uint32_t value); ///< a constant
   /// A variable of the function that is written now.
   std::string variable(const Shape &, const std::string &initializer = "");

   /// Leaves in memory: matrices of buffer `matrices`, numbers of `words`, the set-th of each.
   std::string load(const Shape &, uint32_t set);
   void store(const Shape &, const std::string &value, uint32_t set);

   std::string extract(const Shape &, const std::string &value, const std::vector<uint32_t> &path);
   std::string insert(const Shape &, const std::string &value, const std::string &part,
                      const std::vector<uint32_t> &path);
   std::string access(const Shape &, const std::string &pointer, const char *storage,
                      const std::vector<uint32_t> &path);
   /// Component 0 of the matrix at the path, to an element for this invocation of a buffer.
   void store_component(const std::string &value, const char *buffer, uint32_t matrix);

   /// A function beside main: from here to end_function() instructions are its.
   void begin_function();
   std::string end_function(const std::string &head);

   /// The whole text, behind the header comment.
   std::string text() const;

   const Kind &kind;
   std::string globals; ///< ids of Private variables, for the entry point

private:
   std::string element_pointer(const char *buffer, const char *pointer, uint32_t index);

   std::string types, variables, body, functions;
   std::string outer_variables, outer_body;
   std::map<std::string, std::string> known, names;
   uint32_t next = 1;
};

} // namespace weft::modules
