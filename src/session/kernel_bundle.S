// The Python side of a session, as bytes (kernel_bundle.h).
  .section .rodata
  .global caisson_session_kernel
  .global caisson_session_kernel_end
caisson_session_kernel:
  .incbin SESSION_KERNEL
caisson_session_kernel_end:
  .byte 0
  .section .note.GNU-stack,"",@progbits
