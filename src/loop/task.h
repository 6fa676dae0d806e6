// The loop's coroutines: one thread, one io_context, executors that aren't type-erased.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace caisson {

using Loop = boost::asio::io_context;

template <typename T = void>
using Task = boost::asio::awaitable<T, Loop::executor_type>;

// Starts it; nobody waits for its end. An exception out of it (no memory) ends the gateway.
void spawn(Loop& loop, Task<> task);

}  // namespace caisson
