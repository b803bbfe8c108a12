// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Object files that are linked in memory, by JITLink.

#pragma once

#include "backend/cpu/cpu_features.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace weft::cpu {

/// Addresses of functions by their symbols.
using SymbolAddresses = std::map<std::string, uint64_t, std::less<>>;

/// Machine code for as long as this lives.
class LinkedObject {
public:
   LinkedObject();
   ~LinkedObject();
   LinkedObject(const LinkedObject &) = delete;
   LinkedObject &operator=(const LinkedObject &) = delete;

   /// Links an object with the functions of runtime_symbols.h and `others`, once. Returns an error
   /// message, or an empty string.
   std::string link(std::span<const std::byte> object, std::string_view symbol, const CpuFeatures &,
                    const SymbolAddresses &others = {});

   uint64_t address() const { return symbol_address; } ///< of the symbol
   /// The stack of all functions of the object, added up.
   uint64_t stack_bytes() const { return stack; }
   /// Of a SteppedKernel (lower_barriers.h), else 0.
   uint32_t frame_bytes() const { return frame; }
   /// Whether a kernel that the object calls needs a TileConfiguration.
   bool needs_tile_configuration() const { return needs_tiles; }

private:
   friend class LinkContext;

   llvm::jitlink::InProcessMemoryManager memory;
   llvm::jitlink::JITLinkMemoryManager::FinalizedAlloc allocation;
   uint64_t symbol_address = 0, stack = 0;
   uint64_t frame_address = 0; ///< of the constant frame_symbol
   uint32_t frame = 0;
   bool needs_tiles = false;
   std::string error;
};

/// Bytes of machine code in an object.
uint64_t code_bytes(std::span<const std::byte> object);

} // namespace weft::cpu
