// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Filters with a second version for the interior of their image, against C++.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace weft::cpu {
namespace {

/// A way to find the coordinate of a read in one dimension, from that of the invocation.
struct Coordinate {
   const char *name;
   const char *glsl; ///< an int, from the ints `x` and `size`
   std::function<int32_t(int32_t x, int32_t size)> oracle;
};

int32_t clamped(int32_t x, int32_t size)
{
   return std::clamp(x, 0, size - 1);
}

/// As GLSL adds: modulo 2^32.
int32_t sum(int32_t x, uint32_t more)
{
   return int32_t(uint32_t(x) + more);
}

const Coordinate coordinates[] = {
   {"Clamp", "clamp(x, 0, size - 1)", clamped},
   {"MinFirst", "max(min(x, size - 1), 0)", clamped},
   {"Unsigned", "int(min(uint(x), uint(size - 1)))",
    [](int32_t x, int32_t size) { return int32_t(std::min(uint32_t(x), uint32_t(size - 1))); }},
   {"NearTheGreatest", "clamp(x + 0x7ffffff0, 0, size - 1)",
    [](int32_t x, int32_t size) { return clamped(sum(x, 0x7ffffff0), size); }},
   {"NearMinusOne", "int(min(uint(x) + 0xfffffff0u, uint(size - 1)))",
    [](int32_t x, int32_t size) {
       return int32_t(std::min(uint32_t(sum(x, 0xfffffff0)), uint32_t(size - 1)));
    }},
   {"Float", "int(clamp(floor(float(x) + 0.5), 0.0, float(size - 1)))", clamped},
   {"ClampOfFloat", "clamp(int(floor(float(x) + 0.5)), 0, size - 1)", clamped},
   {"Scaled", "int(clamp(floor((float(x) + 0.5) * 0.75), 0.0, float(size - 1)))",
    [](int32_t x, int32_t size) {
       return clamped(int32_t(std::floor((float(x) + 0.5f) * 0.75f)), size);
    }},
   {"Negative", "clamp(size - 1 - x, 0, size - 1)",
    [](int32_t x, int32_t size) { return clamped(size - 1 - x, size); }},
   {"EverySecond", "clamp(x * 2, 0, size - 1)",
    [](int32_t x, int32_t size) { return clamped(x * 2, size); }},
};

constexpr int32_t last_row = 40;

/// Too much code to be executed without its branch.
uint32_t hash(uint32_t x)
{
   for (int i = 0; i < 12; i++)
      x = x * 1664525 + (x >> 7);
   return x;
}

struct Tap {
   int32_t x, y;
   uint32_t weight;
};

struct Filter {
   const Coordinate &coordinate;
   uint32_t local[2], subgroup_size;
   std::vector<Tap> taps;
   bool checks_reads = false;    ///< rows after last_row have hashes instead of texels
   bool returns_outside = false; ///< invocations outside of the image write nothing
   std::string behind = "";      ///< statements behind the reads

   std::string glsl() const
   {
      std::string reads;
      for (const auto &[x, y, weight] : taps) {
         const std::string place = std::to_string(x) + ", " + std::to_string(y);
         reads += "   sum = sum * 5 + " + std::to_string(weight) + "u * texel(at + ivec2(" + place +
                  "));\n";
      }
      return "layout(local_size_x = " + std::to_string(local[0]) +
             ", local_size_y = " + std::to_string(local[1]) + R"() in;
layout(push_constant, std430) uniform Push { ivec2 size; } push;
layout(set = 0, binding = 0) readonly buffer From { uint from[]; };
layout(set = 0, binding = 1) buffer To { uint to[]; };
int find(int x, int size) { return )" +
             coordinate.glsl + R"(; }
uint hash(uint x)
{
   for (int i = 0; i < 12; i++)
      x = x * 1664525 + (x >> 7);
   return x;
}
uint texel(ivec2 at)
{
   at = ivec2(find(at.x, push.size.x), find(at.y, push.size.y));
   )" + (checks_reads ? "if (at.y > " + std::to_string(last_row) + ") return hash(at.x);" : "") +
             R"(
   return from[at.y * push.size.x + at.x];
}
void main()
{
   const ivec2 at = ivec2(gl_GlobalInvocationID.xy);
   )" + (returns_outside ? "if (any(greaterThanEqual(at, push.size))) return;" : "") +
             R"(
   uint sum = 0;
)" + reads + behind +
             R"(
   to[at.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x + at.x] += sum;
})";
   }
};

