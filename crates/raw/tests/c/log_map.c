/* A log-structured map of sectors on a raw chip, and what it must survive.
 *
 * Groups of eight pages: up to seven sectors, then a checkpoint that names them. A sector is kept
 * once its checkpoint is written; at start all checkpoints are read, and the highest sequence
 * wins. A block is erased right before it is written, and only if no kept sector is in it. After a
 * start nothing is appended to old blocks, since a page that was torn early reads as erased.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opennandlab_raw.h"

enum { PAGE = 2048, GROUP = 8, BLOCKS_MAX = 256, SECTORS_MAX = 4096, NOWHERE = -1, FREE_MIN = 3 };

struct checkpoint {
    uint32_t magic, count;
    uint64_t sequence;
    uint32_t sectors[GROUP - 1], sum;
};

struct map {
    onl_raw *chip;
    int blocks, pages, sectors;
    int at[SECTORS_MAX];  /* page of a sector, or NOWHERE */
    int live[BLOCKS_MAX]; /* kept sectors of a block */
    int is_bad[BLOCKS_MAX];
    int block, page; /* where the log goes on; no block: NOWHERE */
    uint64_t sequence;
    int count; /* sectors of the open group */
    uint32_t pending[GROUP - 1];
    uint8_t data[GROUP - 1][PAGE];
};

