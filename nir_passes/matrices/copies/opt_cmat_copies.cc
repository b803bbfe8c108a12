// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/opt_cmat_copies.h"

#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/cmat_intrinsics.h"
#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/cmat_types.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weft {

namespace {

/// Each round may enable the next one, but pathological shaders gain nothing from more rounds.
constexpr unsigned max_copy_rounds = 16;
/// The most instructions that are searched for a change of a matrix between two others. If more
/// touch its variable, the copy stays.
constexpr unsigned max_touches = 1024;

bool is_cmat(const nir_intrinsic_instr *instr)
{
   const nir_intrinsic_op op = instr->intrinsic;
   return op == nir_intrinsic_cmat_load || op == nir_intrinsic_cmat_store ||
          op == nir_intrinsic_cmat_muladd || op == nir_intrinsic_cmat_element_weft ||
          op == nir_intrinsic_cmat_convert_weft || op == nir_intrinsic_cmat_transpose_weft ||
          op == nir_intrinsic_cmat_reduce_weft || op == nir_intrinsic_cmat_insert_run_weft ||
          op == nir_intrinsic_cmat_per_element_weft ||
          op == nir_intrinsic_cmat_element_argument_weft || is_whole_access(op) ||
          is_cmat_component_operation(op);
}

/// Whether a source of a cmat intrinsic is its result: the first source, unless it has no result.
bool is_result(const nir_intrinsic_instr *instr, unsigned source)
{
   return source == 0 && instr->intrinsic != nir_intrinsic_cmat_store &&
          instr->intrinsic != nir_intrinsic_cmat_store_tensor_weft &&
          instr->intrinsic != nir_intrinsic_cmat_store_blocked_weft &&
          instr->intrinsic != nir_intrinsic_cmat_extract &&
          instr->intrinsic != nir_intrinsic_cmat_element_weft &&
          instr->intrinsic != nir_intrinsic_cmat_element_argument_weft;
}

bool may_overlap(nir_deref_instr *x, nir_deref_instr *y)
{
   return nir_compare_derefs(x, y) != nir_derefs_do_not_alias;
}

/// The way in which an instruction touches a matrix in function_temp memory.
struct Touch {
   bool reads, writes;
};

Touch touch(nir_instr *instr, nir_deref_instr *matrix)
{
   if (instr->type != nir_instr_type_intrinsic)
      return {instr->type == nir_instr_type_call, instr->type == nir_instr_type_call};

   Touch result = {false, false};
   nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
   const unsigned sources = nir_intrinsic_infos[intrinsic->intrinsic].num_srcs;
   for (unsigned i = 0; i < sources; ++i) {
      nir_instr *parent = intrinsic->src[i].ssa->parent_instr;
      if (parent->type != nir_instr_type_deref || !may_overlap(nir_instr_as_deref(parent), matrix))
         continue;
      if (is_cmat(intrinsic))
         (is_result(intrinsic, i) ? result.writes : result.reads) = true;
      else if (intrinsic->intrinsic == nir_intrinsic_load_deref)
         result.reads = true;
      else
         result = {true, true};
   }
   return result;
}

/// A use of a variable as a whole by a cmat intrinsic.
struct Use {
   nir_intrinsic_instr *instr;
   unsigned source;
};

/// Uses in the order of the shader. The numbers of instructions (nir_instr::index) stay valid,
/// because the pass moves and adds no intrinsics.
class Uses {
public:
   void insert(Use use) { uses.emplace(key(use.instr->instr.index, use.source), use); }
   void erase(const nir_intrinsic_instr *instr, unsigned source)
   {
      uses.erase(key(instr->instr.index, source));
   }

   bool empty() const { return uses.empty(); }
   size_t size() const { return uses.size(); }
   const Use &front() const { return uses.begin()->second; }
   const Use &back() const { return uses.rbegin()->second; }

   template <typename Predicate>
   bool any(const Predicate &predicate) const
   {
      return std::ranges::any_of(uses, [&](const auto &u) { return predicate(u.second); });
   }
   template <typename Function>
   void for_each(const Function &function) const
   {
      for (const auto &[place, use] : uses)
         function(use);
   }

private:
   static uint64_t key(unsigned index, unsigned source) { return uint64_t(index) << 8 | source; }

