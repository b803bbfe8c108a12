// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/workgroups/lower_subgroup_blocks.h"

#include "nir_passes/workgroups/lower_divergent_barriers.h"
#include "nir_passes/workgroups/workgroup_barrier.h"

#include "compiler/nir/nir_builder.h"

#include <string>
#include <vector>

namespace weft {

namespace {

/// Reduces subgroup operations to shuffles, reads of an invocation, ballots, votes, reductions and
/// scans, all on scalars.
bool make_fewer_kinds(nir_shader *nir, uint32_t subgroup_size)
{
   nir_lower_subgroups_options options = {};
   options.subgroup_size = uint8_t(subgroup_size);
   options.ballot_bit_size = 32;
   options.ballot_components = 4;
   options.lower_to_scalar = true;
   options.lower_vote_eq = true;
   options.lower_vote_bool_eq = true;
   options.lower_subgroup_masks = true;
   options.lower_relative_shuffle = true;
   options.lower_quad = true;
   options.lower_quad_vote = true;
   options.lower_rotate_to_shuffle = true;
   options.lower_inverse_ballot = true;
   return nir_lower_subgroups(nir, &options);
}

enum class Kind { other, alone, together, unknown };

/// The kind of an instruction: `alone` only needs an invocation's place in its subgroup, `together`
/// needs the subgroup's other invocations.
Kind kind_of(const nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_load_subgroup_size:
   case nir_intrinsic_load_num_subgroups:
   case nir_intrinsic_load_subgroup_id:
   case nir_intrinsic_load_subgroup_invocation:
      return Kind::alone;
   case nir_intrinsic_elect:
   case nir_intrinsic_first_invocation:
   case nir_intrinsic_last_invocation:
   case nir_intrinsic_shuffle:
   case nir_intrinsic_read_invocation:
   case nir_intrinsic_read_first_invocation:
   case nir_intrinsic_ballot:
   case nir_intrinsic_vote_any:
   case nir_intrinsic_vote_all:
   case nir_intrinsic_reduce:
   case nir_intrinsic_inclusive_scan:
   case nir_intrinsic_exclusive_scan:
      return Kind::together;
   case nir_intrinsic_vote_feq:
   case nir_intrinsic_vote_ieq:
   case nir_intrinsic_inverse_ballot:
   case nir_intrinsic_rotate:
   case nir_intrinsic_shuffle_xor:
   case nir_intrinsic_shuffle_up:
   case nir_intrinsic_shuffle_down:
   case nir_intrinsic_quad_broadcast:
   case nir_intrinsic_quad_swap_horizontal:
   case nir_intrinsic_quad_swap_vertical:
   case nir_intrinsic_quad_swap_diagonal:
   case nir_intrinsic_quad_vote_any:
   case nir_intrinsic_quad_vote_all:
      return Kind::unknown;
   default:
      return Kind::other;
   }
}

/// The shared arrays for the exchange, with one element per invocation.
enum Array : unsigned { low, high, presence, array_count };

class Blocks {
public:
   Blocks(nir_shader *nir, const BlockOptions &options)
       : nir(nir), impl(nir_shader_get_entrypoint(nir)), b(nir_builder_create(impl)),
         W(options.subgroup_size), max_shared_bytes(options.max_shared_bytes),
         invocations(uint32_t(nir->info.workgroup_size[0]) * nir->info.workgroup_size[1] *
                     nir->info.workgroup_size[2])
   {
   }

