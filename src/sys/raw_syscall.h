// System calls without libc: no errno, no cancellation points, no locks. For code that runs between
// clone and exec, or that shares its memory with another process. Each returns -errno on failure.
#pragma once

#include <sys/syscall.h>

namespace caisson {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#else
#error "caisson runs on x86-64 and arm64"
#endif
}

template <typename T>
inline long raw_arg(T* pointer) {
  return reinterpret_cast<long>(pointer);
}
inline long raw_arg(long value) { return value; }

// sys_call(SYS_openat, dir, path, flags): pointers and numbers as they come.
template <typename... Args>
inline long sys_call(long number, Args... args) {
  return raw_syscall(number, raw_arg(args)...);
}

}  // namespace caisson

// clone(2) onto a stack of its own, calling fn(arg) there; ends with exit(2) of what fn returns.
// The child never returns into the caller's frames, so it may share the caller's memory.
extern "C" long caisson_clone_call(unsigned long flags, void* stack_top, int (*fn)(void*),
                                   void* arg);
