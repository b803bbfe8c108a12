// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/opt_cmat_copies.h"

#include "nir_passes/cmat_intrinsics.h"
#include "nir_passes/cmat_types.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weft {

namespace {

bool is_cmat(const nir_intrinsic_instr *instr)
{
   const nir_intrinsic_op op = instr->intrinsic;
   return op == nir_intrinsic_cmat_load || op == nir_intrinsic_cmat_store ||
          op == nir_intrinsic_cmat_muladd || op == nir_intrinsic_cmat_element_weft ||
          op == nir_intrinsic_cmat_convert_weft || op == nir_intrinsic_cmat_transpose_weft ||
          op == nir_intrinsic_cmat_insert_run_weft || is_cmat_component_operation(op);
}

/// The source of a cmat intrinsic that names its result: the first, except of those that have none.
bool is_result(const nir_intrinsic_instr *instr, unsigned source)
{
   return source == 0 && instr->intrinsic != nir_intrinsic_cmat_store &&
          instr->intrinsic != nir_intrinsic_cmat_extract &&
          instr->intrinsic != nir_intrinsic_cmat_element_weft;
}

bool may_overlap(nir_deref_instr *x, nir_deref_instr *y)
{
   return nir_compare_derefs(x, y) != nir_derefs_do_not_alias;
}

/// How an instruction touches a matrix in function_temp memory.
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

struct Temporary {
   std::vector<Use> writes, reads;
   /// Nothing but cmat intrinsics uses it, as a whole.
   bool plain = true;
};

class CopyRemover {
public:
   explicit CopyRemover(nir_shader *nir) : b(nir_builder_create(nir_shader_get_entrypoint(nir))) {}

