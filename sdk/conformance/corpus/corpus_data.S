/* The corpus as the build wrote it (TENON_CORPUS_FILE), for built_in_corpus(). */
  .section .rodata, "a", %progbits
  .balign 16
  .globl tenon_conformance_corpus
  .hidden tenon_conformance_corpus
  .globl tenon_conformance_corpus_end
  .hidden tenon_conformance_corpus_end
tenon_conformance_corpus:
  .incbin TENON_CORPUS_FILE
tenon_conformance_corpus_end:
  .byte 0

  .section .note.GNU-stack, "", %progbits