   Result<bool> run()
   {
      bool changed = make_fewer_kinds(nir, W);
      nir_foreach_block(block, impl) {
         nir_foreach_instr_safe(instr, block) {
            if (instr->type == nir_instr_type_intrinsic)
               changed |= look_at(nir_instr_as_intrinsic(instr));
         }
      }
      if (!error.empty())
         return Error{error};
      if (changed)
         nir_metadata_preserve(impl, nir_metadata_control_flow);
      if (operations.empty() && meetings.empty())
         return changed;
      if (!operations.empty() && invocations % W != 0)
         return refused("are not supported in a workgroup of " + std::to_string(invocations) +
                        " invocations, which blocks of " + std::to_string(W) + " do not fill");
      nir_divergence_analysis_impl(impl, nir_divergence_uniform_load_tears);
      if (!is_understood())
         return refused("are not supported in a shader that selects buffers by a varying index");
      for (nir_intrinsic_instr *operation : operations)
         lower(operation);
      lower_divergent_barriers(nir, meetings);
      if (nir->info.shared_size > max_shared_bytes)
         return refused("need more shared memory than the driver has");
      return true;
   }

private:
   static Error refused(const std::string &why)
   {
      return Error{"subgroup operations " + why + ": the driver has no subgroup size control"};
   }

   /// Replaces instructions that need no other invocation, and records the rest.
   bool look_at(nir_intrinsic_instr *instr)
   {
      b.cursor = nir_before_instr(&instr->instr);
      if (instr->intrinsic == nir_intrinsic_barrier)
         return widen(instr);
      switch (kind_of(instr)) {
      case Kind::alone:
         nir_def_replace(&instr->def, place_of_invocation(instr));
         return true;
      case Kind::together:
         operations.push_back(instr);
         disguise(instr->def);
         return true;
      case Kind::unknown:
         error = std::string("the subgroup operation ") +
                 nir_intrinsic_infos[instr->intrinsic].name + " is not supported";
         return false;
      default:
         return false;
      }
   }

   nir_def *place_of_invocation(nir_intrinsic_instr *instr)
   {
      switch (instr->intrinsic) {
      case nir_intrinsic_load_subgroup_size:
         return nir_imm_int(&b, int(W));
      case nir_intrinsic_load_num_subgroups:
         return nir_imm_int(&b, int((invocations + W - 1) / W));
      case nir_intrinsic_load_subgroup_id:
         return nir_udiv_imm(&b, index(), W);
      default:
         return invocation();
      }
   }

   /// Widens a subgroup barrier to one of the workgroup.
   bool widen(nir_intrinsic_instr *instr)
   {
      bool changed = false;
      if (nir_intrinsic_memory_scope(instr) == SCOPE_SUBGROUP) {
         nir_intrinsic_set_memory_scope(instr, SCOPE_WORKGROUP);
         changed = true;
      }
      if (nir_intrinsic_execution_scope(instr) == SCOPE_SUBGROUP) {
         nir_intrinsic_set_execution_scope(instr, SCOPE_WORKGROUP);
         meetings.push_back({instr});
         changed = true;
      }
      return changed;
   }

   /// Mesa's divergence analysis of subgroups serves here for workgroups. It would take the result
   /// of a subgroup operation for uniform, so "index < 0" makes the result depend on the
   /// invocation.
   void disguise(nir_def &result)
   {
      b.cursor = nir_after_instr(result.parent_instr);
      nir_def *never = nir_ult(&b, index(), nir_imm_int(&b, 0)), *channels[NIR_MAX_VEC_COMPONENTS];
      if (result.bit_size > 1)
         never = nir_b2iN(&b, never, result.bit_size);
      for (unsigned i = 0; i < result.num_components; ++i)
         channels[i] = nir_ixor(&b, nir_channel(&b, &result, i), never);
      nir_def *disguised = nir_vec(&b, channels, result.num_components);
      nir_def_rewrite_uses_after(&result, disguised, disguised->parent_instr);
   }

