#include "parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace flat::simulate {

void run_all(std::size_t count, const std::function<void(std::size_t)> &job) {
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    std::mutex failing;
    const auto work = [&] {
        for (std::size_t number = next++; number < count; number = next++) {
            try {
                job(number);
            } catch (...) {
                const std::lock_guard lock(failing);
                if (!failure) failure = std::current_exception();
                next = count;
            }
        }
    };
    {
        std::vector<std::jthread> threads;
        const std::size_t others = std::min<std::size_t>(std::max(std::thread::hardware_concurrency(), 1U), count);
        try {
            for (std::size_t i = 1; i < others; i++) threads.emplace_back(work);
        } catch (const std::system_error &) { // the limit of threads or of memory: those that there are do it all
        }
        work();
    }
    if (failure) std::rethrow_exception(failure);
}

} // namespace flat::simulate
