// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The demo, on the device that the loader finds: one matrix product for each advertised shape and
/// combination of types, built from cooperative-matrix tiles. Each is computed on fresh random
/// numbers, checked element by element against the f64 reference, and timed. Products for the
/// family's other extensions and types follow. Ends with `verified`, or fails and names the fault.

#include "tests/e2e/demo_family.h"
#include "tests/e2e/gemm.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <unistd.h>

namespace weft::e2e {

namespace {

/// The sizes of every product: multiples of every tile and of a workgroup's part.
constexpr uint32_t gemm_m = 256, gemm_n = 256, gemm_k = 256;

struct Verdict {
   double worst_error = 0; ///< largest |computed - reference|
   double bound = 0;       ///< that element's bound
   std::string mismatch;   ///< the first wrong element
};

/// Rows of the reference are independent: they are shared among the machine's threads.
oracle::Expectation expectation_in_parallel(const Device &device, const MatrixOperation &op,
                                            const oracle::Matrix &a, const oracle::Matrix &b,
                                            const oracle::Matrix &c)
{
   constexpr uint32_t band = 64;
   oracle::Expectation all(c);
   std::atomic<uint32_t> next = 0;
   const auto work = [&] {
      for (uint32_t row; (row = next.fetch_add(band)) < c.rows;) {
         const auto part = [&](const oracle::Matrix &whole) {
            oracle::Matrix rows(whole.type, band, whole.cols);
            memcpy(rows.data.data(), whole.at(row, 0), rows.data.size());
            return rows;
         };
         const oracle::Expectation rows = gemm_expectation(device, op, part(a), b, part(c));
         const size_t start = size_t(row) * c.cols;
         std::copy(rows.value.begin(), rows.value.end(), all.value.begin() + start);
         std::copy(rows.bound.begin(), rows.bound.end(), all.bound.begin() + start);
         std::copy(rows.exact.begin(), rows.exact.end(), all.exact.begin() + start);
      }
   };
   std::vector<std::jthread> threads(std::max(1u, std::thread::hardware_concurrency()));
   for (std::jthread &thread : threads)
      thread = std::jthread(work);
   threads.clear();
   return all;
}

Verdict compare(const oracle::Expectation &expected, const oracle::Matrix &actual)
{
   Verdict verdict;
   if (std::optional<std::string> mismatch = expected.mismatch(actual))
      verdict.mismatch = *mismatch;
   for (size_t i = 0; i < expected.value.size(); i++) {
      const double value = actual.real(uint32_t(i / actual.cols), uint32_t(i % actual.cols));
      const double error = std::fabs(value - expected.value[i]);
      if (error >= verdict.worst_error) {
         verdict.worst_error = error;
         verdict.bound = expected.bound[i];
      }
   }
   return verdict;
}

/// Operations per second of the fastest of several submissions, each long enough for the clock.
double measure(Gemm &gemm, double first_seconds)
{
   constexpr double enough_seconds = 0.02;
   const uint32_t times = uint32_t(std::clamp(enough_seconds / first_seconds, 1.0, 1000.0));
   double best = HUGE_VAL;
   for (int round = 0; round < 3; round++)
      best = std::min(best, gemm.run(times) / times);
   return 2.0 * gemm_m * gemm_n * gemm_k / best;
}

/// The workgroup's part for a shape: 32×32 elements for each subgroup, which fit into registers.
GemmShader shader_for(const Device &device, const MatrixOperation &op)
{
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   const bool has_default =
      std::count(sizes.begin(), sizes.end(), device.properties11.subgroupSize);
   return {.operation = op,
           .subgroup_size = has_default ? device.properties11.subgroupSize : sizes.back(),
           .tiles_m = std::max(1u, 32 / op.m),
           .tiles_n = std::max(1u, 32 / op.n),
           .staging = GemmShader::Staging::none};
}

struct Colours {
   const char *bold = "", *green = "", *red = "", *off = "";
   Colours()
   {
      if (isatty(STDOUT_FILENO)) {
         bold = "\033[1m";
         green = "\033[32m";
         red = "\033[31m";
         off = "\033[0m";
      }
   }
};

std::string types_name(const MatrixOperation &op)
{
   return std::string(oracle::format(op.a).name) + " x " + oracle::format(op.b).name + " -> " +
          oracle::format(op.result).name;
}

std::string sizes_name(uint32_t m, uint32_t n, uint32_t k)
{
   return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

class Demo {
public:
   explicit Demo(uint64_t seed) : device(false), random(seed) {}

   int run(uint64_t seed)
   {
      const auto start = std::chrono::steady_clock::now();
      printf("%sdevice%s  %s\n", colours.bold, colours.off, device.properties.deviceName);
      printf("%sdriver%s  %s %s\n", colours.bold, colours.off, device.properties12.driverName,
             device.properties12.driverInfo);
      printf("%sinputs%s  random, WEFT_SEED=%llu\n\n", colours.bold, colours.off,
             (unsigned long long)seed);
      const std::vector<MatrixOperation> operations = matrix_operations(device, SmallFloats::with);
      if (operations.empty()) {
         printf("%sthe device advertises no cooperative matrices%s\n", colours.red, colours.off);
         return 1;
      }
      char header[200];
      snprintf(header, sizeof(header), "%-10s  %-20s  %-4s  %-13s  %12s  %12s  %9s", "tile MxNxK",
               "types", "sat", "product", "worst error", "its bound", "GFLOP/s");
      print_header(header);

      uint32_t rows = 0, wrong = 0, skipped = 0;
      for (const MatrixOperation &op : operations) {
         if (!can_run(op)) {
            skipped++;
            continue;
         }
         rows++;
         wrong += !row(op);
         fflush(stdout);
      }
      const uint32_t products = rows;
      snprintf(header, sizeof(header), "%-38s  %-26s  %-20s  %-10s  %12s  %12s", "extension", "how",
               "types", "MxNxK", "worst error", "its bound");
      printf("\n");
      print_header(header);
      for_each_family_product(device, random, [&](const FamilyProduct &product) {
         rows++;
         wrong += !row(product);
         fflush(stdout);
      });
      const double seconds =
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      printf("\n%u combinations of shape and types, %u products of the other extensions, %.1f s",
             products, rows - products, seconds);
      if (skipped)
         printf(", %u not expressible in GLSL left out", skipped);
      printf("\n");
      if (wrong || rows == 0) {
         printf("%s%u of %u products are WRONG%s\n", colours.red, wrong, rows, colours.off);
         return 1;
      }
      printf("%sverified%s\n", colours.green, colours.off);
      return 0;
   }

private:
   void print_header(const char *header) const
   {
      printf("%s%s%s\n%s\n", colours.bold, header, colours.off,
             std::string(strlen(header), '-').c_str());
   }

   void print_error(const MatrixOperation &op, const Verdict &verdict) const
   {
      if (!oracle::format(op.result).is_float)
         printf("%12s  %12s", verdict.mismatch.empty() ? "0" : "wrong", "exact");
      else
         printf("%12.3g  %12.3g", verdict.worst_error, verdict.bound);
   }

   bool print_mismatch(const Verdict &verdict) const
   {
      if (!verdict.mismatch.empty())
         printf("%s   MISMATCH: %s%s\n", colours.red, verdict.mismatch.c_str(), colours.off);
      return verdict.mismatch.empty();
   }

   bool row(const FamilyProduct &product) const
   {
      const MatrixOperation &op = product.operation;
      const Verdict verdict = compare(product.expected, product.d);
      printf("%-38s  %-26s  %-20s  %-10s  ", product.extension.c_str(), product.how.c_str(),
             types_name(op).c_str(), sizes_name(op.m, op.n, op.k).c_str());
      print_error(op, verdict);
      printf("\n");
      return print_mismatch(verdict);
   }

   bool can_run(const MatrixOperation &op) const
   {
      for (ComponentType type : {op.a, op.b, op.c}) {
         if (!missing_feature(device, type).empty())
            return false;
      }
      return op.c == op.result && gemm_m % (2 * op.m) == 0 && gemm_n % (2 * op.n) == 0 &&
             gemm_k % op.k == 0;
   }

   /// Prints the row; false if the product was wrong.
   bool row(const MatrixOperation &op)
   {
      const oracle::Inputs c_inputs =
         op.saturating ? oracle::Inputs::near_bounds : oracle::Inputs::plain;
      const oracle::Matrix a = random_matrix(random, op.a, gemm_m, gemm_k, oracle::Inputs::plain);
      const oracle::Matrix b = random_matrix(random, op.b, gemm_k, gemm_n, oracle::Inputs::plain);
      const oracle::Matrix c = random_matrix(random, op.c, gemm_m, gemm_n, c_inputs);
      Gemm gemm(device, shader_for(device, op), gemm_m, gemm_n, gemm_k);
      gemm.upload(a, b, c);
      const double first = gemm.run(1);
      const oracle::Expectation expected = expectation_in_parallel(device, op, a, b, c);
      const oracle::Matrix d = gemm.download();
      Verdict verdict = compare(expected, d);
      if (verdict.mismatch.empty() && device.is_weft &&
          rms_error(expected, d) > rms_limit(op, gemm_k))
         verdict.mismatch = "each error is within its bound, but together they are too large";
      if (verdict.mismatch.empty() && !gemm.guards_intact())
         verdict.mismatch = "bytes beside the result were overwritten";
      const double rate = measure(gemm, first);

      printf("%-10s  %-20s  %-4s  %-13s  ", sizes_name(op.m, op.n, op.k).c_str(),
             types_name(op).c_str(), op.saturating ? "yes" : "",
             sizes_name(gemm_m, gemm_n, gemm_k).c_str());
      print_error(op, verdict);
      printf("  %9.1f\n", rate * 1e-9);
      return print_mismatch(verdict);
   }

   Device device;
   oracle::Random random;
   Colours colours;
};

} // namespace

} // namespace weft::e2e

int main()
{
   // The driver of this build, unless the environment names another one.
   if (!getenv("VK_ICD_FILENAMES"))
      setenv("VK_DRIVER_FILES", WEFT_ICD_MANIFEST, 0);
   const char *asked = getenv("WEFT_SEED");
   const uint64_t seed = asked ? strtoull(asked, nullptr, 0) : std::random_device()();
   try {
      return weft::e2e::Demo(seed).run(seed);
   } catch (const std::exception &error) {
      fflush(stdout);
      fprintf(stderr, "weft_demo: %s\n", error.what());
      return 1;
   }
}
