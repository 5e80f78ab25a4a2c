"""Dumps of raw NAND: which code protects them, how many bits flipped, and the data mended.

```text
dump ──► descrambled ──► words (data, meta, parity by a layout) ──► order, mask ──► BCH decoder
dialects   layouts of controllers as rows, from page, OOB, step and strength
layout     the places of words in a page, and its file
coding     pages to words and back: build, decode, mend
guessing   the code of an unknown dump, by the gcd of differences of words
inspecting which columns of the OOB are constant, and which change with the data
files      dumps in pieces
```
"""
