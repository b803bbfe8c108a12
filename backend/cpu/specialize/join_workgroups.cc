// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/join_workgroups.h"

#include "backend/cpu/codegen/facts/workgroups_per_kernel.h"

#include "nir_passes/def_table.h"

#include "compiler/nir/nir_builder.h"

#include <algorithm>
#include <unordered_map>

namespace weft::cpu {

namespace {

/// More workgroups than these are not worth the time to compile them.
constexpr uint32_t most_workgroups = 4;
/// If the copies in a loop are more than these instructions, their values do not stay in registers.
constexpr uint32_t most_copies = 1024;

/// The properties of a value.
struct Dependence {
   bool workgroup = false;  ///< it may differ between workgroups along x
   bool invocation = false; ///< it may differ between the invocations of a subgroup

   bool operator==(const Dependence &) const = default;
   Dependence operator|(const Dependence &o) const
   {
      return {workgroup || o.workgroup, invocation || o.invocation};
   }
};

bool is_workgroup_id(const nir_def *def)
{
   const nir_instr *instr = def->parent_instr;
   return instr->type == nir_instr_type_intrinsic &&
          nir_instr_as_intrinsic(const_cast<nir_instr *>(instr))->intrinsic ==
             nir_intrinsic_load_workgroup_id;
}

/// The dependences of a shader's values, if the workgroups share their control flow.
class Dependences {
public:
   explicit Dependences(nir_function_impl *impl)
   {
      for (bool changed = true; changed;) {
         changed = false;
         nir_foreach_block(block, impl) {
            nir_foreach_instr(instr, block)
               changed |= visit(instr);
         }
      }
   }

   Dependence of(const nir_def *def) const
   {
      const auto found = known.find(def);
      return found != known.end() ? found->second : Dependence();
   }
   /// All sources of an instruction together.
   Dependence of_sources(nir_instr *instr) const
   {
      struct State {
         const Dependences &self;
         Dependence all;
      } state = {*this, {}};
      if (instr->type == nir_instr_type_alu) {
         nir_alu_instr *alu = nir_instr_as_alu(instr);
         for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++)
            state.all = state.all | of_source(alu, i);
         return state.all;
      }
      nir_foreach_src(
         instr,
         [](nir_src *src, void *data) {
            auto *s = static_cast<State *>(data);
            s->all = s->all | s->self.of(src->ssa);
            return true;
         },
         &state);
      return state.all;
   }

private:
   /// The numbers of a workgroup along y and z do not differ.
   Dependence of_source(nir_alu_instr *alu, unsigned i) const
   {
      const nir_alu_src &src = alu->src[i];
      if (!is_workgroup_id(src.src.ssa))
         return of(src.src.ssa);
      bool reads_x = false;
      for (unsigned c = 0; c < nir_ssa_alu_instr_src_components(alu, i); c++)
         reads_x |= src.swizzle[c] == 0;
      return {.workgroup = reads_x};
   }

   Dependence of_result(nir_instr *instr) const
   {
      Dependence result = of_sources(instr);
      if (instr->type != nir_instr_type_intrinsic)
         return result;
      switch (nir_instr_as_intrinsic(instr)->intrinsic) {
      case nir_intrinsic_load_workgroup_id:
         return {.workgroup = true};
      case nir_intrinsic_load_subgroup_invocation:
         return {.invocation = true};
      default:
         return result;
      }
   }

   bool visit(nir_instr *instr)
   {
      nir_def *def = nir_instr_def(instr);
      if (!def)
         return false;
      const Dependence result = of_result(instr) | of(def);
      if (result == of(def))
         return false;
      known[def] = result;
      return true;
   }

