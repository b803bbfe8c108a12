// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Executes AMX's instructions, on a CPU that has them or under the emulator, and compares all
/// tiles with the model's.

#include "tests/x86/tile_machine.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cpuid.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace weft::test {
namespace {

using enum TileInstruction;

bool has_tiles()
{
   unsigned a, b, c, d;
   if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 22 & d >> 24 & d >> 25 & 1)
      return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
   void *grant = dlsym(RTLD_DEFAULT, "weft_grant_emulated_tiles");
   return grant && reinterpret_cast<bool (*)()>(grant)();
}

struct alignas(64) Configuration {
   uint8_t palette = 1, start_row = 0, reserved[14] = {};
   uint16_t row_bytes[16] = {};
   uint8_t rows[16] = {};
};

using TileData = uint8_t[16][64];

/// Sums, A and B. The other tiles are as large as possible.
constexpr int sums = 0, a = 1, b = 2;

Configuration shapes(int m, int n_bytes, int k_bytes)
{
   Configuration c;
   for (int i = 0; i < 8; i++) {
      c.row_bytes[i] = 64;
      c.rows[i] = 16;
   }
   c.row_bytes[sums] = c.row_bytes[b] = uint16_t(n_bytes);
   c.row_bytes[a] = uint16_t(k_bytes);
   c.rows[sums] = c.rows[a] = uint8_t(m);
   c.rows[b] = uint8_t(k_bytes / 4);
   return c;
}

#define WEFT_EACH_PRODUCT(USE)                                                                     \
   USE(signed_signed, "tdpbssd")                                                                   \
   USE(signed_unsigned, "tdpbsud")                                                                 \
   USE(unsigned_signed, "tdpbusd")                                                                 \
   USE(unsigned_unsigned, "tdpbuud")                                                               \
   USE(bfloat16, "tdpbf16ps")

void multiply_here(TileInstruction instruction)
{
   switch (instruction) {
#define WEFT_PRODUCT(NAME, TEXT)                                                                   \
   case NAME:                                                                                      \
      asm volatile(TEXT " %%tmm2, %%tmm1, %%tmm0" ::: "memory");                                   \
      break;
      WEFT_EACH_PRODUCT(WEFT_PRODUCT)
#undef WEFT_PRODUCT
   default:
      FAIL();
   }
}

/// Loads the tiles, multiplies once, and stores the sums as 16 rows of 64 bytes. Bytes that
/// the store leaves alone stay 0xcc.
std::vector<uint8_t> product_here(TileInstruction instruction, const Configuration &configuration,
                                  const TileData *tiles)
{
   std::vector<uint8_t> result(sizeof(TileData), 0xcc);
   const long stride = 64;
   asm volatile("ldtilecfg %0" ::"m"(configuration));
   asm volatile("tileloadd (%0,%1,1), %%tmm0" ::"r"(tiles[sums]), "r"(stride) : "memory");
   asm volatile("tileloaddt1 (%0,%1,1), %%tmm1" ::"r"(tiles[a]), "r"(stride) : "memory");
   asm volatile("tileloadd (%0,%1,1), %%tmm2" ::"r"(tiles[b]), "r"(stride) : "memory");
   multiply_here(instruction);
   asm volatile("tilestored %%tmm0, (%0,%1,1)" ::"r"(result.data()), "r"(stride) : "memory");
   asm volatile("tilerelease");
   return result;
}

TileOperation operation(TileInstruction instruction, int tile)
{
   TileOperation op = {};
   op.instruction = instruction;
   op.tile = uint8_t(tile);
   op.a = a;
   op.b = b;
   op.base = 0;
   op.index = 1;
   return op;
}

GeneralRegisters at(const void *memory, int64_t stride = 64)
{
   GeneralRegisters registers = {};
   registers.values[0] = reinterpret_cast<uintptr_t>(memory);
   registers.values[1] = uint64_t(stride);
   return registers;
}

