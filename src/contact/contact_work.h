// What the files of contact share: the contact between its steps.
#ifndef FAI_CONTACT_WORK_H
#define FAI_CONTACT_WORK_H

#include "contact/contact.h"
#include "contact/pairs.h"

#define FA_CONTACT_KEEP 0.8 // pairs that start closer than a gap may come closer by this in one step, and never meet

typedef struct FaBond {
    uint64_t id;    // of the generator; never used again
    int kind, a, b; // the pair it joins
    int point[4];
    float weight[4]; // signed: s = sum of weight x
    float normal[3]; // when it was made: n . s > 0 is parted
    float unused;    // 0
} FaBond;

typedef struct FaContactState {
    uint64_t mark, fingerprint; // what this is, and of which surface
    uint64_t step, next_id;
    int nbond, has_pose;
    int64_t left; // work that it may still do: see fai_contact_search
} FaContactState;

struct FaContact {
    FaContactOptions options;
    FaPairs pairs;
    double (*rest)[3];     // m, of the points                                            (npoint)
    unsigned char *sticky; // of the points: bit 0 may it bond, bit 1 without a pose of its own (nsurface)
    int ncollider;
    int *collider_start; // first point of each collider, then the total                (ncollider + 1)
    FaPose *pose;        // at the end of the step                                      (ncollider)
    double (*own)[3];    // m, of the points: the artist's own pose, while has_own      (nsurface)
    bool has_own;
    unsigned char *tangled; // of the points: near what crosses at rest                  (npoint)
    double reach;           // m: rows also for what ends closer than this
    double h;               // s, of this step
    double break_rate;      // 1/m: r of eq. 5.17
    FaContactState state;
    FaBond *bond; //                                                             (max_bond)
    int max_bond;
    FaKeys broken;   // pairs whose bond broke in this frame, and vertices that held one
    FaRow *row;      // first the bonds', then contact                              (max_rows)
    FaPairHit *push; // where the contact rows come from                            (max_rows)
    int nrow, npull;
    FaKeys row_of;       // pair -> its contact row
    unsigned char *held; // of the points: in a contact row with weight 1, as the vertex of one 2, of one with a
                         // collider 4  (npoint)
    int *fresh;          // hits without a row: chunk * FA_PAIRS_HITS + i               (nchunk * FA_PAIRS_HITS)
    double (*normal)[3]; // of the points, nearby > 0                                   (npoint)
    int *joined_start;   // points close along the surface, ascending; nearby > 0        (nsurface + 1)
    int *joined;
    double *shares; // of each vertex, with the surface and with colliders: sums; nearby > 0   (nsurface x 2)
    FaContactStats stats;
    bool clear; // of fai_contact_clear
    // of limit
    FaPairHit *shove; // pairs that are pushed apart                                 (max_shove)
    int nshove, max_shove;
    FaKeys shove_of;     // pair -> its place in shove
    FaKeys given_up;     // pairs that cannot be parted
    int *island;         // union-find                                                  (nsurface)
    double *scale;       // of an island's motion                                       (nsurface)
    unsigned char *mark; // bit 0: moved in this round or part of a hit, bit 1: moved at all  (nsurface)
    // of end
    double *slip;  // m/s: tangential velocity that touching rows shall have      (max_rows x 3)
    int *touching; // rows that touch                                             (max_rows)
};

// Positions of nodes into the points; where they are not finite, those of `instead` stay.
void fai_contact_load_points(const FaContact *c, const float *x, double (*point)[3], double (*instead)[3]);

// How far a pair may go on to where the artist's own pose has it, m: 0 or less, n . s along the hit's normal at which
// nothing holds it any more. HUGE_VAL: contact decides alone.
void fai_contact_find_tangled(FaContact *c);
double fai_contact_allowed(const FaContact *c, const FaPairHit *h);
bool fai_contact_tangled(const FaContact *c, const FaPairHit *h); // are both its sides near what crosses at rest

// A search for pairs, as long as there is work left: each step adds what a lively face needs several times over, and
// what calm steps leave is saved up to a limit. False: there is none left, or too many pairs meet, and none was tested.
bool fai_contact_search(FaContact *c, const FaPairSearch *how, int *over);

bool fai_contact_join(FaContact *c); // fills joined; false: no memory
void fai_contact_write_push(const FaContact *c, const FaPairHit *h, FaRow *row);

// The law of sticky lips (eq. 5.17) for a step of h; rate: r of the equation.
double fai_break_rate(double length, double probability);
double fai_break_chance(double rate, double length, double h);
double fai_share_per_step(double share, double h); // what a share lost per 1/60 s is for a step of h

void fai_bonds_break(FaContact *c); // in begin, at pairs.from; writes their rows
// After it: again with the artist's own pose, as if each had the longer of both lengths. Lips that the pose has wide
// apart let go, however little they stretch; those that it presses through each other stay.
void fai_bonds_break_own(FaContact *c);
void fai_bonds_make(FaContact *c, int n, const int *touching); // in end, at pairs.to, from n touching rows

#endif
