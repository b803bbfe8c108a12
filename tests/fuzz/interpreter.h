// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The interpreter's state, shared by interpret*.cc.

#pragma once

#include "tests/fuzz/interpret.h"

#include <bitset>

namespace weft::fuzz {

constexpr uint32_t max_invocations = 256;

/// One bit per invocation of the workgroup.
using Mask = std::bitset<max_invocations>;
/// One number per invocation of the workgroup; arbitrary numbers for inactive invocations.
using Lanes = std::vector<Number>;

struct MatrixValue {
   std::vector<Number> elements; ///< row-major
   std::vector<double> bounds;   ///< of floats

   bool exact() const;
};

struct Frame {
   const Function *function;
   std::vector<Lanes> scalars;                     ///< by variable: [array element][invocation]
   std::vector<std::vector<MatrixValue>> matrices; ///< by variable: [array element][owner]
};

class Interpreter {
public:
   explicit Interpreter(const Program &);
   Expected run(); ///< throws Invalid

private:
   [[noreturn]] void fail(const char *why, const Expr *at = nullptr) const;
   const Number &defined(const Number &, const Expr &at) const;
   Number checked(const std::optional<Number> &, const Expr &at) const;

   // Statements: interpret.cc.
   Frame make_frame(const Function &) const;
   void execute(const std::vector<Stmt> &, const Mask &);
   void execute(const Stmt &, const Mask &);
   bool is_whole(const Mask &, const Mask &whole) const;
   void assign(const Expr &variable, const Lanes &, const Mask &);
   void store(const Stmt &, const Mask &);
   void atomic(const Stmt &, const Mask &);
   void branch(const Stmt &, const Mask &);
   void loop(const Stmt &, const Mask &);
   void barrier(const Mask &);
   void call(const Stmt &, const Mask &);
   void copy_struct(const Stmt &, const Mask &);

   // Expressions: interpret_expr.cc.
   Lanes evaluate(const Expr &, const Mask &);
   Lanes evaluate_leaf(const Expr &, const Mask &);
   Lanes evaluate_arithmetic(const Expr &, const Mask &);
   void evaluate_reduction(const Expr &, const Lanes &, const Mask &, uint32_t subgroup, Lanes &);
   void evaluate_shuffle(const Expr &, const std::vector<Lanes> &, const Mask &, uint32_t subgroup,
                         Lanes &);
   void evaluate_vote(const Expr &, const Lanes &, const Mask &, uint32_t subgroup, Lanes &);
   void evaluate_ballot(const Expr &, const std::vector<Lanes> &, const Mask &, uint32_t subgroup,
                        Lanes &);
   /// The value of an expression, which must be the same in all invocations that own a matrix.
   Number uniform(const Expr &, const Lanes &, uint32_t owner) const;

   // Matrices: interpret_matrix.cc.
   void execute_matrix(const Stmt &, uint32_t owner);
   MatrixValue &matrix(const Place &, uint32_t owner);
   const MatrixValue &operand(const Place &, uint32_t owner); ///< to be read
   const e2e::MatrixType &type(const Place &) const;
   Number uniform(const Expr &, uint32_t owner);
   void transfer(const Stmt &, uint32_t owner);
   void muladd(const Stmt &, uint32_t owner);
   void turn(const Stmt &, uint32_t owner);
   void convert_matrix(const Stmt &, uint32_t owner);
   void matrix_arithmetic(const Stmt &, uint32_t owner);
   void element_loop(const Stmt &, uint32_t owner);
   void element_reduce(const Stmt &, uint32_t owner);
   void tensor_transfer(const Stmt &, uint32_t owner);
   void element_function(const Stmt &, uint32_t owner);
   void reduce_matrix(const Stmt &, uint32_t owner);
   /// The parts of an element that an expression may use.
   struct Element {
      std::vector<Number> values; ///< of the operands, or of the block
      std::vector<Number> coordinates = {}, parameters = {};
   };
   Number element_value(const Expr &, const Element &, uint32_t owner);
   MatrixValue make_matrix(const e2e::MatrixType &, const Number &) const;

   Mask subgroup_mask(uint32_t subgroup) const;
   Mask owner_mask(uint32_t owner) const;
   Access access(int32_t subgroup, int32_t invocation) const;
   Access matrix_access(uint32_t owner) const;

   const Program &program;
   const uint32_t W, N;   ///< invocations per subgroup and workgroup
   const uint32_t owners; ///< of matrices: subgroups, or the one workgroup
   std::vector<CellArray> memories;
   std::vector<Frame> frames;
   /// Invocations that have left the innermost loop, its current iteration, the program.
   Mask left, skipped, finished;
   uint32_t workgroup = 0;
   uint32_t workgroup_barriers = 0;
   std::vector<uint32_t> subgroup_barriers;
   const Stmt *current = nullptr;
   uint64_t steps = 0;
};

} // namespace weft::fuzz
