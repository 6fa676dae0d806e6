# One folder of src/ is one static library. Each target sees only the headers of the folders that it
# names (through a directory of links), so that a wrong include fails to build. PARSED names the headers
# that it shares with others in a form the compiler has parsed already (parsed_headers.cmake).
function(caisson_folder name)
  cmake_parse_arguments(ARG "" "PARSED" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp ${CMAKE_SOURCE_DIR}/src/${name}/*.S)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  set(window ${CMAKE_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${window})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${window}/${name} SYMBOLIC)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${window})
    target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
    if(ARG_PARSED)
      target_precompile_headers(${name} REUSE_FROM ${ARG_PARSED})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${window})
    target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
  endif()
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/${name}/CMakeLists.txt)
    add_subdirectory(src/${name})
  endif()
endfunction()

# Code that runs between clone and exec, or that shares memory with another process: no exceptions,
# no RTTI, nothing that allocates, locks or reads errno (tests/child_symbols.sh looks at the object).
function(caisson_bare_sources folder)
  foreach(source ${ARGN})
    set_source_files_properties(${CMAKE_SOURCE_DIR}/src/${folder}/${source}
      TARGET_DIRECTORY ${folder}
      PROPERTIES COMPILE_OPTIONS "-fno-exceptions;-fno-rtti;-fno-sanitize=all;-fno-lto;-fno-stack-protector;-U_FORTIFY_SOURCE")
  endforeach()
endfunction()
