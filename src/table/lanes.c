/* SPDX-License-Identifier: MIT */
#include "lanes.h"

/* Bits that a word may need on top of its own: where in a byte it can start, given that buckets and
** words start at multiples of their sizes. */
static unsigned most_shift(uint64_t bucket_bits, unsigned word_bits)
{
    uint64_t multiple = bucket_bits | word_bits | 8;
    return 8 - (unsigned)(multiple & (~multiple + 1));
}

bool cf_fits_word(uint64_t bucket_bits, unsigned bits)
{
    return bits + most_shift(bucket_bits, 8) <= 64;
}

void cf_wide_set(cf_form *form, unsigned first, unsigned width, unsigned count)
{
    unsigned half = count / 2 * width, second = first + half, shift = most_shift(form->bucket_bits, 8);
    bool in_words = first % 8 + half + shift <= 64 && second % 8 + half + shift <= 64;
    unsigned bits = form->tag_bits + shift;
    bool was_wide = form->is_wide;
    form->is_wide = bits > 64 && bits <= 128 && (in_words || first == 0) && width > CF_BESIDE;
    if (CF_IS_SMALL) /* the rest is for quick ways */
        return;
    if (!form->is_wide) {
        if (was_wide) { /* equal forms are equal bytes */
            form->second = form->second_bit = form->ninth = form->first_bit[0] = form->first_bit[1] = 0;
            form->ones[0] = form->ones[1] = form->tops_of[0] = form->tops_of[1] = 0;
            form->highs = form->evens = 0;
        }
        return;
    }
    uint64_t ones = 0, even = (uint64_t)1 << (width - 1);
    for (unsigned at = 0; at < half; at += width)
        ones |= (uint64_t)1 << at;
    form->ninth = in_words ? 0 : second % 8;
    /* as a rule it ends with the bucket: no cache line more than that needs */
    form->second = in_words ? (bits + 7) / 8 - 8 : second / 8;
    form->second_bit = second - 8 * form->second - form->ninth;
    form->first_bit[0] = 1 - width;
    form->first_bit[1] = form->ninth + form->second_bit + CF_BESIDE + 1 - width;
    form->ones[0] = ones << first % 8;
    form->ones[1] = ones << form->second_bit;
    form->highs = ones << (width - 1);
    form->tops_of[0] = form->highs << first % 8;
    form->tops_of[1] = form->highs << form->second_bit;
    form->evens = even | even >> CF_BESIDE;
}

void cf_lanes_fill(cf_lanes *lanes, unsigned width, unsigned count, unsigned words, unsigned pair_bits)
{
    lanes->width = width;
    lanes->count = count;
    lanes->words = words;
    lanes->ones = 1;
    for (unsigned n = 1; n < count; n *= 2)
        lanes->ones |= lanes->ones << n * width;
    lanes->highs = lanes->ones << (width - 1);
    lanes->all = cf_low_bits(count * width);
    lanes->terminators = lanes->ones << pair_bits;
}

/* As many lanes as lie within the 8 bytes in which the word starts: words of 58 bits start at bit
** 0, 2, 4 or 6 of a byte, those of 60 at bit 0 or 4, those of 64 at bit 0, unless payloads lie
** between the buckets. One lane of up to 57 bits always does. */
void cf_lanes_set(cf_lanes *lanes, unsigned width, unsigned b, uint64_t bucket_bits, unsigned pair_bits)
{
    unsigned count = b;
    while (count > 1 && count * width + most_shift(bucket_bits, count * width) > 64)
        count /= 2;
    cf_lanes_fill(lanes, width, count, b / count, pair_bits);
}
