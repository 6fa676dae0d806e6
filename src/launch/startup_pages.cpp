#include "launch/startup_pages.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>

namespace caisson {

// Segments that can't be written.
static int add_clean(dl_phdr_info* info, size_t, void* found) {
  constexpr uintptr_t kPage = 4096;
  auto& pages = *static_cast<std::vector<PageRange>*>(found);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W)) continue;
    uintptr_t start = (info->dlpi_addr + part.p_vaddr) & ~(kPage - 1);
    uintptr_t end = (info->dlpi_addr + part.p_vaddr + part.p_memsz + kPage - 1) & ~(kPage - 1);
    pages.push_back({reinterpret_cast<void*>(start), end - start});
  }
  return 1;  // the first object is the program itself
}

std::vector<PageRange> clean_pages() {
  std::vector<PageRange> pages;
  ::dl_iterate_phdr(add_clean, &pages);
  return pages;
}

void give_back_startup_pages() {
  for (const PageRange& range : clean_pages()) ::madvise(range.start, range.size, MADV_DONTNEED);
}

}  // namespace caisson
