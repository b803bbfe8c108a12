// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/simplify.h"

#include <algorithm>
#include <utility>

namespace weft::fuzz {

void make_literal(Expr &e)
{
   e.args.clear();
   e.op = Op::literal;
   e.detail = 0;
   e.number = is_float(e.type) ? 0 : 1;
   e.real = is_float(e.type) ? 1 : 0;
}

static void fold_literals(Expr &e)
{
   for (Expr &arg : e.args)
      fold_literals(arg);
   const bool computes = e.op == Op::convert || e.op == Op::select || e.op == Op::unary ||
                         e.op == Op::binary || e.op == Op::fma;
   if (computes && std::ranges::all_of(e.args, [](const Expr &a) { return a.op == Op::literal; }))
      make_literal(e);
}

void fold_literals(Program &program)
{
   for (Function &f : program.functions) {
      for_each_stmt(f.body, [](Stmt &stmt) {
         for (Expr &e : stmt.exprs)
            fold_literals(e);
         for (Place &place : stmt.places)
            for (Expr &e : place.index)
               fold_literals(e);
      });
   }
}

static bool remove_statement(std::vector<Stmt> &block, const Stmt *stmt)
{
   for (size_t i = 0; i < block.size(); i++) {
      if (&block[i] == stmt) {
         block.erase(block.begin() + ptrdiff_t(i));
         return true;
      }
      if (remove_statement(block[i].body, stmt) || remove_statement(block[i].otherwise, stmt))
         return true;
   }
   return false;
}

void remove_statement(Program &program, const Stmt *stmt)
{
   for (Function &f : program.functions) {
      if (remove_statement(f.body, stmt))
         return;
   }
}

static Expr push_word(uint32_t number)
{
   return {Op::push, Type::u32, 0, number % push_words, 0, {}};
}

/// Replaces an expression by a small number that the compiler does not know, and a small number by
/// a literal.
static void simplify(Expr &e, uint32_t word)
{
   const bool is_simple = e.op == Op::push || (!e.args.empty() && e.args[0].op == Op::push);
   if (is_simple)
      return make_literal(e);
   const Type type = e.type;
   if (type == Type::u32) {
      e = push_word(word);
   } else if (type == Type::boolean) {
      Expr two = {Op::literal, Type::u32, 0, 2, 0, {}};
      e = {Op::binary, type, uint8_t(Binary::less), 0, 0, {push_word(word), std::move(two)}};
   } else {
      e = {Op::convert, type, 0, 0, 0, {push_word(word)}};
      // Not from integers.
      if (is_small_float(type))
         e.args = {{Op::convert, Type::f32, 0, 0, 0, e.args}};
   }
}

void repair(Program &program, const Invalid &invalid, uint32_t word)
{
   // The expression belongs to the program, which is not const.
   Expr *const e = const_cast<Expr *>(invalid.expr);
   const bool target =
      e && e->op == Op::variable && invalid.stmt &&
      std::ranges::any_of(invalid.stmt->exprs, [&](const Expr &own) { return &own == e; });
   if (e && e->op != Op::literal && !target)
      simplify(*e, word);
   else
      remove_statement(program, invalid.stmt);
   fold_literals(program);
}

} // namespace weft::fuzz
