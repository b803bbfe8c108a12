// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/shrink.h"

#include "tests/fuzz/simplify.h"

#include <algorithm>
#include <map>

namespace weft::fuzz {

namespace {

/// All blocks of statements of a program, outermost first.
std::vector<std::vector<Stmt> *> blocks(Program &program)
{
   std::vector<std::vector<Stmt> *> list;
   for (Function &f : program.functions) {
      list.push_back(&f.body);
      for_each_stmt(f.body, [&](Stmt &s) {
         list.push_back(&s.body);
         list.push_back(&s.otherwise);
      });
   }
   return list;
}

std::vector<Stmt *> statements(Program &program)
{
   std::vector<Stmt *> list;
   for (Function &f : program.functions)
      for_each_stmt(f.body, [&](Stmt &s) { list.push_back(&s); });
   return list;
}

/// Expressions that may be replaced: not the variables that are assigned to.
std::vector<Expr *> expressions(Program &program)
{
   std::vector<Expr *> list;
   for (Stmt *s : statements(program)) {
      const bool assigns = s->kind == Kind::assign || s->kind == Kind::element_reduce ||
                           s->kind == Kind::call || atomic_result(*s);
      for_each_own_expr(*s, [&](Expr &e) {
         const bool target = assigns && e.op == Op::variable && !s->exprs.empty() &&
                             std::ranges::any_of(s->exprs, [&](Expr &own) { return &own == &e; });
         if (!target && e.op != Op::literal)
            list.push_back(&e);
      });
   }
   return list;
}

void drop_unused_memories(Program &program)
{
   std::vector<bool> used(program.memories.size());
   const auto each_memory = [&](auto &&body) {
      for (Stmt *s : statements(program)) {
         if (has_memory(*s)) {
            int64_t number = s->target;
            body(number);
            s->target = uint32_t(number);
         }
         for_each_own_expr(*s, [&](Expr &e) {
            if (e.op == Op::load)
               body(e.number);
         });
      }
   };
   each_memory([&](int64_t &m) { used[size_t(m)] = true; });
   std::map<int64_t, int64_t> numbers;
   std::vector<Memory> kept;
   for (size_t m = 0; m < used.size(); m++) {
      if (used[m]) {
         numbers[int64_t(m)] = int64_t(kept.size());
         kept.push_back(program.memories[m]);
      }
   }
   each_memory([&](int64_t &m) { m = numbers[m]; });
   program.memories = kept;
}

class Shrinker {
public:
   Shrinker(const Program &program, const StillFails &still_fails, std::chrono::seconds limit)
       : best(program), still_fails(still_fails), deadline(std::chrono::steady_clock::now() + limit)
   {
   }

   Program run()
   {
      do {
         progress = false;
         sizes();
         drop_statements();
         flatten();
         simplify_expressions();
         simplify_tensors();
         simplify_atomics();
         simplify_memories();
      } while (progress && !late());
      return best;
   }

private:
   bool late() const { return std::chrono::steady_clock::now() > deadline; }

   /// Keeps a changed program if it is valid and still fails.
   bool attempt(Program changed)
   {
      if (late())
         return false;
      fold_literals(changed);
      drop_unused_memories(changed);
      const std::variant<Expected, Invalid> result = interpret(changed);
      const Expected *const expected = std::get_if<Expected>(&result);
      if (!expected || !still_fails(changed, *expected))
         return false;
      best = std::move(changed);
      return progress = true;
   }

   void sizes()
   {
      const auto smaller = [&](uint32_t Program::*size, std::initializer_list<uint32_t> values) {
         for (uint32_t value : values) {
            if (value >= best.*size)
               continue;
            Program changed = best;
            changed.*size = value;
            if (attempt(std::move(changed)))
               return;
         }
      };
      for (const auto size :
           {&Program::local_y, &Program::local_z, &Program::groups_y, &Program::groups_z})
         smaller(size, {1});
      smaller(&Program::specialized, {0});
      // Tensors of more dimensions are not changed.
      if (best.groups_y * best.groups_z == 1)
         smaller(&Program::workgroups, {1});
      if (best.local_y * best.local_z == 1)
         smaller(&Program::subgroups, {1, 2});
      smaller(&Program::subgroup_size, {8, 16, 32});
      for (uint32_t i = 0; i < push_words; i++) {
         if (best.push[i]) {
            Program changed = best;
            changed.push[i] = 0;
            attempt(std::move(changed));
         }
      }
   }

   /// Tries long runs first, from the end, where the results are stored.
   void drop_statements()
   {
      for (size_t b = blocks(best).size(); b-- > 0;) {
         if (b >= blocks(best).size())
            continue;
         for (size_t run = std::max<size_t>(blocks(best)[b]->size(), 1); run > 0; run /= 2) {
            for (size_t at = blocks(best)[b]->size(); at > 0;) {
               const size_t first = at > run ? at - run : 0;
               Program changed = best;
               std::vector<Stmt> &block = *blocks(changed)[b];
               block.erase(block.begin() + ptrdiff_t(first), block.begin() + ptrdiff_t(at));
               attempt(std::move(changed));
               if (late())
                  return;
               if (b >= blocks(best).size())
                  return;
               at = std::min(first, blocks(best)[b]->size());
            }
         }
      }
   }

   /// Removes the jumps of a block whose loop is removed.
   static void drop_jumps(std::vector<Stmt> &block)
   {
      std::erase_if(block,
                    [](const Stmt &s) { return s.kind == Kind::leave || s.kind == Kind::next; });
      for (Stmt &s : block) {
         if (s.kind == Kind::branch) {
            drop_jumps(s.body);
            drop_jumps(s.otherwise);
         }
      }
   }

