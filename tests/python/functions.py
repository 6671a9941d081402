# SPDX-License-Identifier: MIT
"""The functions of SQL, each with examples of its use. Tests that ask something of all functions go through these lists; a new
function gets a line here.

In a call {f} is a filter, {k} a key, {t} the name of a filter table, quoted.
"""
import re

# Of a filter: a blob or a handle.
SCALARS = ["cf_contains({f}, {k})", "cf_count({f}, {k})", "cf_get({f}, {k})", "cf_add({f}, {k})", "cf_add({f}, {k}, 1)",
           "cf_delete({f}, {k})", "cf_delete({f}, {k}, 1)", "cf_clear({f})", "cf_advance({f})", "cf_info({f})", "cf_info({f}, 0)", "cf_check({f})",
           "cf_open({f})", "cf_merge({f}, {f})", "cf_merge(cf_new(10), {f})", "cf_add_keys({f}, (SELECT cf_keys({k})))",
           "cf_add_keys({f}, (SELECT cf_keys({k}, 1)))", "cf_delete_keys({f}, (SELECT cf_keys({k})))",
           "cf_delete_keys({f}, (SELECT cf_keys({k}, 1)))", "cf_picture({f})"]
AGGREGATES = ["cf_merge({f})"]
TABLES = ["cf_buckets({f})", "cf_explain({f}, {k})", "cf_values({f}, {k})"]
TABLES_OF_TEXTS = ["cf_lines({k})"]
TAKE_NAMES = {"cf_picture", "cf_buckets"}  # of a filter, or of a filter table by its name

# Without a filter.
MAKERS = ["cf_new(1000, 0.001, 'seed=5')", "cf_plan(1000)", "cf_key({k}, 2.5, x'00')", "cf_version()"]
BUILDERS = ["cf_build({k})", "cf_build({k}, 0.001, 'counter_bits=3')",
            "cf_build({k}, 0.001, 'value_bits=3', 5)", "cf_build_exact({k}, 1)", "cf_keys({k})",
            "cf_keys({k}, 3, 'seed=5')"]

# Of the name of a filter table. They read what may change, so they are not pure.
BY_NAME = ["cf_table_contains({t}, {k})", "cf_table_info({t})", "cf_table_info({t}, 'all')", "cf_table_check({t})",
           "cf_table_rebuild({t})", "cf_table_rebuild({t}, 50)", "cf_export({t})", "cf_picture({t})"]
TABLES_BY_NAME = ["cf_buckets({t})"]
HARMLESS = {"cf_table_contains", "cf_table_info", "cf_table_check", "cf_picture"}  # they are, because they give little away
DIRECT_ONLY = {"cf_table_rebuild", "cf_drain"}
INTERNAL = {"cf_drain"}  # for the drains of filter tables

KNOW_EXACT_FILTERS = {"cf_contains", "cf_info", "cf_check", "cf_open", "cf_explain"}  # the others refuse them


def name_of(call):
    """The function whose error it is: cf_new and cf_keys only make an argument."""
    return re.match(r"cf_\w+", call).group()


def names(*lists):
    return {name_of(call) for calls in lists for call in calls}


def queries_of_filters(key="1"):
    """Statements that read a filter {f}."""
    return [f"SELECT {call.replace('{k}', key)}" for call in SCALARS + AGGREGATES] + \
        [f"SELECT * FROM {call.replace('{k}', key)}" for call in TABLES]


def function_in(query):
    return re.search(r"cf_\w+", query).group()
