// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/opt_copied_arrays.h"

#include "nir_passes/memory/deref_path.h"

#include "compiler/nir/nir_builder.h"

#include <map>
#include <unordered_map>

namespace weft {

namespace {

/// The uses of a private variable.
struct VariableUses {
   bool plain = true; ///< all uses are loads and copies
   std::vector<nir_intrinsic_instr *> copies, reads;
};

/// The writes to memory, as numbers of instructions in shader order.
struct NumberedWrites {
   std::unordered_map<const nir_variable *, std::vector<unsigned>> of_variables;
   std::vector<unsigned> anywhere;          ///< to an unknown variable
   std::vector<unsigned> outside_variables; ///< to memory that other invocations may access

   static bool is_between(const std::vector<unsigned> &writes, unsigned after, unsigned before)
   {
      const auto first = std::ranges::upper_bound(writes, after);
      return first != writes.end() && *first < before;
   }
};

/// The index of the path's step that covers all elements; the path's length if there is none.
size_t find_wildcard(const Path &path)
{
   const auto it =
      std::ranges::find(path, nir_deref_type_array_wildcard, &nir_deref_instr::deref_type);
   return size_t(it - path.begin());
}

/// Whether `path` covers one or all elements of an array, of which `all` covers all.
bool is_part(const Path &path, const Path &all, size_t wildcard)
{
   if (path.size() != all.size())
      return false;
   for (size_t i = 0; i < path.size(); ++i) {
      const nir_deref_type type = path[i]->deref_type;
      if (i == wildcard ? type != nir_deref_type_array && type != nir_deref_type_array_wildcard
                        : !is_same_step(path[i], all[i]))
         return false;
   }
   return true;
}

/// Whether the path has constant indices only, and so means the same elements everywhere.
bool is_fixed(const Path &path)
{
   return std::ranges::all_of(path, [](const nir_deref_instr *step) {
      return step->deref_type != nir_deref_type_array || nir_src_is_const(step->arr.index);
   });
}

class CopyReader {
public:
   explicit CopyReader(nir_shader *nir) : b(nir_builder_create(nir_shader_get_entrypoint(nir))) {}

   bool run()
   {
      nir_metadata_require(b.impl, nir_metadata_dominance);
      nir_index_instrs(b.impl);
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block)
            collect(instr);
      }
      bool progress = false;
      for (const auto &[place, variable] : copied)
         progress |= read_original(uses[variable]);
      nir_metadata_preserve(b.impl, progress ? nir_metadata_control_flow : nir_metadata_all);
      return progress;
   }

private:
   static const nir_variable *private_variable(nir_deref_instr *deref)
   {
      const nir_variable *variable = nir_deref_instr_get_variable(deref);
      return variable && variable->data.mode == nir_var_function_temp ? variable : nullptr;
   }

   void collect(nir_instr *instr)
   {
      if (instr->type == nir_instr_type_deref) {
         nir_deref_instr *deref = nir_instr_as_deref(instr);
         if (deref->deref_type == nir_deref_type_var && private_variable(deref) &&
             nir_deref_instr_has_complex_use(deref, nir_deref_instr_has_complex_use_options(0)))
            uses[deref->var].plain = false;
      } else if (instr->type == nir_instr_type_call) {
         write_everything(instr->index);
      } else if (instr->type == nir_instr_type_intrinsic) {
         collect(nir_instr_as_intrinsic(instr));
      }
   }

   void collect(nir_intrinsic_instr *instr)
   {
      switch (instr->intrinsic) {
      case nir_intrinsic_load_deref:
         add_read(instr, 0, nir_intrinsic_access(instr));
         break;
      case nir_intrinsic_store_deref:
         if (const nir_variable *variable = add_write(instr))
            uses[variable].plain = false;
         break;
      case nir_intrinsic_copy_deref:
         add_read(instr, 1, nir_intrinsic_src_access(instr));
         if (const nir_variable *variable = add_write(instr)) {
            uses[variable].copies.push_back(instr);
            copied.emplace(instr->instr.index, variable);
         }
         break;
      default:
         if (!nir_intrinsic_can_reorder(instr))
            write_everything(instr->instr.index);
      }
   }

   void write_everything(unsigned index)
   {
      writes.anywhere.push_back(index);
      writes.outside_variables.push_back(index);
   }

   void add_read(nir_intrinsic_instr *instr, unsigned source, gl_access_qualifier access)
   {
      const nir_variable *variable = private_variable(nir_src_as_deref(instr->src[source]));
      if (!variable)
         return;
      uses[variable].plain &= !(access & ACCESS_VOLATILE);
      uses[variable].reads.push_back(instr);
   }

   /// Records a write; returns the private variable that it writes, if known.
   const nir_variable *add_write(nir_intrinsic_instr *instr)
   {
      nir_deref_instr *deref = nir_src_as_deref(instr->src[0]);
      const unsigned index = instr->instr.index;
      const nir_variable *variable = private_variable(deref);
      if (variable) {
         writes.of_variables[variable].push_back(index);
      } else {
         writes.outside_variables.push_back(index);
         if (nir_deref_mode_may_be(deref, nir_var_function_temp))
            writes.anywhere.push_back(index);
      }
      return variable;
   }

