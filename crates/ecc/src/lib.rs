//! Error-correcting codes for NAND flash: bits in, bits out. Knows no SSD and no time.
