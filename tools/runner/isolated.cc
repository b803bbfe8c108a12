// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/runner/isolated.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace weft::runner {

namespace {

using Clock = std::chrono::steady_clock;

/// The other process's progress, in shared memory: readable even if that process crashes.
struct Record {
   uint32_t optional_passes;
   char last_pass[80], last_optional_pass[80];
};

class SharedRecord {
public:
   SharedRecord()
       : memory(mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0))
   {
   }
   ~SharedRecord()
   {
      if (*this)
         munmap(memory, sizeof(Record));
   }
   SharedRecord(const SharedRecord &) = delete;
   SharedRecord &operator=(const SharedRecord &) = delete;

   explicit operator bool() const { return memory != MAP_FAILED; }
   Record *operator->() const { return static_cast<Record *>(memory); }

private:
   void *memory;
};

void copy_name(char (&to)[80], const std::string &from)
{
   std::snprintf(to, sizeof(to), "%s", from.c_str());
}

bool write_all(int file, const void *data, size_t size)
{
   for (const char *at = static_cast<const char *>(data); size > 0;) {
      const ssize_t written = write(file, at, size);
      if (written < 0 && errno == EINTR)
         continue;
      if (written <= 0)
         return false;
      at += written;
      size -= size_t(written);
   }
   return true;
}

/// Runs in the other process. Writes "B" and the bytes of all buffers, or "E" and a message.
void run_and_tell(int file, const Dispatch &dispatch, const Path &path,
                  const CompileOptions &options, const SharedRecord &record)
{
   PassControl control;
   if (options.control)
      control = *options.control;
   const auto may_run = control.may_run;
   const auto after = control.after;
   control.may_run = [&](const PassApplication &pass) {
      record->optional_passes = std::max(record->optional_passes, pass.number);
      if (may_run && !may_run(pass))
         return false;
      copy_name(record->last_optional_pass, name(pass));
      copy_name(record->last_pass, name(pass));
      return true;
   };
   control.after = [&](const PassApplication &pass, bool changed, nir_shader *shader) {
      copy_name(record->last_pass, name(pass));
      if (after)
         after(pass, changed, shader);
   };
   CompileOptions own = options;
   own.control = &control;
   const Result<std::vector<Buffer>> result = run(dispatch, path, own);
   if (!result) {
      const std::string &message = result.error().message;
      write_all(file, "E", 1) && write_all(file, message.data(), message.size());
      return;
   }
   write_all(file, "B", 1);
   for (const Buffer &buffer : *result)
      write_all(file, buffer.bytes.data(), buffer.bytes.size());
}

/// Lets a crash end the process by its signal, even with a sanitizer, and without a core file.
void let_crash()
{
   for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
      signal(number, SIG_DFL);
   const rlimit none = {0, 0};
   setrlimit(RLIMIT_CORE, &none);
}

/// Reads a process's output until it ends; false after the deadline.
bool read_all(int file, Clock::time_point deadline, std::string &text)
{
   for (;;) {
      const auto left =
         std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd ready = {file, POLLIN, 0};
      const int polled = poll(&ready, 1, int(std::clamp<int64_t>(left.count(), 0, 1 << 30)));
      if (polled < 0 && errno == EINTR)
         continue;
      if (polled <= 0)
         return false;
      char block[65536];
      const ssize_t got = ::read(file, block, sizeof(block));
      if (got < 0 && errno == EINTR)
         continue;
      if (got <= 0)
         return true;
      text.append(block, size_t(got));
   }
}

Result<std::vector<Buffer>> understand(const std::string &text, int status,
                                       const Dispatch &dispatch, const SharedRecord &record)
{
   if (WIFSIGNALED(status)) {
      std::string message =
         std::string("crashed (") + strsignal(WTERMSIG(status)) + "), last pass: ";
      return Error{message + (record->last_pass[0] ? record->last_pass : "none")};
   }
   if (text.starts_with('E'))
      return Error{text.substr(1)};
   size_t size = 1;
   for (const Buffer &buffer : dispatch.buffers)
      size += buffer.bytes.size();
   if (!text.starts_with('B') || text.size() != size)
      return Error{"the process that ran the shader ended without a result"};
   std::vector<Buffer> buffers;
   const auto *at = reinterpret_cast<const std::byte *>(text.data()) + 1;
   for (const Buffer &buffer : dispatch.buffers) {
      buffers.push_back({buffer.place, {at, at + buffer.bytes.size()}});
      at += buffer.bytes.size();
   }
   return buffers;
}

} // namespace

IsolatedRun run_isolated(const Dispatch &dispatch, const Path &path, const CompileOptions &options,
                         std::chrono::milliseconds limit)
{
   const auto error = [](const char *message) { return IsolatedRun{Error{message}, 0, ""}; };
   const SharedRecord record;
   int ends[2];
   if (!record || pipe(ends) != 0)
      return error("no memory or files left for a process");
   std::fflush(nullptr);
   const pid_t child = fork();
   if (child < 0) {
      close(ends[0]);
      close(ends[1]);
      return error("cannot create a process");
   }
   if (child == 0) {
      close(ends[0]);
      let_crash();
      run_and_tell(ends[1], dispatch, path, options, record);
      close(ends[1]);
      std::fflush(nullptr);
      _exit(0);
   }
   close(ends[1]);
   std::string text;
   const bool ended = read_all(ends[0], Clock::now() + limit, text);
   close(ends[0]);
   if (!ended)
      kill(child, SIGKILL);
   int status = 0;
   while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
   }
   IsolatedRun run = {Error{"did not end within " + std::to_string(limit.count()) + " ms"},
                      record->optional_passes, record->last_optional_pass};
   if (ended)
      run.buffers = understand(text, status, dispatch, record);
   return run;
}

} // namespace weft::runner
