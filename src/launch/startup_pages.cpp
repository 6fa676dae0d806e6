#include "launch/startup_pages.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>

namespace caisson {

// Segments that can't be written: clean pages of the file, which the kernel can always read again.
static int give_back(dl_phdr_info* info, size_t, void*) {
  constexpr uintptr_t kPage = 4096;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W)) continue;
    uintptr_t start = (info->dlpi_addr + part.p_vaddr) & ~(kPage - 1);
    uintptr_t end = (info->dlpi_addr + part.p_vaddr + part.p_memsz + kPage - 1) & ~(kPage - 1);
    ::madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED);
  }
  return 1;  // the first object is the program itself
}

void give_back_startup_pages() { ::dl_iterate_phdr(give_back, nullptr); }

}  // namespace caisson
