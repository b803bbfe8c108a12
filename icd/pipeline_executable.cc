// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_pipeline_executable_properties: a pipeline has one executable with statistics and, if
/// requested, the texts of the compiler's phases.

#include "icd/device.h"
#include "icd/pipeline.h"
#include "icd/program_object.h"
#include "vulkan_util/out_array.h"
#include "vulkan_util/text.h"

namespace weft {
VkResult get_executable_properties(vk_device *, vk_pipeline *vk, uint32_t *count,
                                   VkPipelineExecutablePropertiesKHR *properties)
{
   OutArray out(properties, count);
   if (VkPipelineExecutablePropertiesKHR *p = out.append()) {
      p->stages = VK_SHADER_STAGE_COMPUTE_BIT;
      copy_text(p->name, "compute");
      copy_text(p->description, "compute shader as machine code for the CPU");
      p->subgroupSize = reinterpret_cast<Pipeline *>(vk)->shader.programs().info().subgroup_size;
   }
   return out.status();
}

VkResult get_executable_statistics(vk_device *, vk_pipeline *vk, uint32_t, uint32_t *count,
                                   VkPipelineExecutableStatisticKHR *statistics)
{
   // Programs query this right after they create a pipeline, so it must not wait for the code.
   const cpu::ProgramInfo &info = reinterpret_cast<Pipeline *>(vk)->shader.programs().info();
   OutArray out(statistics, count);
   auto add = [&](const char *name, const char *description, uint64_t value) {
      if (VkPipelineExecutableStatisticKHR *p = out.append()) {
         copy_text(p->name, name);
         copy_text(p->description, description);
         p->format = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR;
         p->value.u64 = value;
      }
   };
   add("Subgroups", "subgroups per workgroup", info.subgroups);
   add("Shared memory", "bytes of shared memory per workgroup", info.shared_bytes);
   add("Private memory", "bytes of private memory per subgroup", info.private_bytes);
   add("Barriers", "1 if the subgroups of a workgroup wait for each other", info.uses_barrier);
   return out.status();
}

VkResult
get_internal_representations(vk_device *, vk_pipeline *vk, uint32_t, uint32_t *count,
                             VkPipelineExecutableInternalRepresentationKHR *representations)
{
   auto *pipeline = reinterpret_cast<Pipeline *>(vk);
   OutArray out(representations, count);
   bool complete = true;
   if (pipeline->representations) {
      for (const Representation &representation : *pipeline->representations) {
         if (VkPipelineExecutableInternalRepresentationKHR *p = out.append())
            complete &= copy_representation(representation, *p);
      }
   }
   return complete ? out.status() : VK_INCOMPLETE;
}

} // namespace weft