/// The same by the model.
std::vector<uint8_t> product_by_model(TileInstruction instruction,
                                      const Configuration &configuration, const TileData *tiles)
{
   std::vector<uint8_t> result(sizeof(TileData), 0xcc);
   TileMachine machine = {};
   TileOperation configure_it = operation(configure, 0);
   configure_it.index = -1;
   EXPECT_EQ(machine.execute(configure_it, at(&configuration)), nullptr);
   for (const int tile : {sums, a, b})
      EXPECT_EQ(machine.execute(operation(load, tile), at(tiles[tile])), nullptr);
   EXPECT_EQ(machine.execute(operation(instruction, sums), {}), nullptr);
   EXPECT_EQ(machine.execute(operation(store, sums), at(result.data())), nullptr);
   return result;
}

class Tiles : public testing::Test {
protected:
   void SetUp() override
   {
      if (!has_tiles())
         GTEST_SKIP() << "no AMX here";
      const char *given = std::getenv("WEFT_SEED");
      const uint64_t seed = given ? std::strtoull(given, nullptr, 0) : std::random_device()();
      random.seed(seed);
      std::printf("WEFT_SEED=%llu\n", (unsigned long long)(seed));
   }

   /// 0 … below - 1.
   int draw(int below) { return int(random() % unsigned(below)); }

   std::mt19937_64 random;
};

TEST_F(Tiles, MultiplyAsTheModel)
{
   for (const TileInstruction instruction :
        {signed_signed, signed_unsigned, unsigned_signed, unsigned_unsigned, bfloat16}) {
      SCOPED_TRACE(name(instruction));
      for (int round = 0; round < 200; round++) {
         const Configuration configuration =
            round % 4 ? shapes(1 + draw(16), 4 * (1 + draw(16)), 4 * (1 + draw(16)))
                      : shapes(16, 64, 64);
         TileData tiles[3];
         for (TileData &tile : tiles)
            for (auto &row : tile)
               for (uint8_t &byte : row)
                  byte = uint8_t(random());
         // Random bits of floats are mostly far apart: half of the rounds have exponents of one
         // size, some around the smallest.
         if (instruction == bfloat16 && round % 2) {
            const int exponent = round % 8 == 1 ? 1 : round % 8 == 3 ? 62 : 120;
            const auto float_of = [&] {
               return uint16_t(draw(2) << 15 | (exponent + draw(4) - (exponent == 1)) << 7 |
                               draw(128));
            };
            for (const int tile : {a, b})
               for (auto &row : tiles[tile])
                  for (int i = 0; i < 64; i += 2) {
                     const uint16_t bits = float_of();
                     std::memcpy(row + i, &bits, 2);
                  }
            for (auto &row : tiles[sums])
               for (int i = 0; i < 64; i += 4) {
                  const uint32_t bits = uint32_t(float_of()) << 16 | uint32_t(draw(1 << 16));
                  std::memcpy(row + i, &bits, 4);
               }
         }
         std::vector<uint8_t> here = product_here(instruction, configuration, tiles),
                              model = product_by_model(instruction, configuration, tiles);
         // The sign and payload of a NaN that an addition makes depend on the order of operands.
         for (size_t i = 0; instruction == bfloat16 && i < here.size(); i += 4) {
            float x, y;
            std::memcpy(&x, &here[i], 4);
            std::memcpy(&y, &model[i], 4);
            if (std::isnan(x) && std::isnan(y))
               std::memcpy(&here[i], &y, 4);
         }
         ASSERT_EQ(here, model) << "round " << round;
      }
   }
}