   /// The copy that writes the memory which `read` reads, if all conditions hold.
   nir_intrinsic_instr *find_copy(const VariableUses &u, nir_intrinsic_instr *read)
   {
      const Path path = path_of(source_of(read));
      nir_intrinsic_instr *found = nullptr;
      for (nir_intrinsic_instr *copy : u.copies) {
         const Path to = path_of(nir_src_as_deref(copy->src[0]));
         if (!is_part(path, to, find_wildcard(to)))
            continue;
         if (found)
            return nullptr;
         found = copy;
      }
      return found && comes_before(&found->instr, &read->instr) && is_unchanged(found, read)
                ? found
                : nullptr;
   }

   static nir_deref_instr *source_of(nir_intrinsic_instr *read)
   {
      return nir_src_as_deref(read->src[read->intrinsic == nir_intrinsic_copy_deref ? 1 : 0]);
   }

   static bool comes_before(const nir_instr *x, const nir_instr *y)
   {
      return x->block == y->block ? x->index < y->index : nir_block_dominates(x->block, y->block);
   }

   /// Whether nothing writes the original between a copy and a read, in any iteration of a loop.
   bool is_unchanged(nir_intrinsic_instr *copy, nir_intrinsic_instr *read)
   {
      unsigned end = read->instr.index;
      for (nir_cf_node *node = read->instr.block->cf_node.parent; node; node = node->parent) {
         if (node->type == nir_cf_node_loop && !is_within(copy->instr.block, node))
            end = nir_cf_node_as_block(nir_cf_node_next(node))->start_ip;
      }
      const unsigned begin = copy->instr.index;
      nir_deref_instr *original = nir_src_as_deref(copy->src[1]);
      if (nir_deref_mode_must_be(original, nir_var_read_only_modes))
         return true;
      if (NumberedWrites::is_between(writes.anywhere, begin, end))
         return false;
      if (const nir_variable *variable = private_variable(original))
         return !NumberedWrites::is_between(writes.of_variables[variable], begin, end);
      return !nir_deref_mode_may_be(original, nir_var_function_temp) &&
             !NumberedWrites::is_between(writes.outside_variables, begin, end);
   }

   static bool is_within(const nir_block *block, const nir_cf_node *node)
   {
      const nir_cf_node *at = &block->cf_node;
      while (at && at != node)
         at = at->parent;
      return at != nullptr;
   }

   bool read_original(const VariableUses &u)
   {
      if (!u.plain || u.copies.empty())
         return false;
      for (nir_intrinsic_instr *copy : u.copies) {
         const Path to = path_of(nir_src_as_deref(copy->src[0])),
                    from = path_of(nir_src_as_deref(copy->src[1]));
         if (!copy->instr.block || !is_fixed(to) ||
             std::ranges::count(to, nir_deref_type_array_wildcard, &nir_deref_instr::deref_type) !=
                1 ||
             std::ranges::count(from, nir_deref_type_array_wildcard,
                                &nir_deref_instr::deref_type) != 1)
            return false;
      }
      std::vector<nir_intrinsic_instr *> copies;
      for (nir_intrinsic_instr *read : u.reads) {
         copies.push_back(find_copy(u, read));
         if (!copies.back())
            return false;
      }
      for (size_t i = 0; i < u.reads.size(); ++i)
         read_original(u.reads[i], copies[i]);
      for (nir_intrinsic_instr *copy : u.copies)
         nir_instr_remove(&copy->instr);
      return true;
   }

   void read_original(nir_intrinsic_instr *read, nir_intrinsic_instr *copy)
   {
      const Path to = path_of(nir_src_as_deref(copy->src[0])),
                 from = path_of(nir_src_as_deref(copy->src[1])), path = path_of(source_of(read));
      const size_t wildcard = find_wildcard(from);
      const nir_deref_instr *step = path[find_wildcard(to)];
      nir_deref_instr *array = from[wildcard - 1];
      b.cursor = nir_before_instr(&read->instr);
      nir_deref_instr *deref =
         step->deref_type == nir_deref_type_array
            ? nir_build_deref_array(&b, array,
                                    nir_i2iN(&b, step->arr.index.ssa, array->def.bit_size))
            : nir_build_deref_array_wildcard(&b, array);
      for (size_t i = wildcard + 1; i < from.size(); ++i)
         deref = nir_build_deref_follower(&b, deref, from[i]);
      if (read->intrinsic == nir_intrinsic_copy_deref) {
         nir_src_rewrite(&read->src[1], &deref->def);
         nir_intrinsic_set_src_access(read, nir_intrinsic_src_access(copy));
      } else {
         nir_src_rewrite(&read->src[0], &deref->def);
         nir_intrinsic_set_access(read, nir_intrinsic_src_access(copy));
      }
   }

   nir_builder b;
   std::unordered_map<const nir_variable *, VariableUses> uses;
   std::map<unsigned, const nir_variable *> copied; ///< by the copy's number
   NumberedWrites writes;
};

} // namespace

bool opt_copied_arrays(nir_shader *nir)
{
   return CopyReader(nir).run();
}

} // namespace weft