   std::map<uint64_t, Use> uses;
};

struct Temporary {
   Uses writes, reads;
   /// All uses are as a whole, by cmat intrinsics.
   bool plain = true;
};

/// A copy that may be removed.
struct Copy {
   unsigned index; ///< its number
   /// The changes of its two variables at the last attempt to remove it. Without more changes it
   /// cannot be removed either.
   uint64_t tried_at = UINT64_MAX;
};

class CopyRemover {
public:
   explicit CopyRemover(nir_shader *nir)
       : b(nir_builder_create(nir_shader_get_entrypoint(nir))), functions(functions_of(nir))
   {
   }

   bool run()
   {
      collect();
      bool progress = false, again = true;
      for (unsigned round = 0; again && round < max_copy_rounds; ++round) {
         /* Before backward() lets a matrix that only a loop carries replace a needed one. */
         again = remove_unneeded();
         for (Copy &copy : copies)
            again |= remove(copy);
         progress |= again;
      }
      nir_metadata_preserve(b.impl, progress ? nir_metadata_control_flow : nir_metadata_all);
      return progress;
   }

   uint64_t steps = 0; ///< opt_cmat_copies_steps()

private:
   void collect()
   {
      instructions.resize(nir_index_instrs(b.impl));
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_deref)
               collect_uses(nir_instr_as_deref(instr));
            else if (instr->type == nir_instr_type_intrinsic)
               collect_touches(nir_instr_as_intrinsic(instr));
            else if (instr->type == nir_instr_type_call)
               touch_anything(instr);
         }
      }
   }

   void collect_touches(nir_intrinsic_instr *instr)
   {
      instructions[instr->instr.index] = &instr->instr;
      if (instr->intrinsic == nir_intrinsic_cmat_copy)
         copies.push_back({instr->instr.index});
      const unsigned sources = nir_intrinsic_infos[instr->intrinsic].num_srcs;
      for (unsigned i = 0; i < sources; ++i) {
         if (instr->src[i].ssa->parent_instr->type != nir_instr_type_deref)
            continue;
         nir_deref_instr *deref = nir_src_as_deref(instr->src[i]);
         if (const nir_variable *variable = nir_deref_instr_get_variable(deref))
            touches[variable].insert(instr->instr.index);
         else if (nir_deref_mode_may_be(
                     deref, nir_variable_mode(nir_var_function_temp | nir_var_shader_temp)))
            touch_anything(&instr->instr);
      }
   }

   void touch_anything(nir_instr *instr)
   {
      instructions[instr->index] = instr;
      anywhere.insert(instr->index);
   }

   void collect_uses(nir_deref_instr *deref)
   {
      if (deref->deref_type != nir_deref_type_var || !glsl_type_is_cmat(deref->type))
         return;
      Temporary &t = temporaries[deref->var];
      nir_foreach_use_including_if(src, &deref->def) {
         if (nir_src_is_if(src) || nir_src_parent_instr(src)->type != nir_instr_type_intrinsic ||
             !is_cmat(nir_instr_as_intrinsic(nir_src_parent_instr(src)))) {
            t.plain = false;
            continue;
         }
         nir_intrinsic_instr *user = nir_instr_as_intrinsic(nir_src_parent_instr(src));
         const unsigned source = unsigned(src - user->src);
         (is_result(user, source) ? t.writes : t.reads).insert({user, source});
      }
   }

   bool remove(Copy &copy)
   {
      if (!instructions[copy.index])
         return false;
      ++steps;
      nir_intrinsic_instr *instr = nir_instr_as_intrinsic(instructions[copy.index]);
      const uint64_t now =
         changes[nir_intrinsic_get_var(instr, 0)] + changes[nir_intrinsic_get_var(instr, 1)];
      if (copy.tried_at == now)
         return false;
      if (forward(instr) || backward(instr))
         return true;
      copy.tried_at = now;
      return false;
   }

   /// The uses of a matrix that is a whole variable; null for other matrices.
   Temporary *temporary(nir_deref_instr *deref)
   {
      if (deref->deref_type != nir_deref_type_var)
         return nullptr;
      const auto it = temporaries.find(deref->var);
      return it != temporaries.end() && it->second.plain ? &it->second : nullptr;
   }

   /// Notes that an instruction now uses the variable of a matrix.
   void add_touch(nir_deref_instr *deref, const nir_intrinsic_instr *instr)
   {
      const nir_variable *variable = nir_deref_instr_get_variable(deref);
      touches[variable].insert(instr->instr.index);
      ++changes[variable];
   }

   void remove_instruction(nir_intrinsic_instr *instr)
   {
      instructions[instr->instr.index] = nullptr;
      nir_instr_remove(&instr->instr);
   }

   /// Whether the predicate holds for an instruction from `first` on and before `end`, by their
   /// numbers, that touches a matrix. True if that is not known.
   template <typename Predicate>
   bool is_touched(unsigned first, unsigned end, nir_deref_instr *matrix,
                   const Predicate &predicate)
   {
      const nir_variable *variable = nir_deref_instr_get_variable(matrix);
      if (!variable)
         return true;
      unsigned looks = 0;
      for (const std::set<unsigned> *list : {&touches[variable], &anywhere}) {
         for (auto i = list->lower_bound(first); i != list->end() && *i < end; ++i) {
            ++steps;
            if (++looks > max_touches)
               return true;
            if (nir_instr *instr = instructions[*i]; instr && predicate(touch(instr, matrix)))
               return true;
         }
      }
      return false;
   }

   /// Makes the copy's readers read the original, if it is unchanged at each of them.
   bool forward(nir_intrinsic_instr *copy)
   {
      nir_deref_instr *destination = nir_src_as_deref(copy->src[0]),
                      *original = nir_src_as_deref(copy->src[1]);
      Temporary *t = temporary(destination);
      if (!t || t->writes.size() != 1 || t->reads.empty())
         return false;

      const unsigned here = copy->instr.index;
      const nir_instr &first = t->reads.front().instr->instr, &last = t->reads.back().instr->instr;
      if (first.index <= here || last.block != copy->instr.block ||
          is_touched(here + 1, last.index, original, [](Touch t) { return t.writes; }))
         return false;

      Temporary *of_original = temporary(original);
      t->reads.for_each([&](const Use &read) {
         nir_src_rewrite(&read.instr->src[read.source], &original->def);
         add_touch(original, read.instr);
         if (of_original)
            of_original->reads.insert(read);
      });
      if (of_original)
         of_original->reads.erase(copy, 1);
      ++changes[destination->var];
      *t = {};
      remove_instruction(copy);
      return true;
   }

   /// Puts the destination in the place of the temporary that is copied to it. All uses of the
   /// temporary must lie between its first write and the copy, and no instruction there may touch
   /// the destination. The first write may copy the destination: arguments that a function reads
   /// and writes are copied in this way.
   bool backward(nir_intrinsic_instr *copy)
   {
      Temporary *t = temporary(nir_src_as_deref(copy->src[1]));
      nir_deref_instr *destination = nir_src_as_deref(copy->src[0]);
      if (!t || t->writes.empty())
         return false;
      nir_intrinsic_instr *first = t->writes.front().instr;
      if (first->instr.block != copy->instr.block || first->instr.index >= copy->instr.index ||
          t->writes.back().instr->instr.index >= copy->instr.index ||
          t->reads.front().instr->instr.index <= first->instr.index ||
          t->reads.back().instr != copy)
         return false;
      if (!reaches_variable(destination) || has_later_index(destination, first) ||
          is_touched(first->instr.index + 1, copy->instr.index, destination,
                     [](Touch t) { return t.reads || t.writes; }))
         return false;

      Temporary *of_destination = temporary(destination);
      if (of_destination)
         of_destination->writes.erase(copy, 0);
      t->reads.erase(copy, 1);
      const auto rename = [&](const Use &use, Uses Temporary::*list) {
         ++steps;
         b.cursor = nir_before_instr(&use.instr->instr);
         nir_src_rewrite(&use.instr->src[use.source], &rebuild_deref(&b, destination)->def);
         add_touch(destination, use.instr);
         if (of_destination)
            (of_destination->*list).insert(use);
      };
      t->writes.for_each([&](const Use &use) { rename(use, &Temporary::writes); });
      t->reads.for_each([&](const Use &use) { rename(use, &Temporary::reads); });
      ++changes[nir_intrinsic_get_var(copy, 1)];
      *t = {};
      remove_instruction(copy);
      remove_copy_to_itself(first);
      return true;
   }

   void remove_copy_to_itself(nir_intrinsic_instr *instr)
   {
      if (instr->intrinsic != nir_intrinsic_cmat_copy)
         return;
      nir_deref_instr *to = nir_src_as_deref(instr->src[0]),
                      *from = nir_src_as_deref(instr->src[1]);
      if (!(nir_compare_derefs(to, from) & nir_derefs_equal_bit))
         return;
      if (Temporary *t = temporary(to)) {
         t->writes.erase(instr, 0);
         t->reads.erase(instr, 1);
      }
      remove_instruction(instr);
   }

   /// Whether a writer of a matrix has to stay even if the matrix is not needed.
   bool has_to_stay(const Use &write)
   {
      if (nir_intrinsic_has_access(write.instr) &&
          nir_intrinsic_access(write.instr) & ACCESS_VOLATILE)
         return true;
      return std::ranges::any_of(callees_of(functions, &write.instr->instr),
                                 [&](const nir_function *callee) {
                                    const auto [known, is_new] = effects.try_emplace(callee, false);
                                    if (is_new)
                                       known->second = has_effects(callee);
                                    return known->second;
                                 });
   }

   static bool reaches_variable(nir_deref_instr *deref)
   {
      for (; deref; deref = nir_deref_instr_parent(deref)) {
         if (deref->deref_type == nir_deref_type_var)
            return true;
         if (deref->deref_type != nir_deref_type_array &&
             deref->deref_type != nir_deref_type_struct)
            return false;
      }
      return false;
   }

   /// Whether an index of a deref is computed after an instruction.
   static bool has_later_index(nir_deref_instr *deref, const nir_intrinsic_instr *instr)
   {
      for (; deref; deref = nir_deref_instr_parent(deref)) {
         if (deref->deref_type == nir_deref_type_array &&
             deref->arr.index.ssa->parent_instr->index > instr->instr.index)
            return true;
      }
      return false;
   }

   /// The variables whose readers are needed, and variables with a writer that must stay. A read
   /// for the variable itself, or for one that is not needed, does not count.
   std::unordered_set<const nir_variable *> find_needed()
   {
      std::unordered_set<const nir_variable *> needed;
      std::vector<const Temporary *> work;
      const auto need = [&](nir_variable *variable, const Temporary &t) {
         if (needed.insert(variable).second)
            work.push_back(&t);
      };
      const auto is_end = [&](const Use &read) {
         ++steps;
         return !is_result(read.instr, 0) || !temporary(nir_src_as_deref(read.instr->src[0]));
      };
      const auto stays = [&](const Use &write) { return has_to_stay(write); };
      for (const auto &[variable, t] : temporaries) {
         if (t.plain && (t.reads.any(is_end) || t.writes.any(stays)))
            need(variable, t);
      }
      while (!work.empty()) {
         const Temporary &t = *work.back();
         work.pop_back();
         t.writes.for_each([&](const Use &write) {
            for_each_operand(write.instr, [&](nir_variable *variable, Temporary &operand,
                                              unsigned) { need(variable, operand); });
         });
      }
      return needed;
   }

   /// The temporaries that an instruction reads, if its first source is its result.
   template <typename Function>
   void for_each_operand(nir_intrinsic_instr *instr, const Function &function)
   {
      const unsigned sources = nir_intrinsic_infos[instr->intrinsic].num_srcs;
      for (unsigned i = 1; i < sources; ++i) {
         ++steps;
         if (instr->src[i].ssa->parent_instr->type != nir_instr_type_deref)
            continue;
         nir_deref_instr *deref = nir_src_as_deref(instr->src[i]);
         if (Temporary *t = temporary(deref))
            function(deref->var, *t, i);
      }
   }

   /// Removes the writers of matrices that are not needed. A loop may carry such matrices.
   bool remove_unneeded()
   {
      const std::unordered_set<const nir_variable *> needed = find_needed();
      bool progress = false;
      for (auto &[variable, t] : temporaries) {
         if (!t.plain || t.writes.empty() || needed.contains(variable))
            continue;
         t.writes.for_each([&](const Use &write) {
            for_each_operand(write.instr,
                             [&](nir_variable *operand, Temporary &read, unsigned source) {
                                read.reads.erase(write.instr, source);
                                ++changes[operand];
                             });
            remove_instruction(write.instr);
         });
         ++changes[variable];
         t = {};
         progress = true;
      }
      return progress;
   }

   nir_builder b;
   const std::vector<nir_function *> functions;
   std::unordered_map<const nir_function *, bool> effects; ///< has_effects()
   std::vector<nir_instr *>
      instructions; ///< by number; null unless it may touch a matrix and stays
   std::vector<Copy> copies;
   std::unordered_map<nir_variable *, Temporary> temporaries;
   /// For each variable, the numbers of all instructions that touch it or once touched it.
   std::unordered_map<const nir_variable *, std::set<unsigned>> touches;
   std::set<unsigned> anywhere; ///< instructions that may touch any matrix
   /// How often the uses of a variable changed.
   std::unordered_map<const nir_variable *, uint64_t> changes;
};

} // namespace

bool opt_cmat_copies(nir_shader *nir)
{
   return CopyRemover(nir).run();
}

uint64_t opt_cmat_copies_steps(nir_shader *nir)
{
   CopyRemover remover(nir);
   remover.run();
   return remover.steps;
}

} // namespace weft
