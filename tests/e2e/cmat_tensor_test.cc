// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares loads and stores of matrices through random tensor layouts and views with the model in
/// tests/oracle/tensor.h.

#include "tests/e2e/cmat_tensor.h"
#include "tests/e2e/spirv_edits.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace weft::e2e {
namespace tensor {
namespace {

using oracle::draw;

class Sweep {
public:
   Sweep(Device &device, oracle::Random &random) : device(device), random(random) {}

   void run(const Variant &v)
   {
      std::vector<Case> cases;
      for (uint32_t i = 0; i < (v.literal ? 1 : 16); i++)
         cases.push_back(draw_case(random, v));
      run(v, cases);
   }

   void run(const Variant &v, const std::vector<Case> &cases)
   {
      SCOPED_TRACE(v.name());
      const uint32_t count = uint32_t(cases.size());
      const std::string source = shader_text(v, cases[0]);
      if (const std::string why = inexpressible(source); !why.empty())
         return skip_case(why);
      std::vector<uint32_t> spirv = compile_glsl(source);
      if (v.vector) {
         ASSERT_EQ(add_vector_decode_functions(spirv), 1u);
      }
      Pipeline pipeline(device, spirv,
                        {.bindings = {1, 1, 1, 1},
                         .push_bytes = 8,
                         .subgroup_size = v.subgroup_size,
                         .spec_constants = {}});

      const uint32_t elements = v.matrix.rows * v.matrix.cols,
                     matrix_bytes = elements * v.matrix.component_bytes();
      Buffer memory(device, count * region_bytes), objects(device, count * matrix_bytes),
         results(device, count * matrix_bytes),
         numbers(device, count * case_words * sizeof(uint32_t));
      oracle::fill_random(random, ComponentType::u32, oracle::Inputs::bits, memory.bytes());
      oracle::fill_random(random, v.matrix.type, oracle::Inputs::bits, objects.bytes());
      oracle::fill_poison(results.bytes());
      for (uint32_t i = 0; i < count; i++)
         std::copy(cases[i].numbers.begin(), cases[i].numbers.end(),
                   numbers.as<uint32_t>().begin() + i * case_words);
      const std::vector<std::byte> before(memory.bytes().begin(), memory.bytes().end());

      const uint64_t address = v.storage == Storage::reference ? memory.address() : 0;
      pipeline.dispatch({memory, objects, results, numbers}, {count}, address);

      for (uint32_t i = 0; i < count; i++) {
         count_case();
         const auto part = [&](std::span<const std::byte> bytes, size_t size) {
            return bytes.subspan(i * size, size);
         };
         const auto object = part(objects.bytes(), matrix_bytes);
         if (v.kind == Kind::store)
            check_store(v, cases[i], object, part(before, region_bytes),
                        part(memory.bytes(), region_bytes));
         else
            check_load(v, cases[i], object, part(before, region_bytes),
                       part(results.bytes(), matrix_bytes));
         if (testing::Test::HasFailure()) {
            ADD_FAILURE() << "case " << i << ":" << describe(cases[i]);
            return;
         }
      }
   }

private:
   oracle::TensorPlace place(const Variant &v, const Case &c, uint32_t row, uint32_t col)
   {
      return oracle::tensor_place(c.layout, v.views == Views::none ? nullptr : &c.view,
                                  v.kind == Kind::store ? oracle::Access::store
                                                        : oracle::Access::load,
                                  row, col, v.matrix.cols);
   }

