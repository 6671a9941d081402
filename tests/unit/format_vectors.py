# SPDX-License-Identifier: MIT
"""Writes the bytes that the vectors of tests/unit/format_vectors.h have now. Only for a change of the format:

    make build/plain/test_format_vectors && python3 tests/unit/format_vectors.py
"""
import os
import re
import subprocess
from pathlib import Path

WIDTH = 98  # hex digits in a line
header = Path(__file__).with_name("format_vectors.h")
printed = subprocess.run(["build/plain/test_format_vectors"], env={**os.environ, "CUCKOO_PRINT_VECTORS": "1"},
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
vectors = iter(re.findall(r"^vector (\w+)$", printed, re.M))


def lines(found):
    digits = next(vectors)
    if digits == "".join(re.findall(r"\w+", found[0])):
        return found[0]
    return "\n".join(f'{found[1]}"{digits[at:at + WIDTH]}"' for at in range(0, len(digits), WIDTH)) + ","


text, written = re.subn(r'(?<=\n)( *)"[^,]*",', lines, header.read_text())
assert next(vectors, None) is None
header.write_text(text)
print(written, "vectors")
