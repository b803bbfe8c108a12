// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/physical_device.h"

#include "layer/instance.h"
#include "layer/read_facts.h"

namespace weft::layer {

VkResult inspect_physical_device(const Instance &instance, VkPhysicalDevice physical,
                                 PhysicalDevice &out)
{
   DriverFacts facts;
   const VkResult result = read_facts(instance, physical, facts);
   if (result == VK_SUCCESS)
      static_cast<MatrixPlan &>(out) = plan_matrices(facts, instance.settings);
   return result;
}

} // namespace weft::layer
