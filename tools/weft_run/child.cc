// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weft_run/child.h"

#include <cerrno>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::weft_run {

namespace {

/// Enough for a driver that wakes a GPU.
constexpr unsigned probe_seconds = 60;

void write_all(int file, const std::string &text)
{
   for (size_t at = 0; at < text.size();) {
      const ssize_t written = write(file, text.data() + at, text.size() - at);
      if (written <= 0)
         return;
      at += size_t(written);
   }
}

std::string read_all(int file)
{
   std::string text;
   char buffer[4096];
   for (;;) {
      const ssize_t size = read(file, buffer, sizeof(buffer));
      if (size < 0 && errno == EINTR)
         continue;
      if (size <= 0)
         return text;
      text.append(buffer, size_t(size));
   }
}

} // namespace

Result<std::string> run_in_child(const std::function<std::string()> &probe)
{
   int ends[2];
   const pid_t child = pipe(ends) == 0 ? fork() : -1;
   if (child < 0)
      return Error{std::string("cannot create a process: ") + strerror(errno)};
   if (child == 0) {
      close(ends[0]);
      alarm(probe_seconds);
      write_all(ends[1], probe());
      _exit(0);
   }
   close(ends[1]);
   std::string text = read_all(ends[0]);
   close(ends[0]);
   int status = 0;
   while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
   }
   if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
      return Error{"a driver did not answer for " + std::to_string(probe_seconds) + " seconds"};
   if (WIFSIGNALED(status))
      return Error{std::string("a driver crashed the process that loaded it: ") +
                   strsignal(WTERMSIG(status))};
   if (text.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
      return Error{"a driver ended the process that loaded it"};
   return text;
}

} // namespace weft::weft_run
