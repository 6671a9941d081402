/* SPDX-License-Identifier: MIT */
#include "../test.h"

/* Each status has a text of its own, and a number that is no status has one, too. */
static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int one = CF_OK; one <= CF_INTERRUPTED + 1; one++) {
        assert_non_null(cf_status_text((cf_status)one));
        for (int other = CF_OK; other < one; other++)
            assert_string_not_equal(cf_status_text((cf_status)one), cf_status_text((cf_status)other));
    }
    assert_string_equal(cf_status_text(CF_OK), "ok");
    assert_string_equal(cf_status_text(CF_INTERRUPTED), "interrupted");
    assert_string_equal(cf_status_text((cf_status)(CF_INTERRUPTED + 1)), "unknown status");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_status_has_a_text),
};

RUN_TESTS(tests)
