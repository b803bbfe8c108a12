// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrix loads and stores: every advertised matrix type × where the memory is × the type its
/// pointer points to, over layouts, strides, offsets and subgroup sizes.  A matrix goes from one
/// buffer to another unchanged; nothing else of the second may change.

#include "tests/e2e/cmat.h"
#include "tests/e2e/memory_access.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::e2e {

namespace {

/// The element type of the array that a load or store points into.
struct Pointee {
   const char *glsl;
   ComponentType scalar;
   uint32_t components;

   uint32_t bytes() const { return oracle::format(scalar).bytes * components; }
};

constexpr Pointee pointees[] = {
   {"int8_t", ComponentType::s8, 1},     {"uint8_t", ComponentType::u8, 1},
   {"int16_t", ComponentType::s16, 1},   {"uint16_t", ComponentType::u16, 1},
   {"int", ComponentType::s32, 1},       {"uint", ComponentType::u32, 1},
   {"int64_t", ComponentType::s64, 1},   {"uint64_t", ComponentType::u64, 1},
   {"float16_t", ComponentType::f16, 1}, {"float", ComponentType::f32, 1},
   {"double", ComponentType::f64, 1},    {"i8vec2", ComponentType::s8, 2},
   {"u8vec4", ComponentType::u8, 4},     {"u16vec2", ComponentType::u16, 2},
   {"i16vec4", ComponentType::s16, 4},   {"uvec2", ComponentType::u32, 2},
   {"uvec4", ComponentType::u32, 4},     {"u64vec2", ComponentType::u64, 2},
   {"f16vec2", ComponentType::f16, 2},   {"f16vec4", ComponentType::f16, 4},
   {"vec2", ComponentType::f32, 2},      {"vec4", ComponentType::f32, 4},
   {"dvec2", ComponentType::f64, 2},
};

struct MemoryCase {
   MatrixType matrix;
   Storage storage;
   Pointee pointee;
   bool load_column_major, store_column_major;
   /// Offset and stride come from push constants, or are constants of the shader.
   bool dynamic;
   uint32_t subgroup_size;

   std::string name() const
   {
      return matrix.name() + " in " + storage_name(storage) + " of " + pointee.glsl + ", loaded " +
             (load_column_major ? "column" : "row") + "-major, stored " +
             (store_column_major ? "column" : "row") + "-major, subgroup size " +
             std::to_string(subgroup_size);
   }
};

struct Push {
   uint32_t load_at, load_stride, store_at, store_stride; ///< in pointees
   uint64_t from, to;                                     ///< addresses
};

/// The size of each buffer: a matrix padded to the largest stride, with room behind it. Most types
/// get the size for a 16×16 matrix of f64.
uint32_t memory_bytes(const MatrixType &type)
{
   constexpr uint32_t largest_padding = 5 * 32, largest_offset = 8 * 32;
   uint32_t bytes = 8192;
   for (const bool column_major : {false, true}) {
      const uint32_t lines = column_major ? type.cols : type.rows;
      bytes = std::max(bytes, largest_offset +
                                 lines * (line_bytes(type, column_major) + largest_padding + 32));
   }
   return bytes;
}

const char *const text = R"(
layout(local_size_x = $SIZE) in;
layout(push_constant, std430) uniform Push {
   uint load_at, load_stride, store_at, store_stride;
   uvec2 from, to;
} push;
$BLOCKS
void main()
{
   $MATRIX m;
   $COPY_IN
   coopMatLoad(m, $FROM, $LOAD_AT, $LOAD_STRIDE, $LOAD_LAYOUT);
   coopMatStore(m, $TO, $STORE_AT, $STORE_STRIDE, $STORE_LAYOUT);
   $COPY_OUT
}
)";

