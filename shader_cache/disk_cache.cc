// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "shader_cache/disk_cache.h"

#include "shader_cache/cache_settings.h"
#include "threads/until_unload.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

namespace weft {

namespace {

struct Header {
   CacheKey hash;
   CacheKey key;
};
static_assert(sizeof(Header) == 64);

/// Far more than any program needs.
constexpr uint64_t max_payload = 64 << 20;

/// The prefix of files that are being written. Files of writers that died are removed at this age.
constexpr std::string_view unfinished_prefix = "unfinished.";
constexpr time_t unfinished_seconds = 600;

/// A process checks the folder's size each time it has written this fraction of the limit.
constexpr uint64_t parts_of_limit = 16;

class File {
public:
   explicit File(int descriptor) : descriptor(descriptor) {}
   ~File()
   {
      if (descriptor >= 0)
         ::close(descriptor);
   }
   File(const File &) = delete;
   File &operator=(const File &) = delete;

   explicit operator bool() const { return descriptor >= 0; }
   int get() const { return descriptor; }
   /// The error of a full disk may come as late as here.
   bool close() { return ::close(std::exchange(descriptor, -1)) == 0; }

private:
   int descriptor;
};

std::string name_of(const CacheKey &key)
{
   std::string name(BLAKE3_HEX_LEN, 0);
   _mesa_blake3_format(name.data(), key.data());
   name.pop_back(); // the terminator
   return name;
}

bool is_entry(std::string_view name)
{
   return name.size() == BLAKE3_HEX_LEN - 1 &&
          name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Unique, also among processes in other containers and after a fork.
std::string unfinished_name()
{
   uint64_t number;
   if (getentropy(&number, sizeof(number)) != 0)
      return {};
   char digits[17];
   std::snprintf(digits, sizeof(digits), "%016" PRIx64, number);
   return std::string(unfinished_prefix) + digits;
}

CacheKey hash_of(const CacheKey &key, std::span<const std::byte> payload)
{
   mesa_blake3 hasher;
   CacheKey hash;
   _mesa_blake3_init(&hasher);
   _mesa_blake3_update(&hasher, key.data(), key.size());
   _mesa_blake3_update(&hasher, payload.data(), payload.size());
   _mesa_blake3_final(&hasher, hash.data());
   return hash;
}

/// Returns no file if the folder is missing or other users may write to it.
File open_folder(const std::string &path)
{
   const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
   struct stat status;
   const bool ours = folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
                     (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
   if (folder >= 0 && !ours)
      close(folder);
   return File(ours ? folder : -1);
}

/// Root creates no folder inside a user's folder: the user could not use it.
void create_folder(const std::string &path)
{
   for (size_t end = 0; end != std::string::npos;) {
      const std::string parent = path.substr(0, end + 1);
      end = path.find('/', end + 1);
      const std::string child = path.substr(0, end);
      struct stat status;
      if (stat(child.c_str(), &status) == 0)
         continue;
      if (geteuid() == 0 && (stat(parent.c_str(), &status) != 0 || status.st_uid != 0))
         return;
      mkdir(child.c_str(), S_IRWXU);
   }
}

/// False also at the end of the file.
bool read_all(int file, void *bytes, size_t size)
{
   auto *at = static_cast<char *>(bytes);
   while (size > 0) {
      const ssize_t got = ::read(file, at, size);
      if (got < 0 && errno == EINTR)
         continue;
      if (got <= 0)
         return false;
      at += got;
      size -= size_t(got);
   }
   return true;
}

bool write_all(int file, const void *bytes, size_t size)
{
   const auto *at = static_cast<const char *>(bytes);
   while (size > 0) {
      const ssize_t put = ::write(file, at, size);
      if (put < 0 && errno == EINTR)
         continue;
      if (put <= 0)
         return false;
      at += put;
      size -= size_t(put);
   }
   return true;
}

/// Writing more would raise a signal that ends the process, instead of an error.
bool may_write(uint64_t bytes)
{
   rlimit limit;
   return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
          (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

bool write_entry(int folder, const std::string &name, const CacheKey &key,
                 std::span<const std::byte> payload)
{
   const Header header = {hash_of(key, payload), key};
   if (!may_write(sizeof(header) + payload.size()))
      return false;
   const std::string unfinished = unfinished_name();
   File file(openat(folder, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    S_IRUSR | S_IWUSR));
   if (!file)
      return false;
   const bool written = write_all(file.get(), &header, sizeof(header)) &&
                        write_all(file.get(), payload.data(), payload.size()) && file.close() &&
                        renameat(folder, unfinished.c_str(), folder, name.c_str()) == 0;
   if (!written)
      unlinkat(folder, unfinished.c_str(), 0);
   return written;
}

/// Files take whole blocks of a disk.
uint64_t disk_bytes(uint64_t bytes)
{
   constexpr uint64_t block = 4096;
   return (bytes + block - 1) / block * block;
}

struct Entry {
   std::string name;
   uint64_t bytes;
   timespec used;
};

/// Lists a folder's entries; removes files of dead writers.
std::vector<Entry> list_entries(const std::string &path)
{
   std::vector<Entry> entries;
   const std::unique_ptr<DIR, int (*)(DIR *)> listing(opendir(path.c_str()), closedir);
   if (!listing)
      return entries;
   const int folder = dirfd(listing.get());
   const time_t now = time(nullptr);
   while (const dirent *item = readdir(listing.get())) {
      const std::string_view name = item->d_name;
      const bool unfinished = name.starts_with(unfinished_prefix);
      struct stat file;
      if ((!unfinished && !is_entry(name)) ||
          fstatat(folder, item->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(file.st_mode))
         continue;
      if (!unfinished)
         entries.push_back({item->d_name, disk_bytes(uint64_t(file.st_size)), file.st_mtim});
      else if (now - file.st_mtim.tv_sec > unfinished_seconds)
         unlinkat(folder, item->d_name, 0);
   }
   return entries;
}

/// Removes the least recently used entries if the folder is too large. Other processes may do the
/// same at the same time; then more entries go than necessary.
void shrink(int folder, const std::string &path, uint64_t limit)
{
   std::vector<Entry> entries = list_entries(path);
   uint64_t total = 0;
   for (const Entry &entry : entries)
      total += entry.bytes;
   if (total <= limit)
      return;
   std::ranges::sort(entries, [](const Entry &a, const Entry &b) {
      return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
   });
   for (const Entry &entry : entries) {
      if (total <= limit - limit / 4)
         break;
      unlinkat(folder, entry.name.c_str(), 0);
      total -= entry.bytes;
   }
}

} // namespace

DiskCache::DiskCache(std::string folder, uint64_t limit)
    : folder(std::move(folder)), limit(limit), unaccounted(limit / parts_of_limit)
{
}

std::optional<std::vector<std::byte>> DiskCache::read(const CacheKey &key) const
{
   const File from = open_folder(folder);
   if (!from)
      return std::nullopt;
   const File file(
      openat(from.get(), name_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
   struct stat status;
   Header header;
   if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
       uint64_t(status.st_size) < sizeof(header) ||
       uint64_t(status.st_size) > sizeof(header) + max_payload)
      return std::nullopt;
   std::vector<std::byte> payload(size_t(status.st_size) - sizeof(header));
   if (!read_all(file.get(), &header, sizeof(header)) ||
       !read_all(file.get(), payload.data(), payload.size()) || header.key != key ||
       header.hash != hash_of(key, payload))
      return std::nullopt;
   // The modification time stores the last use: access times are often disabled.
   futimens(file.get(), nullptr);
   return payload;
}

void DiskCache::write(const CacheKey &key, std::span<const std::byte> payload)
{
   if (payload.size() > max_payload)
      return;
   create_folder(folder);
   const File to = open_folder(folder);
   if (!to || !write_entry(to.get(), name_of(key), key, payload))
      return;
   const uint64_t bytes = disk_bytes(sizeof(Header) + payload.size());
   if (unaccounted.fetch_add(bytes) + bytes > limit / parts_of_limit) {
      unaccounted = 0;
      shrink(to.get(), folder, limit);
   }
}

bool DiskCache::has_entries() const noexcept
{
   const std::unique_ptr<DIR, int (*)(DIR *)> listing(opendir(folder.c_str()), closedir);
   while (const dirent *item = listing ? readdir(listing.get()) : nullptr) {
      if (is_entry(item->d_name))
         return true;
   }
   return false;
}

DiskCache *shader_cache()
{
   // Threads may use it while the process exits.
   static DiskCache *const cache = []() -> DiskCache * {
      std::vector<std::string> problems;
      // secure_getenv: a program with more rights than its caller ignores the caller's settings.
      const CacheSettings settings = parse_cache_settings(
         [](const char *name) -> const char * { return secure_getenv(name); }, problems);
      for (const std::string &problem : problems)
         std::fprintf(stderr, "weft: %s\n", problem.c_str());
      if (settings.folder.empty())
         return nullptr;
      return &until_unload(new DiskCache(settings.folder, settings.limit));
   }();
   return cache;
}

} // namespace weft
