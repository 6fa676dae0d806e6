# Files of a folder are compiled a dozen at a time: the headers of asio and json, and what the compiler makes
# of them, are three quarters of a build, and so they are taken once for each dozen. A build from nothing
# takes half of the time, that of the tests a third. What it asks for: names that only one file knows must be its own
# in the folder (tools/check-local-names), since the files of a dozen see each other's. The fuzz targets are built file by file,
# so that each file still names the headers that it needs.
option(CAISSON_TOGETHER "Compile the files of a folder a dozen at a time" ON)
set(CMAKE_UNITY_BUILD ${CAISSON_TOGETHER})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
if(CAISSON_TOGETHER)
  # A file that is not named on the command line is a header to the compiler, and what is its own is suspect.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