   std::unordered_map<const nir_def *, Dependence> known;
};

/// Whether several workgroups may execute an instruction together. Memory that other invocations
/// see at once, shared memory and private memory are not joined.
bool may_be_joined(nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return instr->type != nir_instr_type_tex;
   nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
   if (nir_intrinsic_has_access(intrinsic) &&
       nir_intrinsic_access(intrinsic) & (ACCESS_COHERENT | ACCESS_VOLATILE))
      return false;
   switch (intrinsic->intrinsic) {
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_push_constant:
   case nir_intrinsic_load_constant:
   case nir_intrinsic_load_global:
   case nir_intrinsic_load_global_constant:
   case nir_intrinsic_store_global:
   case nir_intrinsic_load_workgroup_id:
   case nir_intrinsic_load_num_workgroups:
   case nir_intrinsic_load_subgroup_id:
   case nir_intrinsic_load_subgroup_invocation:
   case nir_intrinsic_ballot:
   case nir_intrinsic_vote_any:
   case nir_intrinsic_vote_all:
   case nir_intrinsic_reduce:
   case nir_intrinsic_inclusive_scan:
   case nir_intrinsic_exclusive_scan:
   case nir_intrinsic_shuffle:
   case nir_intrinsic_read_invocation:
   case nir_intrinsic_read_first_invocation:
   case nir_intrinsic_first_invocation:
      return true;
   default:
      return false;
   }
}

bool is_load(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
   return op == nir_intrinsic_load_ssbo || op == nir_intrinsic_load_ubo ||
          op == nir_intrinsic_load_global || op == nir_intrinsic_load_global_constant;
}

/// The walk over a shader that decides.
struct Candidate {
   const Dependences dependences;
   /// Branches that a dispatch may decide. Code in them may be left out of the program.
   const std::vector<BranchConditions::Branch> &branches;
   bool is_possible = true;
   uint32_t next_if = 0;
   unsigned undecided_depth = 0; ///< of ifs that a dispatch may decide

   /// A loop without the loops in it.
   struct Loop {
      bool loads_own = false, loads_common = false; ///< memory of one workgroup, of all of them
      uint32_t sums = 0;         ///< vectors of each workgroup that an iteration passes to the next
      uint32_t instructions = 0; ///< that exist for each workgroup

      bool gains() const { return loads_own && loads_common; }
      bool holds(uint32_t workgroups, uint32_t max_sums) const
      {
         return workgroups * sums <= max_sums && workgroups * instructions <= most_copies;
      }
   };
   std::vector<Loop> loops = {}; ///< that gain

   void instruction(nir_instr *instr, Loop *loop)
   {
      is_possible &= undecided_depth > 0 || may_be_joined(instr);
      if (!loop)
         return;
      const Dependence sources = dependences.of_sources(instr);
      loop->instructions += sources.workgroup;
      if (!is_load(instr))
         return;
      if (sources.invocation)
         (sources.workgroup ? loop->loads_own : loop->loads_common) = true;
   }

   void list(exec_list *l, Loop *loop)
   {
      foreach_list_typed(nir_cf_node, node, node, l)
      {
         if (node->type == nir_cf_node_block) {
            nir_foreach_instr(instr, nir_cf_node_as_block(node))
               instruction(instr, loop);
         } else if (node->type == nir_cf_node_loop) {
            loop_of(nir_cf_node_as_loop(node));
         } else if (node->type == nir_cf_node_if) {
            branch(nir_cf_node_as_if(node), loop);
         }
      }
   }

   void loop_of(nir_loop *node)
   {
      Loop loop;
      nir_foreach_phi(phi, nir_loop_first_block(node))
      {
         const Dependence sum = dependences.of(&phi->def);
         loop.sums += sum.workgroup && sum.invocation ? phi->def.num_components : 0;
      }
      list(&node->body, &loop);
      if (loop.gains())
         loops.push_back(loop);
   }

   void branch(nir_if *nif, Loop *loop)
   {
      const bool is_decided =
         std::ranges::any_of(branches, [&](const BranchConditions::Branch &branch) {
            return branch.number == next_if;
         });
      next_if++;
      is_possible &= undecided_depth > 0 || is_decided || !of_condition(nif).workgroup;
      undecided_depth += is_decided;
      list(&nif->then_list, loop);
      list(&nif->else_list, loop);
      undecided_depth -= is_decided;
   }

   Dependence of_condition(const nir_if *nif) const { return dependences.of(nif->condition.ssa); }
};

Candidate candidate_of(const nir_shader *shader,
                       const std::vector<BranchConditions::Branch> &branches)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(const_cast<nir_shader *>(shader));
   Candidate candidate = {.dependences = Dependences(impl), .branches = branches};
   candidate.is_possible = shader->info.shared_size == 0;
   candidate.list(&impl->body, nullptr);
   return candidate;
}

/// Writes the values of the further workgroups.
class Joiner {
public:
   Joiner(nir_function_impl *impl, uint32_t count, const Dependences &dependences)
       : impl(impl), b(nir_builder_create(impl)), dependences(dependences)
   {
      copies.resize(count - 1);
   }

