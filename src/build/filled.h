// Filled flesh: everything between skin, lining of the mouth and bone as one tet mesh whose nodes include the skin's.
// The prisms of FaFace are two shells with a void inside lips and cheeks; muscles need what lies between.
//
//      skin o---o---o---o        skin nodes of the face that are corners of tets, first; where the skin is coarse,
//                                then points between them
//          / \ / \ / \ /
//         o---o---o---o          lattice nodes, free: about 4 mm apart around the mouth, 6 elsewhere
//          \ / \ / \ / \         .
//   bone    #---#---#---#        lattice nodes moved to the bone's surface: they go with skull or jaw
//
// Upper and lower lip are never joined but at the corners, nor are lids; eyes and mouth are not filled; no tet joins
// skull and jaw. Not every triangle of the skin is a face of a tet (about half are): its nodes are, but for a few that
// ride ("lost"). Built once, const. Same bits for any number of threads.
#ifndef FAI_FILLED_H
#define FAI_FILLED_H

#include "face/face.h"

typedef enum FaFilledKind {
    FA_FILLED_FREE,
    FA_FILLED_SKULL, // goes with the skull; also where the flesh is cut off at the neck (the edge of a mask: skull or
                     // jaw)
    FA_FILLED_JAW,
    FA_FILLED_KINDS
} FaFilledKind;

typedef enum FaTissue {
    FA_TISSUE_FLESH,
    FA_TISSUE_SKIN,   // a tet with three corners or more on the skin, outside
    FA_TISSUE_LINING, // the same inside of the mouth
    FA_TISSUE_HELD,   // with a corner that skull or jaw carry
    FA_TISSUES
} FaTissue;
extern const char *const fai_tissue_name[FA_TISSUES];

typedef struct FaFilledOptions {
    int size;     // free nodes wanted, about; 0: 6,000. Rigs with many skin vertices have more
    double mouth; // m between nodes around the mouth of an adult, m; 0: found from `size`
} FaFilledOptions;
FaFilledOptions fai_filled_options_default(void);

typedef struct FaFilledReport {
    int nodes, free, skull, jaw, tets;
    int skin;            // skin nodes of the face
    int lost;            // those that are corners of no tet: they ride
    int inverted;        // tets without volume: 0
    double worst, mean;  // quality of the tets: 1 regular, 0 flat
    double volume;       // m3
    double spacing;      // m between nodes around the mouth; 1.5 times that elsewhere
    int pieces;          // that hang together by faces, in the end
    int outside, edges;  // tets dropped: centroid outside; an edge leaves the flesh
    int bridges, lids;   //   that joined both lips; both lids
    int slivers, crumbs; //   of quality below 0.02; of small pieces, or of pieces that no bone holds
    int parted;          // nodes on bone set free since a tet joined skull and jaw
    bool bones;          // the face has skull or jaw; else both are estimated below the skin
    bool lips;           // lips are known: the face has their regions
    double seconds;
} FaFilledReport;

typedef struct FaFilled {
    int nnode, ntet;
    int nskin;             // of the face
    int nvert;             // of the rig
    float *x;              // rest, head frame, m; skin nodes bit for bit as in the face     (nnode x 3)
    int *tet;              // of positive volume                                              (ntet x 4)
    unsigned char *kind;   // FaFilledKind                                                    (nnode)
    unsigned char *tissue; // FaTissue                                                        (ntet)
    int *node_of_skin;     // node of each skin node, -1: lost                                (nskin)
    int *skin_of_node;     // and back; -1: inside, -2: on the skin between its nodes         (nnode)
    signed char *lip;      // 1: of the upper lip or what lies just behind it, -1: lower, 0   (nnode)
    // how the surface follows: displacement of rig vertex v = sum of weights times displacements of nodes; none: it is
    // not part of the flesh
    int *ride_start; //                                                                        (nvert + 1)
    int *ride_node;
    float *ride_weight;
    FaFilledReport report;
    FaArena *arena; // owns the arrays
} FaFilled;

// rig: the one the face was built from. options NULL: defaults. All zero after failure: FA_E_MEMORY, FA_E_MESH (nothing
// is left to fill). Free with fai_filled_free.
FaCode fai_filled_build(const FaRig *rig, const FaFace *face, const FaFilledOptions *options, FaFilled *out,
                        FaError *err);
void fai_filled_free(FaFilled *filled); // all zero is fine
// Indices in range, volumes positive, every tet has a free corner, none joins skull and jaw.
FaCode fai_filled_check(const FaFilled *filled, FaError *err);
// What its user should know: bones that were guessed, lips that are not known, skin that is lost.
void fai_filled_notes(const FaFilled *filled, FaNotes *notes);

// x += how the flesh moved. node: positions of the nodes now (nnode x 3); x: of the rig's vertices, at rest or as
// blended (nvert x 3). Where no node moved, x keeps its bits. No allocation; parallel.
void fai_filled_ride(const FaFilled *filled, const float *node, float *x);

// Cut open through the middle and through the mouth, tets coloured by tissue, nodes by what carries them: a PNG.
// node: positions, NULL: at rest. size: height of a tile in pixels, 0: 900.
FaCode fai_filled_picture(const FaFilled *filled, const FaRig *rig, const FaFace *face, const float *node, int size,
                          const char *path, FaError *err);

#endif
