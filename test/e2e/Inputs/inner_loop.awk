# Of an assembly file, the innermost loop around the first instruction named `-v of=NAME`: from its label to the jump back to it.
/^\.L[A-Za-z0-9_]+:/ { if (!found) { text = ""; label = substr($1, 1, length($1) - 1) } }
{ text = text $0 "\n" }
$1 == of { found = 1 }
found && index($0, label) && $1 !~ /:$/ { printf "%s", text; exit }
