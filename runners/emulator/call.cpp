// Calls a kernel of any signature of scalars and pointers, with its arguments where the ABI wants them.
#include <string.h>

#include "runtime.h"

#pragma GCC visibility push(hidden)
namespace {

// On both ABIs integers and floats fill their own registers first and then share the stack in order, eight
// bytes each: so one cast calls every kernel signature of scalars and pointers.
#ifdef __aarch64__
constexpr int INTEGER_REGISTERS = 8;
#else
constexpr int INTEGER_REGISTERS = 6;
#endif
struct Packed {
    uint64_t integers[8];
    double floats[8];
    uint64_t stack[MAX_ARGS];
} packed;


}  // namespace

void pack_arguments(const LaunchRequest* request) {
    memset(&packed, 0, sizeof packed);
    int integers = 0, floats = 0, rest = 0;
    for (uint32_t i = 0; i < request->argument_count; ++i) {
        uint64_t value = request->arguments[i];
        if (request->is_float[i] && floats < 8) memcpy(&packed.floats[floats++], &value, 8);
        else if (!request->is_float[i] && integers < INTEGER_REGISTERS) packed.integers[integers++] = value;
        else packed.stack[rest++] = value;
    }
}

void call_kernel(const LaunchRequest* request) {
    typedef uint64_t U;
    const U* n = packed.integers;
    const double* f = packed.floats;
    const U* s = packed.stack;
#ifdef __aarch64__
    typedef void (*Kernel)(U, U, U, U, U, U, U, U, double, double, double, double, double, double, double, double, U, U, U, U, U, U, U, U,
                           U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U);
    Kernel(request->kernel)(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], s[0], s[1],
                                  s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15], s[16], s[17],
                                  s[18], s[19], s[20], s[21], s[22], s[23]);
#else
    typedef void (*Kernel)(U, U, U, U, U, U, double, double, double, double, double, double, double, double, U, U, U, U, U, U, U, U, U, U, U,
                           U, U, U, U, U, U, U, U, U, U, U, U, U);
    Kernel(request->kernel)(n[0], n[1], n[2], n[3], n[4], n[5], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], s[0], s[1], s[2], s[3],
                                  s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15], s[16], s[17], s[18], s[19],
                                  s[20], s[21], s[22], s[23]);
#endif
}
#pragma GCC visibility pop
