// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/x86/tile_machine.h"

#include <immintrin.h>

#include <cstring>

namespace weft::test {

namespace {

using enum TileInstruction;

/// An opcode of VEX.128.0F38.W0: the mandatory prefix, as VEX.pp has it.
enum Prefix : uint8_t { none, p66, pf3, pf2 };

struct Encoding {
   uint8_t opcode;
   Prefix prefix;
   bool in_memory; ///< ModRM.mod is not 3
   TileInstruction instruction;
};

constexpr Encoding encodings[] = {
   {0x49, none, true, configure},
   {0x49, p66, true, store_configuration},
   {0x49, none, false, release},
   {0x49, pf2, false, zero},
   {0x4b, pf2, true, load},
   {0x4b, p66, true, load},
   {0x4b, pf3, true, store},
   {0x5c, pf3, false, bfloat16},
   {0x5e, pf2, false, signed_signed},
   {0x5e, pf3, false, signed_unsigned},
   {0x5e, p66, false, unsigned_signed},
   {0x5e, none, false, unsigned_unsigned},
};

bool multiplies(TileInstruction instruction)
{
   return instruction >= signed_signed;
}

/// LDTILECFG's operand.
struct Configuration {
   uint8_t palette, start_row, reserved[14];
   uint16_t row_bytes[16];
   uint8_t rows[16];
};
static_assert(sizeof(Configuration) == 64);

/// Reads the memory operand behind ModRM. Returns the number of its bytes.
int decode_memory(const uint8_t *modrm, bool extend_base, bool extend_index, TileOperation &op)
{
   const int mod = *modrm >> 6;
   int rm = *modrm & 7, length = 1;
   op.base = int8_t(rm | extend_base << 3);
   op.index = -1;
   if (rm == 4) {
      const uint8_t sib = modrm[length++];
      const int index = (sib >> 3 & 7) | extend_index << 3;
      op.scale = sib >> 6;
      op.index = int8_t(index == 4 ? -1 : index);
      rm = sib & 7;
      op.base = int8_t(rm | extend_base << 3);
      if (mod == 0 && rm == 5)
         op.base = -1;
   } else if (mod == 0 && rm == 5) {
      op.base = -1;
      op.relative = true;
   }
   if (mod == 1) {
      op.displacement = int8_t(modrm[length++]);
   } else if (mod == 2 || op.base < 0) {
      std::memcpy(&op.displacement, modrm + length, 4);
      length += 4;
   }
   return length;
}

/// Products of bytes: 16 columns of sums for each row.
template <bool ASigned, bool BSigned>
void multiply_bytes(uint8_t (*sums)[64], const uint8_t (*a)[64], const uint8_t (*b)[64], int rows,
                    int groups)
{
   const auto widened = [](const uint8_t *bytes) {
      const __m128i narrow = _mm_load_si128(reinterpret_cast<const __m128i *>(bytes));
      return BSigned ? _mm256_cvtepi8_epi16(narrow) : _mm256_cvtepu8_epi16(narrow);
   };
   for (int m = 0; m < rows; m++) {
      __m256i pairs[4] = {}; // the sums of even and of odd pairs, side by side
      for (int k = 0; k < groups; k++) {
         int group;
         std::memcpy(&group, a[m] + 4 * k, 4);
         const __m128i four = _mm_cvtsi32_si128(group);
         const __m256i factors =
            _mm256_broadcastq_epi64(ASigned ? _mm_cvtepi8_epi16(four) : _mm_cvtepu8_epi16(four));
         for (int part = 0; part < 4; part++)
            pairs[part] =
               _mm256_add_epi32(pairs[part], _mm256_madd_epi16(factors, widened(b[k] + 16 * part)));
      }
      uint32_t halves[32], c[16];
      std::memcpy(halves, pairs, sizeof(halves));
      std::memcpy(c, sums[m], sizeof(c));
      for (int n = 0; n < 16; n++)
         c[n] += halves[2 * n] + halves[2 * n + 1];
      std::memcpy(sums[m], c, sizeof(c));
   }
}

/// Even and odd products are added up apart, and C at the end.
[[gnu::noinline]] void multiply_bfloat16(uint8_t (*sums)[64], const uint8_t (*a)[64],
                                         const uint8_t (*b)[64], int rows, int groups)
{
   const auto even_of = [](__m256i pairs) {
      return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
   };
   const auto odd_of = [](__m256i pairs) {
      return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(int(0xffff0000))));
   };
   for (int m = 0; m < rows; m++) {
      __m256 even[2] = {}, odd[2] = {};
      for (int k = 0; k < groups; k++) {
         int pair;
         std::memcpy(&pair, a[m] + 4 * k, 4);
         const __m256i factors = _mm256_set1_epi32(pair);
         for (int part = 0; part < 2; part++) {
            const __m256i row = _mm256_load_si256(reinterpret_cast<const __m256i *>(b[k]) + part);
            even[part] = _mm256_fmadd_ps(even_of(factors), even_of(row), even[part]);
            odd[part] = _mm256_fmadd_ps(odd_of(factors), odd_of(row), odd[part]);
         }
      }
      for (int part = 0; part < 2; part++) {
         auto *c = reinterpret_cast<float *>(sums[m]) + 8 * part;
         _mm256_store_ps(c, _mm256_add_ps(_mm256_load_ps(c), _mm256_add_ps(even[part], odd[part])));
      }
   }
}

} // namespace

