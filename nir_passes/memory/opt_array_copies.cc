// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/opt_array_copies.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/memory/deref_path.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

namespace weft {

namespace {

/// Whether `path` equals `first` except for the index at `level`.
bool is_at_index(const Path &path, const Path &first, size_t level, uint64_t index)
{
   if (path.size() != first.size() || !is_index(path[level], index))
      return false;
   for (size_t i = path.size(); i-- > 0;) {
      if (i != level && !is_same_step(path[i], first[i]))
         return false;
      /* The same deref, so all earlier steps are equal. */
      if (i < level && path[i] == first[i])
         break;
   }
   return true;
}

bool same_before(const Path &x, const Path &y, size_t level)
{
   if (x.size() <= level || y.size() <= level)
      return false;
   for (size_t i = level; i-- > 0;) {
      if (!is_same_step(x[i], y[i]))
         return false;
      if (x[i] == y[i])
         break;
   }
   return true;
}

/// The length of the array that the step indexes.
unsigned length_at(const Path &path, size_t level)
{
   return level > 0 && glsl_type_is_array(path[level - 1]->type)
             ? glsl_get_length(path[level - 1]->type)
             : 0;
}

/// A store of a whole vector or scalar to a private variable, and the load of its value; null if
/// the value is constant.
struct Store {
   nir_intrinsic_instr *instr, *load;
   Path to, from;

   const nir_def *constant() const { return instr->src[1].ssa; }
};

bool is_same_constant(const nir_def *x, const nir_def *y)
{
   const nir_load_const_instr *a = nir_instr_as_load_const(x->parent_instr),
                              *b = nir_instr_as_load_const(y->parent_instr);
   if (x->num_components != y->num_components)
      return false;
   for (unsigned i = 0; i < x->num_components; ++i) {
      if (nir_const_value_as_uint(a->value[i], x->bit_size) !=
          nir_const_value_as_uint(b->value[i], y->bit_size))
         return false;
   }
   return true;
}

/// Stores of one constant to all elements of an array.
struct Fill {
   nir_instr *behind; ///< stands at the last of the replaced stores
   Path to;
   size_t level;
   nir_const_value value[NIR_MAX_VEC_COMPONENTS];
   unsigned components, bits;
};

/// A variable with the constants of some stores.
struct Table {
   nir_variable *variable;
   std::vector<const nir_def *> values;
};

/// The latest writes in a block so far, as numbers of instructions.
struct Writes {
   std::unordered_map<const nir_variable *, unsigned> of_variables;
   unsigned anywhere = 0;          ///< to an unknown variable
   unsigned outside_variables = 0; ///< to memory that other invocations may access

   void add_everything(unsigned index) { anywhere = outside_variables = index; }
};

class CopyFinder {
public:
   explicit CopyFinder(nir_shader *nir) : b(nir_builder_create(nir_shader_get_entrypoint(nir))) {}

