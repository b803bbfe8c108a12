// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The cache on disk among accidents: it returns the written data, or nothing.

#include "shader_cache/disk_cache.h"
#include "tests/backend/cpu/seed.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <thread>

/// Where this process is killed: amid a call of write(2), or before one of renameat(2).
struct Death {
   uint32_t calls_before; ///< it lives through
   size_t bytes;          ///< that it still writes, at most
};
static std::optional<Death> own_death;

static bool dies_now()
{
   return own_death && own_death->calls_before-- == 0;
}

/// meson.build has the linker put these in place of the cache's system calls.
extern "C" {
ssize_t __real_write(int file, const void *bytes, size_t size);
int __real_renameat(int from_folder, const char *from, int to_folder, const char *to);

ssize_t __wrap_write(int file, const void *bytes, size_t size)
{
   if (!dies_now())
      return __real_write(file, bytes, size);
   (void)!__real_write(file, bytes, std::min(size, own_death->bytes));
   return raise(SIGKILL);
}

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
   return dies_now() ? raise(SIGKILL) : __real_renameat(from_folder, from, to_folder, to);
}
}

namespace weft {
namespace {

/// Of its head, of its payload, and its name.
constexpr uint32_t calls_of_a_write = 3;

namespace fs = std::filesystem;

using Bytes = std::vector<std::byte>;

constexpr uint64_t no_limit = uint64_t(1) << 40;
constexpr uid_t nobody = 65534;

CacheKey numbered_key(uint64_t number)
{
   KeyBuilder builder("test");
   builder.add(number);
   return builder.finish();
}

/// The data that all processes write under a key.
Bytes payload_of(uint64_t number, size_t size)
{
   std::mt19937_64 random(cpu::test::test_seed() ^ number);
   Bytes bytes(size);
   std::ranges::generate(bytes, [&] { return std::byte(random()); });
   return bytes;
}

std::string read_file(const fs::path &path)
{
   std::ifstream file(path, std::ios::binary);
   return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path &path, const std::string &text)
{
   std::ofstream(path, std::ios::binary) << text;
}

uint64_t on_disk(uint64_t bytes)
{
   return (bytes + 4095) / 4096 * 4096;
}

void set_age(const fs::path &path, int seconds)
{
   fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

/// Runs `body` in a process of its own, which may die at `death`. Returns whether it was killed.
template <typename Body>
bool is_killed_in_child(Death death, Body body)
{
   const pid_t pid = fork();
   if (pid == 0) {
      own_death = death;
      body();
      _exit(0);
   }
   int status = 0;
   waitpid(pid, &status, 0);
   return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/// Runs `body` in a process of its own and returns its result.
template <typename Body>
bool in_child(Body body)
{
   const pid_t pid = fork();
   if (pid == 0)
      _exit(body() ? 0 : 1);
   int status = 0;
   waitpid(pid, &status, 0);
   return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class DiskCacheTest : public testing::Test {
protected:
   DiskCacheTest() { cpu::test::test_seed(); }

   DiskCache open(uint64_t limit = no_limit) const { return DiskCache(folder, limit); }
   std::vector<fs::path> files() const
   {
      std::vector<fs::path> paths;
      for (const fs::directory_entry &entry : fs::directory_iterator(folder))
         paths.push_back(entry.path());
      return paths;
   }

   const test::ScratchFolder scratch;
   const fs::path top = scratch.path, folder = top / "parent" / "cache";
};

TEST_F(DiskCacheTest, GivesBackWhatWasWritten)
{
   DiskCache cache = open();
   EXPECT_FALSE(cache.read(numbered_key(0)));
   EXPECT_FALSE(fs::exists(folder));
   const size_t sizes[] = {0, 1, 4096, 1'000'000};
   for (size_t i = 0; i < std::size(sizes); i++)
      cache.write(numbered_key(i), payload_of(i, sizes[i]));
   for (size_t i = 0; i < std::size(sizes); i++) {
      EXPECT_EQ(cache.read(numbered_key(i)), payload_of(i, sizes[i]));
      EXPECT_EQ(open().read(numbered_key(i)), payload_of(i, sizes[i]));
   }
   EXPECT_FALSE(cache.read(numbered_key(std::size(sizes))));
   EXPECT_EQ(files().size(), std::size(sizes));
   struct stat status;
   ASSERT_EQ(stat(folder.c_str(), &status), 0);
   EXPECT_EQ(status.st_mode & 0777, 0700u);
   // The last write counts.
   cache.write(numbered_key(0), payload_of(7, 70));
   EXPECT_EQ(cache.read(numbered_key(0)), payload_of(7, 70));
}

TEST_F(DiskCacheTest, TakesNothingThatWasCut)
{
   DiskCache cache = open();
   const Bytes payload = payload_of(0, 300);
   cache.write(numbered_key(0), payload);
   const fs::path file = files().at(0);
   const std::string whole = read_file(file);
   for (size_t size = whole.size(); size-- > 0;) {
      fs::resize_file(file, size);
      EXPECT_FALSE(cache.read(numbered_key(0))) << size;
   }
   cache.write(numbered_key(0), payload);
   EXPECT_EQ(cache.read(numbered_key(0)), payload);
   write_file(file, whole + '\0');
   EXPECT_FALSE(cache.read(numbered_key(0)));
   // Holes are read as zeros, which is a lot of memory here.
   fs::resize_file(file, uint64_t(1) << 36);
   EXPECT_FALSE(cache.read(numbered_key(0)));
}

TEST_F(DiskCacheTest, TakesNothingThatWasFlipped)
{
   DiskCache cache = open();
   const Bytes payload = payload_of(0, 300);
   cache.write(numbered_key(0), payload);
   const fs::path file = files().at(0);
   const size_t size = fs::file_size(file);
   const auto flip = [&](size_t bit) {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(std::streamoff(bit / 8));
      const char flipped = char(stream.get() ^ 1 << bit % 8);
      stream.seekp(std::streamoff(bit / 8));
      stream.put(flipped);
   };
   for (size_t bit = 0; bit < 8 * size; bit++) {
      flip(bit);
      EXPECT_FALSE(cache.read(numbered_key(0))) << bit;
      flip(bit);
   }
   EXPECT_EQ(cache.read(numbered_key(0)), payload);
   flip(8 * size - 1);
   cache.write(numbered_key(0), payload);
   EXPECT_EQ(cache.read(numbered_key(0)), payload);
}

TEST_F(DiskCacheTest, TakesNothingUnderAnotherName)
{
   DiskCache cache = open();
   cache.write(numbered_key(0), payload_of(0, 300));
   const fs::path first = files().at(0);
   const std::string whole = read_file(first);
   fs::remove(first);
   cache.write(numbered_key(1), payload_of(1, 300));
   const fs::path second = files().at(0);
   write_file(second, whole);
   EXPECT_FALSE(cache.read(numbered_key(1)));
   // Nor a thing that is no file.
   for (const auto &make : {+[](const char *path) { return mkfifo(path, 0600); },
                            +[](const char *path) { return mkdir(path, 0700); },
                            +[](const char *path) { return symlink("/dev/zero", path); }}) {
      fs::remove(second);
      ASSERT_EQ(make(second.c_str()), 0);
      EXPECT_FALSE(cache.read(numbered_key(1)));
   }
}

TEST_F(DiskCacheTest, ReadsWhereItMayNotWrite)
{
   open().write(numbered_key(0), payload_of(0, 300));
   fs::permissions(folder, fs::perms(0500));
   const bool root = geteuid() == 0;
   if (root) {
      fs::permissions(top, fs::perms(0711));
      fs::permissions(top / "parent", fs::perms(0711));
      for (const fs::path &path : {folder, files().at(0)})
         ASSERT_EQ(chown(path.c_str(), nobody, nobody), 0);
   }
   EXPECT_TRUE(in_child([&] {
      if (root && setresuid(nobody, nobody, nobody) != 0)
         return false;
      DiskCache cache = open();
      cache.write(numbered_key(1), payload_of(1, 300));
      return cache.read(numbered_key(0)) == payload_of(0, 300) && !cache.read(numbered_key(1));
   }));
   EXPECT_EQ(files().size(), 1u);
   fs::permissions(folder, fs::perms(0700));
}

TEST_F(DiskCacheTest, LivesWithoutAFolder)
{
   write_file(top / "file", "no folder");
   for (const fs::path &path : {top / "file", top / "file" / "cache", fs::path("/proc/cache"),
                                fs::path("/dev/null"), fs::path("")}) {
      DiskCache cache(path, no_limit);
      cache.write(numbered_key(0), payload_of(0, 300));
      EXPECT_FALSE(cache.read(numbered_key(0)));
   }
   EXPECT_EQ(read_file(top / "file"), "no folder");
}

/// A user with write access could insert code.
TEST_F(DiskCacheTest, LeavesFoldersOfOthersAlone)
{
   DiskCache cache = open();
   cache.write(numbered_key(0), payload_of(0, 300));
   for (const int mode : {0720, 0702, 0777, 01777}) {
      fs::permissions(folder, fs::perms(mode));
      EXPECT_FALSE(cache.read(numbered_key(0))) << mode;
      cache.write(numbered_key(1), payload_of(1, 300));
      EXPECT_EQ(files().size(), 1u);
   }
   fs::permissions(folder, fs::perms(0755));
   EXPECT_TRUE(cache.read(numbered_key(0)));
   if (geteuid() == 0) {
      ASSERT_EQ(chown(folder.c_str(), nobody, nobody), 0);
      EXPECT_FALSE(cache.read(numbered_key(0)));
      cache.write(numbered_key(1), payload_of(1, 300));
      EXPECT_EQ(files().size(), 1u);
      // Nor does root leave a folder with a user, as the user could not use it.
      ASSERT_EQ(chown(top.c_str(), nobody, nobody), 0);
      for (const char *path : {"cache", "parents/cache"}) {
         DiskCache(top / path, no_limit).write(numbered_key(1), payload_of(1, 300));
         EXPECT_FALSE(fs::exists(top / path));
      }
      EXPECT_FALSE(fs::exists(top / "parents"));
   }
}

TEST_F(DiskCacheTest, LivesWithALimitOfFileSizes)
{
   EXPECT_TRUE(in_child([&] {
      const rlimit small = {1000, 1000};
      setrlimit(RLIMIT_FSIZE, &small);
      DiskCache cache = open();
      cache.write(numbered_key(0), payload_of(0, 2000)); // beyond it is SIGXFSZ
      cache.write(numbered_key(1), payload_of(1, 900));
      return !cache.read(numbered_key(0)) && cache.read(numbered_key(1)) == payload_of(1, 900);
   }));
   EXPECT_EQ(files().size(), 1u);
}

TEST_F(DiskCacheTest, LivesOnAFullDisk)
{
   constexpr int cannot_mount = 77;
   const pid_t pid = fork();
   if (pid == 0) {
      const std::string here = top / "disk";
      if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0 ||
          mkdir(here.c_str(), 0700) != 0 ||
          mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount("none", here.c_str(), "tmpfs", 0, "size=64k,mode=700") != 0)
         _exit(cannot_mount);
      DiskCache cache(here + "/cache", no_limit);
      constexpr uint64_t many = 100;
      uint64_t kept = 0;
      for (uint64_t i = 0; i < many; i++)
         cache.write(numbered_key(i), payload_of(i, 3000));
      for (uint64_t i = 0; i < many; i++) {
         const std::optional<Bytes> got = cache.read(numbered_key(i));
         if (got && *got != payload_of(i, 3000))
            _exit(1);
         kept += got.has_value();
      }
      const auto listed = std::distance(fs::directory_iterator(here + "/cache"), {});
      _exit(kept > 5 && kept < many && uint64_t(listed) == kept ? 0 : 2);
   }
   int status = 0;
   waitpid(pid, &status, 0);
   if (WIFEXITED(status) && WEXITSTATUS(status) == cannot_mount)
      GTEST_SKIP() << "no right to mount a small disk here";
   EXPECT_EQ(status, 0);
}

TEST_F(DiskCacheTest, KeepsToItsSize)
{
   constexpr uint64_t limit = 400'000, size = 1000, many = 1000;
   for (uint64_t i = 0; i < many; i++) {
      // Multiple processes, each of which has yet to read the folder.
      static std::optional<DiskCache> cache;
      if (i % 100 == 0)
         cache.emplace(folder, limit);
      cache->write(numbered_key(i), payload_of(i, size));
      uint64_t total = 0;
      for (const fs::path &path : files())
         total += on_disk(fs::file_size(path));
      ASSERT_LE(total, limit + limit / 8);
      ASSERT_EQ(cache->read(numbered_key(i)), payload_of(i, size));
   }
   EXPECT_GT(files().size(), 50u);
}

TEST_F(DiskCacheTest, KeepsWhatIsUsed)
{
   constexpr uint64_t size = 1000, entries = 40;
   std::vector<fs::path> paths;
   {
      DiskCache cache = open();
      for (uint64_t i = 0; i < entries; i++) {
         const std::vector<fs::path> before = i ? files() : std::vector<fs::path>();
         cache.write(numbered_key(i), payload_of(i, size));
         for (const fs::path &path : files()) {
            if (std::ranges::find(before, path) == before.end())
               paths.push_back(path);
         }
      }
   }
   ASSERT_EQ(paths.size(), entries);
   for (uint64_t i = 0; i < entries; i++)
      set_age(paths[i], int(10'000 - i));
   // Not of the cache, and not to be touched, though older than all.
   for (const char *name : {"notes.txt", "0123456789abcdef"}) {
      write_file(folder / name, std::string(size, 'x'));
      set_age(folder / name, 20'000);
   }
   // Left by writers: one that died, one that is at it.
   write_file(folder / "unfinished.0", "");
   write_file(folder / "unfinished.1", "");
   set_age(folder / "unfinished.0", 3600);

   DiskCache cache = open(entries * on_disk(size));
   EXPECT_TRUE(cache.read(numbered_key(0)));
   cache.write(numbered_key(entries), payload_of(entries, size));
   EXPECT_TRUE(cache.read(numbered_key(0)));
   EXPECT_TRUE(cache.read(numbered_key(entries - 1)));
   EXPECT_TRUE(cache.read(numbered_key(entries)));
   for (uint64_t i = 1; i < entries / 5; i++)
      EXPECT_FALSE(cache.read(numbered_key(i))) << i;
   EXPECT_TRUE(fs::exists(folder / "notes.txt"));
   EXPECT_TRUE(fs::exists(folder / "0123456789abcdef"));
   EXPECT_FALSE(fs::exists(folder / "unfinished.0"));
   EXPECT_TRUE(fs::exists(folder / "unfinished.1"));
}

TEST_F(DiskCacheTest, LosesNothingOfProcessesThatWriteAtOnce)
{
   constexpr uint64_t processes = 4, own = 50, common = 50;
   const auto size_of = [](uint64_t number) { return size_t(number * 997 % 20'000); };
   // They begin with all that this process remembers of its own writing.
   open().write(numbered_key(0), payload_of(0, 0));
   pid_t pids[processes];
   for (uint64_t p = 0; p < processes; p++) {
      pids[p] = fork();
      if (pids[p] != 0)
         continue;
      DiskCache cache = open();
      bool right = true;
      for (uint64_t i = 0; i < own; i++) {
         for (const uint64_t number : {i % common, common + p * own + i}) {
            cache.write(numbered_key(number), payload_of(number, size_of(number)));
            right &= cache.read(numbered_key(number)) == payload_of(number, size_of(number));
         }
      }
      _exit(right ? 0 : 1);
   }
   for (const pid_t pid : pids) {
      int status = 0;
      waitpid(pid, &status, 0);
      EXPECT_EQ(status, 0);
   }
   DiskCache cache = open();
   for (uint64_t number = 0; number < common + processes * own; number++)
      EXPECT_EQ(cache.read(numbered_key(number)), payload_of(number, size_of(number))) << number;
   EXPECT_EQ(files().size(), common + processes * own);
}

TEST_F(DiskCacheTest, ThreadsShareIt)
{
   constexpr uint64_t thread_count = 4, entries = 100;
   DiskCache cache = open(1'000'000);
   std::vector<std::thread> threads;
   std::atomic<uint32_t> wrong = 0;
   for (uint64_t t = 0; t < thread_count; t++) {
      threads.emplace_back([&, t] {
         for (uint64_t i = 0; i < entries; i++) {
            const uint64_t number = (i + t * 7) % entries;
            if (const std::optional<Bytes> got = cache.read(numbered_key(number)))
               wrong += *got != payload_of(number, 500);
            else
               cache.write(numbered_key(number), payload_of(number, 500));
         }
      });
   }
   for (std::thread &thread : threads)
      thread.join();
   EXPECT_EQ(wrong, 0u);
   for (uint64_t number = 0; number < entries; number++)
      EXPECT_EQ(cache.read(numbered_key(number)), payload_of(number, 500));
}

TEST_F(DiskCacheTest, KnowsWhetherItIsEmpty)
{
   DiskCache cache = open();
   EXPECT_FALSE(cache.has_entries());
   fs::create_directories(folder);
   std::ofstream(folder / "unfinished.1234") << "half";
   EXPECT_FALSE(cache.has_entries());
   cache.write(numbered_key(0), payload_of(0, 10));
   EXPECT_TRUE(cache.has_entries());
   EXPECT_TRUE(open().has_entries());
}

/// Its entry is the old one or the new one, and no other entry is touched.
TEST_F(DiskCacheTest, SurvivesKilledWriters)
{
   constexpr size_t size = 300'000;
   const Bytes old = payload_of(0, size - 1), made = payload_of(1, size),
               other = payload_of(2, size);
   constexpr size_t parts[] = {0, 1, 63, 4096, size};
   for (uint32_t call = 0; call < calls_of_a_write; call++) {
      for (const size_t part : parts) {
         for (const bool replaces : {false, true}) {
            SCOPED_TRACE(testing::Message() << call << ' ' << part << ' ' << replaces);
            fs::remove_all(folder);
            DiskCache cache = open();
            cache.write(numbered_key(1), other);
            if (replaces)
               cache.write(numbered_key(0), old);
            EXPECT_TRUE(
               is_killed_in_child({call, part}, [&] { cache.write(numbered_key(0), made); }));
            EXPECT_EQ(files().size(), 2u + replaces); // one of them is unfinished
            EXPECT_EQ(cache.read(numbered_key(0)), replaces ? std::optional(old) : std::nullopt);
            EXPECT_EQ(cache.read(numbered_key(1)), other);
            cache.write(numbered_key(0), made);
            EXPECT_EQ(cache.read(numbered_key(0)), made);
         }
      }
   }
}

} // namespace
} // namespace weft
