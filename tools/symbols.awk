# nm -n of the kernel → nasm source of its function table (kernel/symbols.c): entries by address,
# each with the offset of its name.
BEGIN {
	print "global kernel_symbols, kernel_symbol_count, kernel_symbol_names"
	print "section .symbols progbits alloc noexec nowrite align=16"
}
$2 ~ /^[tT]$/ && $1 ~ /^ffffffff/ {
	addr[n] = $1
	name[n] = $3
	n++
}
END {
	print "kernel_symbol_count: dq " n + 0
	print "kernel_symbols:"
	for (i = 0; i < n; i++) {
		print "\tdq 0x" addr[i] ", " offset + 0
		offset += length(name[i]) + 1
	}
	print "kernel_symbol_names:"
	for (i = 0; i < n; i++)
		print "\tdb \"" name[i] "\", 0"
	print "\tdb 0"
}
