// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/cases.h"

#include "tests/vulkan/time_limits.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <unistd.h>
#include <utility>

namespace weft::e2e {

namespace {

struct Counts {
   uint64_t seed = 0;
   /// The factor of the thinning, in fourths of a reduced sweep's; 0 in a full sweep.
   uint32_t thinning = 0;
   bool asked = false;        ///< the running test has called selected()
   unsigned longest_case = 0; ///< seconds
   uint64_t run = 0;
   std::map<std::string, uint64_t> skipped;
   uint64_t skipped_for_all = 0;   ///< of these
   std::set<std::string> left_out; ///< counted by skip_for_all()
   std::unique_ptr<Device> plain, robust, bare;
};

Counts &counts()
{
   static Counts instance;
   return instance;
}

/// Also called for objects that are created before the first case or after the last one.
void begin_case()
{
   alarm(counts().longest_case);
}

/// Ends a hanging test long before the time limit of the whole program.
void on_alarm(int)
{
   constexpr char text[] = "no case has ended for minutes: the running test hangs\n";
   (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
   std::signal(SIGABRT, SIG_DFL);
   abort();
}

/// A few sizes that the device does not list. They are the same for all types, so that conversions,
/// transposes and reductions find matrices. To save time, only some of the types get them.
std::vector<VkCooperativeMatrixPropertiesKHR> draw_shapes(const Device &device)
{
   struct Shape {
      uint32_t m, n, k; ///< in granularities
   };
   oracle::Random random(counts().seed);
   // Small ones, so that there is time for many types; every other time one dimension is larger.
   uint32_t size[3];
   for (uint32_t &n : size)
      n = 1 + oracle::draw(random, 4);
   if (oracle::draw(random, 2))
      size[oracle::draw(random, 3)] = 5 + oracle::draw(random, 8);
   const auto [m, n, k] = size;
   const Shape shapes[] = {{m, n, k}, {m, m, n}, {2 * m, 2 * n, 1 + oracle::draw(random, 2)}};
   std::vector<VkCooperativeMatrixPropertiesKHR> rows;
   const uint32_t most = device.matrix2_properties.cooperativeMatrixFlexibleDimensionsMaxDimension;
   for (const VkCooperativeMatrixFlexibleDimensionsPropertiesNV &p : device.flexible_properties) {
      if (!rows.empty() && oracle::draw(random, 4))
         continue;
      for (const Shape &s : shapes) {
         const auto size = [&](uint32_t n, uint32_t unit) {
            return std::min(n, most / unit) * unit;
         };
         rows.push_back({.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR,
                         .MSize = size(s.m, p.MGranularity),
                         .NSize = size(s.n, p.NGranularity),
                         .KSize = size(s.k, p.KGranularity),
                         .AType = p.AType,
                         .BType = p.BType,
                         .CType = p.CType,
                         .ResultType = p.ResultType,
                         .saturatingAccumulation = p.saturatingAccumulation,
                         .scope = p.scope});
      }
   }
   return rows;
}

Device &made(std::unique_ptr<Device> &device, bool robust)
{
   if (!device) {
      device = std::make_unique<Device>(robust);
      if (has_drawn_shapes())
         device->matrix_properties = draw_shapes(*device);
   }
   return *device;
}

/// A test whose sweep was empty has not tested anything.
class EmptyTests : public testing::EmptyTestEventListener {
   uint64_t before = 0;

   static uint64_t counted()
   {
      uint64_t sum = counts().run;
      for (const auto &[reason, count] : counts().skipped)
         sum += count;
      return sum - counts().skipped_for_all;
   }

   void OnTestStart(const testing::TestInfo &) override
   {
      begin_case();
      before = counted();
      counts().asked = false;
   }

   void OnTestEnd(const testing::TestInfo &test) override
   {
      if (counted() == before && test.result()->Passed())
         ADD_FAILURE() << "no case ran, and none was skipped for a reason";
   }
};

} // namespace

Device &plain_device()
{
   return made(counts().plain, false);
}

Device &robust_device()
{
   return made(counts().robust, true);
}

Device &bare_device()
{
   const char *layers = getenv("VK_INSTANCE_LAYERS");
   const std::string kept = layers ? layers : "";
   setenv("VK_INSTANCE_LAYERS", "", 1);
   Device &device = made(counts().bare, false);
   setenv("VK_INSTANCE_LAYERS", kept.c_str(), 1);
   return device;
}

namespace {

/// WEFT_LOWERING; empty without the layer.
std::string_view lowering_of(const Device &device)
{
   const char *lowering = getenv("WEFT_LOWERING");
   return device.has_weft_layer && lowering ? lowering : "";
}

} // namespace

bool is_of_another_driver(const Device &device, const char *extension)
{
   const std::string_view lowering = lowering_of(device);
   return !device.is_weft && (lowering.empty() || lowering == "auto" || lowering == "gain") &&
          bare_device().has_extension(extension);
}

bool has_tiles_of_another_driver(const Device &device, const char *extension)
{
   return !device.is_weft && lowering_of(device) != "registers" &&
          bare_device().has_extension(extension);
}

bool has_drawn_shapes()
{
   const char *shapes = getenv("WEFT_SHAPES");
   return shapes && strcmp(shapes, "flexible") == 0;
}

oracle::Random test_random()
{
   uint64_t hash = counts().seed;
   if (const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info()) {
      for (const char *name : {test->test_suite_name(), test->name()}) {
         for (; *name; name++)
            hash = (hash ^ uint8_t(*name)) * 0x100000001b3u;
      }
   }
   return oracle::Random(hash);
}

bool selected(oracle::Random &random, uint32_t reduction)
{
   const bool first = !std::exchange(counts().asked, true);
   const uint32_t thinning = counts().thinning;
   return thinning == 0 || oracle::draw(random, std::max(2u, reduction * thinning / 4)) == 0 ||
          first;
}

void count_case()
{
   counts().run++;
   begin_case();
}

void skip_case(const std::string &reason)
{
   counts().skipped[reason]++;
   begin_case();
}

void skip_for_all(const std::string &reason, const std::string &combination)
{
   if (!counts().left_out.insert(combination).second)
      return;
   skip_case(reason);
   counts().skipped_for_all++;
}

void limit_cases(unsigned seconds)
{
   std::signal(SIGALRM, on_alarm);
   counts().longest_case = seconds;
   begin_case();
}

void CaseEnvironment::SetUp()
{
   const char *seed = getenv("WEFT_SEED");
   const char *variable = getenv("WEFT_SWEEP");
   const std::string_view sweep = variable ? variable : "";
   counts().seed = seed ? strtoull(seed, nullptr, 0) : std::random_device()();
   counts().thinning = sweep == "partial" ? 1 : sweep == "reduced" ? 4 : sweep == "least" ? 16 : 0;
   testing::UnitTest::GetInstance()->listeners().Append(new EmptyTests);
   on_validation_error = [](const std::string &message) { ADD_FAILURE() << message; };
   const Device &device = plain_device();
   limit_cases(device.is_weft ? hang_limit : hang_limit_elsewhere);
   const char *driver = getenv("WEFT_TEST_DRIVER");
   if (driver && strcmp(driver, "weft") == 0) {
      ASSERT_TRUE(device.is_weft) << device.properties.deviceName << " is not Weft's";
   }
   printf("device: %s\nseed: WEFT_SEED=%llu%s\n", device.properties.deviceName,
          (unsigned long long)counts().seed,
          counts().thinning ? (", " + std::string(sweep) + " sweep").c_str() : "");
   fflush(stdout);
}

void CaseEnvironment::TearDown()
{
   uint64_t skipped = 0;
   for (const auto &[reason, count] : counts().skipped)
      skipped += count;
   printf("cases: %llu run, %llu skipped\n", (unsigned long long)counts().run,
          (unsigned long long)skipped);
   for (const auto &[reason, count] : counts().skipped)
      printf("  skipped %6llu: %s\n", (unsigned long long)count, reason.c_str());
   fflush(stdout);
   limit_cases(0);
   counts().bare.reset();
   counts().robust.reset();
   counts().plain.reset();
}

} // namespace weft::e2e
