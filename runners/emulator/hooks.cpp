// The calls that `-fsanitize=thread` puts before every access, answered by our own shadow; no sanitizer runtime is linked.
#include <stdint.h>
#include <string.h>

#include "shadow.h"

#define HERE reinterpret_cast<uint64_t>(__builtin_return_address(0))
#define WHOLE(address, size, write) shadow_aligned(reinterpret_cast<uint64_t>(address), size, HERE), SEEN(address, size, write)
#define SEEN(address, size, write) shadow_access(reinterpret_cast<uint64_t>(address), uint32_t(size), write, HERE)
#define ACCESS(size)                                                                                  \
    void __tsan_read##size(void* address) { WHOLE(address, size, false); }                            \
    void __tsan_write##size(void* address) { WHOLE(address, size, true); }                            \
    void __tsan_volatile_read##size(void* address) { SEEN(address, size, false); }                    \
    void __tsan_volatile_write##size(void* address) { SEEN(address, size, true); }                    \
    void __tsan_unaligned_read##size(void* address) { SEEN(address, size, false); }                   \
    void __tsan_unaligned_write##size(void* address) { SEEN(address, size, true); }                   \
    void __tsan_unaligned_volatile_read##size(void* address) { SEEN(address, size, false); }          \
    void __tsan_unaligned_volatile_write##size(void* address) { SEEN(address, size, true); }          \
    void __tsan_read_write##size(void* address) {                                                     \
        SEEN(address, size, false);                                                                   \
        SEEN(address, size, true);                                                                    \
    }

#pragma GCC visibility push(hidden)
extern "C" {
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void* address, unsigned long size) { SEEN(address, size, false); }
void __tsan_write_range(void* address, unsigned long size) { SEEN(address, size, true); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

void* __tsan_memcpy(void* to, const void* from, unsigned long size) {
    SEEN(from, size, false);
    SEEN(to, size, true);
    return memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, unsigned long size) {
    SEEN(from, size, false);
    SEEN(to, size, true);
    return memmove(to, from, size);
}
void* __tsan_memset(void* to, int value, unsigned long size) {
    SEEN(to, size, true);
    return memset(to, value, size);
}
}
#pragma GCC visibility pop
