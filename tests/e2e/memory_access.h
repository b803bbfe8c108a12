// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Arrays that shaders of the tests load matrices from and store them to, in each kind of memory.

#pragma once

#include <cstdint>
#include <string>

namespace weft::e2e {

enum class Storage { buffer, reference, shared };

const char *storage_name(Storage);

/// An array in a storage buffer, in the same buffer by its address, or in shared memory. The shader
/// fills shared memory from the buffer and copies it back.
struct MemoryAccess {
   Storage storage;
   std::string pointee;     ///< the element's type in GLSL
   std::string buffer;      ///< a block, see buffer_block()
   std::string address;     ///< of the buffer, a uvec2
   std::string shared_size; ///< elements in shared memory
   std::string begin = "0"; ///< the element of the buffer that the copy begins with

   std::string declarations() const;
   std::string array() const;
   /// Statements before and after the accesses of a workgroup, with their barriers.
   std::string copy_in() const;
   std::string copy_out() const;
};

} // namespace weft::e2e