   void run()
   {
      nir_foreach_block(block, impl) {
         nir_foreach_phi_safe(phi, block) copy_phi(phi);
      }
      nir_foreach_block(block, impl)
         copy_instructions(block);
      for (const PhiCopy &copy : phis) {
         nir_foreach_phi_src(src, copy.phi)
            nir_src_rewrite(&src->src, copy_of(src->src.ssa, *copy.of));
      }
   }

private:
   struct PhiCopy {
      nir_phi_instr *phi;
      const DefTable *of;
   };

   /// The value of another workgroup; the same value if it does not depend on the workgroup.
   static nir_def *copy_of(nir_def *def, const DefTable &of)
   {
      nir_def *found = of.find(def);
      return found ? found : def;
   }

   /// The sources are the first workgroup's until all values are there.
   void copy_phi(nir_phi_instr *phi)
   {
      if (!dependences.of(&phi->def).workgroup)
         return;
      for (DefTable &of : copies) {
         nir_phi_instr *copy = nir_phi_instr_create(b.shader);
         nir_def_init(&copy->instr, &copy->def, phi->def.num_components, phi->def.bit_size);
         nir_foreach_phi_src(src, phi) nir_phi_instr_add_src(copy, src->pred, src->src.ssa);
         nir_instr_insert_after(&phi->instr, &copy->instr);
         of.insert(&phi->def, &copy->def);
         phis.push_back({copy, &of});
      }
   }

   /// Copies of neighbours stay together, so that few values of all workgroups live at once.
   void copy_instructions(nir_block *block)
   {
      std::vector<nir_instr *> neighbours;
      nir_foreach_instr_safe(instr, block) {
         if (instr->type == nir_instr_type_phi)
            continue;
         if (dependences.of_sources(instr).workgroup) {
            neighbours.push_back(instr);
            continue;
         }
         copy_all(neighbours);
         if (nir_def *def = nir_instr_def(instr); def && is_workgroup_id(def))
            add_ids(def);
      }
      copy_all(neighbours);
   }

   void copy_all(std::vector<nir_instr *> &neighbours)
   {
      if (neighbours.empty())
         return;
      b.cursor = nir_after_instr(neighbours.back());
      for (DefTable &of : copies) {
         for (const nir_instr *instr : neighbours)
            nir_builder_instr_insert(&b, nir_instr_clone_deep(b.shader, instr, of.get()));
      }
      neighbours.clear();
   }

   void add_ids(nir_def *first)
   {
      b.cursor = nir_after_instr(first->parent_instr);
      for (uint32_t i = 0; i < copies.size(); i++) {
         nir_def *id = nir_vec3(&b, nir_iadd_imm(&b, nir_channel(&b, first, 0), i + 1),
                                nir_channel(&b, first, 1), nir_channel(&b, first, 2));
         copies[i].insert(first, id);
      }
   }

   nir_function_impl *const impl;
   nir_builder b;
   const Dependences &dependences;
   std::vector<DefTable> copies; ///< of each further workgroup
   std::vector<PhiCopy> phis;
};

} // namespace

bool may_gain_by_joining(const nir_shader *shader,
                         const std::vector<BranchConditions::Branch> &branches, uint32_t max_sums)
{
   if (max_sums < 2)
      return false;
   const Candidate candidate = candidate_of(shader, branches);
   return candidate.is_possible &&
          std::ranges::any_of(candidate.loops,
                              [&](const Candidate::Loop &loop) { return loop.holds(2, max_sums); });
}

bool join_workgroups(nir_shader *shader, uint32_t max_sums)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   const Candidate candidate = candidate_of(shader, {});
   uint32_t count = candidate.is_possible && !candidate.loops.empty() ? most_workgroups : 1;
   for (const Candidate::Loop &loop : candidate.loops) {
      while (count > 1 && !loop.holds(count, max_sums))
         count /= 2;
   }
   if (count == 1) {
      nir_metadata_preserve(impl, nir_metadata_all);
      return false;
   }
   Joiner(impl, count, candidate.dependences).run();
   set_workgroups_per_kernel(shader, count);
   nir_metadata_preserve(impl, nir_metadata_control_flow);
   return true;
}

uint32_t max_joined_sums(uint32_t vector_bits, uint32_t subgroup_size)
{
   // A quarter of the registers; the other values of a loop need the rest.
   const uint32_t registers = vector_bits >= 512 ? 8 : 4;
   return registers * vector_bits / (32 * subgroup_size);
}

} // namespace weft::cpu
