#include "loop/task.h"

#include <boost/asio/co_spawn.hpp>
#include <cstdlib>
#include <exception>

namespace caisson {

void spawn(Loop& loop, Task<> task) {
  boost::asio::co_spawn(loop, std::move(task), [](std::exception_ptr thrown) {
    if (thrown) std::abort();
  });
}

}  // namespace caisson