std::string shader_text(const MemoryCase &c, const Placement &load, const Placement &store)
{
   const auto access = [&](const char *buffer, const char *address) {
      return MemoryAccess{.storage = c.storage,
                          .pointee = c.pointee.glsl,
                          .buffer = buffer,
                          .address = address,
                          .shared_size =
                             std::to_string(memory_bytes(c.matrix) / c.pointee.bytes())};
   };
   const MemoryAccess source = access("source", "push.from"), target = access("target", "push.to");
   Words words = {
      {"SIZE", std::to_string(c.subgroup_size)},
      {"BLOCKS", buffer_block(0, c.pointee.glsl, "source") +
                    buffer_block(1, c.pointee.glsl, "target") + source.declarations() +
                    target.declarations()},
      {"MATRIX", c.matrix.glsl()},
      {"LOAD_LAYOUT", load.glsl_layout()},
      {"STORE_LAYOUT", store.glsl_layout()},
      {"FROM", source.array()},
      {"TO", target.array()},
      {"COPY_IN", source.copy_in() + target.copy_in()},
      {"COPY_OUT", target.copy_out()},
   };
   if (c.dynamic) {
      words.insert({{"LOAD_AT", "push.load_at"},
                    {"LOAD_STRIDE", "push.load_stride"},
                    {"STORE_AT", "push.store_at"},
                    {"STORE_STRIDE", "push.store_stride"}});
   } else {
      const auto in_pointees = [&](uint32_t bytes) {
         return std::to_string(bytes / c.pointee.bytes()) + "u";
      };
      words.insert({{"LOAD_AT", in_pointees(load.offset)},
                    {"LOAD_STRIDE", in_pointees(load.stride)},
                    {"STORE_AT", in_pointees(store.offset)},
                    {"STORE_STRIDE", in_pointees(store.stride)}});
   }
   return std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" + expand(text, words);
}

class MemorySweep {
public:
   MemorySweep(Device &device, oracle::Random &random, uint32_t bytes)
       : device(device), random(random), source(device, bytes), target(device, bytes)
   {
   }

   void run(const MemoryCase &c)
   {
      SCOPED_TRACE(c.name());
      if (!offered(c))
         return;
      // With constants, the pipeline has one placement; without constants, it runs three.
      Placement load = placement(c, c.load_column_major),
                store = placement(c, c.store_column_major);
      const std::string source_text = shader_text(c, load, store);
      if (const std::string why = inexpressible(source_text); !why.empty())
         return skip_case(why);
      const std::vector<uint32_t> spirv = compile_glsl(source_text);
      Pipeline pipeline(device, spirv,
                        {.bindings = {1, 1},
                         .push_bytes = sizeof(Push),
                         .subgroup_size = c.subgroup_size,
                         .spec_constants = {}});
      for (int round = 0; round < (c.dynamic ? 3 : 1); round++) {
         transfer(c, pipeline, load, store);
         load = placement(c, c.load_column_major);
         store = placement(c, c.store_column_major);
         if (testing::Test::HasFailure())
            return;
      }
   }

private:
   bool offered(const MemoryCase &c)
   {
      for (ComponentType type : {c.matrix.type, c.pointee.scalar}) {
         if (const std::string missing = missing_feature(device, type); !missing.empty()) {
            skip_case("needs " + missing);
            return false;
         }
      }
      if (c.storage == Storage::reference && !device.features12.bufferDeviceAddress) {
         skip_case("needs bufferDeviceAddress");
         return false;
      }
      if (c.storage == Storage::shared &&
          device.properties.limits.maxComputeSharedMemorySize < 2 * memory_bytes(c.matrix)) {
         skip_case("needs more shared memory");
         return false;
      }
      return true;
   }

   Placement placement(const MemoryCase &c, bool column_major)
   {
      return random_placement(random, c.matrix, column_major, c.pointee.bytes());
   }

