// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/lower_array_copies.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/memory/deref_path.h"
#include "nir_passes/memory/opt_array_copies.h"

#include "compiler/nir/nir_builder.h"

#include <algorithm>
#include <vector>

namespace weft {

namespace {

/// The number of vectors and scalars that a copy covers.
uint64_t count_elements(const Path &path)
{
   uint64_t count = 1;
   for (size_t i = 1; i < path.size(); ++i) {
      if (path[i]->deref_type == nir_deref_type_array_wildcard)
         count *= glsl_get_length(path[i - 1]->type);
   }
   return count;
}

size_t find_wildcard(const Path &path)
{
   const auto it =
      std::ranges::find(path, nir_deref_type_array_wildcard, &nir_deref_instr::deref_type);
   return size_t(it - path.begin());
}

nir_deref_instr *at_index(nir_builder *b, const Path &path, nir_def *index)
{
   const size_t level = find_wildcard(path);
   nir_deref_instr *deref =
      nir_build_deref_array(b, path[level - 1], nir_u2uN(b, index, path[level - 1]->def.bit_size));
   for (size_t i = level + 1; i < path.size(); ++i)
      deref = nir_build_deref_follower(b, deref, path[i]);
   return deref;
}

void copy_in_loop(nir_builder *b, nir_deref_instr *to, nir_deref_instr *from,
                  gl_access_qualifier from_access)
{
   const Path to_path = path_of(to), from_path = path_of(from);
   if (count_elements(to_path) <= max_unrolled_copy)
      return nir_copy_deref_with_access(b, to, from, gl_access_qualifier(0), from_access);
   build_loop(b, glsl_get_length(to_path[find_wildcard(to_path) - 1]->type), [&](nir_def *index) {
      copy_in_loop(b, at_index(b, to_path, index), at_index(b, from_path, index), from_access);
   });
}

} // namespace

bool lower_array_copies(nir_shader *nir)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   nir_builder b = nir_builder_create(impl);
   std::vector<nir_intrinsic_instr *> copies;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_copy_deref &&
             count_elements(path_of(nir_src_as_deref(nir_instr_as_intrinsic(instr)->src[0]))) >
                max_unrolled_copy)
            copies.push_back(nir_instr_as_intrinsic(instr));
      }
   }
   for (nir_intrinsic_instr *copy : copies) {
      b.cursor = nir_before_instr(&copy->instr);
      copy_in_loop(&b, nir_src_as_deref(copy->src[0]), nir_src_as_deref(copy->src[1]),
                   nir_intrinsic_src_access(copy));
      nir_instr_remove(&copy->instr);
   }
   nir_metadata_preserve(impl, copies.empty() ? nir_metadata_all : nir_metadata_none);
   return !copies.empty();
}

} // namespace weft
