// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The selection of matrix operations that driver and layer advertise. Vendors' profiles
/// (WEFT_PROFILE) let a program's path for a GPU run without that GPU; docs/profiles.md lists the
/// sources.

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

/// The properties by which programs recognize a vendor's device and driver.
struct Identity {
   uint32_t vendor_id, device_id;
   const char *device_name;
   VkDriverId driver_id;
   const char *driver_name;
   uint32_t driver_version; ///< in the vendor's encoding
   SubgroupSizes sizes;     ///< some programs recognize the architecture by these
   /// The extensions of cooperative matrices that the vendor's driver supports.
   std::span<const std::string_view> extensions;
   /// Programs rely on the layout of an accumulator's elements. The dense map has the vendor's
   /// layout (nir_passes/matrices/element_map.h); matrices in registers have another.
   bool places_elements = false;

   bool lists(std::string_view extension) const
   {
      return std::ranges::find(extensions, extension) != extensions.end();
   }
};

struct Profile {
   std::string_view name, label;
   std::string_view hardware; ///< a sentence: the devices that it stands for
   uint32_t subgroup_size;    ///< the vendor driver's subgroupSize
   std::span<const MatrixOperation> operations;
   const Identity *identity; ///< null if no program checks for it
};

std::span<const Profile> profiles();
/// Null for an unknown name.
const Profile *find_profile(std::string_view name);

/// A value of WEFT_PROFILE.
struct ProfileChoice {
   const Profile *profile = nullptr;   ///< null: "none"
   const Identity *identity = nullptr; ///< the identity to present: "nvidia+identity"
};
/// Nothing for an invalid value.
std::optional<ProfileChoice> parse_profile(std::string_view text);
/// All valid values, separated by commas.
std::string profile_choices();

/// The reason why a device with matrices in registers cannot be presented this way; empty if it
/// can.
std::string why_no_registers(const ProfileChoice &);

/// The setting WEFT_PROFILE of a device.
struct ProfileSetting {
   ProfileChoice choice;
   std::string problem;  ///< the reason why the setting is ignored; empty if it is in effect
   bool refused = false; ///< it is ignored although its value is valid
};
/// `registers`: the device's matrices are in registers.
ProfileSetting read_profile(std::string_view text, bool registers);

/// "AMD Radeon …, vendor 0x1002, device …": for the log.
std::string describe(const Identity &);

/// Presents a device in VkPhysicalDeviceProperties, or a struct with the same members.
template <typename Properties>
void present_device(const Identity &identity, Properties &properties)
{
   properties.vendorID = identity.vendor_id;
   properties.deviceID = identity.device_id;
   properties.driverVersion = identity.driver_version;
   copy_text(properties.deviceName, identity.device_name);
}

/// Presents the device's driver in VkPhysicalDeviceDriverProperties, or a struct with the same
/// members. driverInfo, which is for people, keeps the real driver's name.
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
/// lacks (null: it lacks none). `size` is the size of pipelines that do not require one. An
/// identity without that size changes nothing.
SubgroupSizes presented_sizes(SubgroupSizes device, const Identity *, uint32_t size);

/// The operations that the profile also has (null: all), in the order of preference. First come
/// operations whose tiles have at most as many rows as the subgroup has invocations. Programs take
/// the first suitable operation, and llama.cpp's kernels divide the invocations by the rows.
std::vector<MatrixOperation> advertised_operations(std::vector<MatrixOperation>, const Profile *,
                                                   uint32_t subgroup_size);

} // namespace weft
