// fascia/dataset.h: samples to train a network with: many people, poses of each, and what a physics adds to them.
//
// Typical order:
//     FaDatasetOptions o = fa_dataset_options_default();
//     o.ids = 60, o.poses = 10, o.method = "volumetric";
//     fa_dataset_make("data", &o, &report, &err);
// A set is a folder: dataset.json (what it is of), template (the mesh that samples are of), and a shard per person,
// NNNNNN.shard, each whole or not there. Made again in the same folder, what is there stays and the rest is made; other
// parameters are refused. The same samples, bit for bit, for any number of threads, processes, machines and restarts.
// Several runs may work on one folder: each person is made by one of them.
#ifndef FASCIA_DATASET_H
#define FASCIA_DATASET_H

#include "fascia/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Why poses are not among the samples.
typedef enum FaDrop {
    FA_DROP_STALLED, // the physics did not come to rest
    FA_DROP_CROSSED, // the skin passes through itself where the neutral's does not
    FA_DROP_TURNED,  // a piece of skin is inside out
    FA_DROP_LIMITED, // vertices were beyond what a face can do
    FA_DROP_PERSON,  // no face can be built for this person: all poses
    FA_DROPS
} FaDrop;
FA_API const char *fa_drop_name(FaDrop why); // "stalled", ...

/// Several processes that make one set together, of one job (MPI). Calls come from the thread that calls
/// fa_dataset_make, and do not wait. Process 0 hands out the people, all of them make them.
typedef struct FaDatasetTeam {
    void *user;
    int rank, size; // this process, of so many
    /// A short message (at most 256 bytes) to another process.
    FaCode (*send)(void *user, int to, const void *bytes, int size, FaError *err);
    /// The next one that has come: its size, 0: there is none, or a negative code.
    int (*receive)(void *user, int *from, void *bytes, int room, FaError *err);
    double silence; // s without a word after which a process counts as lost; 0: 20
} FaDatasetTeam;

typedef struct FaDatasetReport {
    bool lead;              // this process speaks for all: process 0 of a team
    bool whole;             // all people are there; else this run made its share
    int people;             // that are there, of those this run had to see to
    int made;               // of them now; the rest was there
    int64_t samples;        // of these people
    int64_t dropped;        // poses that are not among them
    int64_t drop[FA_DROPS]; // of people made now: why
    uint64_t hash;          // of the whole set; 0: it is not whole
    int vertices;           // of a sample
    int nclip, frames;      // recordings, and their frames that move the face
    double bytes;           // of the shards of these people
    double seconds;         // of this run
    double busy;            // s of processor time in people made now
    int workers;            // of all processes
    FaNotes notes;          // free with fa_notes_free
} FaDatasetReport;
/// Called several times per second by the process that leads: what is done of `people`. Return false to stop.
typedef bool FaDatasetProgressFn(void *user, const FaDatasetReport *now, int people);

typedef struct FaDatasetOptions {
    const char *source;          // "head": the parametric head; else a rig, neutral with or without shapes
    const char *const *identity; // with a rig: modes of identity, meshes of its topology, or folders of them
    int nidentity;               //   none: the rig itself is the only person
    const FaRigOptions *rig;     // how these files are read; NULL: defaults
    int level;                   // of the head: 0, 1 or 2
    const char *method;          // the physics; and its parameters, NULL: defaults
    const FaParams *params;
    uint64_t seed;
    int ids;                  // people
    int poses;                // of each
    const char *const *clips; // recordings to take poses from; none: the shipped head's own
    int nclip;
    int share, shares;             // 1..n, n: of every n people this run makes one; 0, 0: all
    const char *command;           // recorded, for people; nullable
    const FaDatasetTeam *team;     // NULL: this process alone
    int workers;                   // people at a time; 0: one per thread
    FaDatasetProgressFn *progress; // nullable
    void *progress_user;
} FaDatasetOptions;
FA_API FaDatasetOptions fa_dataset_options_default(void); // head, level 0, seed 1, 10 poses

/// Make a set, or what is missing of it. dir is made if need be. report is nullable.
/// FA_E_ARG: the folder's set has other parameters (which one is named), or holds other files. FA_E_FILE: something
/// cannot be written (nothing that was whole is lost). FA_E_CANCELLED: progress returned false, or a process of the
/// team is lost; call again to go on.
FA_API FaCode fa_dataset_make(const char *dir, const FaDatasetOptions *options, FaDatasetReport *report, FaError *err);

/// What it would take, measured on one person and some poses; nothing is written.
typedef struct FaDatasetEstimate {
    double setup;   // s of processor time: a person's face
    double sample;  // s: a pose
    double bytes;   // of all shards
    double seconds; // of all, with this many workers that have a core each
    int workers, vertices, nclip, frames, dropped, tried;
    FaNotes notes; // free with fa_notes_free
} FaDatasetEstimate;
FA_API FaCode fa_dataset_estimate(const FaDatasetOptions *options, FaDatasetEstimate *estimate, FaError *err);

#ifdef __cplusplus
}
#endif
#endif
