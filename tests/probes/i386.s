# A 32-bit program (T37): in its world every number of the 64-bit filter means another call.
# It answers as the other probes do, and needs no 32-bit library.
    .code32
    .globl _start
    .text
_start:
    movl $4, %eax            # write(1, answer, size)
    movl $1, %ebx
    movl $answer, %ecx
    movl $size, %edx
    int $0x80
    movl $1, %eax            # exit(0)
    xorl %ebx, %ebx
    int $0x80
    .data
answer:
    .ascii "{\"probe\":\"i386\",\"errno\":0,\"name\":\"OK\",\"detail\":\"\"}\n"
    .set size, . - answer
    .section .note.GNU-stack,"",@progbits