struct Size {
   int32_t width, height;
};

std::mt19937 &random_source()
{
   static std::mt19937 random{uint32_t(test::test_seed())};
   return random;
}

uint32_t any_below(uint32_t limit)
{
   return random_source()() % limit;
}

std::vector<Tap> random_taps(size_t count)
{
   std::vector<Tap> taps(count);
   for (Tap &tap : taps)
      tap = {int32_t(any_below(7)) - 3, int32_t(any_below(7)) - 3, any_below(1000)};
   return taps;
}

void expect_right(const Filter &filter, const Size &size, const std::array<uint32_t, 3> &groups)
{
   const std::string glsl = filter.glsl();
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + glsl);
   const runner::BufferPlace places[] = {{0, 0}, {0, 1}};
   const auto program =
      runner::compile({spirv, "main", {}}, places, {.subgroup_size = filter.subgroup_size});
   ASSERT_TRUE(program) << program.error().message;

   std::vector<uint32_t> from(size_t(size.width) * size.height);
   for (uint32_t &texel : from)
      texel = uint32_t(random_source()());
   const uint32_t columns = groups[0] * filter.local[0], rows = groups[1] * filter.local[1];
   std::vector<uint32_t> to(size_t(columns) * rows, 77), expected = to;
   for (uint32_t i = 0; i < to.size(); i++) {
      const int32_t x = int32_t(i % columns), y = int32_t(i / columns);
      if (filter.returns_outside && (x >= size.width || y >= size.height))
         continue;
      uint32_t result = 0;
      for (const Tap &tap : filter.taps) {
         const int32_t column = filter.coordinate.oracle(x + tap.x, size.width),
                       row = filter.coordinate.oracle(y + tap.y, size.height);
         const uint32_t texel = filter.checks_reads && row > last_row
                                   ? hash(uint32_t(column))
                                   : from[size_t(row) * size.width + column];
         result = result * 5 + tap.weight * texel;
      }
      expected[i] += result;
   }

   const runner::BufferView views[] = {{places[0], std::as_writable_bytes(std::span(from))},
                                       {places[1], std::as_writable_bytes(std::span(to))}};
   const int32_t push[] = {size.width, size.height};
   Executor executor(2);
   ASSERT_TRUE(runner::execute(executor, **program, views, groups, std::as_bytes(std::span(push))));
   EXPECT_EQ(to, expected) << glsl << size.width << " x " << size.height << ", subgroups of "
                           << filter.subgroup_size;
}

class Interior : public testing::TestWithParam<size_t> {
protected:
   const Coordinate &coordinate() const { return coordinates[GetParam()]; }
};

constexpr std::array<uint32_t, 2> workgroups[] = {{16, 16}, {8, 8}, {64, 1}, {32, 4}, {5, 7}};

TEST_P(Interior, RandomFilters)
{
   for (const auto &[x, y] : workgroups) {
      const uint32_t sizes[] = {8, 16, 32, 64};
      Filter filter = {coordinate(), {x, y}, sizes[any_below(4)], random_taps(6 + any_below(4))};
      filter.checks_reads = any_below(2);
      filter.returns_outside = any_below(2);
      // Smaller than a workgroup, and larger with an interior.
      expect_right(filter, {1 + int32_t(any_below(20)), 1 + int32_t(any_below(20))}, {3, 3, 1});
      expect_right(filter, {40 + int32_t(any_below(60)), 40 + int32_t(any_below(30))},
                   {DIV_ROUND_UP(100, x), DIV_ROUND_UP(70, y), 1});
   }
}

