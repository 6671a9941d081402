# SPDX-License-Identifier: MIT
# Makes one file of many: amalgamate.sh says of which.
#
#   awk -f amalgamate.awk [-v xxhash=PATH -v xxhash_version=N] HEADER... [-- SOURCE...]
#
# Prints the public headers as one, then the sources with the headers that they include. In the sources, what is not
# public becomes static, and names without a prefix get one: other code may stand in the same file. The sources are
# formatted by clang-format: so what stands at file scope, and nothing else, begins in the first column.

function fail(message) {
    print "amalgamate: " message > "/dev/stderr"
    failed = 1
    exit 1
}

# ---- files ----

# Reads a file once: line[file, 1 .. count[file]].
function read(file,   text, n) {
    if (file in count)
        return
    while ((getline text < file) > 0)
        line[file, ++n] = text
    close(file)
    if (n == 0)
        fail(file " cannot be read")
    count[file] = n
}

# The path of what a file includes by #include "name".
function included(file, text,   name, folder) {
    split(text, part, "\"")
    name = part[2]
    folder = file
    sub(/[^\/]*$/, "", folder)
    name = folder name
    while (sub(/[a-z_0-9]+\/\.\.\//, "", name))
        ;
    return name
}

function exists(file,   text, found) {
    if (file in count)
        return 1
    found = (getline text < file) > 0
    close(file)
    return found
}

# ---- names at file scope ----

function is_prefixed(name) { return name ~ /^(cf_|CF_|cuckoo_|CUCKOO_|sqlite3|SQLITE_|XXH_|_)/ }

# What a name without a prefix becomes: with that of its half; when that is taken, with that of its room, too.
function prefixed(file, name,   half, room) {
    half = file ~ /^src\// ? "cf_" : "cuckoo_"
    if (!((alike(half, name) name) in taken))
        return alike(half, name) name
    room = file
    sub(/^.*\//, "", room)
    sub(/\..*/, "_", room)
    return alike(half room, name) name
}

# A prefix in capitals for a name in capitals.
function alike(prefix, name) {
    return name ~ /[a-z]/ ? prefix : toupper(prefix)
}

# Takes note of a name that a file declares. In a header it holds for all files, else for this one.
function declare(file, name,   new, scope) {
    scope = file ~ /\.h$/ ? "*" : file
    if (name == "" || is_prefixed(name) != (pass == "prefixed") || (scope, name) in renamed)
        return
    if (pass == "prefixed")
        taken[name] = 1
    else {
        new = prefixed(file, name)
        if (new in taken)
            fail(file ": " name " and " new " are there already: choose another name")
        taken[new] = 1
        renamed[scope, name] = new
    }
}

# The last identifier in a piece of text, or "".
function last_name(text) {
    sub(/[^A-Za-z0-9_]*$/, "", text)
    return match(text, /[A-Za-z_][A-Za-z0-9_]*$/) ? substr(text, RSTART) : ""
}

function declare_enumerators(file, text,   n, i, part) {
    sub(/^[^{]*[{]/, "", text)
    gsub(/\([^()]*\)/, "", text)
    n = split(text, part, ",")
    for (i = 1; i <= n; i++)
        if (match(part[i], /[A-Za-z_][A-Za-z0-9_]*/))
            declare(file, substr(part[i], RSTART, RLENGTH))
}

# A declaration with braces from line i on, as one line; `closing` is set to its last line.
function whole(file, i,   text) {
    text = bare(line[file, i])
    if (text !~ /[}][^{]*;/)
        do {
            i++
            text = text " " bare(line[file, i])
        } while (line[file, i] !~ /^[}]/ && i < count[file])
    closing = i
    return text
}

# Without comments.
function bare(text) {
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", text)
    sub(/\/\*.*/, "", text)
    return text
}

function collect(file,   i, text, name) {
    for (i = 1; i <= count[file]; i++) {
        text = bare(line[file, i])
        if (text ~ /^ *# *define /) {
            split(text, part, " ")
            name = part[2]
            sub(/\(.*/, "", name)
            declare(file, name)
        } else if (text ~ /^ *# *ifn?def /) { # a switch: who compiles the file defines it
            split(text, part, " ")
            if (pass == "prefixed")
                declare(file, part[2])
        } else if (text ~ /^ +enum [{].*[}];/) # in a function: a macro of other code must not hit it
            declare_enumerators(file, text)
        else if (text ~ /^(typedef )?(struct|union|enum)( [a-z_0-9]+)? [{]/) {
            text = whole(file, i)
            i = closing
            name = text
            sub(/ *[{].*/, "", name)
            if (name !~ /(struct|union|enum)$/)
                declare(file, last_name(name))
            if (text ~ /^(typedef )?enum/)
                declare_enumerators(file, text)
            sub(/^.*[}]/, "", text)
            declare(file, last_name(text))
        } else if (match(text, /^typedef .*\(\*[a-z_0-9]+\)/))
            declare(file, last_name(substr(text, 1, RLENGTH)))
        else if (text ~ /^[}] [a-z_0-9]+\[/) {
            sub(/\[.*/, "", text)
            declare(file, last_name(text))
        } else if (text ~ /^(static|CF_|[a-z])/ && text !~ /^(extern "C"|struct |return )/ && match(text, /[[(;=]/))
            declare(file, last_name(substr(text, 1, RSTART - 1)))
    }
}

# ---- the text of a file ----

# One line with the names of its file made unique; comments and texts stay.
function with_names(file, text,   out, word) {
    out = ""
    while (text != "") {
        if (in_comment) {
            if (!match(text, /\*\//))
                return out text
            out = out substr(text, 1, RSTART + 1)
            text = substr(text, RSTART + 2)
            in_comment = 0
        } else if (match(text, /^[A-Za-z_][A-Za-z0-9_]*/)) {
            word = substr(text, 1, RLENGTH)
            text = substr(text, RLENGTH + 1)
            if (out !~ /(\.|->)$/) {
                if ((file, word) in renamed)
                    word = renamed[file, word]
                else if (("*", word) in renamed)
                    word = renamed["*", word]
                else if (word == "assert")
                    word = "CUCKOO_ASSERT"
            }
            out = out word
        } else if (match(text, /^\/\*/)) {
            in_comment = 1
            out = out "/*"
            text = substr(text, 3)
        } else {
            if (!match(text, /^("([^"\\]|\\.)*"|'([^'\\]|\\.)*'|[0-9][A-Za-z0-9_.]*|[^A-Za-z_0-9"'\/]+)/))
                RLENGTH = 1
            out = out substr(text, 1, RLENGTH)
            text = substr(text, RLENGTH + 1)
        }
    }
    return out
}

# The linkage of what begins at file scope: static, unless it is public. Headers name between #ifndef CUCKOO_READ_ONLY and
# its #endif what changes filters.
function with_linkage(text,   name, continues) {
    continues = unfinished
    unfinished = text ~ /^[A-Za-z][^;{}]*$/ && text !~ /\*\/$/
    if (continues || text !~ /^[a-z]/ || text ~ /^(static|typedef|struct|union|enum|extern "C")[^a-z]/)
        return text
    if (sub(/^extern /, "", text))
        return "static " text
    name = match(text, /[[(;=]/) ? last_name(substr(text, 1, RSTART - 1)) : ""
    if (name == "sqlite3_cuckoo_init")
        return text
    if (what == "header")
        public[name] = in_writing ? "CUCKOO_WRITE_API " : "CUCKOO_API "
    return (what == "header" ? "CUCKOO_API " : name in public ? public[name] : "static ") text
}

# Guards against double inclusion, extern "C" and licences: the one file has its own. Also finds their ends.
function is_wrapping(file, i,   text) {
    text = line[file, i]
    if (file in guard && (i == guard[file] || i == guard[file] + 1 || i == count[file]))
        return 1
    if (text ~ /^#ifdef __cplusplus$/)
        in_wrapping = 1
    if (!in_wrapping)
        return text ~ /^\/\* SPDX-/
    if (text ~ /^#endif/)
        in_wrapping = 0
    return 1
}

function find_guard(file,   i) {
    for (i = 1; i <= count[file] && !(file in guard); i++)
        if (line[file, i] ~ /^#ifndef C[A-Z_]*_H$/)
            guard[file] = i
}

# Puts a file into the order, behind those that it includes; but what it includes behind its first declaration stays
# there.
function visit(file,   i, declares) {
    if (file in visited)
        return
    visited[file] = 1
    read(file)
    find_guard(file)
    for (i = 1; i <= count[file]; i++) {
        declares = declares || line[file, i] ~ /^[a-z]/
        if (is_ours(file, line[file, i])) {
            if (!(included(file, line[file, i]) in visited))
                inside[included(file, line[file, i])] = declares
            visit(included(file, line[file, i]))
        }
    }
    order[++files] = file
}

function emit(file,   i) {
    put("")
    put("/* ==== " file " ==== */")
    for (i = begins[file] ? begins[file] : 1; i <= count[file]; i++)
        if (is_ours(file, line[file, i])) {
            if (inside[included(file, line[file, i])])
                emit(included(file, line[file, i]))
        } else if (!is_wrapping(file, i))
            emit_line(file, line[file, i])
}

function is_ours(file, text) {
    return text ~ /^#include "/ && exists(included(file, text))
}

function emit_line(file, text) {
    if (text ~ /^#(ifndef|endif.*) CUCKOO_READ_ONLY/)
        in_writing = text ~ /^#ifndef/
    if (text ~ /^#include <xxhash.h>/)
        emit_xxhash()
    else if (text !~ /^#include </)
        put(with_names(file, in_comment ? text : with_linkage(text)))
    else if (!(text in seen) && text != "#include <assert.h>") {
        seen[text] = 1
        put(text)
    }
}

# As its authors wrote it, with their licence. What compilers find in it is theirs, too.
function emit_xxhash(   text) {
    print "#if defined(__GNUC__) || defined(__clang__)"
    print "#pragma GCC diagnostic push"
    print "#pragma GCC diagnostic ignored \"-Wpedantic\""
    print "#endif"
    print "/* ==== xxhash.h, version " xxhash_version " (https://xxhash.com), under the licence that follows ==== */"
    while ((getline text < xxhash) > 0)
        print text
    print "/* ==== end of xxhash.h ==== */"
    print "#if defined(__GNUC__) || defined(__clang__)"
    print "#pragma GCC diagnostic pop"
    print "#endif"
}

# One empty line at a time.
function put(text) {
    if (text != "" || !was_empty)
        print text
    was_empty = text == ""
}

# The first comment of the first header, which says what all of it is for, comes before everything.
function emit_essay(file,   i) {
    for (i = 2; line[file, i - 1] !~ /^\*\//; i++)
        print line[file, i]
    begins[file] = i
}

function emit_header(   i) {
    emit_essay(ARGV[1])
    print "#ifndef CUCKOO_FILTER_H\n#define CUCKOO_FILTER_H\n"
    print "#ifndef CUCKOO_API\n#define CUCKOO_API /* what a compiler wants before public functions */\n#endif\n"
    print "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
    seen["#include <stdbool.h>"] = seen["#include <stddef.h>"] = seen["#include <stdint.h>"] = 1
    print "#ifdef __cplusplus\nextern \"C\" {\n#endif"
    for (i = 1; i <= headers; i++)
        if (!inside[order[i]])
            emit(order[i])
    print "\n#ifdef __cplusplus\n}\n#endif\n\n#endif"
}

function emit_sources(   i) {
    for (i = headers + 1; i <= files; i++) {
        if (order[i] ~ /^ext\// && !in_extension++)
            print "\n#ifndef CUCKOO_LIBRARY_ONLY"
        emit(order[i])
    }
    if (in_extension)
        print "\n#endif /* CUCKOO_LIBRARY_ONLY */"
}

BEGIN {
    for (i = 1; i < ARGC && ARGV[i] != "--"; i++)
        visit(ARGV[i])
    headers = files
    for (i++; i < ARGC; i++)
        visit(ARGV[i])
    split("prefixed others", passes, " ")
    for (j = 1; j <= 2; j++) {
        pass = passes[j]
        if (pass == "prefixed") {
            read("ext/amalgamate.sh") # it writes switches, too
            collect("ext/amalgamate.sh")
        }
        for (i = 1; i <= files; i++)
            collect(order[i])
    }
    what = "header"
    emit_header()
    what = "source"
    emit_sources()
    exit failed
}