   void check_load(const Variant &v, const Case &c, std::span<const std::byte> object,
                   std::span<const std::byte> memory, std::span<const std::byte> result)
   {
      const uint32_t bytes = v.matrix.component_bytes();
      for (uint32_t i = 0; i < v.matrix.rows * v.matrix.cols; i++) {
         const uint32_t row = i / v.matrix.cols, col = i % v.matrix.cols;
         const oracle::TensorPlace at = place(v, c, row, col);
         std::array<std::byte, 8> expected = {};
         const char *origin = "of the object";
         if (const auto *there = std::get_if<oracle::InMemory>(&at)) {
            origin = "in memory";
            const std::byte *from = &memory[there->index * v.unit()];
            if (v.format)
               oracle::encode_int(v.matrix.type, 0, expected.data()),
                  oracle::encode_number(
                     v.matrix.type, decoded(*v.format, *there, from) ^ (v.marks ? vector_mark : 0),
                     expected.data());
            else
               memcpy(expected.data(), from, bytes);
         } else if (std::holds_alternative<oracle::Constant>(at)) {
            origin = "the clamp value";
            memcpy(expected.data(), &c.layout.clamp_value, 4);
         } else {
            memcpy(expected.data(), &object[i * bytes], bytes);
         }
         if (memcmp(expected.data(), &result[i * bytes], bytes) != 0) {
            ADD_FAILURE() << "element " << row << ", " << col << " is "
                          << hex(&result[i * bytes], bytes) << ", expected "
                          << hex(expected.data(), bytes) << ", " << origin;
            return;
         }
      }
   }

   void check_store(const Variant &v, const Case &c, std::span<const std::byte> object,
                    std::span<const std::byte> before, std::span<const std::byte> after)
   {
      const uint32_t bytes = v.matrix.component_bytes();
      // Several elements may go to the same place: any of them is right.
      std::vector<std::vector<uint32_t>> writers(region_bytes / bytes);
      for (uint32_t i = 0; i < v.matrix.rows * v.matrix.cols; i++) {
         const oracle::TensorPlace at = place(v, c, i / v.matrix.cols, i % v.matrix.cols);
         if (const auto *there = std::get_if<oracle::InMemory>(&at))
            writers.at(there->index).push_back(i);
      }
      for (uint32_t at = 0; at < writers.size(); at++) {
         const auto holds = [&](const std::byte *value) {
            return memcmp(&after[at * bytes], value, bytes) == 0;
         };
         const bool right = writers[at].empty() ? holds(&before[at * bytes])
                                                : std::ranges::any_of(writers[at], [&](uint32_t i) {
                                                     return holds(&object[i * bytes]);
                                                  });
         if (!right) {
            ADD_FAILURE() << "place " << at << " is " << hex(&after[at * bytes], bytes) << ", was "
                          << hex(&before[at * bytes], bytes)
                          << ", stored there: " << writers[at].size() << " elements"
                          << (writers[at].empty() ? "" : ", one of them ")
                          << (writers[at].empty() ? ""
                                                  : hex(&object[writers[at][0] * bytes], bytes));
            return;
         }
      }
   }

   static uint32_t decoded(const BlockFormat &format, const oracle::InMemory &at,
                           const std::byte *block)
   {
      uint32_t x = 1;
      for (uint32_t i = 0; i < at.block.size(); i++)
         x = (x * 31 + at.block[i]) * 17 + at.in_block[i];
      return (format.value(reinterpret_cast<const uint8_t *>(block), x) ^ x) & 127;
   }

   static std::string hex(const std::byte *bytes, uint32_t count)
   {
      char out[20] = "0x";
      for (uint32_t i = 0; i < count; i++)
         snprintf(out + 2 + 2 * i, 3, "%02x", unsigned(bytes[count - 1 - i]));
      return out;
   }

   static std::string list(const auto &numbers)
   {
      std::string out;
      for (auto n : numbers)
         out += (out.empty() ? "" : " ") + std::to_string(int32_t(n));
      return "(" + out + ")";
   }

   static std::string describe(const Case &c)
   {
      return " blocks " + list(c.layout.block_size) + " dimensions " + list(c.layout.dimension) +
             " strides " + list(c.layout.stride) + " offsets " + list(c.layout.offset) + " spans " +
             list(c.layout.span) + "; view dimensions " + list(c.view.dimension) + " strides " +
             list(c.view.stride) + " permutation " + list(c.view.permutation) + " clip " +
             list(Numbers{c.view.clip_row_offset, c.view.clip_row_span, c.view.clip_col_offset,
                          c.view.clip_col_span});
   }

