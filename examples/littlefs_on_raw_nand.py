"""littlefs on a raw chip: power cuts, and as many wrong bits as the code corrects.

Needs `pip install "littlefs-python>=0.19,<0.20"`.
"""

import errno
import random

from littlefs import LittleFS, LittleFSError, UserContext, lfs

import opennandlab as onl

IO, CORRUPT = -5, -84


class RawContext(UserContext):
    """Four operations of littlefs on a chip; its program size is a page."""

    def __init__(self, chip: onl.RawNand) -> None:
        """Take the chip; `lost` lists the pages whose bytes were not corrected."""
        self.chip = chip
        self.page = chip.geometry()["page_bytes"]
        self.lost: list[tuple[int, int]] = []

    def read(self, _cfg: object, block: int, off: int, size: int) -> bytearray:
        """Return bytes; littlefs-python cannot take an error here, so it is noted."""
        found = bytearray()
        for page in range(off // self.page, -(-(off + size) // self.page)):
            one = self.chip.read(block, page)
            found += one.data
            if one.status not in {0, errno.EUCLEAN}:
                self.lost.append((block, page))
        return found[off % self.page :][:size]

    def prog(self, _cfg: object, block: int, off: int, data: bytes) -> int:
        """Program whole pages."""
        for at in range(0, len(data), self.page):
            part = data[at : at + self.page]
            try:
                status = self.chip.program(block, (off + at) // self.page, part)
            except onl.ConfigError:  # a page that was torn so early that it reads as erased
                return CORRUPT
            if status:
                return IO if status == errno.ENODEV else CORRUPT
        return 0

    def erase(self, _cfg: object, block: int) -> int:
        """Erase a block; littlefs then avoids a bad one."""
        status = self.chip.erase(block)
        return IO if status == errno.ENODEV else CORRUPT if status else 0

    def sync(self, _cfg: object) -> int:
        """Everything is on the chip."""
        return 0


def filesystem(context: RawContext) -> LittleFS:
    """Return littlefs on a chip, neither formatted nor mounted."""
    shape = context.chip.geometry()
    page, block = shape["page_bytes"], shape["page_bytes"] * shape["pages_per_block"]
    return LittleFS(
        context=context, mount=False, block_size=block, block_count=shape["blocks"],
        read_size=page, prog_size=page, cache_size=page, lookahead_size=64,
    )  # fmt: skip


def write(fs: LittleFS, name: str, data: bytes) -> None:
    """Write a file; after an error the handle is left alone, since closing it twice aborts."""
    handle = lfs.file_open(fs.fs, name, "w")
    lfs.file_write(fs.fs, handle, data)
    lfs.file_close(fs.fs, handle)


def read(fs: LittleFS, name: str) -> bytes:
    """Return a file."""
    with fs.open(name, "rb") as file:
        return bytes(file.read())


def main() -> None:
    """Write files until the power fails, ten times; then damage one, and read it."""
    # Each read of each step of 512 bytes has 8 wrong bits, as many as the code corrects.
    chip = onl.RawNand(blocks=40, pages_per_block=16, bad_share=0.05, read_flips=8)
    fs = filesystem(RawContext(chip))
    fs.format()
    fs.mount()
    rng = random.Random(1)  # noqa: S311 (data)
    files = {f"f{number}": rng.randbytes(20_000) for number in range(8)}
    for name, data in files.items():
        write(fs, name, data)
    for _ in range(10):
        chip.cut(rng.randrange(1, 60))
        try:
            while True:
                name, data = rng.choice(list(files)), rng.randbytes(20_000)
                write(fs, name, data)
                files[name] = data
        except LittleFSError as error:
            if error.code != IO:
                raise
        chip.power_on()
        fs = filesystem(RawContext(chip))
        fs.mount()
        # The file that was being written has its old content or the new one.
        files[name] = data if read(fs, name) == data else files[name]
        if any(read(fs, one) != content for one, content in files.items()):
            raise SystemExit("a file was lost")
    stats = chip.stats()
    print(f"{stats['cuts']} cuts, {len(files)} files as they should be")
    print(f"{stats['bad_blocks']} bad blocks avoided")

    chip = onl.RawNand(blocks=40, pages_per_block=16)
    context = RawContext(chip)
    fs = filesystem(context)
    fs.format()
    fs.mount()
    data = rng.randbytes(20_000)
    write(fs, "f", data)
    chip.flip(None, None, None, 8)
    print("8 flips in each step: the same file", read(fs, "f") == data, len(context.lost))
    for block in range(2, 40):  # behind the metadata of the root
        chip.flip(block, None, None, 1)
    print("one more: the same file", read(fs, "f") == data, len(context.lost))


if __name__ == "__main__":
    main()