const char *name(TileInstruction instruction)
{
   constexpr const char *names[] = {"LDTILECFG", "STTILECFG",  "TILERELEASE", "TILEZERO",
                                    "TILELOADD", "TILESTORED", "TDPBSSD",     "TDPBSUD",
                                    "TDPBUSD",   "TDPBUUD",    "TDPBF16PS"};
   static_assert(sizeof(names) / sizeof(*names) == size_t(count));
   return names[size_t(instruction)];
}

std::optional<TileOperation> decode_tile_operation(const uint8_t *code)
{
   // Three bytes of VEX: R, X and B are inverted; map 0F38; W0, 128 bits.
   if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0)
      return {};
   const uint8_t opcode = code[3], modrm = code[4];
   const bool in_memory = modrm >> 6 != 3;
   for (const Encoding &e : encodings) {
      if (e.opcode != opcode || e.prefix != (code[2] & 3) || e.in_memory != in_memory)
         continue;
      TileOperation op = {};
      op.instruction = e.instruction;
      const bool extend = !(code[1] & 0x80), extend_index = !(code[1] & 0x40),
                 extend_base = !(code[1] & 0x20);
      op.tile = modrm >> 3 & 7;
      op.a = modrm & 7;
      op.b = ~(code[2] >> 3) & 15;
      if (multiplies(op.instruction) ? extend || extend_base || op.b > 7 : op.b != 0)
         return {};
      // Fields that select one of a group's instructions.
      if ((e.opcode == 0x49 && e.instruction != zero && op.tile != 0) || extend ||
          (e.opcode == 0x49 && !in_memory && op.a != 0))
         return {};
      op.bytes =
         uint8_t(4 + (in_memory ? decode_memory(code + 4, extend_base, extend_index, op) : 1));
      // Tiles need a SIB byte.
      if (e.opcode == 0x4b && (modrm & 7) != 4)
         return {};
      return op;
   }
   return {};
}

const char *TileMachine::execute(const TileOperation &op, const GeneralRegisters &registers)
{
   const auto address = [&] {
      uint64_t sum = uint64_t(int64_t(op.displacement));
      if (op.relative)
         sum += registers.instruction_pointer + op.bytes;
      if (op.base >= 0)
         sum += registers.values[op.base];
      if (op.index >= 0)
         sum += registers.values[op.index] << op.scale;
      return reinterpret_cast<uint8_t *>(sum);
   };
   switch (op.instruction) {
   case TileInstruction::configure:
      return configure(address());
   case TileInstruction::store_configuration:
      store_configuration(address());
      return nullptr;
   case release:
      *this = {};
      return nullptr;
   case zero:
      if (const char *reason = refuse_tile(op.tile))
         return reason;
      std::memset(data[op.tile], 0, sizeof(data[op.tile]));
      return nullptr;
   case load:
   case store:
      return move(op, registers);
   default:
      return multiply(op);
   }
}

const char *TileMachine::configure(const uint8_t *memory)
{
   Configuration given;
   std::memcpy(&given, memory, sizeof(given));
   TileMachine next = {};
   if (given.palette > 1)
      return "#GP: unknown palette";
   if (given.palette == 1) {
      next.configured = true;
      next.start_row = given.start_row;
      for (const uint8_t byte : given.reserved) {
         if (byte)
            return "#GP: a reserved byte of the configuration is not zero";
      }
      for (int i = 0; i < 16; i++) {
         const Shape shape = {given.row_bytes[i], given.rows[i]};
         if (i >= tiles ? shape.row_bytes || shape.rows
                        : shape.row_bytes > most_bytes || shape.rows > most_rows)
            return "#GP: the configuration exceeds the palette";
         if (!shape.row_bytes != !shape.rows)
            return "#GP: a tile has rows without bytes, or bytes without rows";
         if (i < tiles)
            next.shapes[i] = shape;
      }
   }
   *this = next;
   return nullptr;
}

