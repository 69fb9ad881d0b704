// A queue of messages whose objects live in static storage: no heap, no mapping, and a full queue is an answer.
//
//     message_queue [ROUNDS]
#include <flatline/object_pool.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

struct Message {
    Message(std::uint32_t number, const char *text) : kind(number) { std::strncpy(content, text, sizeof content - 1); }
    std::uint32_t kind;
    char content[60] = {};
    Message *next = nullptr;
};

flat::object_pool<Message, 256> messages;

// A list through the messages themselves; the pool is what bounds it.
class Queue {
  public:
    // false iff 256 messages are waiting
    bool post(std::uint32_t kind, const char *text) {
        Message *message = messages.construct(kind, text);
        if (message == nullptr) return false;
        *end_ = message;
        end_ = &message->next;
        return true;
    }

    // The kind of the oldest message, which is then gone; 0 iff there is none.
    std::uint32_t take() {
        Message *message = first_;
        if (message == nullptr) return 0;
        const std::uint32_t kind = message->kind;
        first_ = message->next;
        if (first_ == nullptr) end_ = &first_;
        return messages.destroy(message) == FLAT_OK ? kind : 0;
    }

  private:
    Message *first_ = nullptr, **end_ = &first_;
};

} // namespace

int main(int argc, char **argv) {
    const std::uint32_t rounds = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 1000;
    Queue queue;
    std::uint32_t posted = 0, refused = 0, taken = 0;
    phase = STEADY;
    for (std::uint32_t round = 0; round < rounds; round++) {
        for (int burst = 0; burst < 20; burst++)
            (queue.post(round + 1, "temperature above 30 degrees") ? posted : refused)++;
        for (int served = 0; served < 19 && queue.take() != 0; served++) taken++;
    }
    while (queue.take() != 0) taken++;

    Message *message = messages.construct(1u, "once");
    const bool once = messages.destroy(message) == FLAT_OK;
    const bool twice = messages.destroy(message) == FLAT_DOUBLE_FREE;

    phase = ENDING;
    const flat_pool_stats stats = messages.stats();
    std::printf("%u posted, %u refused, %u taken; at most %zu of %zu waited\n", posted, refused, taken,
                stats.high_water, stats.block_count);
    return posted == taken && stats.live == 0 && stats.refused == refused && once && twice ? 0 : 1;
}
