// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/cases.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

namespace weft::e2e {

namespace {

struct Counts {
   uint64_t seed = 0;
   bool reduced = false;
   uint64_t run = 0;
   std::map<std::string, uint64_t> skipped;
   std::unique_ptr<Device> plain, robust, bare;
};

Counts &
counts()
{
   static Counts instance;
   return instance;
}

Device &
made(std::unique_ptr<Device> &device, bool robust)
{
   if (!device)
      device = std::make_unique<Device>(robust);
   return *device;
}

} // namespace

Device &
plain_device()
{
   return made(counts().plain, false);
}

Device &
robust_device()
{
   return made(counts().robust, true);
}

Device &
bare_device()
{
   const char *layers = getenv("VK_INSTANCE_LAYERS");
   const std::string kept = layers ? layers : "";
   setenv("VK_INSTANCE_LAYERS", "", 1);
   Device &device = made(counts().bare, false);
   setenv("VK_INSTANCE_LAYERS", kept.c_str(), 1);
   return device;
}

oracle::Random
test_random()
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

bool
selected(oracle::Random &random, uint32_t reduction)
{
   return !counts().reduced || oracle::draw(random, reduction) == 0;
}

void
count_case()
{
   counts().run++;
}

void
skip_case(const std::string &reason)
{
   counts().skipped[reason]++;
}

void
CaseEnvironment::SetUp()
{
   const char *seed = getenv("WEFT_SEED");
   const char *sweep = getenv("WEFT_SWEEP");
   counts().seed = seed ? strtoull(seed, nullptr, 0) : std::random_device()();
   counts().reduced = sweep && strcmp(sweep, "reduced") == 0;
   const Device &device = plain_device();
   printf("device: %s\nseed: WEFT_SEED=%llu%s\n", device.properties.deviceName, (unsigned long long)counts().seed,
          counts().reduced ? ", reduced sweep" : "");
   fflush(stdout);
}

void
CaseEnvironment::TearDown()
{
   uint64_t skipped = 0;
   for (const auto &[reason, count] : counts().skipped)
      skipped += count;
   printf("cases: %llu run, %llu skipped\n", (unsigned long long)counts().run, (unsigned long long)skipped);
   for (const auto &[reason, count] : counts().skipped)
      printf("  skipped %6llu: %s\n", (unsigned long long)count, reason.c_str());
   fflush(stdout);
   counts().bare.reset();
   counts().robust.reset();
   counts().plain.reset();
}

} // namespace weft::e2e
