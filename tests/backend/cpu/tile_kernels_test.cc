// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares every tile kernel of every instruction set that this machine has with the oracle.

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernels/tile_configuration.h"
#include "backend/cpu/kernels/tile_kernels.h"
#include "tests/oracle/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>

namespace weft::cpu {
namespace {

using namespace weft::oracle;

constexpr TileAccess accesses[] = {TileAccess::load, TileAccess::store};
constexpr TileOrder orders[] = {TileOrder::row_major, TileOrder::column_major};
constexpr uint32_t sides[] = {8, 16, 32, 64}, component_bytes[] = {1, 2, 4, 8};

class TileKernels : public testing::Test {
protected:
   TileKernels()
   {
      const char *given = std::getenv("WEFT_SEED");
      seed = given ? std::strtoull(given, nullptr, 0) : std::random_device()();
      random.seed(seed);
      std::printf("WEFT_SEED=%llu on %s\n", static_cast<unsigned long long>(seed),
                  describe(detect_features(IsaLimit::amx)).c_str());
   }

   uint64_t seed;
   Random random;
};

/// A copy of bytes at an address that is `misalignment` past a multiple of 64.
class Placed {
public:
   Placed(std::vector<std::byte> bytes, size_t misalignment)
       : storage(bytes.size() + 128), count(bytes.size())
   {
      const auto address = reinterpret_cast<uintptr_t>(storage.data());
      start = storage.data() + ((64 - address % 64) + misalignment);
      std::copy(bytes.begin(), bytes.end(), start);
   }
   std::byte *data() { return start; }
   std::vector<std::byte> bytes() const { return {start, start + count}; }

private:
   std::vector<std::byte> storage;
   size_t count;
   std::byte *start;
};

class Multiplications : public TileKernels, public testing::WithParamInterface<size_t> {
protected:
   /// The kernel's input in place of a factor, packed from memory of some order and stride if the
   /// operation has a packing.
   Placed packed(const MatrixOperation &op, TileFactor factor, const Matrix &tile,
                 const CpuFeatures &cpu, size_t misalignment);
};

Placed Multiplications::packed(const MatrixOperation &op, TileFactor factor, const Matrix &tile,
                               const CpuFeatures &cpu, size_t misalignment)
{
   TilePack pack = {op, factor, TileOrder::row_major, false};
   const std::string symbol = tile_pack_symbol(pack);
   EXPECT_EQ(symbol.empty(), !find_tile_pack(pack, cpu)) << symbol;
   if (symbol.empty())
      return {tile.data, misalignment};
   pack.order = orders[draw(random, 2)];
   const bool row_major = pack.order == TileOrder::row_major;
   const uint32_t bytes = format(tile.type).bytes;
   const uint32_t lines = row_major ? tile.rows : tile.cols,
                  length = row_major ? tile.cols : tile.rows;
   const int64_t stride = length * bytes + draw(random, 20);
   std::vector<std::byte> memory(lines * stride);
   for (uint32_t line = 0; line < lines; line++) {
      for (uint32_t i = 0; i < length; i++)
         std::memcpy(&memory[line * stride + i * bytes],
                     row_major ? tile.at(line, i) : tile.at(i, line), bytes);
   }
   // Words, for components of any type.
   Placed result(std::vector<std::byte>(packed_bytes(op, factor)), misalignment / 4 * 4);
   reinterpret_cast<TileLoad>(find_tile_pack(pack, cpu))(result.data(), memory.data(), stride);
   return result;
}

/// The bounds of a kernel.
MuladdRules rules_of(const MatrixOperation &op, const CpuFeatures &cpu)
{
   return {.internal_roundoff = internal_roundoff(op.result, true),
           .may_truncate = false,
           .keeps_specials = true,
           .may_flush = (cpu.avx512_bf16 || cpu.amx) && op.a == ComponentType::bf16};
}

/// A·B + C in the result's type, which may not be that of C.
Expectation expect(const MatrixOperation &op, const Matrix &a, const Matrix &b, const Matrix &c,
                   const CpuFeatures &cpu)
{
   Expectation sum(c);
   sum.type = op.result;
   return muladd(a, b, sum, op.saturating, rules_of(op, cpu));
}

TEST_P(Multiplications, AreTheOracles)
{
   const CpuFeatures cpu = detect_features(isa_words()[GetParam()].limit),
                     less = GetParam() ? detect_features(isa_words()[GetParam() - 1].limit)
                                       : CpuFeatures();
   const auto &operations = tile_operations();
   if (std::ranges::all_of(operations, [&](const MatrixOperation &op) {
          return find_tile_muladd(op, cpu) == find_tile_muladd(op, less);
       }))
      GTEST_SKIP() << "this CPU has nothing more for " << isa_words()[GetParam()].word;
   SCOPED_TRACE(describe(cpu));
   for (const MatrixOperation &op : operations) {
      SCOPED_TRACE(tile_muladd_symbol(op));
      const TileMulAdd kernel = find_tile_muladd(op, cpu);
      ASSERT_TRUE(kernel);
      for (int round = 0; round < 32; round++) {
         constexpr Inputs kinds[] = {Inputs::plain, Inputs::edges, Inputs::whole, Inputs::extremes};
         const Inputs kind = kinds[round % 4];
         const Matrix a = random_matrix(random, op.a, op.m, op.k, kind);
         const Matrix b = random_matrix(random, op.b, op.k, op.n, kind);
         const Inputs c_kind = op.saturating && round / 4 % 2 ? Inputs::near_bounds : kind;
         const Matrix c = random_matrix(random, op.c, op.m, op.n, c_kind);
         const Expectation expected = expect(op, a, b, c, cpu);
         const bool aligned = round % 8 < 4, in_place = round % 16 < 6 && op.c == op.result;
         const auto shift = [&](ComponentType type) {
            return aligned ? 0 : format(type).bytes * draw(random, 64 / format(type).bytes);
         };
         Placed a_packed = packed(op, TileFactor::a, a, cpu, shift(op.a));
         Placed b_packed = packed(op, TileFactor::b, b, cpu, shift(op.b));
         const std::vector<std::byte> a_before = a_packed.bytes(), b_before = b_packed.bytes();
         Placed c_tile(c.data, shift(op.c));
         Matrix d(op.result, op.m, op.n);
         fill_poison(d.data);
         Placed d_tile(d.data, shift(op.result));
         Placed &result = in_place ? c_tile : d_tile;

         {
            const TileConfiguration tiles(needs_tile_configuration(op, cpu));
            const TileBlock one;
            kernel(result.data(), a_packed.data(), b_packed.data(), c_tile.data(), &one);
         }

         d.data = result.bytes();
         const std::optional<std::string> wrong = expected.mismatch(d);
         ASSERT_FALSE(wrong) << *wrong << ", round " << round;
         ASSERT_EQ(a_packed.bytes(), a_before);
         ASSERT_EQ(b_packed.bytes(), b_before);
      }
   }
}

/// Tiles one behind the other, with gaps.
struct PlacedTiles {
   std::vector<std::byte> bytes;
   uint64_t step = 0;