   void transfer(const MemoryCase &c, Pipeline &pipeline, const Placement &load,
                 const Placement &store)
   {
      const uint32_t unit = c.pointee.bytes();
      SCOPED_TRACE("loaded at byte " + std::to_string(load.offset) + " with stride " +
                   std::to_string(load.stride) + ", stored at byte " +
                   std::to_string(store.offset) + " with stride " + std::to_string(store.stride));
      ASSERT_LE(std::max(extent(c.matrix, load), extent(c.matrix, store)), memory_bytes(c.matrix));
      const oracle::Matrix matrix = random_matrix(random, c.matrix, oracle::Inputs::bits);
      oracle::fill_poison(source.bytes());
      place(matrix, c.matrix, load, source.bytes());
      // A separate pattern, so that a neighbour that was read by mistake differs from an untouched
      // byte.
      oracle::fill_random(random, ComponentType::u32, oracle::Inputs::plain, target.bytes());
      const std::vector<std::byte> before(target.bytes().begin(), target.bytes().end());

      const bool addresses = c.storage == Storage::reference;
      const Push push = {load.offset / unit,
                         load.stride / unit,
                         store.offset / unit,
                         store.stride / unit,
                         addresses ? source.address() : 0,
                         addresses ? target.address() : 0};
      pipeline.dispatch({source, target}, {}, push);
      count_case();
      expect_same_bits(c, matrix, store, before);
   }

   /// Compares bit by bit: a copy must not quieten a NaN or lose the sign of zero.
   void expect_same_bits(const MemoryCase &c, const oracle::Matrix &matrix, const Placement &store,
                         const std::vector<std::byte> &before)
   {
      EXPECT_TRUE(
         stored_as_expected(oracle::Expectation(matrix), c.matrix, store, target.bytes(), before));
      EXPECT_EQ(pick(c.matrix, store, target.bytes()).data, matrix.data) << "bits differ";
   }

   Device &device;
   oracle::Random &random;
   Buffer source, target;
};

/// The pointee's own elements must be able to hold whole lines and steps of the matrix.
bool suits(const MatrixType &matrix, const Pointee &pointee)
{
   return line_bytes(matrix, false) % pointee.bytes() == 0 &&
          line_bytes(matrix, true) % pointee.bytes() == 0;
}

/// The code that moves a matrix depends on its shape and the size of its components. Only the first
/// of several types with the same shape and size is tested with every pointee.
bool is_first_of_its_kind(const std::vector<MatrixType> &types, const MatrixType &matrix)
{
   const auto alike = [&](const MatrixType &earlier) {
      return earlier.rows == matrix.rows && earlier.cols == matrix.cols &&
             earlier.use == matrix.use && earlier.component_bytes() == matrix.component_bytes();
   };
   return *std::ranges::find_if(types, alike) == matrix;
}

void sweep(Storage storage)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   const std::vector<MatrixType> types = matrix_types(device, SmallFloats::with);
   if (types.empty())
      GTEST_SKIP() << "no cooperative matrices";
   uint32_t bytes = 0;
   for (const MatrixType &type : types)
      bytes = std::max(bytes, memory_bytes(type));
   MemorySweep run(device, random, bytes);
   uint32_t turn = 0;
   for (const MatrixType &matrix : types) {
      const bool first_of_its_kind = is_first_of_its_kind(types, matrix);
      for (const Pointee &pointee : pointees) {
         // Pointees of the matrix's own type get all four pairs of layouts, all other pointees one
         // pair each.
         const bool same = pointee.scalar == matrix.type && pointee.components == 1;
         if (!same && !first_of_its_kind && oracle::draw(random, 8) != 0)
            continue;
         for (uint32_t i = 0; suits(matrix, pointee) && i < (same ? 4u : 1u); i++, turn++) {
            if (!selected(random))
               continue;
            const uint32_t layouts = same ? i : oracle::draw(random, 4);
            run.run({matrix, storage, pointee, bool(layouts & 1), bool(layouts & 2),
                     oracle::draw(random, 2) != 0, sizes[turn % sizes.size()]});
            if (testing::Test::HasFailure())
               return;
         }
      }
   }
}

} // namespace

TEST(CmatMemory, StorageBuffer)
{
   sweep(Storage::buffer);
}

TEST(CmatMemory, SharedMemory)
{
   sweep(Storage::shared);
}

TEST(CmatMemory, BufferReference)
{
   sweep(Storage::reference);
}

} // namespace weft::e2e
