/* Calls that must fail, and none that crashes: null and closed handles, small buffers, wrong numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opennandlab_raw.h"

#define IS(found, wanted) is(#found, (long)(found), (long)(wanted), __LINE__)

static void is(const char *what, long found, long wanted, int line)
{
    char reason[300];
    if (found == wanted)
        return;
    onl_raw_last_error(reason, sizeof reason);
    fprintf(stderr, "line %d: %s is %ld, not %ld (%s)\n", line, what, found, wanted, reason);
    exit(1);
}

static void refuses(const char *options, const char *image, const char *reason)
{
    char found[600];
    IS(onl_raw_open(options, image) == NULL, 1);
    IS(onl_raw_last_error(found, sizeof found) <= sizeof found, 1);
    if (!strstr(found, reason)) {
        fprintf(stderr, "%s: `%s` is not in `%s`\n", options, reason, found);
        exit(1);
    }
}

static void without_a_chip(onl_raw *none)
{
    struct onl_raw_geometry shape;
    struct onl_raw_stats stats;
    uint8_t byte = 0;
    IS(onl_raw_close(none), ONL_RAW_EINVAL);
    IS(onl_raw_geometry(none, &shape), ONL_RAW_EINVAL);
    IS(onl_raw_read(none, 0, 0, 0, &byte, 1, &byte, 1, NULL), ONL_RAW_EINVAL);
    IS(onl_raw_program(none, 0, 0, 0, &byte, 1, NULL, 0), ONL_RAW_EINVAL);
    IS(onl_raw_erase(none, 0, 0), ONL_RAW_EINVAL);
    IS(onl_raw_is_bad(none, 0), ONL_RAW_EINVAL);
    IS(onl_raw_mark_bad(none, 0), ONL_RAW_EINVAL);
    IS(onl_raw_inject(none, ONL_RAW_CUT, 0, 0, 0, 1), ONL_RAW_EINVAL);
    IS(onl_raw_age(none, 1, 1, 40), ONL_RAW_EINVAL);
    IS(onl_raw_stats(none, &stats), ONL_RAW_EINVAL);
    IS(onl_raw_save(none, "chip.bin"), ONL_RAW_EINVAL);
}

int main(void)
{
    struct onl_raw_geometry shape;
    struct onl_raw_corrected corrected;
    struct onl_raw_stats stats;
    char small[4] = "xyz";
    uint8_t data[2048], oob[64], found[2048];
    onl_raw *chip, *ageing, *closed;
    size_t i;

    refuses("{\"page_bytes\": 0}", NULL, "page_bytes: 0 is out of range");
    refuses("{\"colour\": 1}", NULL, "unknown field `colour`");
    refuses("{", NULL, "EOF");
    refuses("\xff", NULL, "options: is not UTF-8");
    refuses("{\"oob_bytes\": 40}", NULL, "53 in all");
    refuses("{\"bad_share\": -0.5}", NULL, "bad_share: -0.5 is out of range");
    refuses(NULL, "none.bin", "image: none.bin: ");
    IS(onl_raw_last_error(small, sizeof small) > sizeof small, 1);
    IS(small[3], 0);
    IS(onl_raw_last_error(NULL, 0) > 4, 1);
    IS(strlen(onl_raw_version()) > 0, 1);
    without_a_chip(NULL);
    without_a_chip((onl_raw *)&shape);

    chip = onl_raw_open("{\"blocks\": 8}", NULL);
    IS(chip != NULL, 1);
    IS(onl_raw_geometry(chip, NULL), ONL_RAW_EINVAL);
    IS(onl_raw_stats(chip, NULL), ONL_RAW_EINVAL);
    IS(onl_raw_save(chip, NULL), ONL_RAW_EINVAL);
    IS(onl_raw_save(chip, "none/chip.bin"), ONL_RAW_EINVAL);
    IS(onl_raw_geometry(chip, &shape), 0);
    IS(shape.blocks, 8);
    IS(shape.oob_free_bytes, 12);
    IS(shape.bitflip_threshold, 6);
    for (i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i / 7);
    IS(onl_raw_program(chip, 0, 0, 0, data, 2047, NULL, 0), ONL_RAW_EINVAL);
    IS(onl_raw_program(chip, 0, 0, 0, NULL, 2048, NULL, 0), ONL_RAW_EINVAL);
    IS(onl_raw_program(chip, 0, 0, 0, data, SIZE_MAX, NULL, 0), ONL_RAW_EINVAL);
    IS(onl_raw_program(chip, 0, 0, 0, data, 2048, data, 13), ONL_RAW_EINVAL);
    IS(onl_raw_program(chip, 8, 0, 0, data, 2048, NULL, 0), ONL_RAW_EINVAL);
    IS(onl_raw_program(chip, 0, 64, 0, data, 2048, NULL, 0), ONL_RAW_EINVAL);
    IS(onl_raw_program(chip, 0, 0, 2, data, 2048, NULL, 0), ONL_RAW_EINVAL);
    IS(onl_raw_program(chip, 0, 3, 0, data, 2048, data + 1, 12), 0);
    IS(onl_raw_program(chip, 0, 3, 0, data, 2048, NULL, 0), ONL_RAW_EINVAL);
    IS(onl_raw_program(chip, 0, 2, 0, data, 2048, NULL, 0), ONL_RAW_EINVAL);
    IS(onl_raw_read(chip, 0, 3, 0, found, 2047, NULL, 0, NULL), ONL_RAW_EINVAL);
    IS(onl_raw_read(chip, 0, 3, 0, NULL, 2048, NULL, 0, NULL), ONL_RAW_EINVAL);
    IS(onl_raw_read(chip, 0, 3, 0, found, 2048, oob, 63, NULL), ONL_RAW_EINVAL);
    IS(onl_raw_read(chip, 0, 3, 4, found, 2048, oob, 64, NULL), ONL_RAW_EINVAL);
    IS(onl_raw_read(chip, 0, 3, 0, NULL, 0, NULL, 0, NULL), 0);
    IS(onl_raw_inject(chip, ONL_RAW_FLIP, 0, 3, 1, 6), 0);
    IS(onl_raw_read(chip, 0, 3, 0, found, 2048, oob, 64, &corrected), ONL_RAW_EUCLEAN);
    IS(corrected.max, 6);
    IS(memcmp(found, data, 2048), 0);
    IS(memcmp(oob, data + 1, 12), 0);
    IS(onl_raw_inject(chip, ONL_RAW_FLIP, 0, 3, 2, 9), 0);
    IS(onl_raw_read(chip, 0, 3, 0, found, 2048, oob, 64, &corrected), ONL_RAW_EBADMSG);
    IS(memcmp(found, data, 1024), 0);
    IS(memcmp(found, data, 2048) != 0, 1);
    IS(onl_raw_inject(chip, 0, 0, 0, 0, 1), ONL_RAW_EINVAL);
    IS(onl_raw_inject(chip, ONL_RAW_FLIP, 0, 3, 4, 1), ONL_RAW_EINVAL);
    IS(onl_raw_inject(chip, ONL_RAW_FAIL_ERASE, 8, 0, 0, 0), ONL_RAW_EINVAL);
    IS(onl_raw_inject(chip, ONL_RAW_CUT, 0, 0, 0, 0), ONL_RAW_EINVAL);
    IS(onl_raw_age(chip, -1, 0, 40), ONL_RAW_EINVAL);
    IS(onl_raw_age(chip, 0, NAN, 40), ONL_RAW_EINVAL);
    IS(onl_raw_age(chip, 0, 1, INFINITY), ONL_RAW_EINVAL);
    IS(onl_raw_age(chip, 100, 10, 40), ONL_RAW_EINVAL); /* it has no error model */
    ageing = onl_raw_open("{\"blocks\": 1, \"reliability\": \"states\"}", NULL);
    IS(onl_raw_age(ageing, 3000, 8760, 40), 0);
    IS(onl_raw_program(ageing, 0, 0, 0, data, 2048, NULL, 0), 0);
    IS(onl_raw_read(ageing, 0, 0, 0, found, 2048, NULL, 0, NULL), ONL_RAW_EBADMSG);
    IS(onl_raw_close(ageing), 0);

    IS(onl_raw_mark_bad(chip, 1), 0);
    IS(onl_raw_is_bad(chip, 1), 1);
    IS(onl_raw_is_bad(chip, 8), ONL_RAW_EINVAL);
    IS(onl_raw_program(chip, 1, 0, 0, data, 2048, NULL, 0), ONL_RAW_EIO);
    IS(onl_raw_erase(chip, 1, 0), ONL_RAW_EIO);
    IS(onl_raw_erase(chip, 1, 1), ONL_RAW_EINVAL);
    IS(onl_raw_erase(chip, 1, ONL_RAW_FORCE), 0);
    IS(onl_raw_is_bad(chip, 1), 0);
    IS(onl_raw_inject(chip, ONL_RAW_CUT, 0, 0, 0, 1), 0);
    IS(onl_raw_erase(chip, 2, 0), ONL_RAW_ENODEV);
    IS(onl_raw_is_bad(chip, 1), ONL_RAW_ENODEV);
    IS(onl_raw_inject(chip, ONL_RAW_POWER_ON, 0, 0, 0, 0), 0);
    IS(onl_raw_stats(chip, &stats), 0);
    IS(stats.cuts, 1);
    IS(stats.failed_erases, 1);
    IS(stats.uncorrectable_reads, 1);
    closed = chip;
    IS(onl_raw_close(chip), 0);
    without_a_chip(closed);
    puts("refused what must be");
    return 0;
}