static uint32_t sum_of(const struct checkpoint *it)
{
    const uint8_t *bytes = (const uint8_t *)it;
    uint32_t sum = 2166136261u;
    size_t i;
    for (i = 0; i < sizeof *it - sizeof it->sum; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

/* 0 for data, which may have been corrected. */
static int load(struct map *map, int page, uint8_t *data)
{
    int status = onl_raw_read(map->chip, (uint32_t)(page / map->pages),
                              (uint32_t)(page % map->pages), 0, data, PAGE, NULL, 0, NULL);
    return status == ONL_RAW_EUCLEAN ? 0 : status;
}

static int free_blocks(const struct map *map)
{
    int block, count = 0;
    for (block = 0; block < map->blocks; block++)
        count += !map->is_bad[block] && !map->live[block] && block != map->block;
    return count;
}

static int retire(struct map *map, int block)
{
    map->is_bad[block] = 1;
    return onl_raw_mark_bad(map->chip, (uint32_t)block);
}

static int open_block(struct map *map)
{
    int tried, block, status;
    for (tried = 0; tried < map->blocks; tried++) {
        block = (map->block + 1 + tried) % map->blocks;
        if (map->is_bad[block] || map->live[block])
            continue;
        status = onl_raw_erase(map->chip, (uint32_t)block, 0);
        if (status == ONL_RAW_EIO) {
            if ((status = retire(map, block)))
                return status;
            continue;
        }
        if (status)
            return status;
        map->block = block;
        map->page = 0;
        return 0;
    }
    return ONL_RAW_EIO;
}

/* Programs a page of the open group. */
static int put(struct map *map, int page, const uint8_t *data)
{
    return onl_raw_program(map->chip, (uint32_t)map->block, (uint32_t)page, 0, data, PAGE, NULL, 0);
}

/* Gives up the open block and writes its open group to another one. */
static int move_group(struct map *map)
{
    int i, status;
    do {
        if ((status = retire(map, map->block)) || (status = open_block(map)))
            return status;
        for (i = 0; i < map->count && !(status = put(map, i, map->data[i])); i++)
            ;
    } while (status == ONL_RAW_EIO);
    map->page = map->count;
    return status;
}

static int keep_group(struct map *map)
{
    uint8_t page[PAGE] = {0};
    struct checkpoint it = {0};
    int i, first, status;
    if (!map->count)
        return 0;
    it.magic = 0x4c4f474du;
    it.count = (uint32_t)map->count;
    it.sequence = ++map->sequence;
    memcpy(it.sectors, map->pending, sizeof it.sectors);
    it.sum = sum_of(&it);
    memcpy(page, &it, sizeof it);
    for (;;) {
        first = map->page - map->count;
        status = put(map, first + GROUP - 1, page);
        if (status != ONL_RAW_EIO)
            break;
        if ((status = move_group(map)))
            return status;
    }
    if (status)
        return status;
    for (i = 0; i < map->count; i++) {
        int *at = &map->at[map->pending[i]];
        if (*at != NOWHERE)
            map->live[*at / map->pages]--;
        *at = map->block * map->pages + first + i;
        map->live[map->block]++;
    }
    map->count = 0;
    map->page = first + GROUP;
    return 0;
}

static int append(struct map *map, uint32_t sector, const uint8_t *data)
{
    int i, status = 0;
    for (i = 0; i < map->count; i++)
        if (map->pending[i] == sector && (status = keep_group(map)))
            return status;
    if (map->block == NOWHERE || map->page == map->pages)
        if ((status = open_block(map)))
            return status;
    memcpy(map->data[map->count], data, PAGE);
    map->pending[map->count++] = sector;
    status = put(map, map->page++, data);
    if (status == ONL_RAW_EIO)
        status = move_group(map);
    return status || map->count < GROUP - 1 ? status : keep_group(map);
}

static int collect(struct map *map)
{
    uint8_t data[PAGE];
    int block, sector, status, victim = NOWHERE;
    for (block = 0; block < map->blocks; block++)
        if (block != map->block && map->live[block] && !map->is_bad[block] &&
            (victim == NOWHERE || map->live[block] < map->live[victim]))
            victim = block;
    if (victim == NOWHERE)
        return ONL_RAW_EIO;
    for (sector = 0; sector < map->sectors; sector++)
        if (map->at[sector] != NOWHERE && map->at[sector] / map->pages == victim)
            if ((status = load(map, map->at[sector], data)) ||
                (status = append(map, (uint32_t)sector, data)))
                return status;
    return keep_group(map);
}

static int map_write(struct map *map, uint32_t sector, const uint8_t *data)
{
    int status;
    while (free_blocks(map) < FREE_MIN)
        if ((status = keep_group(map)) || (status = collect(map)))
            return status;
    return append(map, sector, data);
}

static int map_read(struct map *map, uint32_t sector, uint8_t *data)
{
    int i;
    for (i = map->count; i-- > 0;)
        if (map->pending[i] == sector)
            return memcpy(data, map->data[i], PAGE), 0;
    return map->at[sector] == NOWHERE ? ONL_RAW_EINVAL : load(map, map->at[sector], data);
}

static int map_start(struct map *map)
{
    static uint64_t sequence_of[SECTORS_MAX];
    uint8_t page[PAGE];
    struct checkpoint it;
    int block, group, i, status;
    memset(sequence_of, 0, sizeof sequence_of);
    memset(map->live, 0, sizeof map->live);
    for (i = 0; i < SECTORS_MAX; i++)
        map->at[i] = NOWHERE;
    map->block = NOWHERE;
    map->count = 0;
    map->sequence = 0;
    for (block = 0; block < map->blocks; block++) {
        status = onl_raw_is_bad(map->chip, (uint32_t)block);
        if (status < 0)
            return status;
        map->is_bad[block] = status;
        for (group = 0; group < map->pages; group += GROUP) {
            status = load(map, block * map->pages + group + GROUP - 1, page);
            memcpy(&it, page, sizeof it);
            if (status == ONL_RAW_ENODEV)
                return status;
            if (status || it.magic != 0x4c4f474du || it.count >= GROUP || it.sum != sum_of(&it))
                continue;
            if (it.sequence > map->sequence)
                map->sequence = it.sequence;
            for (i = 0; i < (int)it.count; i++)
                if (it.sectors[i] < SECTORS_MAX && it.sequence > sequence_of[it.sectors[i]]) {
                    sequence_of[it.sectors[i]] = it.sequence;
                    map->at[it.sectors[i]] = block * map->pages + group + i;
                }
        }
    }
    for (i = 0; i < map->sectors; i++)
        if (map->at[i] != NOWHERE)
            map->live[map->at[i] / map->pages]++;
    return 0;
}

/* The host: which version of each sector is kept for sure, and which is the newest. */

static struct map map;
static uint32_t kept[SECTORS_MAX], newest[SECTORS_MAX];
static uint64_t chain = 1;

static uint32_t drawn(uint32_t limit)
{
    chain = chain * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((chain >> 33) % limit);
}

static void fail(const char *what, int status)
{
    char reason[300];
    onl_raw_last_error(reason, sizeof reason);
    fprintf(stderr, "%s: %d (%s)\n", what, status, reason);
    exit(1);
}

static void fill(uint8_t *data, uint32_t sector, uint32_t version)
{
    uint32_t i, word = sector * 2654435761u ^ version * 40503u;
    memcpy(data, &sector, 4);
    memcpy(data + 4, &version, 4);
    for (i = 8; i < PAGE; i += 4) {
        word = word * 1664525u + 1013904223u;
        memcpy(data + i, &word, 4);
    }
}

static int write_next(uint32_t sector)
{
    uint8_t data[PAGE];
    fill(data, sector, newest[sector] + 1);
    newest[sector]++;
    return map_write(&map, sector, data);
}

static int sync_all(void)
{
    int status = keep_group(&map);
    if (!status)
        memcpy(kept, newest, sizeof kept);
    return status;
}

static void verify(void)
{
    uint8_t data[PAGE], right[PAGE];
    uint32_t sector, version;
    int status;
    for (sector = 0; sector < (uint32_t)map.sectors; sector++) {
        if ((status = map_read(&map, sector, data)))
            fail("a kept sector is not read", status);
        memcpy(&version, data + 4, 4);
        fill(right, sector, version);
        if (memcmp(data, right, PAGE) || version < kept[sector] || version > newest[sector])
            fail("a sector is not one that was written", (int)sector);
        kept[sector] = newest[sector] = version;
    }
}

static void survive(int cuts)
{
    int cut, status;
    for (cut = 0; cut < cuts; cut++) {
        if (cut % 50 == 10)
            onl_raw_inject(map.chip, ONL_RAW_FAIL_PROGRAM, drawn((uint32_t)map.blocks), 0, 0, 0);
        if (cut % 50 == 30)
            onl_raw_inject(map.chip, ONL_RAW_FAIL_ERASE, drawn((uint32_t)map.blocks), 0, 0, 0);
        onl_raw_inject(map.chip, ONL_RAW_CUT, 0, 0, 0, 1 + drawn(150));
        do {
            status = write_next(drawn((uint32_t)map.sectors));
            if (!status && !drawn(10))
                status = sync_all();
        } while (!status);
        if (status != ONL_RAW_ENODEV)
            fail("a write failed before the cut", status);
        onl_raw_inject(map.chip, ONL_RAW_POWER_ON, 0, 0, 0, 0);
        if ((status = map_start(&map)))
            fail("no start after a cut", status);
        verify();
    }
}

int main(int argc, char **argv)
{
    struct onl_raw_geometry shape;
    struct onl_raw_stats stats;
    uint8_t data[PAGE];
    uint32_t sector;
    int status, good = 0, block;
    map.chip = onl_raw_open(argc > 1 ? argv[1] : NULL, NULL);
    if (!map.chip || onl_raw_geometry(map.chip, &shape))
        fail("no chip", 0);
    map.blocks = (int)shape.blocks;
    map.pages = (int)shape.pages_per_block;
    if (map.blocks > BLOCKS_MAX || shape.page_bytes != PAGE || map.pages % GROUP)
        fail("not a chip for this map", 0);
    for (block = 0; block < map.blocks; block++)
        good += !onl_raw_is_bad(map.chip, (uint32_t)block);
    /* Room for the log, for blocks that fail, and as much for collection. */
    map.sectors = (good - FREE_MIN - 10) * (map.pages / GROUP * (GROUP - 1)) / 2;
    if ((status = map_start(&map)))
        fail("no start", status);
    for (sector = 0; sector < (uint32_t)map.sectors; sector++)
        if ((status = write_next(sector)))
            fail("the first fill", status);
    if ((status = sync_all()))
        fail("the first checkpoint", status);
    verify();
    survive(200);
    /* One bit more than the code corrects. */
    onl_raw_inject(map.chip, ONL_RAW_FLIP, (uint32_t)(map.at[7] / map.pages),
                   (uint32_t)(map.at[7] % map.pages), 1, shape.strength + 1);
    status = map_read(&map, 7, data);
    onl_raw_stats(map.chip, &stats);
    printf("%d sectors, %d cuts, %d grown bad blocks, corrected %d, then %d\n", map.sectors,
           (int)stats.cuts, (int)stats.bad_blocks - (map.blocks - good), stats.corrected_bits > 0,
           status);
    return onl_raw_close(map.chip) ? 1 : 0;
}
