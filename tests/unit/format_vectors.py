# SPDX-License-Identifier: MIT
"""Writes the bytes that the vectors of tests/unit/format_vectors.h and exact_vectors.h have now. Only for a change of the
format:

    make build/plain/test_format_vectors build/plain/test_exact && python3 tests/unit/format_vectors.py
"""
import os
import re
import subprocess
from pathlib import Path

WIDTH = 98  # hex digits in a line


def lines(found, vectors):
    digits = next(vectors)
    if digits == "".join(re.findall(r"\w+", found[0])):
        return found[0]
    return "\n".join(f'{found[1]}"{digits[at:at + WIDTH]}"' for at in range(0, len(digits), WIDTH)) + ","


for name, program in (("format_vectors.h", "test_format_vectors"), ("exact_vectors.h", "test_exact")):
    header = Path(__file__).with_name(name)
    printed = subprocess.run([f"build/plain/{program}"], env={**os.environ, "CUCKOO_PRINT_VECTORS": "1"},
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    vectors = iter(re.findall(r"^vector (\w+)$", printed, re.M))
    text, written = re.subn(r'(?<=\n)( *)"[^,]*",', lambda found: lines(found, vectors), header.read_text())
    assert next(vectors, None) is None
    header.write_text(text)
    print(name, written, "vectors")
