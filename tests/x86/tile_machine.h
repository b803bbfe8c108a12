// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A model of AMX: decodes one instruction and executes it on tiles in memory (Intel's Software
/// Developer's Manual, volume 2, LDTILECFG to TILEZERO). Of the multiplications it has AMX-INT8 and
/// AMX-BF16.
///
/// tile_emulator.cc executes by it the instructions that a CPU refuses; tile_machine_test.cc
/// compares it with CPUs that have them.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::test {

enum class TileInstruction : uint8_t {
   configure,           ///< LDTILECFG
   store_configuration, ///< STTILECFG
   release,             ///< TILERELEASE
   zero,                ///< TILEZERO
   load,                ///< TILELOADD, TILELOADDT1
   store,               ///< TILESTORED
   signed_signed,       ///< TDPBSSD
   signed_unsigned,     ///< TDPBSUD
   unsigned_signed,     ///< TDPBUSD
   unsigned_unsigned,   ///< TDPBUUD
   bfloat16,            ///< TDPBF16PS
   count
};

/// The name in Intel's manual.
const char *name(TileInstruction);

/// A decoded instruction.
struct TileOperation {
   TileInstruction instruction;
   uint8_t bytes;      ///< of the code
   uint8_t tile, a, b; ///< the result, or the tile in memory; factors
   int8_t base, index; ///< general registers, in the order of their encoding; negative: none
   uint8_t scale;      ///< of the index, as a shift
   int32_t displacement;
   bool relative; ///< to the next instruction
};

/// The instruction at `code`; nothing if it is not one of AMX's.
std::optional<TileOperation> decode_tile_operation(const uint8_t *code);

/// The general registers, in the order of their encoding, and the place of the instruction.
struct GeneralRegisters {
   uint64_t values[16];
   uint64_t instruction_pointer;
};

/// The tiles of a thread. All zeros: not configured.
struct TileMachine {
   static constexpr int tiles = 8, most_rows = 16, most_bytes = 64;

   struct Shape {
      uint16_t row_bytes;
      uint8_t rows;
   };

   bool configured;
   uint8_t start_row;
   Shape shapes[tiles];
   alignas(64) uint8_t data[tiles][most_rows][most_bytes];

   /// Executes an instruction. Returns the reason if the CPU would raise an exception.
   const char *execute(const TileOperation &, const GeneralRegisters &);

private:
   const char *configure(const uint8_t *memory);
   void store_configuration(uint8_t *memory) const;
   const char *move(const TileOperation &, const GeneralRegisters &);
   const char *multiply(const TileOperation &);
   const char *refuse_tile(int tile) const;
};

/// Executed instructions, and the rows of memory that loads and stores moved.
struct TileCounts {
   std::atomic<uint64_t> instructions[size_t(TileInstruction::count)];
   std::atomic<uint64_t> rows_loaded, rows_stored;

   void add(const TileOperation &, const TileMachine &);
};

} // namespace weft::test
