# Of an assembly file, the innermost loop with the largest share of instructions named `-v of=NAME`: from its label to the jump back to it.
/^\.L[A-Za-z0-9_]+:/ { text = ""; all = 0; wanted = 0; label = substr($1, 1, length($1) - 1) }
{ text = text $0 "\n"; ++all }
$1 == of { ++wanted }
label != "" && index($0, label) && $1 !~ /:$/ { if (wanted / all > share) { share = wanted / all; best = text } label = "" }
END { printf "%s", best }
