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

/// The size of a struct of the chains that the layer copies (struct_sizes.inc); 0 for any other.
size_t struct_size(VkStructureType);

/// A copy of a chain, struct by struct; pointers inside a struct stay the original's. The copy ends
/// at a struct of unknown size, of an extension that is newer than the table. This struct and the
/// structs after it stay the application's: they are read and passed on only.
class StructChain {
public:
   StructChain() = default;
   explicit StructChain(const void *original);

   /// A copied struct, or null.
   void *find(VkStructureType) const;
   /// A struct of the part that was not copied, or null.
   const void *find_uncopied(VkStructureType) const;
   /// The struct that ended the copy, or null.
   const VkBaseInStructure *first_uncopied() const { return uncopied; }
   /// Adds a struct at the end of the copies, all zero apart from its sType.
   void *append(VkStructureType);
   void remove(VkStructureType);

   /// The first struct, as pNext; valid until the next change.
   void *head();

private:
   using Block = std::unique_ptr<uint64_t[]>; // no struct needs more alignment
   VkBaseOutStructure *add(VkStructureType, size_t size);

   std::vector<Block> copies;
   const VkBaseInStructure *uncopied = nullptr;
};

/// The first struct of this type in a chain, or null.
const void *find_struct(const void *chain, VkStructureType);

} // namespace weft::layer
