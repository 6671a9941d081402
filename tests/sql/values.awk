# SPDX-License-Identifier: MIT
# Makes equal what SQLite's shells say differently, so that values are compared.
#   part=script   a script: rows as lists with their headers, nothing echoed, no times, errors do not end it;
#                 it loads CUCKOO_SO, if that is set, and takes word lists from the folder `folder`, files from `machine`
#   part=output   what a shell wrote: an error as "Error: message", without line, result code and the drawing
#                 of the place; no answers of settings
#   part=drawn    columns as a reader sees them: as lists

part == "script" && /^\.(echo|bail|timer|headers) / { next }
part == "script" && /^\.mode / { print ".mode list\n.headers on"; next }
part == "script" && /^\.load / && ENVIRON["CUCKOO_SO"] { $2 = ENVIRON["CUCKOO_SO"]; sub(/\.so$/, "", $2) }
part == "script" { gsub("/var/lib/dpkg/info", machine "/info"); gsub("/usr/bin", machine "/bin") }
part == "script" && /^\.import [^"]/ { sub(/.*\//, folder "/", $2) }
part == "script" { print; next }

part == "drawn" && /^-[- ]*$/ { next }
part == "drawn" { sub(/ +$/, ""); gsub(/  +/, "|"); print; next }

# An error may be followed by the statement and an arrow, both indented.
after_error && /^  / { next }
/^ *length [0-9]+$/ { next }
{ after_error = 0 }
/^[A-Za-z ]*[Ee]rror[^:]*: / {
    sub(/^[A-Za-z ]*[Ee]rror[^:]*: (near line [0-9]+: )?/, "Error: ")
    sub(/ \([0-9]+\)$/, "")
    after_error = 1
}
{ sub(/\r$/, ""); print }
