// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/driver_quirks.h"

namespace weft::spirv {

namespace {

/// NVIDIA's encoding of driver versions: 10, 8, 8 and 6 bits.
constexpr uint32_t nvidia_version(uint32_t major, uint32_t minor)
{
   return major << 22 | minor << 14;
}

constexpr uint32_t last_of_nvidia(uint32_t major)
{
   return nvidia_version(major + 1, 0) - 1;
}

constexpr DriverQuirk quirks[] = {
   {
      .driver = VK_DRIVER_ID_MESA_LLVMPIPE,
      /* Its version is always 1. Seen in Mesa 22.3 to 26.1. */
      .first_version = 0,
      .last_version = UINT32_MAX,
      .quirk = Quirk::partial_barriers,
      .what =
         "no barriers of memory alone or of a subgroup, and no availability of single accesses "
         "to shared memory",
      .why =
         "llvmpipe suspends a subgroup at every barrier and turns such accesses into barriers. If "
         "a subgroup waits at one when others have ended, the rest of its work is lost. Its "
         "workgroups run on one thread with subgroups in lockstep, so these barriers have no use",
      .test = "Compile.PartialBarriersAreLeftOutWhereTheyAreHarmful",
   },
   {
      .driver = VK_DRIVER_ID_MESA_LLVMPIPE,
      /* Seen in Mesa 26.1. */
      .first_version = 0,
      .last_version = UINT32_MAX,
      .quirk = Quirk::own_matrices,
      .what = "no tiles of the driver's own matrices: lowered matrices are in registers",
      .why = "llvmpipe's matrices contain the barriers of the row above, so results may be wrong. "
             "Registers are also faster",
      .test = "Compile.OwnMatricesAreLeftOutWhereTheyAreHarmful",
   },
   {
      .driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
      /* Reported for 595.58 (kvark/blade#333); no other affected version and no fix are known. */
      .first_version = nvidia_version(595, 0),
      .last_version = last_of_nvidia(595),
      .quirk = Quirk::subgroup_arithmetic_in_matrices,
      .what = "no subgroup arithmetic in modules with the driver's own matrices: shuffles and "
              "ballots replace it",
      .why = "vkCreateComputePipelines crashes on a module that declares CooperativeMatrixKHR and "
             "GroupNonUniformArithmetic",
      .test = "Compile.NativeMatricesWithoutSubgroupArithmetic",
   },
};

} // namespace

std::span<const DriverQuirk> driver_quirks()
{
   return quirks;
}

std::vector<const DriverQuirk *> find_driver_quirks(VkDriverId id, uint32_t version)
{
   std::vector<const DriverQuirk *> found;
   for (const DriverQuirk &q : quirks) {
      if (q.driver == id && version >= q.first_version && version <= q.last_version)
         found.push_back(&q);
   }
   return found;
}

void apply_driver_quirks(Driver &driver, VkDriverId id, uint32_t version)
{
   for (const DriverQuirk *q : find_driver_quirks(id, version)) {
      switch (q->quirk) {
      case Quirk::partial_barriers:
         driver.partial_barriers = false;
         break;
      case Quirk::subgroup_arithmetic_in_matrices:
         driver.subgroup_arithmetic_with_matrices = false;
         break;
      case Quirk::own_matrices:
         driver.own_matrices = false;
         break;
      }
   }
}

} // namespace weft::spirv