   Device &device;
   oracle::Random &random;
};

/// A matrix of another size, of a subgroup or a workgroup, from the device's list of flexible
/// sizes.
void draw_flexible(const Device &device, oracle::Random &random, Variant &v)
{
   std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> rows;
   std::ranges::copy_if(device.flexible_properties, std::back_inserter(rows),
                        [&](const auto &p) { return ComponentType(p.AType) == v.matrix.type; });
   if (rows.empty())
      return;
   const auto &row = rows[draw(random, uint32_t(rows.size()))];
   const auto size = [&](uint32_t unit) { return unit * between(random, 1, 40 / unit); };
   v.matrix.use = Use::a;
   v.matrix.rows = size(row.MGranularity);
   v.matrix.cols = size(row.KGranularity);
   if (ComponentType(row.BType) == v.matrix.type && draw(random, 2)) {
      v.matrix = {v.matrix.type, size(row.KGranularity), size(row.NGranularity), Use::b};
   } else if (ComponentType(row.CType) == v.matrix.type && draw(random, 2)) {
      v.matrix = {v.matrix.type, size(row.MGranularity), size(row.NGranularity), Use::accumulator};
   }
   v.workgroup = row.scope == VK_SCOPE_WORKGROUP_KHR ? row.workgroupInvocations : 0;
}

/// Runs all numbers of dimensions × clamp modes × kinds of views. Matrix types, subgroup sizes and
/// all else are random.
void sweep(Kind kind, bool vectors = false)
{
   Device &device = plain_device();
   const VkPhysicalDeviceCooperativeMatrix2FeaturesNV &features = device.matrix2_features;
   if (vectors && !device.decode_vector_features.cooperativeMatrixDecodeVector) {
      skip_case("needs VK_NV_cooperative_matrix_decode_vector");
      GTEST_SKIP();
   }
   if (!features.cooperativeMatrixTensorAddressing ||
       (kind == Kind::decode && !features.cooperativeMatrixBlockLoads)) {
      skip_case("needs tensor addressing of VK_NV_cooperative_matrix2");
      GTEST_SKIP();
   }
   oracle::Random random = test_random();
   std::vector<MatrixType> types;
   for (const MatrixType &type :
        matrix_types(device, vectors ? SmallFloats::with : SmallFloats::without)) {
      if (missing_feature(device, type.type).empty())
         types.push_back(type);
   }
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   const bool references = device.features12.bufferDeviceAddress;
   const bool bytes =
      device.features12.storageBuffer8BitAccess && device.features11.storageBuffer16BitAccess;
   if (types.empty() || (kind == Kind::decode && !bytes)) {
      skip_case("needs matrices, and bytes in buffers");
      GTEST_SKIP();
   }

   // NVIDIA's driver 580 loads some elements of larger blocks from elsewhere, and takes other
   // blocks where their size has to be rounded up.
   const bool blocks = !is_of_another_driver(device, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
   Sweep run(device, random);
   for (uint32_t dim = 1; dim <= 5; dim++) {
      for (Clamp clamp :
           {Clamp::undefined, Clamp::constant, Clamp::edge, Clamp::repeat, Clamp::mirror}) {
         for (Views views : {Views::none, Views::of_span, Views::of_dimensions}) {
            if (!selected(random, 4))
               continue;
            Variant v = {
               .matrix = types[draw(random, uint32_t(types.size()))],
               .kind = kind,
               .dim = dim,
               .clamp = clamp,
               .views = views,
               .view_dim = views == Views::of_dimensions ? between(random, 1, 5) : dim,
               .permutation = {},
               .storage = Storage(draw(random, kind == Kind::decode ? 2 : 3)),
               .wide_pointee = draw(random, 4) == 0,
               .format =
                  kind == Kind::decode ? &block_formats()[draw(random, blocks ? 4 : 2)] : nullptr,
               .literal = draw(random, 4) == 0,
               .blocks = blocks,
               .subgroup_size = sizes[draw(random, uint32_t(sizes.size()))],
            };
            if (v.storage == Storage::reference && !references)
               v.storage = Storage::buffer;
            if (vectors) {
               v.vector = 2u << draw(random, 3);
               if (draw(random, 2))
                  draw_flexible(device, random, v);
            }
            v.permutation.resize(v.view_dim);
            std::iota(v.permutation.begin(), v.permutation.end(), 0);
            std::ranges::shuffle(v.permutation, random);
            run.run(v);
            if (testing::Test::HasFailure())
               return;
         }
      }
   }
}

} // namespace
} // namespace tensor

using namespace tensor;

TEST(CmatTensor, Load)
{
   sweep(Kind::load);
}

TEST(CmatTensor, Store)
{
   sweep(Kind::store);
}

TEST(CmatTensor, LoadWithDecodeFunction)
{
   sweep(Kind::decode);
}

TEST(CmatTensor, LoadWithVectorDecodeFunction)
{
   sweep(Kind::decode, true);
}

/// Weights in blocks of 32 along a line, as programs have them. If all lines fit, the driver calls
/// only the vector function, whose values differ here.
TEST(CmatTensor, CallsTheVectorDecodeFunction)
{
   Device &device = plain_device();
   if (!device.is_weft || device.has_weft_layer ||
       !device.decode_vector_features.cooperativeMatrixDecodeVector) {
      skip_case("needs Weft's own driver");
      GTEST_SKIP();
   }
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   Sweep run(device, random);
   // Lines of whole blocks, or of equal parts of one.
   const auto fits = [](uint32_t length) { return length % 32 == 0 || 32 % length == 0; };
   for (const MatrixType &type : matrix_types(device)) {
      if (!fits(type.rows) && !fits(type.cols)) {
         skip_case("matrices without lines of whole blocks");
         continue;
      }
      if (!missing_feature(device, type.type).empty() || draw(random, 3) || !selected(random, 4))
         continue;
      Variant v = {
         .matrix = type,
         .kind = Kind::decode,
         .dim = 2,
         .clamp = Clamp(draw(random, 5)),
         .views = Views(draw(random, 2)),
         .view_dim = 2,
         .permutation = {0, 1},
         .storage = Storage::buffer,
         .wide_pointee = false,
         .format = &block_formats()[1],
         .literal = false,
         .blocks = true,
         .subgroup_size = sizes[draw(random, uint32_t(sizes.size()))],
         .vector = 2u << draw(random, 3),
         .marks = true,
      };
      if (draw(random, 2)) {
         Variant flexible = v;
         draw_flexible(device, random, flexible);
         if (fits(flexible.matrix.rows) || fits(flexible.matrix.cols))
            v = flexible;
      }
      uint32_t lines = v.matrix.rows, length = v.matrix.cols;
      const bool may_turn = v.views == Views::of_span && fits(lines);
      if (!fits(length) || (may_turn && draw(random, 2))) {
         v.views = Views::of_span;
         v.permutation = {1, 0};
         std::swap(lines, length);
      }
      Case c = {TensorLayout(2, v.clamp), TensorView(2, false, v.permutation)};
      const Numbers block = {1, 32}, dimension = {lines + 3, length + 64},
                    offset = {draw(random, 4), std::min(length, 32u) * draw(random, 3)},
                    span = {lines, length};
      c.layout.set_block_size(block);
      c.layout.set_dimension(dimension);
      c.layout.slice(offset, span);
      const std::pair<Place, Numbers> numbers[] = {
         {at_block, block}, {at_dimension, dimension}, {at_offset, offset}, {at_span, span}};
      for (const auto &[place, values] : numbers)
         std::ranges::copy(values, c.numbers.begin() + place);
      run.run(v, {c});
      if (testing::Test::HasFailure())
         return;
   }
}

} // namespace weft::e2e
