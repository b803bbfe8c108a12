// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Descriptors of each type, as a shader reads them. Each of them makes a number.

#pragma once

#include "tests/icd/sampling_fixture.h"
#include "tests/vulkan/descriptor.h"

#include <span>
#include <string>
#include <vector>

namespace weft::icd_test {

struct Kind {
   VkDescriptorType type;
   const char *layout, *declaration; ///< of a variable
   const char *before, *behind;      ///< the variable makes with them the descriptor's number

   /// GLSL of an array.
   std::string declare(uint32_t set, uint32_t binding, const std::string &name,
                       uint32_t count) const;
   std::string number(const std::string &element) const { return before + element + behind; }
};
const std::vector<Kind> &descriptor_kinds();
/// GLSL that the kinds need; `zero` is a texture of one texel, 0.
extern const char *const kinds_header;

VkMutableDescriptorTypeListEXT list_of(const std::vector<VkDescriptorType> &);
VkMutableDescriptorTypeCreateInfoEXT info_of(std::span<const VkMutableDescriptorTypeListEXT>);

/// GLSL whose invocations write the number of an element each: the binding 0 is mutable among the
/// kinds, 1 is `zero`, 2 has the element's kinds, 9 the results.
constexpr uint32_t mutable_elements = 16;
std::string mutable_reader(const std::vector<Kind> &);

class KindsTest : public SamplingTest {
protected:
   /// A resource for each type of descriptor.
   using Resource = vulkan::Descriptor;

   /// Its parts have the same number. A combined image has it in the border, and 0 in the texel.
   Resource make_resource(VkDescriptorType, float number);
   VkImageView make_one_texel(float number);
};

} // namespace weft::icd_test