/// One sum of a product of 32 pairs of bfloat16.
float sum_of(const std::vector<std::pair<float, float>> &pairs, float c)
{
   TileData tiles[3] = {};
   for (size_t k = 0; k < pairs.size(); k++) {
      const auto upper = [](float x) { return uint16_t(std::bit_cast<uint32_t>(x) >> 16); };
      const uint16_t left = upper(pairs[k].first), right = upper(pairs[k].second);
      std::memcpy(tiles[a][0] + 2 * k, &left, 2);
      std::memcpy(tiles[b][k / 2] + 2 * (k % 2), &right, 2);
   }
   std::memcpy(tiles[sums][0], &c, 4);
   float result;
   std::memcpy(&result, product_here(bfloat16, shapes(16, 64, 64), tiles).data(), 4);
   return result;
}

TEST_F(Tiles, RoundSumsOfBFloat16AsTheManualSays)
{
   constexpr float tiny = 0x1p-25f;
   EXPECT_EQ(sum_of({{2, 3}, {4, 5}}, 6), 32);
   // C comes last: it does not lose the small products one by one.
   EXPECT_EQ(sum_of({{tiny, 1}, {tiny, 1}, {tiny, 1}, {tiny, 1}}, 1), 1 + 4 * tiny);
   // Even and odd products have sums of their own.
   EXPECT_EQ(
      sum_of({{1, 1}, {tiny, 1}, {0, 0}, {tiny, 1}, {0, 0}, {tiny, 1}, {0, 0}, {tiny, 1}}, 0),
      1 + 4 * tiny);
   EXPECT_EQ(sum_of({{1, 1}, {0, 0}, {tiny, 1}, {0, 0}, {tiny, 1}, {0, 0}, {tiny, 1}}, 0), 1);
   // Ties are rounded to even.
   EXPECT_EQ(sum_of({{1, 1}, {0, 0}, {0x1p-24f, 1}}, 0), 1);
   EXPECT_EQ(sum_of({{1, 1}, {0x1p-23f, 1}}, 0x1p-24f), 1 + 0x1p-22f);
   // Subnormal numbers are zeros: as factors, as C, as results.
   EXPECT_EQ(sum_of({{0x1p-130f, 0x1p+20f}}, 0), 0);
   EXPECT_EQ(sum_of({{0, 0}}, 0x1p-130f), 0);
   EXPECT_EQ(sum_of({{0x1p-100f, 0x1p-30f}}, 0), 0);
   EXPECT_EQ(sum_of({{0x1p-100f, 0x1p-26f}}, 0), FLT_MIN);
   EXPECT_EQ(sum_of({{INFINITY, 1}}, 0), INFINITY);
   EXPECT_TRUE(std::isnan(sum_of({{INFINITY, 0}}, 0)));
}

TEST_F(Tiles, IgnoreTheFloatMode)
{
   const unsigned mode = __builtin_ia32_stmxcsr();
   __builtin_ia32_ldmxcsr(mode | 0x6000); // toward zero
   const float sum = sum_of({{1, 1}, {0x1p-23f, 1}}, 0x1p-24f);
   const unsigned after = __builtin_ia32_stmxcsr();
   __builtin_ia32_ldmxcsr(mode);
   EXPECT_EQ(sum, 1 + 0x1p-22f);
   EXPECT_EQ(after, mode | 0x6000);
}

/// Rows and bytes beyond a tile's shape are zeros; a store leaves the memory beyond alone.
TEST_F(Tiles, MoveTheirRowsOnly)
{
   Configuration small = shapes(16, 64, 64);
   small.rows[3] = 5;
   small.row_bytes[3] = 12;
   uint8_t memory[5 * 40], seen[5 * 40];
   for (size_t i = 0; i < sizeof(memory); i++)
      memory[i] = uint8_t(random());
   std::memset(seen, 0xcc, sizeof(seen));
   // Negative strides, and addresses in all forms: with and without displacement, scaled.
   asm volatile("ldtilecfg (%0)" ::"r"(&small) : "memory");
   const uint8_t *last = memory + 4 * 40;
   asm volatile("tileloadd (%0,%1,8), %%tmm3" ::"r"(last), "r"(-5l) : "memory");
   asm volatile("tilestored %%tmm3, -16(%0,%1,4)" ::"r"(seen + 16), "r"(10l) : "memory");
   for (int row = 0; row < 5; row++)
      for (int i = 0; i < 40; i++)
         ASSERT_EQ(seen[row * 40 + i], i < 12 ? memory[(4 - row) * 40 + i] : 0xcc);
   // Registers beyond the eighth.
   register uint8_t *base asm("r12") = seen;
   register long stride asm("r13") = 40;
   asm volatile("tilezero %%tmm3\n"
                "tilestored %%tmm3, 0x0(%0,%1,1)" ::"r"(base),
                "r"(stride)
                : "memory");
   for (int row = 0; row < 5; row++)
      for (int i = 0; i < 40; i++)
         ASSERT_EQ(seen[row * 40 + i], i < 12 ? 0 : 0xcc);
   // Without an index, all rows are the first.
   asm volatile("tileloadd 256(%%rsp,%0,1), %%tmm3" ::"r"(0l) : "memory");
   asm volatile("tilerelease");
}

