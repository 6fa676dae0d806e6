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
  # It runs before the relocations and before there is a canary.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/start/libc_start.c PROPERTIES
    COMPILE_OPTIONS "-fno-lto;-fno-stack-protector;-fPIE;-O2;-fno-builtin;-fno-tree-loop-distribute-patterns")
  caisson_first_code(${CMAKE_SOURCE_DIR}/src/start/first_code.txt ${CMAKE_BINARY_DIR}/first_code.ld)
  set(scripts ${CMAKE_SOURCE_DIR}/src/start/data.ld ${CMAKE_BINARY_DIR}/first_code.ld)
  foreach(script ${scripts})
    target_link_options(${target} PRIVATE -Wl,-T,${script})
  endforeach()
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${scripts})
  # LTO compiles when it links: a section for each function and each table. The map is for tools/order-start.
  target_link_options(${target} PRIVATE -ffunction-sections -fdata-sections -Wl,-Map,${CMAKE_BINARY_DIR}/caisson.map)
endfunction()

# A linker script of the list that tools/order-start writes: what a start runs, side by side, and the
# constants of it. Each is the name of a function, or a section of a library's file.
function(caisson_first_code list script)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} names REGEX "^[^#]")
  set(code "")
  set(constants "")
  foreach(name ${names})
    if(name MATCHES "^(.+)\\((.+)\\)$")
      string(APPEND code "    *${CMAKE_MATCH_1}(${CMAKE_MATCH_2})\n")
      string(APPEND constants "    *${CMAKE_MATCH_1}(.rodata .rodata.*)\n")
    else()
      string(REGEX REPLACE "^(unlikely|startup)\\." "" function ${name})
      string(APPEND code "    *(.text.${name} .text.${name}.*)\n")
      string(APPEND constants "    *(.rodata.${function} .rodata.${function}.*)\n")
    endif()
  endforeach()
  configure_file(${CMAKE_SOURCE_DIR}/src/start/first_code.ld.in ${script} @ONLY)
endfunction()
