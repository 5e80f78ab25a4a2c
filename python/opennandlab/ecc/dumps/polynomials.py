"""Polynomials over GF(2) as integers, bit k being the coefficient of x^k.

The generator of a linear cyclic code divides every codeword, and so every difference of two, in
which masks cancel. The gcd of a few differences is therefore the generator, times a small factor
that a further one removes. A BCH generator of t errors is a product of t minimal polynomials; one
of them is the primitive polynomial of the field.

Source: Lin & Costello, "Error Control Coding", 2nd edition, section 6.1.
"""

from __future__ import annotations

from typing import Any

from opennandlab.base.errors import OpenNandLabError

DEGREES = range(13, 16)


def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor.

    >>> gcd(0b110101, 0b101)  # (x + 1)(x^4 + x + 1) and (x + 1)^2
    3
    """
    while b:
        shift = a.bit_length() - b.bit_length()
        while shift >= 0:
            a ^= b << shift
            shift = a.bit_length() - b.bit_length()
        a, b = b, a
    return a


def without_x(a: int) -> int:
    """Return a polynomial divided by the highest power of x in it.

    >>> bin(without_x(0b101000))
    '0b101'
    """
    return a >> ((a & -a).bit_length() - 1) if a else 0


def divisors(generator: int, degree: int) -> list[int]:
    """Return the polynomials of a degree with a constant term that divide a generator."""
    import numpy as np

    candidates = np.arange((1 << degree) + 1, 2 << degree, 2, dtype=np.int64)
    rest = np.zeros_like(candidates)
    for place in range(generator.bit_length() - 1, -1, -1):
        rest = rest << 1 | (generator >> place & 1)
        rest ^= np.where(rest >> degree & 1, candidates, 0)
    return [int(one) for one in candidates[rest == 0]]


def bch_of(generator: int) -> tuple[int, int, int] | None:
    """Return degree, strength and primitive polynomial of a BCH generator; None for another.

    A surplus factor of a degree below that of the field is chance, if differences were few.

    >>> from opennandlab.ecc import BchCode
    >>> bch_of(BchCode(13, 4, polynomial=0x25AF).generator) == (13, 4, 0x25AF)
    True
    """
    from opennandlab.ecc.bch import BchCode

    found: list[tuple[int, int, int, int]] = []
    for m in DEGREES:
        strength, surplus = divmod(generator.bit_length() - 1, m)
        for polynomial in divisors(generator, m) if strength else ():
            try:
                code: Any = BchCode(m, strength, polynomial=polynomial)
            except OpenNandLabError:
                continue
            if gcd(generator, code.generator) == code.generator:
                found.append((surplus, m, strength, polynomial))
    return min(found)[1:] if found else None
