// From the kernel to main() without asking what the processor can do.
//
// glibc's own start asks cpuid some forty times, to choose among string functions and to size
// copies by the caches. In a virtual machine each of these is an exit to the hypervisor: 0.3 ms, a
// tenth of a whole cell (docs/decisions/0018). This one leaves the features at "none known", so the
// resolvers choose the baseline that every x86-64 has; everything else is done as glibc does it, in
// its order, but for GLIBC_TUNABLES: nothing in the caller's environment tunes this program. The
// names are glibc's, from the objects that it is linked with: CMake takes this file only for the
// version that it was written against.
#include <cpuid.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HIDDEN __attribute__((visibility("hidden")))

// What the string functions ask for; glibc defines these beside its own start. The values are its
// defaults for a processor with 32 KiB of first-level and 1 MiB of shared cache.
HIDDEN long __x86_data_cache_size = 32 * 1024;
HIDDEN long __x86_data_cache_size_half = 32 * 1024 / 2;
HIDDEN long __x86_shared_cache_size = 1024 * 1024;
HIDDEN long __x86_shared_cache_size_half = 1024 * 1024 / 2;
HIDDEN long __x86_shared_non_temporal_threshold = 1024 * 1024 * 3 / 4;
HIDDEN long __x86_rep_movsb_threshold = 2048;
HIDDEN long __x86_rep_stosb_threshold = 2048;
HIDDEN long __x86_rep_movsb_stop_threshold = 1024 * 1024 * 3 / 4;
HIDDEN int __x86_string_control = 0;

extern HIDDEN char** __environ;
extern HIDDEN void* __libc_stack_end;
extern HIDDEN int __libc_enable_secure;
extern HIDDEN void* _dl_random;
extern HIDDEN void _dl_aux_init(Elf64_auxv_t* auxv);
extern HIDDEN void _dl_relocate_static_pie(void);
extern HIDDEN void __libc_setup_tls(void);
extern HIDDEN void __libc_early_init(_Bool initial);
extern HIDDEN void __libc_init_first(int argc, char** argv, char** environment);
extern HIDDEN void __libc_check_standard_fds(void);
extern int __cxa_atexit(void (*function)(void*), void* argument, void* handle);

// Where the linker script put the tables of pointers of OpenSSL and nghttp2: 100 pages that only a
// gateway reads. Made right at the start, each would be a page fault and a copy, a quarter of a
// millisecond in all for cells that have none.
extern HIDDEN char __late_start[], __late_constant_end[], __late_end[];
extern HIDDEN Elf64_Dyn _DYNAMIC[];
extern HIDDEN char __ehdr_start[];

typedef void Initialiser(int, char**, char**);
extern HIDDEN Initialiser* __init_array_start[];

static const Elf64_Relr* relative;
static size_t relative_count;

// The late words are one stretch of memory, and the entries are in the order of addresses: most of
// them are passed over 63 at a time.
static _Bool is_late(const Elf64_Addr* word) {
  return (const char*)word >= __late_start && (const char*)word < __late_end;
}

// DT_RELR: an even entry is the address of a word, an odd one a map of the 63 words behind the
// last.
static void relocate(_Bool late) {
  const Elf64_Addr base = (Elf64_Addr)__ehdr_start;
  Elf64_Addr* word = NULL;
  for (size_t i = 0; i < relative_count; ++i) {
    Elf64_Relr entry = relative[i];
    if ((entry & 1) == 0) {
      word = (Elf64_Addr*)(__ehdr_start + entry);
      if (is_late(word) == late) *word += base;
      ++word;
      continue;
    }
    _Bool first = is_late(word), last = is_late(word + 62);
    for (Elf64_Relr map = first == last && first != late ? 0 : entry >> 1; map; map &= map - 1) {
      Elf64_Addr* one = word + __builtin_ctzll(map);
      if (first == last || is_late(one) == late) *one += base;
    }
    word += 63;
  }
}

// One call instead of a fault for each page that is about to be written. (There is no errno yet.)
static void copy_pages(const char* from, const char* to) {
  const uintptr_t start = (uintptr_t)from & ~(uintptr_t)4095;
  long result = 28;                          // madvise(2)
  register long advice __asm__("rdx") = 23;  // MADV_POPULATE_WRITE (5.14); without it, as before
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(start), "S"((uintptr_t)to - start), "r"(advice)
                   : "rcx", "r11", "memory");
}

