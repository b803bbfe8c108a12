// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/shared_payload.h"

#include "icd/sync.h"
#include "threads/blocked_signals.h"

#include <climits>
#include <fcntl.h>
#include <linux/futex.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft {

namespace {

constexpr uint64_t magic = 0x316e7953'74666557; // "WeftSyn1"
static_assert(std::atomic<uint64_t>::is_always_lock_free);

void futex(std::atomic<uint32_t> &word, int operation, uint32_t value)
{
   syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation, value, nullptr, nullptr, 0);
}

} // namespace

std::shared_ptr<SharedPayload> SharedPayload::map(int fd)
{
   void *page = mmap(nullptr, sizeof(PayloadPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
   if (page == MAP_FAILED) {
      close(fd);
      return nullptr;
   }
   return std::shared_ptr<SharedPayload>(new SharedPayload(fd, static_cast<PayloadPage *>(page)));
}

std::shared_ptr<SharedPayload> SharedPayload::create(PayloadKind kind, uint64_t value,
                                                     uint64_t pending, uint64_t point)
{
   const int fd = memfd_create("weft payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
   if (fd < 0)
      return nullptr;
   // A file that shrinks would end the processes that map it.
   if (ftruncate(fd, sizeof(PayloadPage)) != 0 ||
       fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
      close(fd);
      return nullptr;
   }
   std::shared_ptr<SharedPayload> payload = map(fd);
   if (payload)
      new (payload->mapped) PayloadPage{magic, kind, 0, value, pending, point};
   return payload;
}

std::shared_ptr<SharedPayload> SharedPayload::open(int fd, PayloadKind kind)
{
   struct stat file;
   const int seals = fcntl(fd, F_GET_SEALS);
   if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &file) != 0 ||
       file.st_size != off_t(sizeof(PayloadPage)))
      return nullptr;
   const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
   std::shared_ptr<SharedPayload> payload = own < 0 ? nullptr : map(own);
   if (payload && (payload->mapped->magic != magic || payload->mapped->kind != kind))
      return nullptr;
   return payload;
}

SharedPayload::~SharedPayload()
{
   if (watcher.joinable()) {
      ends = true;
      tell();
      watcher.join();
   }
   munmap(mapped, sizeof(PayloadPage));
   close(file);
}

int SharedPayload::duplicate_file() const
{
   return fcntl(file, F_DUPFD_CLOEXEC, 0);
}

void SharedPayload::tell()
{
   mapped->changes++;
   futex(mapped->changes, FUTEX_WAKE, INT_MAX);
}

void SharedPayload::watch(Progress &progress)
{
   if (watcher.joinable())
      return;
   const BlockedSignals inherited;
   watcher = std::thread([this, &progress] {
      pthread_setname_np(pthread_self(), "weft-payload");
      while (!ends) {
         const uint32_t seen = mapped->changes;
         progress.update([] {});
         // Another change meanwhile: the futex does not wait.
         if (!ends)
            futex(mapped->changes, FUTEX_WAIT, seen);
      }
   });
}

} // namespace weft
