// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The printer's state, shared by print*.cc.

#pragma once

#include "tests/fuzz/print.h"

#include <initializer_list>
#include <map>
#include <set>
#include <string>

namespace weft::fuzz {

const char *reduction_name(Reduction);

class Printer {
public:
   explicit Printer(const Program &);
   std::string run();

private:
   void line(const std::string &s) { text += std::string(3 * depth, ' ') + s + "\n"; }

   // Declarations and statements: print.cc.
   void print_interface();
   std::string type_name(const Variable &v) const;
   /// The name of the type of a function's struct, made once for the same members.
   std::string struct_type(const Function &f, uint32_t structure);
   void struct_types(const Function &f);
   static std::string array(const Variable &v);
   std::string name(uint32_t variable) const;
   std::string zero(const Variable &v) const;
   /// The variables that a function uses. A shrunk program has many unused ones.
   std::set<uint32_t> used_variables(const Function &f) const;
   void print_function(size_t index);
   /// Initializes every variable to zero, except matrices without a first value.
   void print_variable(const Variable &v, uint32_t number, bool used, bool in_used_struct,
                       bool parameter);
   void print_block(const std::vector<Stmt> &block);
   void print(const Stmt &s);
   void print_branch(const Stmt &s);
   void print_loop(const Stmt &s);
   void print_call(const Stmt &s);
   void print_atomic(const Stmt &);
   /// The call of an atomic function, by the end of its name: "Add".
   std::string atomic_call(const std::string &name, uint32_t memory, const std::string &element,
                           const std::string &operands) const;

   // Expressions: print_expr.cc.
   std::string literal(Type, int64_t number, double real) const;
   std::string place(const Place &p);
   std::string scalar_memory(uint32_t memory, const std::string &element) const;
   std::string args(const Expr &e);
   std::string expr(const Expr &e);
   std::string coordinate(uint32_t number);
   std::string unary(const Expr &e);
   std::string binary(const Expr &e);
   std::string shuffle(const Expr &e);
   std::string ballot(const Expr &e);

   // Images and texel buffers: print_texels.cc.
   /// The declaration behind `layout(set, binding`.
   std::string texels_declaration(const Memory &, const std::string &name) const;
   /// Functions from elements to coordinates.
   std::string coordinate_of_element_functions() const;
   std::string texel_place(uint32_t memory, const std::string &element) const;
   std::string load_texel(uint32_t memory, const std::string &element) const;
   std::string store_texel(uint32_t memory, const std::string &element,
                           const std::string &value) const;

   // Matrices: print_matrix.cc.
   void print_matrix(const Stmt &);
   std::string memory_data(const Stmt &s) const;
   std::string matrix_memory(const Stmt &s);
   Type component_of(const Place &p) const;
   void print_element_function(const Stmt &s);
   /// The name of a function of a matrix and the number of a component, made once: a call of it is
   /// an instruction (e2e::replace_calls_by_coordinates()).
   std::string coordinate_function(const Place &p);
   /// Calls of functions that are instructions (e2e::replace_calls_by_array_conversions()).
   void print_turn(const Stmt &s);
   /// The name of a function of two numbers, made once.
   std::string combine_function(Type type, Reduction r);
   void print_reduce(const Stmt &s);

   // Tensors: print_tensor.cc.
   /// Numbers of a tensor layout or view: literals, or made from the push constants.
   std::string numbers(const Tensor &t, std::initializer_list<oracle::Numbers> lists);
   void print_tensor(const Stmt &s);
   /// The name of the view.
   std::string print_view(const Tensor &tensor, const std::string &view);
   /// The name of the decode function.
   std::string decode_function(const Stmt &s, const std::string &number);
   /// The vector decode function NAME_vector of the decode function NAME. It returns a struct in
   /// place of a vector (e2e::add_vector_decode_functions()).
   void print_vector_function(const Stmt &s, const std::string &name, const std::string &reference);
   /// glslang drops a function without a call from the module.
   void call_vector_function(const Stmt &s, const std::string &number);

   const Program &program;
   const bool long_matrices; ///< of 64-bit integers
   const Function *function = nullptr;
   const Stmt *stmt = nullptr;
   std::map<std::string, std::string> struct_names; ///< by their members
   std::string interface, text;
   std::string element_functions;                           ///< functions that combine two elements
   std::map<std::string, std::string> coordinate_functions; ///< by the type
   uint32_t element_function_count = 0, tensor_count = 0, turn_count = 0;
   uint32_t depth = 0;
   /// Set within the second operand of && or ||, which must not be a specialization constant.
   bool in_short_circuit = false;
};

} // namespace weft::fuzz
