// Frames of LDPC Monte Carlo in 8 bits, a thread for each: channel, decoder, counts.
//
// The arithmetic is that of `channel/sample.rs` (bins) and `ldpc/decode/check.rs` (layered), so the
// counts are the same to the last bit: whole numbers, and doubles that are scaled by powers of two,
// added once and compared. A value x of a bit or an extrinsic value represents x + 1/2, as there.
//
//   code      sizes and settings, then tables, see `Tables` in mod.rs
//   bins      by bit: the bin of each of 4096 cells, 255 where a border cuts the cell; then by bin:
//             the bit that it speaks for, and its LLR
//   borders   by bit: upper borders of the bins in the unit interval
//   words     sent bits, eight to a byte; 16 frames share a word
//   scratch   of every frame a posterior by column and a message by edge; neighbouring threads have
//             neighbouring bytes
//   out       of each frame: wrong hard decisions, whether it ended as a codeword, iterations, wrong
//             information bits

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned int u32;
typedef unsigned long long u64;

struct Rng {
    u64 s[4];
};

__device__ inline u64 split_mix(u64 *chain) {
    *chain += 0x9e3779b97f4a7c15ULL;
    u64 z = *chain;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

__device__ inline u64 rotated(u64 x, int by) { return (x << by) | (x >> (64 - by)); }

__device__ inline u64 next(Rng *rng) {
    u64 *s = rng->s;
    u64 result = rotated(s[0] + s[3], 23) + s[0];
    u64 t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotated(s[3], 45);
    return result;
}

// The stream of a frame; `stream` is what the frames of a task have in common.
__device__ inline Rng stream_of(u64 stream, u64 frame) {
    u64 mixed = stream ^ frame;
    u64 chain = split_mix(&mixed) + 0x9e3779b97f4a7c15ULL;
    Rng rng;
    for (int i = 0; i < 4; i++) rng.s[i] = split_mix(&chain);
    return rng;
}

__device__ inline u32 bin_at(const u8 *cells, const double *borders, u32 bins, u32 cell, Rng *rng) {
    u32 bin = cells[cell];
    if (bin != 255) return bin;
    double share = (double)(next(rng) >> 11) * (1.0 / 9007199254740992.0);
    double u = ((double)cell + share) / 4096.0;
    for (bin = 0; bin + 1 < bins && u >= borders[bin]; bin++) {
    }
    return bin;
}

__device__ inline int saturated(int x) { return x < -128 ? -128 : x > 127 ? 127 : x; }

// The half-integer of a whole LLR; one of zero is decided by its column.
__device__ inline i8 half_integer(int llr, u32 column) {
    int tie = (column * 0x9e3779b9u) >> 31;
    return (i8)(llr < tie ? saturated(llr - 1) : llr);
}

struct Code {
    u32 checks, columns, bits, infos, word_bytes, bins, iterations, stop, scale, offset, most;
    const u32 *starts, *edges, *sent, *info;
};

__device__ inline Code code_of(const u32 *table) {
    Code c = {table[0], table[1], table[2], table[3], table[4],  table[5], table[6],
              table[7], table[8], table[9], table[10], 0,        0,        0,        0};
    c.starts = table + 11;
    c.edges = c.starts + c.checks + 1;
    c.sent = c.edges + c.starts[c.checks];
    c.info = c.sent + c.bits;
    return c;
}

// Draws the posteriors that the channel gives; returns how many hard decisions are wrong.
__device__ inline u32 draw(const Code &c, const u8 *bins, const double *borders, const u8 *word,
                           i8 *posteriors, u64 stride, Rng rng) {
    const u8 *decided = bins + 2 * 4096;
    const i8 *llrs = (const i8 *)decided + c.bins;
    if (c.bits < c.columns)
        for (u32 column = 0; column < c.columns; column++)
            posteriors[column * stride] = half_integer(0, column);
    u64 drawn = 0;
    u32 wrong = 0;
    for (u32 place = 0; place < c.bits; place++) {
        if (place % 5 == 0) drawn = next(&rng);
        u32 bit = word[place >> 3] >> (place & 7) & 1;
        u32 cell = (u32)drawn & 4095;
        drawn >>= 12;
        u32 bin = bin_at(bins + bit * 4096, borders + bit * c.bins, c.bins, cell, &rng);
        wrong += decided[bin] ^ bit;
        posteriors[c.sent[place] * stride] = half_integer(llrs[bin], c.sent[place]);
    }
    return wrong;
}

__device__ inline bool is_codeword(const Code &c, const i8 *posteriors, u64 stride) {
    for (u32 check = 0; check < c.checks; check++) {
        int parity = 0;
        for (u32 edge = c.starts[check]; edge < c.starts[check + 1]; edge++)
            parity ^= posteriors[c.edges[edge] * stride];
        if (parity < 0) return false;
    }
    return true;
}

__device__ inline int weakened(const Code &c, int size) {
    int message = (((2 * size + 1) * (int)c.scale + 255) >> 9) - (int)c.offset;
    return message < 0 ? 0 : message > (int)c.most ? (int)c.most : message;
}

// One iteration. In the first nothing was sent before, and `messages` holds anything.
__device__ inline void sweep(const Code &c, bool is_first, i8 *posteriors, i8 *messages, u64 stride) {
    for (u32 check = 0; check < c.checks; check++) {
        u32 first = c.starts[check], limit = c.starts[check + 1];
        int least = 127, second = 127, parity = 0;
        for (u32 edge = first; edge < limit; edge++) {
            int sent = is_first ? 0 : messages[edge * stride];
            int value = saturated(posteriors[c.edges[edge] * stride] - sent);
            int size = value ^ (value >> 31);
            parity ^= value;
            int larger = least > size ? least : size;
            second = second < larger ? second : larger;
            least = least < size ? least : size;
        }
        int to_least = weakened(c, second), to_others = weakened(c, least);
        for (u32 edge = first; edge < limit; edge++) {
            int sent = is_first ? 0 : messages[edge * stride];
            i8 *posterior = posteriors + c.edges[edge] * stride;
            int value = saturated(*posterior - sent);
            int message = (value ^ (value >> 31)) == least ? to_least : to_others;
            if ((value ^ parity) < 0) message = -message;
            messages[edge * stride] = (i8)message;
            *posterior = (i8)saturated(value + message);
        }
    }
}

extern "C" __global__ void frames(const u32 *code, const u8 *bins, const double *borders,
                                  const u8 *words, i8 *scratch, u32 *out, u64 stream, u64 first,
                                  u32 count) {
    u32 lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= count) return;
    Code c = code_of(code);
    u64 frame = first + lane, stride = count;
    const u8 *word = words + (frame / 16 - first / 16) * c.word_bytes;
    i8 *posteriors = scratch + lane, *messages = posteriors + c.columns * stride;
    u32 wrong = draw(c, bins, borders, word, posteriors, stride, stream_of(stream, frame));
    u32 iteration = 0;
    bool ok = false;
    for (;; iteration++) {
        bool is_last = iteration == c.iterations;
        if (c.stop || is_last) ok = is_codeword(c, posteriors, stride);
        if (ok || is_last) break;
        sweep(c, iteration == 0, posteriors, messages, stride);
    }
    u32 errors = 0;
    for (u32 i = 0; i < c.infos; i++) {
        u32 place = c.info[i];
        u32 hard = posteriors[c.sent[place] * stride] < 0;
        errors += hard ^ (word[place >> 3] >> (place & 7) & 1);
    }
    u32 *counts = out + 4 * (u64)lane;
    counts[0] = wrong;
    counts[1] = ok;
    counts[2] = iteration;
    counts[3] = errors;
}
