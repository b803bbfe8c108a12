// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What driver and layer advertise of the matrices that their compilers can do.  Vendors'
/// configurations (WEFT_PROFILE) let a program's path for a GPU be run without owning one:
/// docs/profiles.md has the sources.

#pragma once

#include "nir_passes/matrix_support.h"
#include "vulkan_util/text.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct SubgroupSizes {
   uint32_t min, max;
};

/// By what programs recognise a vendor's device and driver.
struct Identity {
   uint32_t vendor_id, device_id;
   const char *device_name;
   VkDriverId driver_id;
   const char *driver_name;
   uint32_t driver_version; ///< as the vendor packs it
   SubgroupSizes sizes;     ///< by which some programs recognise the architecture
   /// Those of the extensions of cooperative matrices that the vendor's driver has.
   std::span<const std::string_view> extensions;
   /// Programs rely on the places of an accumulator's elements, which the dense map shares with the
   /// vendor's driver (nir_passes/matrices/element_map.h) and matrices in registers do not.
   bool places_elements = false;

   bool lists(std::string_view extension) const
   {
      return std::ranges::find(extensions, extension) != extensions.end();
   }
};

struct Profile {
   std::string_view name;
   uint32_t subgroup_size; ///< what the vendor's driver reports as subgroupSize
   std::span<const MatrixOperation> operations;
   const Identity *identity; ///< null where no program asks for it
};

/// Null for a name that is not in the table.
const Profile *find_profile(std::string_view name);

/// A value of WEFT_PROFILE.
struct ProfileChoice {
   const Profile *profile = nullptr;   ///< null: "none"
   const Identity *identity = nullptr; ///< to be presented as well: "nvidia+identity"
};
/// Nothing for a value that is none of those.
std::optional<ProfileChoice> parse_profile(std::string_view text);
/// All values, with commas between.
std::string profile_choices();

/// Why a device whose matrices are in registers cannot be presented so; empty if it can.
std::string why_no_registers(const ProfileChoice &);

/// "AMD Radeon …, vendor 0x1002, device …": for the log.
std::string describe(const Identity &);

/// Presents a device by VkPhysicalDeviceProperties, or what has the same members.
template <typename Properties>
void present_device(const Identity &identity, Properties &properties)
{
   properties.vendorID = identity.vendor_id;
   properties.deviceID = identity.device_id;
   properties.driverVersion = identity.driver_version;
   copy_text(properties.deviceName, identity.device_name);
}

/// Presents its driver by VkPhysicalDeviceDriverProperties, or what has the same members.  What the
/// driver is remains in driverInfo, which is for people to read.
template <typename Properties>
void present_driver(const Identity &identity, Properties &properties)
{
   const std::string name = properties.driverName, info = properties.driverInfo;
   if (!info.starts_with(name) && name != identity.driver_name)
      copy_text(properties.driverInfo, (name + " " + info).c_str());
   properties.driverID = identity.driver_id;
   copy_text(properties.driverName, identity.driver_name);
}

/// The range of subgroup sizes that a device reports: its own, without the sizes that the identity
/// lacks (null: it lacks none).  `size` is the size of pipelines that do not require one.  An
/// identity that lacks that size changes nothing.
SubgroupSizes presented_sizes(SubgroupSizes device, const Identity *, uint32_t size);

/// The operations that the profile has too (null: all), in the order in which programs should find
/// them: first those whose tiles have no more rows than the subgroup has invocations.  Programs
/// take the first that suits them, and llama.cpp's kernels divide the invocations by the rows.
std::vector<MatrixOperation> advertised_operations(std::vector<MatrixOperation>, const Profile *,
                                                   uint32_t subgroup_size);

} // namespace weft