INSTANTIATE_TEST_SUITE_P(Coordinates, Interior, testing::Range(size_t(0), std::size(coordinates)),
                         [](const testing::TestParamInfo<size_t> &param) {
                            return std::string(coordinates[param.param].name);
                         });

CompileOptions with_subgroups_of_32()
{
   CompileOptions options;
   options.subgroup_size = 32;
   return options;
}

bool has_two_versions(const Filter &filter)
{
   return count(dump_of_shader(filter.glsl(), 2, "nir", with_subgroups_of_32()), "@vote_all") > 0;
}

/// Of as many different reads as a second version needs.
Filter typical_filter(const Coordinate &coordinate = coordinates[0])
{
   return {coordinate,
           {16, 16},
           32,
           {{-1, 0, 1}, {0, 0, 2}, {1, 0, 3}, {-1, 1, 4}, {0, 1, 5}, {1, 1, 6}}};
}

TEST(InteriorVersion, OfEachKindOfCoordinate)
{
   for (const Coordinate &coordinate : coordinates) {
      Filter filter = typical_filter(coordinate);
      EXPECT_TRUE(has_two_versions(filter)) << coordinate.name;
      filter.checks_reads = filter.returns_outside = true;
      EXPECT_TRUE(has_two_versions(filter)) << coordinate.name;
   }
}

TEST(InteriorVersion, HasNoClamps)
{
   const std::string nir =
      dump_of_shader(typical_filter().glsl(), 2, "nir", with_subgroups_of_32());
   const size_t begin = nir.find("@vote_all"), end = nir.find("} else {", begin);
   ASSERT_NE(end, std::string::npos) << nir;
   const std::string interior = nir.substr(begin, end - begin);
   EXPECT_EQ(count(interior, "@load_ssbo"), 7u); // and the sum's old value
   EXPECT_EQ(count(interior, " imin ") + count(interior, " imax "), 0u) << interior;
}

TEST(InteriorVersion, NotOfFewReads)
{
   Filter filter = typical_filter();
   filter.taps.pop_back();
   EXPECT_FALSE(has_two_versions(filter));
}

TEST(InteriorVersion, NotAcrossBarriers)
{
   Filter filter = typical_filter();
   filter.behind = "   barrier();\n";
   EXPECT_FALSE(has_two_versions(filter));
   filter.behind = "   subgroupBarrier();\n   sum = subgroupAdd(sum);\n";
   EXPECT_TRUE(has_two_versions(filter));
}

/// The first and the last lane of a row are below a limit, but not the lanes between them: the sum
/// overflows.
TEST(InteriorVersion, NotAcrossAnOverflow)
{
   static constexpr int32_t far = 0x7fffffe0, limit = 0x7ffffffc;
   const Coordinate coordinate = {
      "Overflow", "clamp(min(x + 0x7fffffe0, 0x7ffffffc) - 0x7fffffe0, 0, size - 1)",
      [](int32_t x, int32_t size) {
         return clamped(sum(std::min(sum(x, far), limit), -uint32_t(far)), size);
      }};
   // The lanes' coordinates are 17 to 32. Those up to 28 do not change.
   Filter filter = typical_filter(coordinate);
   for (size_t i = 0; i < filter.taps.size(); i++)
      filter.taps[i] = {1, int32_t(i), 1};
   expect_right(filter, {90, 90}, {2, 1, 1});
}

TEST(InteriorVersion, NotOfLargeShaders)
{
   Filter filter = typical_filter();
   for (int i = 0; i < 2000; i++)
      filter.behind += "sum = sum * 3 + (sum >> 7);\n";
   EXPECT_FALSE(has_two_versions(filter));
}

TEST(InteriorVersion, NotOfCoordinatesThatAreRead)
{
   const Coordinate read = {"Read", "clamp(x + int(to[x]), 0, size - 1)", {}};
   EXPECT_FALSE(has_two_versions(typical_filter(read)));
}

} // namespace
} // namespace weft::cpu
