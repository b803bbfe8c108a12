// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What VK_KHR_pipeline_executable_properties tells about a pipeline: one executable with its
/// figures and, when they were asked to be kept, the texts of the compiler's phases.

#include "icd/device.h"
#include "icd/out_array.h"
#include "icd/pipeline.h"
#include "icd/program_object.h"

#include <cstdio>
#include <cstring>

namespace weft {
namespace {

template <size_t size>
void copy_text(char (&out)[size], const char *text)
{
   snprintf(out, size, "%s", text);
}

void destroy(vk_device *device, vk_pipeline *vk, const VkAllocationCallbacks *allocator)
{
   auto *pipeline = reinterpret_cast<Pipeline *>(vk);
   release_program(device, pipeline->object);
   delete pipeline->representations;
   vk_pipeline_free(device, allocator, vk);
}

VkResult get_executable_properties(vk_device *, vk_pipeline *vk, uint32_t *count,
                                   VkPipelineExecutablePropertiesKHR *properties)
{
   auto *pipeline = reinterpret_cast<Pipeline *>(vk);
   OutArray out(properties, count);
   if (VkPipelineExecutablePropertiesKHR *p = out.append()) {
      p->stages = VK_SHADER_STAGE_COMPUTE_BIT;
      copy_text(p->name, "compute");
      copy_text(p->description, "compute shader as machine code for the CPU");
      p->subgroupSize = pipeline->program()->info().subgroup_size;
   }
   return out.status();
}

VkResult get_executable_statistics(vk_device *, vk_pipeline *vk, uint32_t, uint32_t *count,
                                   VkPipelineExecutableStatisticKHR *statistics)
{
   const cpu::ProgramInfo &info = reinterpret_cast<Pipeline *>(vk)->program()->info();
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
   add("Stack", "bytes of private memory per subgroup", info.stack_bytes);
   add("Barriers", "1 if the subgroups of a workgroup wait for each other", info.uses_barrier);
   return out.status();
}

/// Fills in one text by Vulkan's rule for buffers of bytes: null asks for the size, too small a
/// buffer is filled and VK_INCOMPLETE.
bool copy_representation(const std::string &text,
                         VkPipelineExecutableInternalRepresentationKHR *out)
{
   size_t size = text.size() + 1;
   if (!out->pData) {
      out->dataSize = size;
      return true;
   }
   bool fits = out->dataSize >= size;
   if (!fits)
      size = out->dataSize;
   memcpy(out->pData, text.c_str(), size);
   if (!fits && size > 0)
      static_cast<char *>(out->pData)[size - 1] = 0;
   out->dataSize = size;
   return fits;
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
         if (VkPipelineExecutableInternalRepresentationKHR *p = out.append()) {
            copy_text(p->name, representation.name.c_str());
            copy_text(p->description, "the shader after this phase of the compiler");
            p->isText = true;
            complete &= copy_representation(representation.text, p);
         }
      }
   }
   return complete ? out.status() : VK_INCOMPLETE;
}

} // namespace

const cpu::Program *Pipeline::program() const
{
   return object->program.get();
}

const vk_pipeline_ops pipeline_ops = {
   .destroy = destroy,
   .get_executable_properties = get_executable_properties,
   .get_executable_statistics = get_executable_statistics,
   .get_internal_representations = get_internal_representations,
};

} // namespace weft