// All but the late ones; glibc then finds none to do.
static void relocate_early(void) {
  for (Elf64_Dyn* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_RELR) relative = (const Elf64_Relr*)(__ehdr_start + entry->d_un.d_ptr);
    if (entry->d_tag != DT_RELRSZ) continue;
    relative_count = entry->d_un.d_val / sizeof(Elf64_Relr);
    entry->d_un.d_val = 0;
  }
  relocate(0);
}

// Before the first use of nghttp2, or of OpenSSL beyond a hash; from then on the constant tables
// can't be written.
void caisson_relocate_late(void) {
  static _Bool done;
  if (done) return;
  done = 1;
  relocate(1);
  mprotect(__late_start, (size_t)(__late_constant_end - __late_start), PROT_READ);
}

// The one answer that is worth its question here: with the processor's own instructions a hash
// takes a fifth of the time. Two cpuids, where OpenSSL's own round has ten; later it may still ask
// them all.
extern HIDDEN unsigned int OPENSSL_ia32cap_P[4];

void caisson_ask_for_sha(void) {
  static _Bool asked;
  if (asked || OPENSSL_ia32cap_P[0]) return;
  asked = 1;
  unsigned int highest, features, other, unused;
  __cpuid(0, highest, features, other, unused);
  if (highest < 7) return;
  __cpuid_count(7, 0, highest, features, other, unused);
  OPENSSL_ia32cap_P[2] |= features & bit_SHA;
}

// Where the program's file lies, for $ORIGIN in the search paths of libraries that are loaded:
// there are none, and the readlink of /proc/self/exe is a fiftieth of a start. This is glibc's own
// answer where it can't be found out.
HIDDEN const char* _dl_get_origin(void) { return (const char*)-1; }

typedef void Finaliser(void);
extern HIDDEN Initialiser* __preinit_array_start[];
extern HIDDEN Initialiser* __preinit_array_end[];
extern HIDDEN Initialiser* __init_array_end[];
extern HIDDEN Finaliser* __fini_array_start[];
extern HIDDEN Finaliser* __fini_array_end[];
extern HIDDEN void _fini(void);

static void call_finalisers(void* unused) {
  (void)unused;
  for (size_t i = (size_t)(__fini_array_end - __fini_array_start); i-- > 0;)
    __fini_array_start[i]();
  _fini();
}

// Not _init(): all that stands there is OpenSSL's own round of cpuid. Who uses more of OpenSSL than
// a hash initialises the library, and is asked then.
static void call_initialisers(int argc, char** argv) {
  for (Initialiser** at = __preinit_array_start; at < __preinit_array_end; ++at)
    (*at)(argc, argv, __environ);
  for (Initialiser** at = __init_array_start; at < __init_array_end; ++at)
    (*at)(argc, argv, __environ);
}

// The canary of the stack protector and the mask of saved code pointers, from the kernel's 16
// random bytes; where they lie is the ABI between the compiler and glibc.
static void set_guards(void) {
  const uint64_t* random = (const uint64_t*)_dl_random;
  __asm__ volatile("movq %0, %%fs:0x28" ::"r"(random[0] & ~(uint64_t)0xff));
  __asm__ volatile("movq %0, %%fs:0x30" ::"r"(random[1]));
}

__attribute__((noreturn)) int __libc_start_main(int (*main)(int, char**, char**), int argc,
                                                char** argv, void (*unused_init)(void),
                                                void (*unused_fini)(void), void (*rtld_fini)(void),
                                                void* stack_end) {
  (void)unused_init;
  (void)unused_fini;
  (void)rtld_fini;  // there is no dynamic linker
  copy_pages((const char*)__init_array_start, __late_start);
  __environ = argv + argc + 1;
  __libc_stack_end = stack_end;
  char** end_of_environment = __environ;
  while (*end_of_environment) ++end_of_environment;
  _dl_aux_init((Elf64_auxv_t*)(end_of_environment + 1));
  relocate_early();
  _dl_relocate_static_pie();  // with it the resolvers of the string functions run
  __libc_setup_tls();
  set_guards();
  __libc_early_init(1);
  __libc_init_first(argc, argv, __environ);
  __cxa_atexit(call_finalisers, NULL, NULL);
  if (__libc_enable_secure) __libc_check_standard_fds();
  call_initialisers(argc, argv);
  exit(main(argc, argv, __environ));
}