   void add(const std::vector<std::byte> &tile, uint32_t gap)
   {
      step = tile.size() + gap;
      bytes.insert(bytes.end(), tile.begin(), tile.end());
      bytes.resize(bytes.size() + gap);
   }
};

/// Whether the kernel adds C at the end, so that the sums of a block may be rounded differently.
bool adds_c_last(const MatrixOperation &op, const CpuFeatures &cpu)
{
   return cpu.amx && op.a == ComponentType::f16 && op.m == 16 && op.n == 16 && op.k == 16;
}

/// A block equals single products bit by bit, if each sum saturates or is no wider than its type.
/// Otherwise only whole sums are compared.
TEST_P(Multiplications, OfABlockAddUpAsOneByOne)
{
   const CpuFeatures cpu = detect_features(isa_words()[GetParam()].limit);
   for (const MatrixOperation &op : cpu_matrix_operations()) {
      SCOPED_TRACE(tile_muladd_symbol(op));
      const TileMulAdd kernel = find_tile_muladd(op, cpu);
      if (!kernel)
         GTEST_SKIP() << "this CPU lacks AVX2";
      const bool as_sums = rounds_sums(op) || adds_c_last(op, cpu);
      for (const Inputs kind : {Inputs::plain, Inputs::near_bounds}) {
         TileBlock block = {draw(random, 4) + 1, draw(random, 4) + 1, draw(random, 3) + 1};
         const auto tiles = [&](uint32_t count, auto make) {
            const uint32_t gap = 8 * draw(random, 5); // components stay aligned
            PlacedTiles placed;
            for (uint32_t i = 0; i < count; i++)
               placed.add(make(), gap);
            return placed;
         };
         // Tiles with infinite or NaN halves are multiplied in another way.
         const auto factors = [&] {
            return adds_c_last(op, cpu) && draw(random, 3) == 0 ? Inputs::extremes : Inputs::plain;
         };
         PlacedTiles a = tiles(block.rows * block.depth, [&] {
            const Matrix m = random_matrix(random, op.a, op.m, op.k, factors());
            return packed(op, TileFactor::a, m, cpu, 0).bytes();
         });
         PlacedTiles b = tiles(block.depth * block.cols, [&] {
            const Matrix m = random_matrix(random, op.b, op.k, op.n, factors());
            return packed(op, TileFactor::b, m, cpu, 0).bytes();
         });
         PlacedTiles together = tiles(block.rows * block.cols, [&] {
            return random_matrix(random, op.c, op.m, op.n, op.saturating ? kind : Inputs::plain)
               .data;
         });
         PlacedTiles one_by_one = together;
         block.a_step = a.step;
         block.a_row = block.depth * a.step;
         block.b_step = block.cols * b.step;
         block.b_col = b.step;
         block.d_row = block.cols * together.step;
         block.d_col = together.step;
         const TileConfiguration configuration(needs_tile_configuration(op, cpu));
         kernel(together.bytes.data(), a.bytes.data(), b.bytes.data(), together.bytes.data(),
                &block);
         const TileBlock one = {
            .depth = as_sums ? block.depth : 1, .a_step = block.a_step, .b_step = block.b_step};
         for (uint32_t i = 0; i < block.rows; i++) {
            for (uint32_t j = 0; j < block.cols; j++) {
               std::byte *d = &one_by_one.bytes[i * block.d_row + j * block.d_col];
               for (uint32_t k = 0; k < block.depth; k += one.depth)
                  kernel(d, &a.bytes[i * block.a_row + k * block.a_step],
                         &b.bytes[j * block.b_col + k * block.b_step], d, &one);
            }
         }
         ASSERT_EQ(together.bytes, one_by_one.bytes)
            << block.rows << "x" << block.cols << " sums of " << block.depth;
      }
   }
}

/// Tiles of one line or column, with K of all of them.
Matrix join(const std::vector<Matrix> &tiles, bool along_rows)
{
   const Matrix &one = tiles[0];
   const uint32_t count = uint32_t(tiles.size());
   Matrix all(one.type, one.rows * (along_rows ? 1 : count), one.cols * (along_rows ? count : 1));
   for (uint32_t row = 0; row < all.rows; row++) {
      for (uint32_t col = 0; col < all.cols; col++) {
         const Matrix &tile = tiles[along_rows ? col / one.cols : row / one.rows];
         std::memcpy(all.at(row, col), tile.at(row % one.rows, col % one.cols),
                     format(one.type).bytes);
      }
   }
   return all;
}

/// Sums that are rounded only at the end equal the oracle's result of one multiplication with a
/// long K.
TEST_P(Multiplications, OfLongSumsAreTheOracles)
{
   const CpuFeatures cpu = detect_features(isa_words()[GetParam()].limit);
   for (const MatrixOperation &op : tile_operations()) {
      if (!rounds_sums(op) && op.c == op.result && !adds_c_last(op, cpu))
         continue;
      SCOPED_TRACE(tile_muladd_symbol(op));
      const TileMulAdd kernel = find_tile_muladd(op, cpu);
      if (!kernel)
         GTEST_SKIP() << "this CPU lacks AVX2";
      for (int round = 0; round < 24; round++) {
         constexpr Inputs kinds[] = {Inputs::plain, Inputs::edges, Inputs::whole, Inputs::extremes};
         const Inputs kind = kinds[round % 4];
         const uint32_t depth = 2 + draw(random, 3);
         const Matrix c = random_matrix(random, op.c, op.m, op.n, kind);
         std::vector<Matrix> a_tiles, b_tiles;
         PlacedTiles a, b;
         for (uint32_t k = 0; k < depth; k++) {
            a_tiles.push_back(random_matrix(random, op.a, op.m, op.k, kind));
            b_tiles.push_back(random_matrix(random, op.b, op.k, op.n, kind));
            a.add(packed(op, TileFactor::a, a_tiles.back(), cpu, 0).bytes(), 0);
            b.add(packed(op, TileFactor::b, b_tiles.back(), cpu, 0).bytes(), 0);
         }
         const Expectation expected = expect(op, join(a_tiles, true), join(b_tiles, false), c, cpu);
         const TileBlock block = {.depth = depth, .a_step = a.step, .b_step = b.step};
         Matrix d(op.result, op.m, op.n);
         fill_poison(d.data);
         {
            const TileConfiguration configuration(needs_tile_configuration(op, cpu));
            kernel(d.data.data(), a.bytes.data(), b.bytes.data(), c.data.data(), &block);
         }
         const std::optional<std::string> wrong = expected.mismatch(d);
         ASSERT_FALSE(wrong) << *wrong << ", round " << round << ", " << depth << " products";
      }
   }
}

INSTANTIATE_TEST_SUITE_P(TileKernels, Multiplications,
                         testing::Range(size_t(0), isa_words().size()), [](const auto &info) {
                            std::string name(isa_words()[info.param].word);
                            std::ranges::replace(name, '-', '_');
                            return name;
                         });

/// Robust packing packs the result of a robust load.
TEST_P(Multiplications, PackWithinBounds)
{
   const CpuFeatures cpu = detect_features(isa_words()[GetParam()].limit);
   for (const MatrixOperation &op : cpu_matrix_operations()) {
      for (const TileFactor factor : {TileFactor::a, TileFactor::b}) {
         for (const TileOrder order : orders) {
            TilePack pack = {op, factor, order, true};
            if (tile_pack_symbol(pack).empty())
               continue;
            SCOPED_TRACE(tile_pack_symbol(pack));
            const bool a = factor == TileFactor::a;
            const uint32_t rows = a ? op.m : op.k, cols = a ? op.k : op.n;
            const uint32_t bytes = format(a ? op.a : op.b).bytes;
            const TileTransfer transfer = {TileAccess::load, order, true, rows, cols, bytes};
            const auto load = reinterpret_cast<TileLoadRobust>(find_tile_transfer(transfer, cpu));
            const auto pack_robust = reinterpret_cast<TileLoadRobust>(find_tile_pack(pack, cpu));
            pack.order = TileOrder::row_major;
            pack.robust = false;
            const auto pack_rows = reinterpret_cast<TileLoad>(find_tile_pack(pack, cpu));
            ASSERT_TRUE(load && pack_robust && pack_rows);
            for (int round = 0; round < 20; round++) {
               const bool row_major = order == TileOrder::row_major;
               const int64_t stride = (row_major ? cols : rows) * bytes + draw(random, 20);
               std::vector<std::byte> memory(stride * 64), tile(rows * cols * bytes);
               for (std::byte &byte : memory)
                  byte = std::byte(random());
               const uint64_t offset = draw(random, 2 * stride);
               const uint64_t size = round % 4 ? draw(random, memory.size()) : memory.size();
               std::vector<std::byte> robust(packed_bytes(op, factor)), expected(robust);
               pack_robust(robust.data(), memory.data(), offset, size, stride);
               load(tile.data(), memory.data(), offset, size, stride);
               pack_rows(expected.data(), tile.data(), cols * bytes);
               ASSERT_EQ(robust, expected);
            }
         }
      }
   }
}

/// A matrix somewhere in a buffer, and how the buffer must look after a store or the tile after a
/// load.
struct TransferCase {
   TileTransfer transfer;
   std::vector<std::byte> memory;
   int64_t stride;
   int64_t first; ///< position of component (0, 0) in memory