   /// Replaces a branch or a loop by its contents.
   void flatten()
   {
      for (size_t b = 0; b < blocks(best).size(); b++) {
         for (size_t i = 0; b < blocks(best).size() && i < blocks(best)[b]->size(); i++) {
            const Stmt &s = (*blocks(best)[b])[i];
            if (s.kind != Kind::branch && s.kind != Kind::loop)
               continue;
            for (const bool otherwise : {false, true}) {
               Program changed = best;
               std::vector<Stmt> &block = *blocks(changed)[b];
               std::vector<Stmt> inside = otherwise ? block[i].otherwise : block[i].body;
               if (s.kind == Kind::loop)
                  drop_jumps(inside);
               block.erase(block.begin() + ptrdiff_t(i));
               block.insert(block.begin() + ptrdiff_t(i), inside.begin(), inside.end());
               if (attempt(std::move(changed)))
                  break;
            }
         }
      }
   }

   void simplify_expressions()
   {
      for (size_t i = 0; i < expressions(best).size(); i++) {
         if (late())
            return;
         Program changed = best;
         make_literal(*expressions(changed)[i]);
         if (attempt(std::move(changed)))
            continue;
         const Expr &e = *expressions(best)[i];
         for (size_t arg = 0; arg < e.args.size(); arg++) {
            if (e.args[arg].type != e.type)
               continue;
            changed = best;
            Expr &place = *expressions(changed)[i];
            const Expr inside = place.args[arg];
            place = inside;
            if (attempt(std::move(changed)))
               break;
         }
      }
      for (size_t i = 0; i < statements(best).size(); i++) {
         // One place for two.
         for (size_t to = 1; to < statements(best)[i]->places.size(); to++) {
            Program changed = best;
            Stmt &s = *statements(changed)[i];
            const auto type = [&](const Place &p) {
               for (const Function &f : changed.functions) {
                  bool here = false;
                  for_each_stmt(f.body, [&](const Stmt &other) { here |= &other == &s; });
                  if (here)
                     return f.variables[p.variable].matrix;
               }
               return std::optional<e2e::MatrixType>();
            };
            if (s.kind == Kind::call || type(s.places[0]) != type(s.places[to]) ||
                s.places[0].variable == s.places[to].variable)
               continue;
            s.places[to] = s.places[0];
            attempt(std::move(changed));
         }
      }
   }

   void simplify_tensors()
   {
      for (size_t i = 0; i < statements(best).size(); i++) {
         const auto change = [&](auto &&edit) {
            if (i >= statements(best).size() || !statements(best)[i]->tensor)
               return;
            Program changed = best;
            if (edit(*statements(changed)[i]->tensor))
               attempt(std::move(changed));
         };
         const auto set = [](auto &value, const auto &simple) {
            const bool differs = value != simple;
            value = simple;
            return differs;
         };
         change([](Tensor &t) {
            const bool has_view = t.view.has_value();
            t.view.reset();
            return has_view;
         });
         change([&](Tensor &t) { return set(t.vector, 0u); });
         change([&](Tensor &t) { return set(t.literal, true); });
         change([&](Tensor &t) { return set(t.sliced_twice, false); });
         change([&](Tensor &t) { return set(t.layout.clamp_value, 0u); });
         change([&](Tensor &t) { return set(t.layout.clamp, oracle::Clamp::undefined); });
         change(
            [&](Tensor &t) { return set(t.layout.offset, std::vector<int32_t>(t.layout.dim)); });
      }
   }

   /// Removes the results of atomics, and replaces atomics by additions.
   void simplify_atomics()
   {
      for (size_t i = 0; i < statements(best).size(); i++) {
         const auto change = [&](auto &&edit) {
            if (i >= statements(best).size() || statements(best)[i]->kind != Kind::atomic)
               return;
            Program changed = best;
            if (edit(*statements(changed)[i]))
               attempt(std::move(changed));
         };
         change([](Stmt &s) {
            const bool has_result = atomic_result(s);
            if (has_result)
               s.exprs.pop_back();
            return has_result;
         });
         change([](Stmt &s) {
            if (Atomic(s.detail) == Atomic::add)
               return false;
            if (Atomic(s.detail) == Atomic::compare_exchange)
               s.exprs.erase(s.exprs.begin() + 2);
            s.detail = uint8_t(Atomic::add);
            return true;
         });
      }
   }

   void simplify_memories()
   {
      for (size_t m = 0; m < best.memories.size(); m++) {
         const auto change = [&](auto &&edit) {
            if (m >= best.memories.size())
               return;
            Program changed = best;
            edit(changed.memories[m]);
            attempt(std::move(changed));
         };
         if (best.memories[m].storage != Storage::buffer &&
             best.memories[m].storage != Storage::shared)
            change([](Memory &memory) { memory.storage = Storage::buffer; });
         if (is_image(best.memories[m].storage) && best.memories[m].shape != Shape::plane)
            change([](Memory &memory) { memory.shape = Shape::plane; });
         if (best.memories[m].contents > Contents::tiny)
            change([](Memory &memory) { memory.contents = Contents::tiny; });
      }
      for (size_t f = 0; f < best.functions.size(); f++) {
         for (size_t v = 0; v < best.functions[f].variables.size(); v++) {
            for (bool Variable::*property : {&Variable::global, &Variable::unset}) {
               if (!(best.functions[f].variables[v].*property))
                  continue;
               Program changed = best;
               changed.functions[f].variables[v].*property = false;
               attempt(std::move(changed));
            }
         }
      }
   }

   Program best;
   const StillFails &still_fails;
   const std::chrono::steady_clock::time_point deadline;
   bool progress = false;
};

} // namespace

Program shrink(const Program &program, const StillFails &still_fails, std::chrono::seconds limit)
{
   return Shrinker(program, still_fails, limit).run();
}

} // namespace weft::fuzz
