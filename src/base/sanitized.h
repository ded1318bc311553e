// Whether a sanitizer watches: FA_SANITIZED, and FA_SANITIZED_THREADS for the one of threads. Both are 0 or 1.
#ifndef FAI_SANITIZED_H
#define FAI_SANITIZED_H

#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define FA_SANITIZED_THREADS 1
#endif
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define FA_SANITIZED 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define FA_SANITIZED_THREADS 1
#endif
#ifndef FA_SANITIZED_THREADS
#define FA_SANITIZED_THREADS 0
#endif
#ifndef FA_SANITIZED
#ifdef __SANITIZE_ADDRESS__
#define FA_SANITIZED 1
#else
#define FA_SANITIZED FA_SANITIZED_THREADS
#endif
#endif

#endif