   bool run()
   {
      collect();
      bool progress = false, again;
      do {
         again = false;
         for (nir_intrinsic_instr *&copy : copies) {
            if (copy && (forward(copy) || backward(copy) || load_in_place(copy))) {
               copy = nullptr;
               again = true;
            }
         }
         again |= remove_unneeded();
         progress |= again;
      } while (again);
      nir_metadata_preserve(b.impl, progress ? nir_metadata_control_flow : nir_metadata_all);
      return progress;
   }

private:
   void collect()
   {
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_deref)
               collect_uses(nir_instr_as_deref(instr));
            else if (instr->type == nir_instr_type_intrinsic &&
                     nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_cmat_copy)
               copies.push_back(nir_instr_as_intrinsic(instr));
         }
      }
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
         (is_result(user, source) ? t.writes : t.reads).push_back({user, source});
      }
   }

   /// The bookkeeping of a matrix that is a variable of its own, else null.
   Temporary *temporary(nir_deref_instr *deref)
   {
      if (deref->deref_type != nir_deref_type_var)
         return nullptr;
      const auto it = temporaries.find(deref->var);
      return it != temporaries.end() && it->second.plain ? &it->second : nullptr;
   }

   static void remove_use(std::vector<Use> &uses, nir_intrinsic_instr *instr, unsigned source)
   {
      std::erase_if(uses, [&](const Use &u) { return u.instr == instr && u.source == source; });
   }

   /// Reads where the copy read, if the original is still unchanged at every reader.
   bool forward(nir_intrinsic_instr *copy)
   {
      Temporary *t = temporary(nir_src_as_deref(copy->src[0]));
      nir_deref_instr *original = nir_src_as_deref(copy->src[1]);
      if (!t || t->writes.size() != 1 || t->reads.empty())
         return false;

      size_t found = 0;
      for (nir_instr *i = nir_instr_next(&copy->instr); i; i = nir_instr_next(i)) {
         found +=
            std::ranges::count_if(t->reads, [&](const Use &u) { return &u.instr->instr == i; });
         if (found == t->reads.size())
            break;
         if (touch(i, original).writes)
            return false;
      }
      if (found != t->reads.size())
         return false;

      Temporary *of_original = temporary(original);
      for (const Use &read : t->reads) {
         nir_src_rewrite(&read.instr->src[read.source], &original->def);
         if (of_original)
            of_original->reads.push_back(read);
      }
      if (of_original)
         remove_use(of_original->reads, copy, 1);
      *t = {};
      nir_instr_remove(&copy->instr);
      return true;
   }

   /// Computes straight into the destination, if nobody looks at it between the computation and the
   /// copy.
   bool backward(nir_intrinsic_instr *copy)
   {
      Temporary *t = temporary(nir_src_as_deref(copy->src[1]));
      nir_deref_instr *destination = nir_src_as_deref(copy->src[0]);
      if (!t || t->writes.size() != 1 || t->reads.size() != 1)
         return false;
      nir_intrinsic_instr *writer = t->writes[0].instr;
      if (writer->instr.block != copy->instr.block)
         return false;
      /* What the program sets must not be taken for what a tensor load does (lower_cmat_scope.h). */
      const nir_variable *variable = nir_deref_instr_get_variable(destination);
      if (is_insertion(t->writes[0]) && variable && is_loaded(variable) &&
          !is_loaded(nir_src_as_deref(copy->src[1])->var))
         return false;

      nir_instr *i = nir_instr_next(&writer->instr);
      for (; i && i != &copy->instr; i = nir_instr_next(i)) {
         const Touch touched = touch(i, destination);
         if (touched.reads || touched.writes || is_index(i, destination))
            return false;
      }
      if (!i || !reaches_variable(destination))
         return false;

      b.cursor = nir_before_instr(&writer->instr);
      nir_deref_instr *moved = rebuild_deref(&b, destination);
      nir_src_rewrite(&writer->src[0], &moved->def);
      if (Temporary *of_destination = temporary(destination)) {
         remove_use(of_destination->writes, copy, 0);
         of_destination->writes.push_back({writer, 0});
      }
      *t = {};
      nir_instr_remove(&copy->instr);
      return true;
   }

   /// Lets a tensor load, which is control flow, write what it is copied to.  It has a matrix of its
   /// own, of which every element is written before the copy (vtn_tensor_access.c).
   bool load_in_place(nir_intrinsic_instr *copy)
   {
      nir_deref_instr *destination = nir_src_as_deref(copy->src[0]),
                      *source = nir_src_as_deref(copy->src[1]);
      Temporary *to = temporary(destination), *t = temporary(source);
      if (!to || !t || to == t || !is_loaded(source->var))
         return false;
      /* Of workgroups, components of B are the same to all, or not (lower_cmat_scope.h). */
      if (!is_loaded(destination->var) && std::ranges::any_of(to->writes, is_insertion))
         return false;

      nir_cf_node *node = nir_cf_node_prev(&copy->instr.block->cf_node);
      if (!node || node->type == nir_cf_node_block || leaves(node))
         return false;
      nir_metadata_require(b.impl, nir_metadata_block_index);
      nir_block *before = nir_cf_node_as_block(nir_cf_node_prev(node));
      const Region region = {before, first_of(t->writes, before), copy};
      const auto in_place = [&](const Use &u) {
         return u.instr == copy || (is_insertion(u) && u.source == 2 &&
                                    nir_intrinsic_get_var(u.instr, 0) == source->var);
      };
      if (!std::ranges::all_of(t->writes, [&](const Use &u) { return region.has(u.instr); }) ||
          !std::ranges::all_of(t->reads, in_place))
         return false;
      /* Nobody looks at the destination meanwhile, except to keep what is clipped. */
      const auto from_destination = [&](const Use &u) {
         return u.instr->intrinsic == nir_intrinsic_cmat_copy && u.source == 1 &&
                nir_intrinsic_get_var(u.instr, 0) == source->var;
      };
      const auto is_in_the_way = [&](const Use &u) {
         return !from_destination(u) && region.has(u.instr);
      };
      if (std::ranges::any_of(to->writes, is_in_the_way) ||
          std::ranges::any_of(to->reads, is_in_the_way))
         return false;
      move(*t, *to, destination->var, copy);
      return true;
   }

   /// The first of the instructions in a block, or null.
   static nir_instr *first_of(const std::vector<Use> &uses, const nir_block *block)
   {
      nir_instr *first = nullptr;
      for (const Use &u : uses) {
         if (u.instr->instr.block == block &&
             (!first || nir_instr_is_before(&u.instr->instr, first)))
            first = &u.instr->instr;
      }
      return first;
   }

   /// What comes between two instructions: `first`, which is in the block `before` or null for its
   /// end, and a copy in a later one.
   struct Region {
      nir_block *before;
      nir_instr *first;
      nir_intrinsic_instr *copy;

      bool has(nir_intrinsic_instr *instr) const
      {
         const nir_block *block = instr->instr.block, *last = copy->instr.block;
         if (block == before)
            return first && (first == &instr->instr || nir_instr_is_before(first, &instr->instr));
         if (block == last)
            return nir_instr_is_before(&instr->instr, &copy->instr);
         return block->index > before->index && block->index < last->index;
      }
   };

   static bool is_loaded(const nir_variable *variable)
   {
      return (variable->data.access & ACCESS_CAN_REORDER) != 0;
   }
   static bool is_volatile_load(const Use &use)
   {
      return use.instr->intrinsic == nir_intrinsic_cmat_load &&
             nir_intrinsic_access(use.instr) & ACCESS_VOLATILE;
   }
   static bool is_insertion(const Use &use)
   {
      return use.instr->intrinsic == nir_intrinsic_cmat_insert ||
             use.instr->intrinsic == nir_intrinsic_cmat_insert_run_weft;
   }

   /// Whether it may be left by a jump.
   static bool leaves(nir_cf_node *node)
   {
      nir_foreach_block_in_cf_node(block, node)
      {
         if (!nir_block_ends_in_jump(block))
            continue;
         nir_cf_node *parent = block->cf_node.parent;
         while (parent != node && parent->type != nir_cf_node_loop)
            parent = parent->parent;
         if (parent->type != nir_cf_node_loop)
            return true;
      }
      return false;
   }

   /// Gives all uses of a temporary to the variable that it is copied to, and removes the copy.
   void move(Temporary &t, Temporary &to, nir_variable *variable, nir_intrinsic_instr *copy)
   {
      remove_use(to.writes, copy, 0);
      remove_use(t.reads, copy, 1);
      const auto take = [&](std::vector<Use> &uses, std::vector<Use> &list) {
         for (const Use &u : uses) {
            b.cursor = nir_before_instr(&u.instr->instr);
            nir_src_rewrite(&u.instr->src[u.source], &nir_build_deref_var(&b, variable)->def);
            list.push_back(u);
         }
      };
      take(t.writes, to.writes);
      take(t.reads, to.reads);
      t = {};
      variable->data.access = gl_access_qualifier(variable->data.access | ACCESS_CAN_REORDER);
      nir_instr_remove(&copy->instr);
      remove_copies_to_itself(to, variable);
   }

   void remove_copies_to_itself(Temporary &t, const nir_variable *variable)
   {
      std::vector<nir_intrinsic_instr *> useless;
      for (const Use &u : t.writes) {
         if (u.instr->intrinsic == nir_intrinsic_cmat_copy &&
             nir_src_as_deref(u.instr->src[1])->deref_type == nir_deref_type_var &&
             nir_src_as_deref(u.instr->src[1])->var == variable)
            useless.push_back(u.instr);
      }
      for (nir_intrinsic_instr *copy : useless) {
         remove_use(t.writes, copy, 0);
         remove_use(t.reads, copy, 1);
         std::ranges::replace(copies, copy, nullptr);
         nir_instr_remove(&copy->instr);
      }
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

   static bool is_index(const nir_instr *instr, nir_deref_instr *deref)
   {
      for (; deref; deref = nir_deref_instr_parent(deref)) {
         if (deref->deref_type == nir_deref_type_array &&
             deref->arr.index.ssa->parent_instr == instr)
            return true;
      }
      return false;
   }

   /// Whether a matrix is read for anything but itself or another that is not needed, or loaded by
   /// a volatile access, which stays.
   bool is_needed(const nir_variable *variable, const Temporary &t,
                  const std::unordered_set<const nir_variable *> &needed)
   {
      if (std::ranges::any_of(t.writes, is_volatile_load))
         return true;
      return std::ranges::any_of(t.reads, [&](const Use &read) {
         if (!is_result(read.instr, 0))
            return true;
         nir_deref_instr *result = nir_src_as_deref(read.instr->src[0]);
         return !temporary(result) || (result->var != variable && needed.contains(result->var));
      });
   }

   /// Writers of matrices that nobody needs.  Such may also be carried around loops, from one to the
   /// other.
   bool remove_unneeded()
   {
      std::unordered_set<const nir_variable *> needed;
      size_t count;
      do {
         count = needed.size();
         for (const auto &[variable, t] : temporaries) {
            if (t.plain && is_needed(variable, t, needed))
               needed.insert(variable);
         }
      } while (needed.size() > count);

      bool progress = false;
      for (auto &[variable, t] : temporaries) {
         if (!t.plain || t.writes.empty() || needed.contains(variable))
            continue;
         for (const Use &write : t.writes)
            remove_writer(write.instr);
         t = {};
         progress = true;
      }
      return progress;
   }

   void remove_writer(nir_intrinsic_instr *writer)
   {
      const unsigned sources = nir_intrinsic_infos[writer->intrinsic].num_srcs;
      for (unsigned i = 1; i < sources; ++i) {
         nir_instr *parent = writer->src[i].ssa->parent_instr;
         if (parent->type != nir_instr_type_deref)
            continue;
         if (Temporary *read = temporary(nir_instr_as_deref(parent)))
            remove_use(read->reads, writer, i);
      }
      std::ranges::replace(copies, writer, nullptr);
      nir_instr_remove(&writer->instr);
   }

   nir_builder b;
   std::unordered_map<nir_variable *, Temporary> temporaries;
   std::vector<nir_intrinsic_instr *> copies;
};

} // namespace

bool opt_cmat_copies(nir_shader *nir)
{
   return CopyRemover(nir).run();
}

} // namespace weft