void TileMachine::store_configuration(uint8_t *memory) const
{
   Configuration stored = {};
   stored.palette = configured;
   stored.start_row = start_row;
   for (int i = 0; i < tiles; i++) {
      stored.row_bytes[i] = shapes[i].row_bytes;
      stored.rows[i] = shapes[i].rows;
   }
   std::memcpy(memory, &stored, sizeof(stored));
}

const char *TileMachine::refuse_tile(int tile) const
{
   if (!configured)
      return "#UD: tiles are not configured";
   return shapes[tile].rows ? nullptr : "#UD: the configuration lacks this tile";
}

const char *TileMachine::move(const TileOperation &op, const GeneralRegisters &registers)
{
   if (const char *reason = refuse_tile(op.tile))
      return reason;
   const Shape &shape = shapes[op.tile];
   if (start_row >= shape.rows)
      return "#GP: the start row lies behind the tile";
   // The index is the stride.
   uint64_t row_address = uint64_t(int64_t(op.displacement));
   if (op.base >= 0)
      row_address += registers.values[op.base];
   const uint64_t stride = op.index >= 0 ? registers.values[op.index] << op.scale : 0;
   row_address += start_row * stride;
   for (int row = start_row; row < shape.rows; row++, row_address += stride) {
      auto *memory = reinterpret_cast<uint8_t *>(row_address);
      if (op.instruction == store) {
         std::memcpy(memory, data[op.tile][row], shape.row_bytes);
      } else {
         std::memcpy(data[op.tile][row], memory, shape.row_bytes);
         std::memset(data[op.tile][row] + shape.row_bytes, 0, size_t(most_bytes - shape.row_bytes));
      }
   }
   if (op.instruction == load)
      std::memset(data[op.tile][shape.rows], 0, size_t(most_rows - shape.rows) * most_bytes);
   start_row = 0;
   return nullptr;
}

const char *TileMachine::multiply(const TileOperation &op)
{
   for (const int tile : {op.tile, op.a, op.b}) {
      if (const char *reason = refuse_tile(tile))
         return reason;
   }
   if (op.tile == op.a || op.tile == op.b || op.a == op.b)
      return "#UD: two operands are the same tile";
   const Shape &sums = shapes[op.tile], &a = shapes[op.a], &b = shapes[op.b];
   if (sums.row_bytes % 4 || a.row_bytes % 4 || b.row_bytes % 4)
      return "#UD: rows of factors or sums are not words";
   if (sums.rows != a.rows || sums.row_bytes != b.row_bytes || a.row_bytes / 4 != b.rows)
      return "#UD: the tiles' shapes do not fit";
   if (start_row)
      return "#UD: the start row is not zero";

   const int groups = a.row_bytes / 4;
   auto *c = data[op.tile];
   const auto *a_rows = data[op.a], *b_rows = data[op.b];
   switch (op.instruction) {
   case signed_signed:
      multiply_bytes<true, true>(c, a_rows, b_rows, sums.rows, groups);
      break;
   case signed_unsigned:
      multiply_bytes<true, false>(c, a_rows, b_rows, sums.rows, groups);
      break;
   case unsigned_signed:
      multiply_bytes<false, true>(c, a_rows, b_rows, sums.rows, groups);
      break;
   case unsigned_unsigned:
      multiply_bytes<false, false>(c, a_rows, b_rows, sums.rows, groups);
      break;
   default: {
      // Round to nearest; subnormal operands and results are zero; no exceptions.
      const unsigned mode = _mm_getcsr();
      _mm_setcsr(0x9fc0);
      multiply_bfloat16(c, a_rows, b_rows, sums.rows, groups);
      _mm_setcsr(mode);
   }
   }
   for (int row = 0; row < most_rows; row++) {
      const int kept = row < sums.rows ? sums.row_bytes : 0;
      std::memset(c[row] + kept, 0, size_t(most_bytes - kept));
   }
   return nullptr;
}

void TileCounts::add(const TileOperation &op, const TileMachine &machine)
{
   instructions[size_t(op.instruction)].fetch_add(1, std::memory_order_relaxed);
   if (op.instruction == load)
      rows_loaded.fetch_add(machine.shapes[op.tile].rows, std::memory_order_relaxed);
   if (op.instruction == store)
      rows_stored.fetch_add(machine.shapes[op.tile].rows, std::memory_order_relaxed);
}

} // namespace weft::test
