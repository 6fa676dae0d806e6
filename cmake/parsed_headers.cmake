# Headers that nearly every file includes, parsed once: without, they are three quarters of the time that
# a build takes. Only headers of others: one of ours would be seen by folders that may not know it.
set(standard_headers <algorithm> <deque> <fmt/format.h> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <unordered_map> <vector>)
set(boost_headers <boost/asio/awaitable.hpp> <boost/asio/basic_waitable_timer.hpp> <boost/asio/io_context.hpp>
    <boost/asio/posix/basic_stream_descriptor.hpp> <boost/asio/redirect_error.hpp> <boost/asio/use_awaitable.hpp>
    <boost/json.hpp>)

# Of one source without a line: the compiler takes them only where every definition is the same.
function(caisson_parsed_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPENDS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()
