// The main function of all test programs. Many cases share a process, so a process that ends before
// its last case must not look like success: exit(0) somewhere below a case would.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/mpi_leaks.hpp"

namespace {

pid_t tests_process = 0;  // 0: no cases are running

void refuse_early_exit() {
  if (getpid() != tests_process) return;  // a child may end as it likes
  std::fputs("tests/main.cpp: the process ended before its last case\n", stderr);
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  std::atexit(refuse_early_exit);
  tests_process = getpid();
  const int result = RUN_ALL_TESTS();
  tests_process = 0;
  return result;
}
