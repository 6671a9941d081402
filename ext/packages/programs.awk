# SPDX-License-Identifier: MIT
# The programs in a paper of ext/packages/archives: each block of C goes to the file that the line above it names.
#   awk [-v module=M] -f programs.awk PAPER...    M: of pkg-config; then a program begins with the command that makes it
/^`[a-z]+\.c`/ { split($0, part, "`"); name = part[2]; program = substr(name, 1, length(name) - 2) }
/^```c$/ { on = 1; if (module) printf "/* cc %s -o %s $(pkg-config --cflags --libs %s) && ./%s */\n", name, program, module, program > name; next }
/^```/ { on = 0 }
on { print > name }
