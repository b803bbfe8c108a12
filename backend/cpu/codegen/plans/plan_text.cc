// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/plans/access_plans.h"
#include "backend/cpu/codegen/plans/table_plan.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>

namespace weft::cpu {

namespace {

const char *name_of(AccessForm form)
{
   switch (form) {
   case AccessForm::uniform:
      return "uniform";
   case AccessForm::own_buffers:
      return "own buffers";
   case AccessForm::private_row:
      return "private row";
   case AccessForm::masked:
      return "masked";
   case AccessForm::same:
      return "same";
   case AccessForm::runs:
      return "runs";
   case AccessForm::steps:
      return "steps";
   case AccessForm::chunks:
      return "chunks";
   case AccessForm::windows:
      return "windows";
   case AccessForm::lanewise:
      return "lanewise";
   }
   return "";
}

std::string numbers_of(const std::vector<bool> &chunks)
{
   std::string text;
   for (size_t i = 0; i < chunks.size(); i++) {
      if (chunks[i])
         text += llvm::formatv(" {0}", i);
   }
   return text;
}

std::string describe(const AccessConditions &conditions)
{
   std::string text;
   const auto add = [&](const std::string &condition) {
      text += (text.empty() ? "" : ", ") + condition;
   };
   for (const LaneAssumption &a : conditions.assumptions)
      add(llvm::formatv("%{0}.{1} & {2:x} {3} {4}", a.def->index, a.component, a.mask,
                        a.most ? "<=" : "==", a.most));
   if (conditions.from_first)
      add(llvm::formatv("{0} bytes in bounds", conditions.from_first));
   if (conditions.from_each)
      add(llvm::formatv("{0} bytes of each lane in bounds", conditions.from_each));
   if (conditions.all_lanes)
      add("all lanes active");
   return text;
}

std::string describe(const Prefetch &prefetch)
{
   switch (prefetch.purpose) {
   case Prefetch::For::nothing:
      break;
   case Prefetch::For::later_iteration:
      return llvm::formatv("; prefetches {0} bytes on{1}", prefetch.distance,
                           prefetch.is_near ? ", near" : "");
   case Prefetch::For::next_workgroup:
      return "; prefetches for the next workgroup";
   }
   return "";
}

std::string look_ups(const TablePlans &tables, nir_instr *instr)
{
   std::string text;
   const nir_def *def = nir_instr_def(instr);
   for (unsigned c = 0; def && c < def->num_components; c++) {
      if (const TablePlan *table = tables.of(*def, c))
         text += llvm::formatv("   %{0}.{1} look-up by {2}\n", def->index, c, describe(*table));
   }
   return text;
}

bool has_lanes(AccessForm form)
{
   return form != AccessForm::uniform && form != AccessForm::own_buffers &&
          form != AccessForm::private_row;
}

} // namespace

std::string describe(const AccessPlan &plan)
{
   std::string text = name_of(plan.form);
   if (!has_lanes(plan.form))
      return text;
   if (plan.form == AccessForm::chunks) {
      text += plan.cluster
                 ? llvm::formatv(" of cluster {0}, {1} bytes on", *plan.cluster, plan.shift).str()
                 : numbers_of(plan.chunks);
   } else if (plan.form != AccessForm::lanewise && plan.form != AccessForm::windows) {
      text += llvm::formatv(" of {0} lanes, step {1}", plan.pattern().group, plan.pattern().step);
   }
   if (plan.excludes_outlying)
      text += ", lanes in bounds";
   if (plan.is_guarded)
      text += "; guarded";
   else if (const std::string conditions = describe(plan.conditions); !conditions.empty())
      text += "; if " + conditions;
   return text + describe(plan.prefetch) + (plan.is_packed ? "; packed" : "");
}

std::string describe(const GuardPlan &guard)
{
   std::string text = "guard";
   for (const nir_intrinsic_instr *load : guard.checked)
      text += llvm::formatv(" %{0}", load->def.index);
   if (guard.leaves)
      text += "; leaves";
   for (size_t i = 0; i < guard.clusters.size(); i++) {
      const LoadCluster &cluster = guard.clusters[i];
      text += llvm::formatv("; cluster {0}: {1} bytes, chunks{2}", i, cluster.extent,
                            numbers_of(cluster.chunks));
   }
   return text;
}

std::string describe_plans(nir_shader *shader, const TranslateOptions &options)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   nir_index_ssa_defs(impl);
   nir_metadata_require(impl, nir_metadata_block_index | nir_metadata_dominance);
   const ShaderFacts facts(shader, options);
   const AccessPlans plans(shader, options, facts);
   const TablePlans tables(shader, options.target, facts.patterns.ranges());
   std::string text;
   nir_foreach_block(block, impl) {
      std::string lines;
      if (const GuardPlan *guard = plans.guard(block))
         lines += "   " + describe(*guard) + "\n";
      nir_foreach_instr(instr, block) {
         lines += look_ups(tables, instr);
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         const nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
         for (const AccessPlan &plan : plans.of(intr)) {
            const nir_def &data = plan.access.store ? *intr->src[0].ssa : intr->def;
            lines += llvm::formatv("   %{0} {1}, {2} x {3} bits: {4}\n", data.index,
                                   nir_intrinsic_infos[intr->intrinsic].name,
                                   plan.access.components, 8 * plan.access.bytes, describe(plan));
         }
      }
      if (!lines.empty())
         text += llvm::formatv("block {0}{1}:\n{2}", block->index,
                               facts.active_lanes.has_mask(block) ? ", under a mask" : "", lines);
   }
   return text;
}

} // namespace weft::cpu
