// What the tests of clip readers share: a reader whose memory fails, call by call.
#ifndef TEST_IO_CLIP_TOOLS_H
#define TEST_IO_CLIP_TOOLS_H

#include "test.h"

#include "fascia/clip.h"

typedef FaCode ClipReader(const char *text, FaClip **clip, FaError *err);

// Each allocation fails once: FA_E_MEMORY or only a note lost, and nothing leaks. `least`: failures that are told.
static inline void starve_clip_reader(ClipReader *read, const char *text, int least) {
    long failures = 0, dropped = 0;
    for (long n = 1; n < 1000; n++) {
        test_fail_alloc(n);
        long before = test_alloc_balance();
        FaError err = {0};
        FaClip *clip;
        FaCode rc = read(text, &clip, &err);
        bool failed = test_alloc_failed();
        if (failed && rc >= 0)
            dropped++; // only a note was lost
        else if (failed)
            assert_int_equal(rc, FA_E_MEMORY);
        failures += failed;
        fa_clip_free(clip);
        assert_int_equal(test_alloc_balance(), before);
        test_fail_alloc(0);
        if (!failed) break;
    }
    assert_in_range(failures - dropped, least, 100);
}

#endif
