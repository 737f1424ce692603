# Reads nm -n of the kernel and prints nasm source of its function table (kernel/symbols.c): entries by
# address, each with the offset of its name. -v id=HEX gives the image's build id, 40 digits. The output
# has it twice: as text for the kernel, and as an ELF note, which readelf -n and gdb read.
BEGIN {
	print "global kernel_symbols, kernel_symbol_count, kernel_symbol_names, kernel_build_id"
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
	if (length(id) != 40) # the first link
		id = sprintf("%040d", 0)
	print "kernel_build_id: db \"" id "\", 0"
	# ELF: bytes of the name, bytes of the id, NT_GNU_BUILD_ID
	print "section .note.build-id note alloc noexec nowrite align=4"
	print "\tdd 4, 20, 3\n\tdb \"GNU\", 0"
	for (i = 1; i < 40; i += 2)
		print "\tdb 0x" substr(id, i, 2)
}
