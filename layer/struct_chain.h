// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Chains of Vulkan structs (pNext) that the layer may edit.

#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::layer {

/// Of a struct that may stand in the chains that the layer copies (struct_sizes.inc); 0 for any
/// other.
size_t struct_size(VkStructureType);

/// A copy of a chain, struct by struct: pointers inside a struct stay the original's.  A struct
/// whose size is not known here (of an extension newer than our table) ends the copy: it and what
/// follows stay the application's, to be read and passed on only.
class StructChain {
public:
   StructChain() = default;
   explicit StructChain(const void *original);

   /// A copied struct, or null.
   void *find(VkStructureType) const;
   /// A struct of the part that could not be copied, or null.
   const void *find_in_rest(VkStructureType) const;
   /// The struct that ended the copy, or null.
   const VkBaseInStructure *first_of_rest() const { return rest; }
   /// A new struct at the end of the copies, all zero apart from its sType.
   void *append(VkStructureType);
   void remove(VkStructureType);

   /// The first struct, to be used as pNext until the next change.
   void *head();

private:
   using Block = std::unique_ptr<uint64_t[]>; // no struct asks for more alignment
   VkBaseOutStructure *add(VkStructureType, size_t size);

   std::vector<Block> copies;
   const VkBaseInStructure *rest = nullptr;
};

/// The first struct of this type in a chain, or null.
const void *find_struct(const void *chain, VkStructureType);

} // namespace weft::layer