   bool run()
   {
      nir_index_instrs(b.impl);
      count_writes();
      nir_foreach_block(block, b.impl) {
         writes = {};
         writes.add_everything(block->start_ip);
         nir_foreach_instr_safe(instr, block)
            visit(instr);
         finish_run();
      }
      for (const Fill &fill : fills)
         fill_in_loop(fill);
      for (size_t i = 0; i < fills.size(); ++i) {
         if (i == 0 || fills[i].behind != fills[i - 1].behind)
            nir_instr_remove(fills[i].behind);
      }
      nir_metadata_preserve(b.impl, !progress       ? nir_metadata_all
                                    : fills.empty() ? nir_metadata_control_flow
                                                    : nir_metadata_none);
      return progress;
   }

private:
   void count_writes()
   {
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_intrinsic &&
                nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_store_deref)
               ++write_counts[nir_intrinsic_get_var(nir_instr_as_intrinsic(instr), 0)];
         }
      }
   }

   void visit(nir_instr *instr)
   {
      if (instr->type == nir_instr_type_call) {
         finish_run();
         writes.add_everything(instr->index);
      }
      if (instr->type != nir_instr_type_intrinsic)
         return;
      nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      if (intrinsic->intrinsic == nir_intrinsic_load_deref) {
         const nir_variable *variable = private_variable(nir_src_as_deref(intrinsic->src[0]));
         const bool anywhere =
            !variable &&
            nir_deref_mode_may_be(nir_src_as_deref(intrinsic->src[0]), nir_var_function_temp);
         if (variable == destination || anywhere)
            finish_run();
      } else if (intrinsic->intrinsic == nir_intrinsic_store_deref) {
         visit_store(intrinsic);
      } else if (!nir_intrinsic_can_reorder(intrinsic)) {
         finish_run();
         writes.add_everything(instr->index);
      }
   }

   void visit_store(nir_intrinsic_instr *instr)
   {
      nir_deref_instr *deref = nir_src_as_deref(instr->src[0]);
      const nir_variable *variable = private_variable(deref);
      if (!variable) {
         finish_run();
         if (nir_deref_mode_may_be(deref, nir_var_function_temp))
            writes.anywhere = instr->instr.index;
         writes.outside_variables = instr->instr.index;
         return;
      }
      if (variable != destination)
         finish_run();
      writes.of_variables[variable] = instr->instr.index;

      if (!is_whole(instr, deref))
         return finish_run();
      destination = variable;
      if (nir_src_is_const(instr->src[1])) {
         stores.push_back({instr, nullptr, path_of(deref), {}});
         return;
      }
      nir_intrinsic_instr *load = nir_src_as_intrinsic(instr->src[1]);
      if (!load || load->intrinsic != nir_intrinsic_load_deref ||
          load->instr.block != instr->instr.block ||
          nir_intrinsic_access(load) & (ACCESS_VOLATILE | ACCESS_COHERENT) ||
          glsl_get_bare_type(deref->type) !=
             glsl_get_bare_type(nir_src_as_deref(load->src[0])->type))
         return finish_run();
      stores.push_back({instr, load, path_of(deref), path_of(nir_src_as_deref(load->src[0]))});
   }

   static bool is_whole(const nir_intrinsic_instr *store, const nir_deref_instr *deref)
   {
      return !(nir_intrinsic_access(store) & ACCESS_VOLATILE) &&
             glsl_type_is_vector_or_scalar(deref->type) &&
             nir_intrinsic_write_mask(store) ==
                nir_component_mask(glsl_get_vector_elements(deref->type));
   }

   /// The function's variable that a deref belongs to, if known.
   static const nir_variable *private_variable(nir_deref_instr *deref)
   {
      const nir_variable *variable = nir_deref_instr_get_variable(deref);
      return variable && variable->data.mode == nir_var_function_temp ? variable : nullptr;
   }

   /// Finds copies among stores to one variable, without other accesses to it between them.
   void finish_run()
   {
      for (size_t i = 0; i < stores.size();) {
         const size_t copied = stores.size() - i > max_unrolled_copy ? find_copy(i) : 0;
         i += std::max<size_t>(copied, 1);
      }
      stores.clear();
      destination = nullptr;
   }

   /// Turns stores from `first` on into a copy of the outermost possible array; returns how many.
   size_t find_copy(size_t first)
   {
      const Path &path = stores[first].to;
      for (size_t level = 1; level < path.size(); ++level) {
         if (!is_index(path[level], 0))
            continue;
         const size_t length = length_at(path, level);
         size_t parts = 0; // stores per element
         while (first + parts < stores.size() &&
                same_before(stores[first + parts].to, path, level) &&
                is_index(stores[first + parts].to[level], 0))
            ++parts;
         const size_t count = length * parts;
         if (length > 1 && count > max_unrolled_copy && first + count <= stores.size() &&
             (stores[first].load ? try_copy(first, level, length, parts)
                                 : try_constants(first, level, length, parts)))
            return count;
      }
      return 0;
   }

   bool try_copy(size_t first, size_t level, size_t length, size_t parts)
   {
      if (!stores[first + parts].load)
         return false;
      const std::optional<size_t> from_level =
         find_source_level(stores[first], stores[first + parts]);
      if (!from_level || length_at(stores[first].from, *from_level) != length)
         return false;
      unsigned first_load = UINT32_MAX;
      for (size_t i = 0; i < length * parts; ++i) {
         const Store &store = stores[first + i], &of_first = stores[first + i % parts];
         if (!store.load || !is_at_index(store.to, of_first.to, level, i / parts) ||
             !is_at_index(store.from, of_first.from, *from_level, i / parts) ||
             !same_before(of_first.from, stores[first].from, *from_level))
            return false;
         first_load = std::min(first_load, store.load->instr.index);
      }
      if (first_load <= last_write(stores[first].load))
         return false;

      b.cursor = nir_after_instr(&stores[first + length * parts - 1].instr->instr);
      for (size_t i = 0; i < parts; ++i) {
         const Store &store = stores[first + i];
         nir_copy_deref_with_access(&b, with_wildcard(store.to, level),
                                    with_wildcard(store.from, *from_level), gl_access_qualifier(0),
                                    nir_intrinsic_access(store.load));
      }
      remove_stores(first, length * parts);
      return true;
   }

   void remove_stores(size_t first, size_t count)
   {
      for (size_t i = 0; i < count; ++i)
         nir_instr_remove(&stores[first + i].instr->instr);
      progress = true;
   }

   /// An array that is filled with one constant, or with several, and also has other stores.
   /// Without other stores, it would be a table itself (opt_constant_arrays.h).
   bool try_constants(size_t first, size_t level, size_t length, size_t parts)
   {
      const size_t count = length * parts;
      if (write_counts[destination] == count)
         return false;
      bool equal = true;
      for (size_t i = 0; i < count; ++i) {
         const Store &store = stores[first + i], &of_first = stores[first + i % parts];
         if (store.load || !is_at_index(store.to, of_first.to, level, i / parts))
            return false;
         equal &= is_same_constant(store.constant(), of_first.constant());
      }
      nir_instr *last = &stores[first + count - 1].instr->instr;
      if (equal) {
         b.cursor = nir_after_instr(last);
         nir_intrinsic_instr *place = nir_intrinsic_instr_create(b.shader, nir_intrinsic_nop);
         nir_builder_instr_insert(&b, &place->instr);
         for (size_t i = 0; i < parts; ++i)
            fills.push_back(make_fill(stores[first + i], level, &place->instr));
      } else {
         nir_variable *table = find_table(first, level, count);
         b.cursor = nir_after_instr(last);
         const Path path = {nir_build_deref_var(&b, table)};
         for (size_t i = 0; i < parts; ++i) {
            Path from = path;
            from.insert(from.end(), stores[first + i].to.begin() + ptrdiff_t(level),
                        stores[first + i].to.end());
            nir_copy_deref(&b, with_wildcard(stores[first + i].to, level), with_wildcard(from, 1));
         }
      }
      remove_stores(first, count);
      return true;
   }

   static Fill make_fill(const Store &store, size_t level, nir_instr *behind)
   {
      const nir_load_const_instr *constant =
         nir_instr_as_load_const(store.constant()->parent_instr);
      Fill fill = {
         behind, store.to, level, {}, constant->def.num_components, constant->def.bit_size};
      std::copy_n(constant->value, fill.components, fill.value);
      return fill;
   }

   void fill_in_loop(const Fill &fill)
   {
      b.cursor = nir_after_instr(fill.behind);
      nir_def *value = nir_build_imm(&b, fill.components, fill.bits, fill.value);
      nir_deref_instr *array = fill.to[fill.level - 1];
      build_loop(&b, glsl_get_length(array->type), [&](nir_def *index) {
         nir_deref_instr *deref =
            nir_build_deref_array(&b, array, nir_u2uN(&b, index, array->def.bit_size));
         for (size_t i = fill.level + 1; i < fill.to.size(); ++i)
            deref = nir_build_deref_follower(&b, deref, fill.to[i]);
         nir_store_deref(&b, deref, value, nir_component_mask(fill.components));
      });
   }

   /// Returns a variable with the constants of some stores, written at the beginning of the
   /// function.
   nir_variable *find_table(size_t first, size_t level, size_t count)
   {
      const glsl_type *type = stores[first].to[level - 1]->type;
      std::vector<const nir_def *> values;
      for (size_t i = 0; i < count; ++i)
         values.push_back(stores[first + i].constant());
      for (const Table &table : tables) {
         if (table.variable->type == type &&
             std::ranges::equal(table.values, values, is_same_constant))
            return table.variable;
      }
      nir_variable *variable = nir_local_variable_create(b.impl, type, "constants");
      b.cursor = nir_before_impl(b.impl);
      for (size_t i = 0; i < count; ++i) {
         nir_deref_instr *deref = nir_build_deref_var(&b, variable);
         const Path &to = stores[first + i].to;
         for (size_t step = level; step < to.size(); ++step) {
            deref = to[step]->deref_type == nir_deref_type_struct
                       ? nir_build_deref_struct(&b, deref, to[step]->strct.index)
                       : nir_build_deref_array_imm(&b, deref,
                                                   int64_t(nir_src_as_uint(to[step]->arr.index)));
         }
         const nir_load_const_instr *constant = nir_instr_as_load_const(values[i]->parent_instr);
         nir_store_deref(
            &b, deref,
            nir_build_imm(&b, values[i]->num_components, values[i]->bit_size, constant->value),
            nir_component_mask(values[i]->num_components));
      }
      tables.push_back({variable, std::move(values)});
      return variable;
   }

   /// The step at which the sources of the first two elements' same part differ, if they differ
   /// only by the element's number.
   static std::optional<size_t> find_source_level(const Store &x, const Store &y)
   {
      if (x.from.size() != y.from.size())
         return std::nullopt;
      for (size_t i = 1; i < x.from.size(); ++i) {
         if (is_same_step(x.from[i], y.from[i]))
            continue;
         return is_index(x.from[i], 0) && is_index(y.from[i], 1) ? std::optional(i) : std::nullopt;
      }
      return std::nullopt;
   }

   /// The last write that a load may read.
   unsigned last_write(const nir_intrinsic_instr *load)
   {
      nir_deref_instr *deref = nir_src_as_deref(load->src[0]);
      if (nir_deref_mode_must_be(deref, nir_var_read_only_modes))
         return 0;
      if (const nir_variable *variable = private_variable(deref)) {
         const auto it = writes.of_variables.find(variable);
         return std::max(writes.anywhere, it != writes.of_variables.end() ? it->second : 0);
      }
      return nir_deref_mode_may_be(deref, nir_var_function_temp)
                ? UINT32_MAX
                : std::max(writes.anywhere, writes.outside_variables);
   }

   nir_deref_instr *with_wildcard(const Path &path, size_t level)
   {
      nir_deref_instr *deref = nir_build_deref_array_wildcard(&b, path[level - 1]);
      for (size_t i = level + 1; i < path.size(); ++i)
         deref = nir_build_deref_follower(&b, deref, path[i]);
      return deref;
   }

   nir_builder b;
   bool progress = false;
   Writes writes;
   std::unordered_map<const nir_variable *, size_t> write_counts;
   std::vector<Fill> fills;
   std::vector<Table> tables;
   const nir_variable *destination = nullptr;
   std::vector<Store> stores; ///< stores to `destination`
};

} // namespace

bool opt_array_copies(nir_shader *nir)
{
   return CopyFinder(nir).run();
}

} // namespace weft
