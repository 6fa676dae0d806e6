# src/start takes the place of glibc's own start, which asks a processor forty questions that a
# virtual machine answers slowly. It knows the inside of one version on one architecture: with any
# other the usual start is linked, and all that is lost is time.
include(CheckCSourceCompiles)
function(caisson_quick_start target)
  check_c_source_compiles([[
    #include <features.h>
    #if !defined(__x86_64__) || __GLIBC__ != 2 || __GLIBC_MINOR__ != 36
    #error another C library
    #endif
    int main(void) { return 0; }
  ]] CAISSON_QUICK_START)
  if(NOT CAISSON_QUICK_START)
    return()
  endif()
  target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/start/libc_start.c)
  target_link_options(${target} PRIVATE -Wl,-T,${CMAKE_SOURCE_DIR}/src/start/late.ld)
  # It runs before the relocations and before there is a canary.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/start/libc_start.c PROPERTIES
    COMPILE_OPTIONS "-fno-lto;-fno-stack-protector;-fPIE;-O2;-fno-builtin;-fno-tree-loop-distribute-patterns")
endfunction()
