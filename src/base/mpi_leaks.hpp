// For the file with main(), under AddressSanitizer: leaks are not looked for where MPI was begun.
// Open MPI keeps memory of its own to the end, in modules that are unloaded by then.
#pragma once

#ifdef __SANITIZE_ADDRESS__
extern "C" int MPI_Initialized(int* begun) __attribute__((weak));

extern "C" int __lsan_is_turned_off() {
  int begun = 0;
  if (MPI_Initialized != nullptr) MPI_Initialized(&begun);
  return begun;
}
#endif
