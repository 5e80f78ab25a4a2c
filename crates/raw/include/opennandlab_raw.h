/* A raw NAND chip of opennandlab: pages with OOB, rules, ECC, faults, ageing.
 *
 * Functions return 0 or a negative number: those of Linux, whatever the system is. After
 * ONL_RAW_EINVAL and a null handle, onl_raw_last_error has the reason. A chip may be used by
 * several threads; each call takes its lock.
 */
#ifndef OPENNANDLAB_RAW_H
#define OPENNANDLAB_RAW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A bad block, a program or an erase that failed. */
#define ONL_RAW_EIO (-5)
/* The power is off. */
#define ONL_RAW_ENODEV (-19)
/* Not possible: a wrong argument, or a rule of the flash that would be broken. */
#define ONL_RAW_EINVAL (-22)
/* A step does not decode; data and OOB are as they were read. */
#define ONL_RAW_EBADMSG (-74)
/* Corrected, with so many bits that the data should be moved. */
#define ONL_RAW_EUCLEAN (-117)

/* Flag of read and program: bytes as the cells have them, without ECC. */
#define ONL_RAW_RAW 1u
/* Flag of erase: also a bad block, which then has no marker any more. */
#define ONL_RAW_FORCE 2u

/* Kinds of faults. n bits of a step are inverted in the cells. */
#define ONL_RAW_FLIP 1u
/* Programs, or erases, of a block say EIO from now on. */
#define ONL_RAW_FAIL_PROGRAM 2u
#define ONL_RAW_FAIL_ERASE 3u
/* The power fails in the n-th program or erase from now on. */
#define ONL_RAW_CUT 4u
#define ONL_RAW_POWER_ON 5u
/* For FLIP: all blocks, pages that are not all ones, or steps. */
#define ONL_RAW_ALL UINT32_MAX

typedef struct onl_raw onl_raw;

struct onl_raw_geometry {
    uint32_t page_bytes;
    uint32_t oob_bytes;
    /* Bytes of the OOB in front of the parity; the first is the marker of bad blocks. */
    uint32_t oob_free_bytes;
    uint32_t pages_per_block;
    uint32_t blocks;
    uint32_t step_bytes;
    /* Bit errors that a step may have; 0 without ECC. */
    uint32_t strength;
    uint32_t bitflip_threshold;
};

struct onl_raw_corrected {
    /* Most corrected bits of a step. */
    uint32_t max;
    uint32_t sum;
};

struct onl_raw_stats {
    uint64_t reads;
    uint64_t programs;
    uint64_t erases;
    uint64_t corrected_bits;
    uint64_t unclean_reads;
    uint64_t uncorrectable_reads;
    uint64_t failed_programs;
    uint64_t failed_erases;
    uint64_t cuts;
    uint64_t bad_blocks;
};

/* A new chip. options: JSON, or null for the defaults; image: a dump to load, or null. */
onl_raw *onl_raw_open(const char *options, const char *image);
int onl_raw_close(onl_raw *chip);
int onl_raw_geometry(onl_raw *chip, struct onl_raw_geometry *out);
/* data and oob have room for all bytes of the page, or are null; corrected may be null. */
int onl_raw_read(onl_raw *chip, uint32_t block, uint32_t page, uint32_t flags, uint8_t *data,
                 size_t data_size, uint8_t *oob, size_t oob_size,
                 struct onl_raw_corrected *corrected);
/* All data of the page, and the first bytes of its OOB; oob may be null. */
int onl_raw_program(onl_raw *chip, uint32_t block, uint32_t page, uint32_t flags,
                    const uint8_t *data, size_t data_size, const uint8_t *oob, size_t oob_size);
int onl_raw_erase(onl_raw *chip, uint32_t block, uint32_t flags);
/* 1 for a bad block, 0 for a good one. */
int onl_raw_is_bad(onl_raw *chip, uint32_t block);
int onl_raw_mark_bad(onl_raw *chip, uint32_t block);
int onl_raw_inject(onl_raw *chip, uint32_t kind, uint32_t block, uint32_t page, uint32_t step,
                   uint32_t n);
/* P/E cycles of all blocks, and hours in which nothing is done. */
int onl_raw_age(onl_raw *chip, double pe, double hours, double celsius);
int onl_raw_stats(onl_raw *chip, struct onl_raw_stats *out);
/* Writes all pages with their OOB to a file, whole or not at all. */
int onl_raw_save(onl_raw *chip, const char *path);
/* Copies what fits of the last error of this thread, with a zero; returns the size of all of it. */
size_t onl_raw_last_error(char *buffer, size_t size);
const char *onl_raw_version(void);

#ifdef __cplusplus
}
#endif

#endif