TEST_F(Tiles, AreEmptyAfterTheirConfiguration)
{
   static Configuration configuration; // an address relative to the instruction
   configuration = shapes(16, 64, 32);
   uint8_t ones[1024], seen[1024];
   std::memset(ones, 1, sizeof(ones));
   asm volatile("ldtilecfg %0" ::"m"(configuration));
   asm volatile("tileloadd (%0,%1,1), %%tmm4" ::"r"(ones), "r"(64l) : "memory");
   Configuration stored;
   asm volatile("sttilecfg %0" : "=m"(stored));
   EXPECT_EQ(std::memcmp(&stored, &configuration, 64), 0);
   asm volatile("ldtilecfg %0" ::"m"(configuration));
   asm volatile("tilestored %%tmm4, (%0,%1,1)" ::"r"(seen), "r"(64l) : "memory");
   EXPECT_TRUE(std::ranges::all_of(seen, [](uint8_t byte) { return byte == 0; }));
   asm volatile("tilerelease");
   asm volatile("sttilecfg %0" : "=m"(stored));
   const uint8_t zeros[64] = {};
   EXPECT_EQ(std::memcmp(&stored, zeros, 64), 0);
}

using TilesDeathTest = Tiles;

/// On a CPU with AMX the death has no reason.
TEST_F(TilesDeathTest, RefuseInvalidInstructions)
{
   const Configuration good = shapes(16, 64, 64);
   const auto configure_it = [](const Configuration &c) {
      // A CPU with AMX raises SIGSEGV, for which AddressSanitizer's handler would print a reason.
      std::signal(SIGSEGV, SIG_DFL);
      asm volatile("ldtilecfg %0" ::"m"(c));
   };
   const auto with = [&](auto change) {
      Configuration changed = good;
      change(changed);
      configure_it(changed);
      asm volatile("tdpbssd %%tmm2, %%tmm1, %%tmm0" ::: "memory");
   };
   EXPECT_DEATH(asm volatile("tilezero %%tmm0" :: :), "not configured|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.palette = 2; }), "unknown palette|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.reserved[3] = 1; }), "reserved|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.rows[5] = 17; }), "exceeds|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.row_bytes[8] = 4; }), "exceeds|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.rows[7] = 0; }), "without bytes|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.rows[b] = c.row_bytes[b] = 0; }), "lacks|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.rows[b] = 8; }), "do not fit|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.rows[a] = 8; }), "do not fit|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.row_bytes[b] = 32; }), "do not fit|^$");
   EXPECT_DEATH(with([](Configuration &c) { c.row_bytes[a] = 63; }), "not words|^$");
   EXPECT_DEATH(
      {
         configure_it(good);
         asm volatile(".byte 0xc4, 0xe2, 0x6b, 0x5e, 0xc2"); // tdpbssd tmm2, tmm2, tmm0
      },
      "same tile|^$");
   EXPECT_DEATH(asm volatile("ud2"), "^$");
}

} // namespace
} // namespace weft::test
