// frames.cu on this processor: what CUDA adds to C++ is nothing here, and threads take turns.
// Numbers and arrays come on standard input, in the order of the kernel's arguments; outcomes go to
// standard output.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define __device__ static
#define __global__

static struct {
    unsigned x;
} blockIdx, blockDim, threadIdx;

#include "../../src/monte_carlo/gpu/frames.cu"

template <typename T> static std::vector<T> read(u64 count) {
    std::vector<T> values(count);
    if (fread(values.data(), sizeof(T), count, stdin) != count) exit(1);
    return values;
}

int main() {
    std::vector<u64> n = read<u64>(8);
    std::vector<u32> code = read<u32>(n[0]);
    std::vector<u8> bins = read<u8>(n[1]);
    std::vector<double> borders = read<double>(n[2]);
    std::vector<u8> words = read<u8>(n[3]);
    u64 stream = n[4], first = n[5], count = n[6], frame_bytes = n[7];
    std::vector<i8> scratch(frame_bytes * count);
    std::vector<u32> out(4 * count);
    blockDim.x = 48;
    for (blockIdx.x = 0; blockIdx.x * blockDim.x < count; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
            frames(code.data(), bins.data(), borders.data(), words.data(), scratch.data(),
                   out.data(), stream, first, (u32)count);
    return fwrite(out.data(), sizeof(u32), out.size(), stdout) == out.size() ? 0 : 1;
}