   /// The analysis takes a buffer with an index that is not NonUniform for uniform, and does not
   /// look through casts of pointers. Shaders with these cases are refused.
   bool is_understood() const
   {
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_deref &&
                nir_instr_as_deref(instr)->deref_type == nir_deref_type_cast)
               return false;
            const nir_def *def = nir_instr_def(instr);
            const bool is_operation = instr->type == nir_instr_type_intrinsic &&
                                      kind_of(nir_instr_as_intrinsic(instr)) == Kind::together;
            const auto is_uniform = [](nir_src *src, void *) { return !nir_src_is_divergent(src); };
            if (instr->type != nir_instr_type_phi && def && !def->divergent && !is_operation &&
                !nir_foreach_src(instr, is_uniform, nullptr))
               return false;
         }
      }
      return true;
   }

   void lower(nir_intrinsic_instr *instr)
   {
      b.cursor = nir_before_instr(&instr->instr);
      all_present = !is_in_divergent_flow(instr->instr.block);
      nir_def_replace(&instr->def, result_of(instr));
   }

   nir_def *result_of(nir_intrinsic_instr *instr)
   {
      nir_def *const value =
         nir_intrinsic_infos[instr->intrinsic].num_srcs > 0 ? instr->src[0].ssa : nullptr;
      switch (instr->intrinsic) {
      case nir_intrinsic_elect:
         return nir_ieq(&b, invocation(), first_present());
      case nir_intrinsic_first_invocation:
         return first_present();
      case nir_intrinsic_last_invocation:
         return last_present();
      case nir_intrinsic_ballot:
         return ballot(value);
      case nir_intrinsic_vote_any:
         return any(value);
      case nir_intrinsic_vote_all:
         return nir_inot(&b, any(nir_inot(&b, value)));
      case nir_intrinsic_shuffle:
      case nir_intrinsic_read_invocation:
         publish(value, nullptr);
         return read(nir_umod_imm(&b, nir_u2u32(&b, instr->src[1].ssa), W), value->bit_size);
      case nir_intrinsic_read_first_invocation:
         publish(value, all_present ? nullptr : nir_imm_int(&b, 1));
         return read(first_published(), value->bit_size);
      default:
         return reduction(instr, value);
      }
   }

   nir_def *index() { return nir_load_local_invocation_index(&b); }
   nir_def *invocation() { return nir_umod_imm(&b, index(), W); }

   /// Stores a value, and a nonzero word that marks the invocation as present, for the block's
   /// other invocations. A first barrier ensures that all earlier reads are done. Both may be null.
   void publish(nir_def *value, nir_def *word)
   {
      meet(word && !all_present ? array(presence) : nullptr);
      if (word)
         nir_store_deref(&b, element(presence, index()), word, 1);
      if (value && value->bit_size == 64) {
         nir_def *halves = nir_unpack_64_2x32(&b, value);
         nir_store_deref(&b, element(low, index()), nir_channel(&b, halves, 0), 1);
         nir_store_deref(&b, element(high, index()), nir_channel(&b, halves, 1), 1);
      } else if (value) {
         nir_def *bits = value->bit_size == 1 ? nir_b2i32(&b, value) : nir_u2u32(&b, value);
         nir_store_deref(&b, element(low, index()), bits, 1);
      }
      meet(nullptr);
   }

   void meet(nir_variable *cleared) { meetings.push_back({workgroup_barrier(&b), cleared}); }

   nir_variable *array(Array which)
   {
      nir_variable *&variable = arrays[which];
      if (!variable) {
         variable = nir_variable_create(nir, nir_var_mem_shared,
                                        glsl_array_type(glsl_uint_type(), invocations, 4), "block");
         nir->info.shared_size += invocations * 4;
      }
      return variable;
   }
   nir_deref_instr *element(Array which, nir_def *of)
   {
      return nir_build_deref_array(&b, nir_build_deref_var(&b, array(which)), of);
   }

   /// The word that an invocation of the block, by its number in the block, has published.
   nir_def *word_of(Array which, nir_def *number)
   {
      nir_def *first = nir_iand_imm(&b, index(), ~uint64_t(W - 1));
      return nir_load_deref(&b, element(which, nir_iadd(&b, first, number)));
   }
   nir_def *is_present(nir_def *number) { return nir_ine_imm(&b, word_of(presence, number), 0); }
   nir_def *read(nir_def *number, unsigned bits)
   {
      nir_def *word = word_of(low, number);
      if (bits == 64)
         return nir_pack_64_2x32_split(&b, word, word_of(high, number));
      return bits == 1 ? nir_ine_imm(&b, word, 0) : nir_u2uN(&b, word, bits);
   }

   /// The number of the first present invocation, by the published marks.
   nir_def *first_published()
   {
      nir_def *first = nir_imm_int(&b, 0);
      for (uint32_t i = W; !all_present && i-- > 0;) {
         nir_def *number = nir_imm_int(&b, int(i));
         first = nir_bcsel(&b, is_present(number), number, first);
      }
      return first;
   }
   nir_def *first_present()
   {
      if (!all_present)
         publish(nullptr, nir_imm_int(&b, 1));
      return first_published();
   }
   nir_def *last_present()
   {
      nir_def *last = nir_imm_int(&b, int(W - 1));
      if (all_present)
         return last;
      publish(nullptr, nir_imm_int(&b, 1));
      for (uint32_t i = 0; i < W; ++i) {
         nir_def *number = nir_imm_int(&b, int(i));
         last = nir_bcsel(&b, is_present(number), number, last);
      }
      return last;
   }

   nir_def *ballot(nir_def *condition)
   {
      publish(nullptr, nir_b2i32(&b, condition));
      nir_def *words[4];
      for (uint32_t word = 0; word < 4; ++word) {
         words[word] = nir_imm_int(&b, 0);
         for (uint32_t bit = 0; bit < 32 && word * 32 + bit < W; ++bit) {
            nir_def *other = word_of(presence, nir_imm_int(&b, int(word * 32 + bit)));
            words[word] = nir_ior(&b, words[word], nir_ishl_imm(&b, other, bit));
         }
      }
      return nir_vec(&b, words, 4);
   }

   nir_def *any(nir_def *condition)
   {
      publish(nullptr, nir_b2i32(&b, condition));
      nir_def *all = nir_imm_int(&b, 0);
      for (uint32_t i = 0; i < W; ++i)
         all = nir_ior(&b, all, word_of(presence, nir_imm_int(&b, int(i))));
      return nir_ine_imm(&b, all, 0);
   }

   /// A reduction over the block or a cluster of it, or a scan over earlier invocations, in order.
   nir_def *reduction(nir_intrinsic_instr *instr, nir_def *value)
   {
      const nir_op op = nir_op(nir_intrinsic_reduction_op(instr));
      uint32_t cluster = W;
      if (nir_intrinsic_has_cluster_size(instr) && nir_intrinsic_cluster_size(instr))
         cluster = MIN2(nir_intrinsic_cluster_size(instr), W);
      publish(value, all_present ? nullptr : nir_imm_int(&b, 1));
      nir_def *mine = invocation();
      nir_def *first = nir_iand_imm(&b, mine, ~uint64_t(cluster - 1));
      const nir_const_value identity = nir_alu_binop_identity(op, value->bit_size);
      nir_def *result = nir_build_imm(&b, 1, value->bit_size, &identity);
      for (uint32_t i = 0; i < cluster; ++i) {
         nir_def *number = nir_iadd_imm(&b, first, i);
         nir_def *with = nir_build_alu2(&b, op, result, read(number, value->bit_size));
         if (!all_present)
            with = nir_bcsel(&b, is_present(number), with, result);
         if (instr->intrinsic == nir_intrinsic_exclusive_scan)
            with = nir_bcsel(&b, nir_ult(&b, number, mine), with, result);
         else if (instr->intrinsic == nir_intrinsic_inclusive_scan)
            with = nir_bcsel(&b, nir_uge(&b, mine, number), with, result);
         result = with;
      }
      return result;
   }

   nir_shader *const nir;
   nir_function_impl *const impl;
   nir_builder b;
   const uint32_t W, max_shared_bytes, invocations;
   std::vector<nir_intrinsic_instr *> operations; ///< operations that need several invocations
   std::vector<Meeting> meetings;
   bool all_present = true; ///< all invocations of the block execute the operation that is being
                            ///< lowered
   nir_variable *arrays[array_count] = {};
   std::string error;
};

} // namespace

Result<bool> lower_subgroup_blocks(nir_shader *nir, const BlockOptions &options)
{
   return Blocks(nir, options).run();
}

} // namespace weft