   int64_t position(uint32_t row, uint32_t col) const
   {
      const bool row_major = transfer.order == TileOrder::row_major;
      const int64_t line = row_major ? row : col, in_line = row_major ? col : row;
      return first + line * stride + in_line * transfer.bytes;
   }
};

TransferCase make_case(Random &random, const TileTransfer &transfer)
{
   TransferCase test;
   test.transfer = transfer;
   const bool row_major = transfer.order == TileOrder::row_major;
   const uint32_t lines = row_major ? transfer.rows : transfer.cols;
   const uint32_t line_bytes = (row_major ? transfer.cols : transfer.rows) * transfer.bytes;
   test.stride = transfer.bytes * (line_bytes / transfer.bytes + draw(random, 20));
   if (draw(random, 4) == 0)
      test.stride += draw(random, transfer.bytes); // memory is only bytes
   const size_t extent = (lines - 1) * test.stride + line_bytes;
   test.first = draw(random, 100);
   if (draw(random, 4) == 0) {
      test.stride = -test.stride;
      test.first -= (lines - 1) * test.stride;
   }
   test.memory.resize(extent + 200);
   for (std::byte &byte : test.memory)
      byte = std::byte(random());
   return test;
}

TEST_F(TileKernels, TransferEverySizeAndOrder)
{
   const CpuFeatures &cpu = host_features();
   int kernels = 0;
   for (const TileAccess access : accesses) {
      for (const TileOrder order : orders) {
         for (const uint32_t rows : sides) {
            for (const uint32_t cols : sides) {
               for (const uint32_t bytes : component_bytes) {
                  const TileTransfer transfer = {access, order, false, rows, cols, bytes};
                  void *kernel = find_tile_transfer(transfer, cpu);
                  if (!kernel)
                     continue;
                  kernels++;
                  for (int round = 0; round < 20; round++) {
                     SCOPED_TRACE(tile_transfer_symbol(transfer));
                     TransferCase test = make_case(random, transfer);
                     std::vector<std::byte> tile(rows * cols * bytes);
                     for (std::byte &byte : tile)
                        byte = std::byte(random());
                     std::vector<std::byte> expected_memory = test.memory, expected_tile = tile;
                     for (uint32_t row = 0; row < rows; row++) {
                        for (uint32_t col = 0; col < cols; col++) {
                           std::byte *in_tile = &expected_tile[(row * cols + col) * bytes];
                           std::byte *in_memory = &expected_memory[test.position(row, col)];
                           if (access == TileAccess::load)
                              std::memcpy(in_tile, in_memory, bytes);
                           else
                              std::memcpy(in_memory, in_tile, bytes);
                        }
                     }
                     if (access == TileAccess::load)
                        reinterpret_cast<TileLoad>(kernel)(
                           tile.data(), test.memory.data() + test.first, test.stride);
                     else
                        reinterpret_cast<TileStore>(kernel)(test.memory.data() + test.first,
                                                            tile.data(), test.stride);
                     ASSERT_EQ(tile, expected_tile);
                     ASSERT_EQ(test.memory, expected_memory);
                  }
               }
            }
         }
      }
   }
   EXPECT_EQ(kernels, 2 * 2 * (8 * 4 + 2));
}

TEST_F(TileKernels, RobustTransfersStayInBounds)
{
   const CpuFeatures &cpu = host_features();
   for (const TileAccess access : accesses) {
      for (const TileOrder order : orders) {
         for (const uint32_t rows : sides) {
            for (const uint32_t cols : sides) {
               for (const uint32_t bytes : component_bytes) {
                  const TileTransfer transfer = {access, order, true, rows, cols, bytes};
                  void *kernel = find_tile_transfer(transfer, cpu);
                  if (!kernel)
                     continue;
                  for (int round = 0; round < 20; round++) {
                     SCOPED_TRACE(tile_transfer_symbol(transfer));
                     TransferCase test = make_case(random, transfer);
                     // The accessible range is cut somewhere, so that it ends in the tile, before
                     // it or after.
                     const uint64_t base = draw(random, 60);
                     const uint64_t size =
                        round % 5 == 0 ? 0 : draw(random, test.memory.size() - base);
                     const uint64_t offset =
                        uint64_t(test.first) - base; // may wrap: then all is outside
                     std::vector<std::byte> tile(rows * cols * bytes);
                     fill_poison(tile);
                     std::vector<std::byte> expected_memory = test.memory, expected_tile = tile;
                     for (uint32_t row = 0; row < rows; row++) {
                        for (uint32_t col = 0; col < cols; col++) {
                           const int64_t at = test.position(row, col) - int64_t(base);
                           const bool inside = test.first >= int64_t(base) && at >= 0 &&
                                               uint64_t(at) + bytes <= size;
                           std::byte *in_tile = &expected_tile[(row * cols + col) * bytes];
                           std::byte *in_memory = &expected_memory[test.position(row, col)];
                           if (access == TileAccess::store && inside)
                              std::memcpy(in_memory, in_tile, bytes);
                           if (access == TileAccess::load)
                              inside ? std::memcpy(in_tile, in_memory, bytes)
                                     : std::memset(in_tile, 0, bytes);
                        }
                     }
                     if (access == TileAccess::load)
                        reinterpret_cast<TileLoadRobust>(kernel)(
                           tile.data(), test.memory.data() + base, offset, size, test.stride);
                     else
                        reinterpret_cast<TileStoreRobust>(kernel)(test.memory.data() + base, offset,
                                                                  size, tile.data(), test.stride);
                     ASSERT_EQ(tile, expected_tile);
                     ASSERT_EQ(test.memory, expected_memory);
                  }
               }
            }
         }
      }
   }
}

/// Offsets and strides from which sums of 64 bits wrap: places follow from unbounded numbers.
TEST_F(TileKernels, RobustTransfersSurviveAbsurdNumbers)
{
   constexpr uint32_t side = 16;
   constexpr size_t size = 64, guard = 64;
   const CpuFeatures &cpu = host_features();
   const uint64_t numbers[] = {0,          1,          63,   64, 1ull << 31, (1ull << 32) - 4,
                               1ull << 62, 1ull << 63, ~0ull};
   for (const TileAccess access : accesses) {
      for (const TileOrder order : orders) {
         for (const uint32_t bytes : component_bytes) {
            const TileTransfer transfer = {access, order, true, side, side, bytes};
            void *kernel = find_tile_transfer(transfer, cpu);
            ASSERT_NE(kernel, nullptr);
            for (const uint64_t offset : numbers) {
               for (const uint64_t stride : numbers) {
                  SCOPED_TRACE(tile_transfer_symbol(transfer) + ", offset " +
                               std::to_string(offset) + ", stride " +
                               std::to_string(int64_t(stride)));
                  std::vector<std::byte> memory(guard + size + guard), tile(side * side * bytes);
                  for (std::byte &byte : memory)
                     byte = std::byte(random());
                  // If lines overlap, any of their elements may be the last that is stored.
                  const bool overlap = stride < side * bytes || -stride < side * bytes;
                  const std::byte same = std::byte(random());
                  for (std::byte &byte : tile)
                     byte = overlap ? same : std::byte(random());
                  std::vector<std::byte> expected_memory = memory, expected_tile = tile;
                  for (uint32_t line = 0; line < side; line++) {
                     for (uint32_t i = 0; i < side; i++) {
                        const __int128 at =
                           __int128(offset) + __int128(line) * int64_t(stride) + i * bytes;
                        const bool inside = at >= 0 && at + bytes <= __int128(size);
                        const uint32_t element =
                           order == TileOrder::row_major ? line * side + i : i * side + line;
                        std::byte *in_tile = &expected_tile[element * bytes];
                        std::byte *in_memory = &expected_memory[inside ? guard + size_t(at) : 0];
                        if (access == TileAccess::store && inside)
                           std::memcpy(in_memory, in_tile, bytes);
                        if (access == TileAccess::load)
                           inside ? std::memcpy(in_tile, in_memory, bytes)
                                  : std::memset(in_tile, 0, bytes);
                     }
                  }
                  std::byte *base = memory.data() + guard;
                  if (access == TileAccess::load)
                     reinterpret_cast<TileLoadRobust>(kernel)(tile.data(), base, offset, size,
                                                              int64_t(stride));
                  else
                     reinterpret_cast<TileStoreRobust>(kernel)(base, offset, size, tile.data(),
                                                               int64_t(stride));
                  ASSERT_EQ(tile, expected_tile);
                  ASSERT_EQ(memory, expected_memory);
               }
            }
         }
      }
   }
}

TEST_F(TileKernels, HaveUniqueSymbols)
{
   const CpuFeatures &cpu = host_features();
   std::set<std::string> symbols;
   for (const MatrixOperation &op : tile_operations()) {
      const std::string symbol = tile_muladd_symbol(op);
      EXPECT_TRUE(symbols.insert(symbol).second) << symbol;
      EXPECT_EQ(find_tile_symbol(symbol, cpu), reinterpret_cast<void *>(find_tile_muladd(op, cpu)));
   }
   EXPECT_TRUE(symbols.count("weft_tile_muladd_16x16x16_f16_f16_f32_f32"));
   const MatrixOperation bytes = {
      16,  16, 32, ComponentType::s8, ComponentType::s8, ComponentType::s32, ComponentType::s32,
      true};
   const TilePack pack = {bytes, TileFactor::b, TileOrder::column_major, true};
   EXPECT_EQ(tile_pack_symbol(pack), "weft_tile_pack_b_column_16x16x32_s8_s8_robust");
   EXPECT_EQ(find_tile_symbol(tile_pack_symbol(pack), cpu), find_tile_pack(pack, cpu));
   const TileTransfer transfer = {TileAccess::load, TileOrder::column_major, true, 16, 8, 2};
   EXPECT_EQ(tile_transfer_symbol(transfer), "weft_tile_load_column_16x8_2_robust");
   EXPECT_EQ(find_tile_symbol("weft_tile_load_column_16x8_2_robust", cpu),
             find_tile_transfer(transfer, cpu));
   EXPECT_EQ(find_tile_symbol("weft_tile_load_column_16x9_2", cpu), nullptr);
   const MatrixOperation unknown = {
      16,   16, 16, ComponentType::f16, ComponentType::f32, ComponentType::f32, ComponentType::f32,
      false};
   EXPECT_EQ(tile_muladd_symbol(unknown), "");
   EXPECT_EQ(find_tile_muladd(unknown, cpu), nullptr);
}

} // namespace
} // namespace weft::cpu
